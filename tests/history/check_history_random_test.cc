// Random small histories against brute force: a history is strictly serializable if one of the
// orders of its transactions explains every read and keeps real time. check-history must accept it
// in that order, and must refuse a history that no order explains, whatever order it is given.
// ELIDER_SEED replays a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>

#include "tools/check_history/check_history.h"

namespace elider::check {
namespace {

constexpr Key kKeys = 3;
constexpr size_t kTransactions = 5;

struct Read {
  Key key;
  uint64_t version;  // 0: absent, as a key without a record is
};

struct SmallTransaction {
  uint64_t begin, end;
  std::vector<Read> reads;
  bool scans = false;
  std::map<Key, uint64_t> scanned;  // the rows it returned
  std::map<Key, std::pair<uint64_t, OperationKind>> writes;
};
using SmallHistory = std::vector<SmallTransaction>;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  SmallHistory next() {
    SmallHistory history(kTransactions);
    for (SmallTransaction& txn : history) {
      txn.begin = below(20);
      txn.end = txn.begin + below(20);
    }
    for (Key key = 0; key < kKeys; ++key) {
      // The chain of the key, by writers in about the order of their begins:
      // wild ones teach little.
      std::vector<size_t> writers(kTransactions);
      std::iota(writers.begin(), writers.end(), size_t{0});
      std::sort(writers.begin(), writers.end(), [&](size_t a, size_t b) { return history[a].begin < history[b].begin; });
      if (below(4) == 0) std::shuffle(writers.begin(), writers.end(), random_);
      std::vector<std::pair<uint64_t, bool>> chain = {{0, true}};  // version, absent
      for (size_t writer : writers) {
        if (below(3) != 0) continue;
        const bool remove = !chain.back().second && below(3) == 0;
        const uint64_t version = chain.back().first + 1 + below(2);
        history[writer].writes[key] = {version, remove ? OperationKind::kRemove : OperationKind::kWrite};
        chain.emplace_back(version, remove);
      }
      for (SmallTransaction& txn : history) read(txn, key, chain);
    }
    return history;
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }

  void read(SmallTransaction& txn, Key key, const std::vector<std::pair<uint64_t, bool>>& chain) {
    if (key == 0) txn.scans = below(3) == 0;
    if (!txn.scans && below(2) == 0) return;
    // Mostly what was written before its own write, so that many histories are nearly right.
    size_t limit = chain.size();
    const auto own = txn.writes.find(key);
    if (own != txn.writes.end() && below(8) != 0) {
      while (limit > 1 && chain[limit - 1].first >= own->second.first) --limit;
    }
    const auto& [version, absent] = chain[below(2) == 0 ? limit - 1 : below(limit)];
    if (!txn.scans) txn.reads.push_back({key, absent ? 0 : version});
    else if (!absent) txn.scanned[key] = version;
  }

  std::mt19937_64 random_;
};

bool explains(const SmallHistory& history, const std::vector<size_t>& order) {
  std::map<Key, uint64_t> newest, present;
  for (size_t i = 0; i < order.size(); ++i) {
    const SmallTransaction& txn = history[order[i]];
    for (size_t j = 0; j < i; ++j) {
      if (txn.end < history[order[j]].begin) return false;
    }
    const auto sees = [&](Key key, uint64_t version) {
      const auto found = present.find(key);
      return found == present.end() ? version == 0 : found->second == version;
    };
    for (const Read& read : txn.reads) {
      if (!sees(read.key, read.version)) return false;
    }
    for (Key key = 0; txn.scans && key < kKeys; ++key) {
      const auto returned = txn.scanned.find(key);
      // A key that is not returned may be so because of the transaction's own write.
      if (returned == txn.scanned.end() && txn.writes.contains(key)) continue;
      if (!sees(key, returned == txn.scanned.end() ? 0 : returned->second)) return false;
    }
    for (const auto& [key, write] : txn.writes) {
      if (write.first <= newest[key]) return false;
      newest[key] = write.first;
      if (write.second == OperationKind::kRemove) present.erase(key);
      else present[key] = write.first;
    }
  }
  return true;
}

std::optional<std::vector<size_t>> find_order(const SmallHistory& history) {
  std::vector<size_t> order(history.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    if (explains(history, order)) return order;
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

RecordedHistory recorded(const SmallHistory& history, const std::vector<size_t>& order) {
  HistoryBuilder builder;
  const uint32_t table = builder.table("x");
  const uint32_t procedure = builder.procedure("p");
  for (size_t i = 0; i < history.size(); ++i) {
    const SmallTransaction& txn = history[i];
    RecordedTransaction head;
    head.session = i;
    head.begin_ns = txn.begin;
    head.end_ns = txn.end;
    head.order = static_cast<uint64_t>(std::find(order.begin(), order.end(), i) - order.begin());
    head.line = i + 1;
    head.procedure = procedure;
    head.committed = true;
    builder.transaction(head);
    for (const Read& read : txn.reads) {
      builder.operation(read.version == 0 ? OperationKind::kReadAbsent : OperationKind::kRead, table, 0, read.key, read.version);
    }
    if (txn.scans) builder.scan(table, {0, kKeys - 1}, false);
    for (const auto& [key, version] : txn.scanned) builder.row(key, version);
    for (const auto& [key, write] : txn.writes) builder.operation(write.second, table, 0, key, write.first);
  }
  return builder.history();
}

std::string words(const RecordedHistory& history, const Verdict& verdict) {
  std::ostringstream out;
  print(out, history, verdict);
  return out.str();
}

TEST(CheckHistoryRandom, verdict_agrees_with_brute_force) {
  const char* given = std::getenv("ELIDER_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  SCOPED_TRACE("ELIDER_SEED=" + std::to_string(seed));
  Generator generator(seed);
  std::mt19937_64 random(seed);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const SmallHistory small = generator.next();
    const auto order = find_order(small);
    if (order) {
      ++accepted;
      const RecordedHistory history = recorded(small, *order);
      const Verdict verdict = check_history(history);
      ASSERT_TRUE(verdict.strictly_serializable()) << "round " << round << "\n" << words(history, verdict);
      continue;
    }
    ++refused;
    std::vector<size_t> any(small.size());
    std::iota(any.begin(), any.end(), size_t{0});
    std::shuffle(any.begin(), any.end(), random);
    const RecordedHistory history = recorded(small, any);
    ASSERT_FALSE(check_history(history).strictly_serializable()) << "round " << round;
  }
  // Both sides must have been tried often.
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

// Where no absence is left open, the graph alone, without the order, must decide rightly.
TEST(CheckHistoryRandom, graph_alone_agrees_with_brute_force_where_every_version_is_known) {
  Generator generator(7);
  std::mt19937_64 random(7);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 40000; ++round) {
    SmallHistory small = generator.next();
    for (SmallTransaction& txn : small) {
      std::erase_if(txn.reads, [](const Read& read) { return read.version == 0; });
      // A scan of what it returned alone.
      for (const auto& [key, version] : txn.scanned) txn.reads.push_back({key, version});
      txn.scans = false;
      txn.scanned.clear();
    }
    std::vector<size_t> any(small.size());
    std::iota(any.begin(), any.end(), size_t{0});
    std::shuffle(any.begin(), any.end(), random);
    const RecordedHistory history = recorded(small, any);
    const Verdict verdict = check_history(history);
    const bool serializable = find_order(small).has_value();
    ++(serializable ? accepted : refused);
    ASSERT_EQ(verdict.anomalies.empty() && verdict.search.cycle.empty(), serializable) << "round " << round << "\n"
                                                                                       << words(history, verdict);
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace elider::check
