#include "bench/tpcc/input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace elider::bench::tpcc {
namespace {

Workload workload_of(uint32_t warehouses, uint32_t threads = 1, uint64_t seed = 7) {
  Workload workload;
  workload.sizes.warehouses = warehouses;
  workload.constants = NonUniformConstants::draw(seed);
  workload.seed = seed;
  workload.threads = threads;
  return workload;
}

// A share of draws within four standard deviations of what is wanted.
void expect_share(uint64_t hits, uint64_t draws, double wanted, const char* what) {
  const double n = static_cast<double>(draws);
  EXPECT_NEAR(static_cast<double>(hits) / n, wanted, 4 * std::sqrt(wanted * (1 - wanted) / n)) << what;
}

TEST(TpccLastName, NumberGivesThreeSyllables) {
  EXPECT_STREQ(last_name(0).data(), "BARBARBAR");
  EXPECT_STREQ(last_name(371).data(), "PRICALLYOUGHT");
  EXPECT_STREQ(last_name(999).data(), "EINGEINGEING");
  std::set<std::string> names;
  for (uint32_t number = 0; number < 1000; ++number) names.insert(last_name(number).data());
  EXPECT_EQ(names.size(), 1000u);
}

TEST(TpccLastName, HashTellsAllNamesApart) {
  std::set<uint64_t> hashes;
  for (uint32_t number = 0; number < 1000; ++number) {
    const uint64_t hash = name_hash(last_name(number));
    EXPECT_LT(hash, uint64_t{1} << 44);
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 1000u);
}

TEST(TpccConstants, LoadAndRunDifferAsSpecified) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const NonUniformConstants c = NonUniformConstants::draw(seed);
    const int apart = std::abs(static_cast<int>(c.last_name_load) - static_cast<int>(c.last_name_run));
    EXPECT_GE(apart, 65);
    EXPECT_LE(apart, 119);
    EXPECT_NE(apart, 96);
    EXPECT_NE(apart, 112);
    EXPECT_LE(c.last_name_run, 255u);
    EXPECT_LE(c.last_name_load, 255u);
    EXPECT_LE(c.customer, 1023u);
    EXPECT_LE(c.item, 8191u);
  }
}

TEST(TpccNonUniform, StaysInRangeAndIsUneven) {
  Random random(3);
  std::vector<uint32_t> seen(3001);
  constexpr uint32_t kDraws = 300'000;
  for (uint32_t i = 0; i < kDraws; ++i) {
    const uint32_t customer = non_uniform(random, 1023, 259, 1, 3000);
    ASSERT_GE(customer, 1u);
    ASSERT_LE(customer, 3000u);
    ++seen[customer];
  }
  // Uniformly each would be drawn 100 times; NURand draws some ten times as often as others.
  EXPECT_GT(*std::max_element(seen.begin() + 1, seen.end()), 400u);
  EXPECT_LT(*std::min_element(seen.begin() + 1, seen.end()), 40u);
}

TEST(TpccMix, TextGivesPercentages) {
  auto mix = parse_mix("45,43,4,4,4");
  ASSERT_TRUE(mix.ok());
  EXPECT_EQ(*mix, kStandardMix);
  EXPECT_EQ(*parse_mix("100,0,0,0,0"), (Mix{100, 0, 0, 0, 0}));
  for (const char* wrong : {"", "45", "45,43,4,4", "45,43,4,4,5", "45,43,4,4,4,0", "-1,101,0,0,0", "a,b,c,d,e", "45,43,4,4,4 ",
                            "101,0,0,0,0"}) {
    auto refused = parse_mix(wrong);
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument) << wrong;
    const std::string quoted = std::string("'").append(wrong).append("'");
    EXPECT_NE(refused.status().message().find(quoted), std::string::npos) << refused.status().message();
  }
}

TEST(TpccInput, KindsComeInTheMix) {
  const Workload workload = workload_of(1);
  InputStream stream(workload, 0);
  std::array<uint64_t, kKinds> seen{};
  constexpr uint64_t kDraws = 200'000;
  for (uint64_t i = 0; i < kDraws; ++i) ++seen[static_cast<size_t>(stream.kind())];
  for (uint32_t kind = 0; kind < kKinds; ++kind) expect_share(seen[kind], kDraws, kStandardMix[kind] / 100.0, "kind");
}

