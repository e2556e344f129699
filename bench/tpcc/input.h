// Inputs of TPC-C's transactions, drawn as the specification says (clauses 2.1.6, 2.4.1 to 2.8.1).
//
// An input is drawn before its transaction begins, so that a transaction that is retried after a
// conflict runs with the same input. The date is also read before the transaction, because reading
// a clock may take a system call, which would abort a hardware transaction. Think times and keying
// times are not modelled, so a terminal never waits.
// Thread safety: a Workload is constant; an InputStream belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/random.h"
#include "bench/tpcc/clock.h"
#include "bench/tpcc/schema.h"
#include "elider/status.h"

namespace elider::bench::tpcc {

enum class Kind : uint8_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
inline constexpr uint32_t kKinds = 5;
std::string_view name_of(Kind kind);  // "new_order", ...

// Percentages by Kind, which add up to 100. By default the last four kinds have the specification's
// minimum shares (clause 5.2.3), and NewOrder has the rest.
using Mix = std::array<uint32_t, kKinds>;
inline constexpr Mix kStandardMix = {45, 43, 4, 4, 4};
// Parses a mix such as "45,43,4,4,4". Fails with kInvalidArgument and the reason if `text` is not a
// mix.
Result<Mix> parse_mix(std::string_view text);

// The constants C of the non-uniform distribution (clause 2.1.6). The two constants for last names
// differ by 65 to 119, but not by 96 or 112 (clause 2.1.6.1).
struct NonUniformConstants {
  uint32_t last_name_load, last_name_run, customer, item;
  static NonUniformConstants draw(uint64_t seed);
};

// NURand(a, first, last) with the constant c: a non-uniform random number from first to last.
inline uint32_t non_uniform(Random& random, uint32_t a, uint32_t c, uint32_t first, uint32_t last) {
  const auto one = static_cast<uint32_t>(random.between(0, a));
  const auto other = static_cast<uint32_t>(random.between(first, last));
  return ((one | other) + c) % (last - first + 1) + first;
}

// Returns the last name with the given number, 0 to 999 (clause 4.3.2.3).
const Text<16>& last_name(uint32_t number);

// The values that all threads of a run share.
struct Workload {
  Sizes sizes;
  Mix mix = kStandardMix;
  int crossing_percent = -1;  // share of NewOrders and Payments that use a second warehouse; -1: as specified
  NonUniformConstants constants{};
  uint64_t seed = 1;
  uint32_t threads = 1;
  std::vector<uint64_t> history_keys = {};  // by thread: number of history keys that earlier runs used; 0 for threads not listed
};

// A customer, chosen by last name in 60 of 100 cases, and otherwise by number. `customer` is 0 if
// the last name is given.
struct CustomerChoice {
  uint32_t warehouse = 0, district = 0, customer = 0;
  Text<16> last{};
};

struct NewOrderInput {
  struct Line {
    uint32_t item, supply_warehouse, quantity;
  };
  uint32_t warehouse = 0, district = 0, customer = 0, line_count = 0;
  bool all_local = true;
  std::array<Line, kLinesMax> lines;
  int64_t date = now_seconds();
};

struct PaymentInput {
  uint32_t warehouse = 0, district = 0, amount = 0;
  CustomerChoice customer;
  Key history_key = 0;  // unique to this Payment
  int64_t date = now_seconds();
};

struct OrderStatusInput {
  CustomerChoice customer;
};

struct DeliveryInput {
  uint32_t warehouse = 0, carrier = 0;
  int64_t date = now_seconds();
};

struct StockLevelInput {
  uint32_t warehouse = 0, district = 0;
  int32_t threshold = 0;
};

// The inputs of one thread. Equal workloads and thread indexes give equal inputs.
class InputStream {
 public:
  InputStream(const Workload& workload, uint32_t thread);

  Kind kind() {
    const auto dice = static_cast<uint32_t>(random_.below(100));
    uint32_t kind = 0;
    while (dice >= mix_until_[kind]) ++kind;
    return static_cast<Kind>(kind);
  }
  // Returns a random warehouse of those that this thread serves: thread, thread + threads, ...
  // (counted from 0). If there are fewer warehouses than threads, the thread serves only warehouse
  // `thread` modulo their number.
  uint32_t home_warehouse() { return first_home_ + static_cast<uint32_t>(random_.below(homes_)) * workload_.threads; }

  void draw(uint32_t warehouse, NewOrderInput* input);
  void draw(uint32_t warehouse, PaymentInput* input);
  void draw(uint32_t warehouse, OrderStatusInput* input);
  void draw(uint32_t warehouse, DeliveryInput* input);
  void draw(uint32_t warehouse, StockLevelInput* input);

  // Gives the Payment's history row the number `number`, which must be unique, instead of the
  // number that was drawn.
  void number_history(uint64_t number, PaymentInput* input);

  // Returns the number of history keys used, including those of earlier runs. If number_history()
  // sets the numbers, returns the largest number plus one.
  uint64_t history_keys_used() const { return payments_; }

 private:
  uint32_t between(uint32_t first, uint32_t last) { return static_cast<uint32_t>(random_.between(first, last)); }
  bool percent(uint32_t share) { return random_.below(100) < share; }
  uint32_t other_warehouse(uint32_t home);
  uint32_t customer_number();
  void draw_customer(uint32_t warehouse, uint32_t district, CustomerChoice* choice);

  const Workload& workload_;
  Random random_;
  std::array<uint32_t, kKinds> mix_until_{};
  uint32_t source_;
  uint32_t first_home_;
  uint32_t homes_;
  uint64_t payments_ = 0;
};

}  // namespace elider::bench::tpcc
