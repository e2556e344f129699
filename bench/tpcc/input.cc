#include "bench/tpcc/input.h"

#include <algorithm>
#include <charconv>

namespace elider::bench::tpcc {
namespace {

// The stream of Random that the constants are drawn from. It is far above the streams that the
// threads use with the same seed, which start at 0.
constexpr uint64_t kConstantsStream = uint64_t{1} << 32;

constexpr uint32_t kLastNameA = 255, kCustomerA = 1023, kItemA = 8191;

std::array<Text<16>, 1000> make_last_names() {
  static constexpr std::string_view kSyllables[] = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"};
  std::array<Text<16>, 1000> names{};
  for (uint32_t number = 0; number < names.size(); ++number) {
    auto end = names[number].begin();
    for (const uint32_t digit : {number / 100, number / 10 % 10, number % 10}) {
      const std::string_view syllable = kSyllables[digit];
      end = std::copy(syllable.begin(), syllable.end(), end);
    }
  }
  return names;
}

}  // namespace

std::string_view name_of(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames = {"new_order", "payment", "order_status", "delivery", "stock_level"};
  return kNames[static_cast<size_t>(kind)];
}

Result<Mix> parse_mix(std::string_view text) {
  const auto refuse = [&](const char* why) { return Status::invalid_argument("mix '" + std::string(text) + "': " + why); };
  Mix mix{};
  uint32_t sum = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    if (kind > 0 && (at == end || *at++ != ',')) return refuse("must be five percentages separated by commas");
    const auto [next, error] = std::from_chars(at, end, mix[kind]);
    if (error != std::errc() || mix[kind] > 100) return refuse("each of the five must be a whole number from 0 to 100");
    at = next;
    sum += mix[kind];
  }
  if (at != end) return refuse("there is text after the fifth percentage");
  if (sum != 100) return refuse("the percentages must add up to 100");
  return mix;
}

NonUniformConstants NonUniformConstants::draw(uint64_t seed) {
  Random random(seed, kConstantsStream);
  NonUniformConstants constants{};
  constants.customer = static_cast<uint32_t>(random.between(0, kCustomerA));
  constants.item = static_cast<uint32_t>(random.between(0, kItemA));
  constants.last_name_load = static_cast<uint32_t>(random.between(0, kLastNameA));
  const auto allowed = [&](uint32_t run) {
    const uint32_t apart = run > constants.last_name_load ? run - constants.last_name_load : constants.last_name_load - run;
    return apart >= 65 && apart <= 119 && apart != 96 && apart != 112;
  };
  do constants.last_name_run = static_cast<uint32_t>(random.between(0, kLastNameA));
  while (!allowed(constants.last_name_run));
  return constants;
}

const Text<16>& last_name(uint32_t number) {
  static const std::array<Text<16>, 1000> kNames = make_last_names();
  return kNames[number];
}

InputStream::InputStream(const Workload& workload, uint32_t thread)
    : workload_(workload),
      random_(workload.seed, thread),
      source_(source_of_thread(thread)),
      first_home_(thread % workload.sizes.warehouses + 1),
      homes_(thread < workload.sizes.warehouses ? (workload.sizes.warehouses - first_home_) / workload.threads + 1 : 1) {
  if (thread < workload.history_keys.size()) payments_ = workload.history_keys[thread];
  uint32_t until = 0;
  for (uint32_t kind = 0; kind < kKinds; ++kind) mix_until_[kind] = until += workload.mix[kind];
}

uint32_t InputStream::other_warehouse(uint32_t home) {
  if (workload_.sizes.warehouses == 1) return home;
  const uint32_t other = between(1, workload_.sizes.warehouses - 1);
  return other + (other >= home);
}

uint32_t InputStream::customer_number() {
  return non_uniform(random_, kCustomerA, workload_.constants.customer, 1, workload_.sizes.customers);
}

void InputStream::draw_customer(uint32_t warehouse, uint32_t district, CustomerChoice* choice) {
  choice->warehouse = warehouse;
  choice->district = district;
  choice->customer = 0;
  const uint32_t names = workload_.sizes.last_names();
  if (percent(60)) choice->last = last_name(non_uniform(random_, kLastNameA, workload_.constants.last_name_run, 0, names - 1));
  else choice->customer = customer_number();
}

void InputStream::draw(uint32_t warehouse, NewOrderInput* input) {
  input->warehouse = warehouse;
  input->district = between(1, kDistricts);
  input->customer = customer_number();
  input->line_count = between(kLinesMin, kLinesMax);
  input->all_local = true;
  const int crossing = workload_.crossing_percent;
  const uint32_t remote_line = crossing >= 0 && percent(static_cast<uint32_t>(crossing)) ? between(0, input->line_count - 1) : kLinesMax;
  for (uint32_t i = 0; i < input->line_count; ++i) {
    NewOrderInput::Line& line = input->lines[i];
    line.item = non_uniform(random_, kItemA, workload_.constants.item, 1, workload_.sizes.items);
    const bool remote = crossing >= 0 ? i == remote_line : percent(1);
    line.supply_warehouse = remote ? other_warehouse(warehouse) : warehouse;
    line.quantity = between(1, 10);
    input->all_local &= line.supply_warehouse == warehouse;
  }
  // One order in a hundred ends with an item that does not exist, and is rolled back (2.4.1.4).
  if (percent(1)) input->lines[input->line_count - 1].item = workload_.sizes.items + 1;
}

void InputStream::draw(uint32_t warehouse, PaymentInput* input) {
  input->warehouse = warehouse;
  input->district = between(1, kDistricts);
  const int crossing = workload_.crossing_percent;
  if (percent(crossing >= 0 ? 100 - static_cast<uint32_t>(crossing) : 85)) draw_customer(warehouse, input->district, &input->customer);
  else draw_customer(other_warehouse(warehouse), between(1, kDistricts), &input->customer);
  input->amount = between(1'00, 5000'00);
  input->history_key = HistoryKey::pack_unchecked(source_, payments_++);
}

void InputStream::number_history(uint64_t number, PaymentInput* input) {
  payments_ = std::max(payments_ - 1, number + 1);
  input->history_key = HistoryKey::pack_unchecked(source_, number);
}

void InputStream::draw(uint32_t warehouse, OrderStatusInput* input) {
  draw_customer(warehouse, between(1, kDistricts), &input->customer);
}

void InputStream::draw(uint32_t warehouse, DeliveryInput* input) { *input = {warehouse, between(1, 10)}; }

void InputStream::draw(uint32_t warehouse, StockLevelInput* input) {
  *input = {warehouse, between(1, kDistricts), static_cast<int32_t>(between(10, 20))};
}

}  // namespace elider::bench::tpcc
