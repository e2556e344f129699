// Combination: one registered way to run a database (sync policy, protocol and, if it
// elides, backend) and to index a table's keys. The conformance, model, race and stress
// suites run on every one of them.
//
// It is not a separate list: the engine's registry says what Options can ask for. The backend rtm
// takes part if the machine has it, or if the environment variable ELIDER_TEST_RTM forces it.
// Thread safety: values and pure functions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "elider/laboratory.h"
#include "engine/registry.h"

namespace elider::test {

struct Combination {
  SyncPolicy sync = SyncPolicy::kOptimistic;
  HtmBackend htm = HtmBackend::kNone;
  KeyIndex key_index = KeyIndex::kOrdered;
  Protocol protocol = Protocol::kOcc;

  bool ordered() const { return is_ordered(key_index); }
  // Whether several threads may run transactions.
  bool threads() const { return sync != SyncPolicy::kSingleThreaded; }
  // Whether one thread may also have several conflicting transactions open, because none of them
  // waits forever for another one. (conformance/locks_test.cc tests locks.)
  bool concurrent() const {
    return threads() && protocol != Protocol::kWholeTransaction && protocol != Protocol::kSerial &&
           protocol != Protocol::kPartitioned && !locks();
  }
  // Whether a transaction keeps others from what it has accessed until its end.
  bool locks() const { return protocol == Protocol::kTwoPhaseLocking; }
  // Whether a transaction claims what it accesses, so that the later one of two conflicting
  // transactions ends the earlier one if that is open.
  bool claims_writes() const { return protocol == Protocol::kTimestamp || protocol == Protocol::kTimestampValidated; }
  bool claims_reads() const { return protocol == Protocol::kTimestamp; }
  // Whether a read or a commit also continues while a test point holds another one.
  // (conformance/claims_test.cc and txn/timestamp test the races of claims.)
  bool races() const { return concurrent() && protocol != Protocol::kSpinlock && !claims_writes(); }
};

inline Options options_of(const Combination& combination, Options options = {}) {
  options.sync = combination.sync;
  options.protocol = combination.protocol;
  if (options.threads_at_once == 0) options.threads_at_once = 4096;  // tests want threads to lose their processors anywhere
  change_laboratory(options).open_patience_us = 0;  // so that no test waits for its own open transaction
  // Most tests have few rows, and the system zeroes a huge page as a whole. So only one kind of
  // index uses huge pages, which tests them.
  if (combination.key_index != KeyIndex::kHashed) options.huge_pages = false;
  if (combination.sync == SyncPolicy::kElided) options.htm = combination.htm;
  return options;
}

inline std::string name_of(const Combination& combination) {
  std::string name(elider::name_of(combination.sync));
  if (combination.sync == SyncPolicy::kElided) name += "_" + std::string(elider::name_of(combination.htm));
  if (combination.protocol != Protocol::kOcc) name += "_" + std::string(elider::name_of(combination.protocol));
  if (combination.key_index == KeyIndex::kOrdered) name += "_ordered";
  else if (combination.key_index == KeyIndex::kHashed) name += "_hashed";
  else name += "_" + std::string(elider::name_of(combination.key_index));
  for (char& letter : name)
    if (letter == '-') letter = '_';  // gtest accepts letters, digits and underscores alone
  return name;
}

inline std::ostream& operator<<(std::ostream& out, const Combination& combination) { return out << name_of(combination); }

inline std::string combination_name(const testing::TestParamInfo<Combination>& info) { return name_of(info.param); }

// Every combination; with `concurrent_only`, those that let several transactions be open; with
// `ordered_only`, those whose tables can be scanned by key.
inline std::vector<Combination> combinations(bool concurrent_only, bool ordered_only) {
  std::vector<Combination> chosen;
  for (const detail::Combination& shipped : detail::registry()) {
    if (shipped.htm == HtmBackend::kRtm && !hardware().usable && std::getenv("ELIDER_TEST_RTM") == nullptr) continue;
    for (const KeyIndex key_index : kKeyIndexes) {
      const Combination combination{shipped.sync, shipped.htm, key_index, shipped.protocol};
      if (concurrent_only && !combination.concurrent()) continue;
      if (ordered_only && !combination.ordered()) continue;
      chosen.push_back(combination);
    }
  }
  return chosen;
}

// The first combination of each protocol except occ, on tables with B+-trees.
inline std::vector<Combination> one_of_each_other_protocol() {
  std::vector<Combination> chosen = combinations(false, true);
  std::erase_if(chosen, [](const Combination& one) { return one.protocol == Protocol::kOcc || one.key_index != KeyIndex::kOrdered; });
  std::vector<Protocol> seen;
  std::erase_if(chosen, [&seen](const Combination& one) {
    if (std::find(seen.begin(), seen.end(), one.protocol) != seen.end()) return true;
    seen.push_back(one.protocol);
    return false;
  });
  return chosen;
}

inline std::vector<Combination> racing_combinations() {
  std::vector<Combination> chosen = combinations(true, false);
  std::erase_if(chosen, [](const Combination& combination) { return !combination.races(); });
  return chosen;
}

// The combinations under which a transaction claims what it writes and, with `reads_too`, what it
// reads.
inline std::vector<Combination> claiming_combinations(bool reads_too) {
  std::vector<Combination> chosen = combinations(true, false);
  std::erase_if(chosen,
                [=](const Combination& combination) { return !(reads_too ? combination.claims_reads() : combination.claims_writes()); });
  return chosen;
}

}  // namespace elider::test

// Skips tests of two open transactions that access the same rows, where a claim ends one of them
// (tests/conformance/claims_test.cc tests that).
#define ELIDER_SKIP_IF_CLAIMED(what) \
  if (what) GTEST_SKIP() << "of two open transactions that conflict the later one ends the earlier one"

// Instantiates a TEST_P suite for every combination, or for those the name says.
#define ELIDER_ON_EVERY(Suite)                                                                                       \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::ValuesIn(::elider::test::combinations(false, false)),                 \
                           ::elider::test::combination_name)
#define ELIDER_ON_CONCURRENT(Suite)                                                                                  \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::ValuesIn(::elider::test::combinations(true, false)),                  \
                           ::elider::test::combination_name)
#define ELIDER_ON_RACING(Suite)                                                                                      \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::ValuesIn(::elider::test::racing_combinations()),                      \
                           ::elider::test::combination_name)
#define ELIDER_ON_ORDERED(Suite)                                                                                     \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::ValuesIn(::elider::test::combinations(false, true)),                  \
                           ::elider::test::combination_name)
#define ELIDER_ON_CONCURRENT_ORDERED(Suite)                                                                          \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::ValuesIn(::elider::test::combinations(true, true)),                   \
                           ::elider::test::combination_name)