TEST(TpccInput, NewOrderHasSpecifiedRangesAndShares) {
  const Workload workload = workload_of(4);
  InputStream stream(workload, 0);
  constexpr uint64_t kDraws = 100'000;
  uint64_t unused = 0, remote = 0, lines = 0, all_local = 0;
  std::set<uint32_t> districts, suppliers;
  for (uint64_t i = 0; i < kDraws; ++i) {
    NewOrderInput input;
    stream.draw(2, &input);
    districts.insert(input.district);
    ASSERT_EQ(input.warehouse, 2u);
    ASSERT_TRUE(input.customer >= 1 && input.customer <= 3000);
    ASSERT_TRUE(input.line_count >= 5 && input.line_count <= 15);
    bool local = true;
    for (uint32_t l = 0; l < input.line_count; ++l) {
      const auto& line = input.lines[l];
      const bool is_unused = line.item == workload.sizes.items + 1;
      ASSERT_TRUE(is_unused ? l + 1 == input.line_count : line.item >= 1 && line.item <= workload.sizes.items);
      ASSERT_TRUE(line.quantity >= 1 && line.quantity <= 10);
      unused += is_unused;
      remote += line.supply_warehouse != 2;
      local &= line.supply_warehouse == 2;
      suppliers.insert(line.supply_warehouse);
      ++lines;
    }
    ASSERT_EQ(input.all_local, local);
    all_local += local;
  }
  EXPECT_EQ(districts.size(), 10u);
  EXPECT_EQ(suppliers, (std::set<uint32_t>{1, 2, 3, 4}));
  EXPECT_NEAR(static_cast<double>(lines) / kDraws, 10, 0.05);
  expect_share(unused, kDraws, 0.01, "rolled back");
  expect_share(remote, lines, 0.01, "remote lines");
  EXPECT_LT(all_local, kDraws);
}

TEST(TpccInput, OneWarehouseHasNoRemoteSupply) {
  const Workload workload = workload_of(1);
  InputStream stream(workload, 0);
  for (int i = 0; i < 5000; ++i) {
    NewOrderInput order;
    stream.draw(1, &order);
    ASSERT_TRUE(order.all_local);
    PaymentInput payment;
    stream.draw(1, &payment);
    ASSERT_EQ(payment.customer.warehouse, 1u);
  }
}

TEST(TpccInput, PaymentHasSpecifiedRangesAndShares) {
  const Workload workload = workload_of(3);
  InputStream stream(workload, 5);
  constexpr uint64_t kDraws = 100'000;
  uint64_t remote = 0, by_name = 0;
  std::set<Key> keys;
  for (uint64_t i = 0; i < kDraws; ++i) {
    PaymentInput input;
    stream.draw(1, &input);
    ASSERT_TRUE(input.amount >= 100 && input.amount <= 500000);
    remote += input.customer.warehouse != 1;
    if (input.customer.warehouse == 1) {
      ASSERT_EQ(input.customer.district, input.district);
    }
    by_name += input.customer.customer == 0;
    if (input.customer.customer == 0) {
      ASSERT_NE(input.customer.last[0], 0);
    }
    keys.insert(input.history_key);
  }
  expect_share(remote, kDraws, 0.15, "remote customers");
  expect_share(by_name, kDraws, 0.60, "by last name");
  EXPECT_EQ(keys.size(), kDraws);
  EXPECT_EQ(HistoryKey::unpack(*keys.begin())[0], source_of_thread(5));
}

TEST(TpccInput, OthersHaveSpecifiedRanges) {
  const Workload workload = workload_of(1);
  InputStream stream(workload, 0);
  std::set<uint32_t> carriers;
  std::set<int32_t> thresholds;
  for (int i = 0; i < 2000; ++i) {
    DeliveryInput delivery;
    stream.draw(1, &delivery);
    carriers.insert(delivery.carrier);
    StockLevelInput level;
    stream.draw(1, &level);
    thresholds.insert(level.threshold);
  }
  EXPECT_EQ(carriers.size(), 10u);
  EXPECT_EQ(*carriers.begin(), 1u);
  EXPECT_EQ(thresholds.size(), 11u);
  EXPECT_EQ(*thresholds.begin(), 10);
}

TEST(TpccInput, SameSeedGivesSameStreamAndThreadsDiffer) {
  const Workload workload = workload_of(2, 2);
  InputStream one(workload, 0), same(workload, 0), other(workload, 1);
  bool differs = false;
  for (int i = 0; i < 200; ++i) {
    PaymentInput a, b, c;
    one.draw(1, &a);
    same.draw(1, &b);
    other.draw(1, &c);
    ASSERT_EQ(a.amount, b.amount);
    ASSERT_EQ(a.history_key, b.history_key);
    differs |= a.amount != c.amount;
  }
  EXPECT_TRUE(differs);
}

TEST(TpccInput, ThreadsShareOutTheWarehouses) {
  const auto homes = [](uint32_t warehouses, uint32_t threads, uint32_t thread) {
    const Workload workload = workload_of(warehouses, threads);
    InputStream stream(workload, thread);
    std::set<uint32_t> seen;
    for (int i = 0; i < 500; ++i) seen.insert(stream.home_warehouse());
    return seen;
  };
  EXPECT_EQ(homes(5, 2, 0), (std::set<uint32_t>{1, 3, 5}));
  EXPECT_EQ(homes(5, 2, 1), (std::set<uint32_t>{2, 4}));
  EXPECT_EQ(homes(2, 3, 2), (std::set<uint32_t>{1}));
  EXPECT_EQ(homes(1, 1, 0), (std::set<uint32_t>{1}));
}

}  // namespace
}  // namespace elider::bench::tpcc
