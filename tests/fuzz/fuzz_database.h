// Helpers of fuzz targets that open a database on files made from the input. Thread safety: none.
#pragma once

#include <cstdio>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/compiled.h"

namespace elider::fuzz {

inline Options small_options() {
  Options options;
  options.sync = SyncPolicy::kSingleThreaded;
  options.memory_limit_bytes = 8u << 20;
  options.huge_pages = false;
  options.workers_max = 6;
  options.data_folders = kFolders;
  options.log_buffer_bytes = 4096;
  options.log_segment_bytes = 4096;
  return test::with_compiled_engine(options);
}

// Adds the rows of a table that cannot be scanned in order. Their order does not change the sum.
inline Status add_unordered(Transaction& txn, const TableRef& table, uint64_t* sum) {
  const std::vector<KeyField>& fields = table.schema().key_fields;
  const auto add_bytes = [&](Bytes key, RawView view, unsigned) {
    demand(fields.empty() || check_tuple_key(fields, key.span()).ok(), "a tuple key has the types of its table");
    *sum += checksum(std::span(view.bytes(), view.size()), checksum(key.span(), 0));
    return true;
  };
  const auto add_number = [&](Key key, RawView view, unsigned) {
    *sum += checksum(std::span(view.bytes(), view.size()), key);
    return true;
  };
  return table.byte_keys() ? txn.scan_rows(table, {}, FunctionRef<bool(Bytes, RawView, unsigned)>(add_bytes))
                           : txn.scan_rows(table, {}, FunctionRef<bool(Key, RawView, unsigned)>(add_number));
}

// Returns the sum over all tables and rows.
inline uint64_t sum_of(Database& db) {
  uint64_t sum = 0;
  const Status status = db.run_read_only([&](Transaction& txn) -> Status {
    sum = 0;
    for (const TableRef& table : db.tables()) {
      sum = checksum(std::as_bytes(std::span(table.schema().name)), sum);
      if (!is_ordered(table.schema().key_index)) {
        if (Status added = add_unordered(txn, table, &sum); !added.ok()) return added;
        continue;
      }
      const std::vector<KeyField>& fields = table.schema().key_fields;
      const auto add_bytes = [&](Bytes key, RawView view) {
        demand(fields.empty() || check_tuple_key(fields, key.span()).ok(), "a tuple key has the types of its table");
        sum = checksum(std::span(view.bytes(), view.size()), checksum(key.span(), sum));
        return true;
      };
      const auto add_number = [&](Key key, RawView view) {
        sum = checksum(std::span(view.bytes(), view.size()), sum ^ key);
        return true;
      };
      Status scanned = table.byte_keys() ? txn.scan(table, ByteRange::all(), ScanOptions{}, add_bytes)
                                         : txn.scan(table, KeyRange{}, ScanOptions{}, add_number);
      if (!scanned.ok()) return scanned;
    }
    return {};
  });
  demand(status.ok(), "all rows can be read");
  return sum;
}

// The options of the second opening. The input selects the policy, so that a fault can be
// reproduced. The last policy uses hardware transactions if the machine has them.
inline Options other_options(uint64_t turn) {
  constexpr std::pair<SyncPolicy, HtmBackend> kPolicies[] = {{SyncPolicy::kOptimistic, HtmBackend::kAutomatic},
                                                             {SyncPolicy::kLatched, HtmBackend::kAutomatic},
                                                             {SyncPolicy::kElided, HtmBackend::kAlwaysAborts},
                                                             {SyncPolicy::kElided, HtmBackend::kAutomatic}};
  Options options = small_options();
  std::tie(options.sync, options.htm) = kPolicies[turn % std::size(kPolicies)];
  options.memory_limit_bytes *= 2;  // several threads recover, each with chunks of its own
  return test::with_compiled_engine(options);
}

// A database that is accepted must verify. It must have the same contents when it is opened again,
// under another policy.
inline void open_twice(io::MemoryFiles::Contents contents) {
  uint64_t turn = 0;
  for (const auto& [name, bytes] : contents) turn = checksum(bytes, turn);
  io::MemoryFiles files(std::move(contents));
  const io::SubstituteFiles substitute(files);
  uint64_t sum = 0;
  {
    auto db = Database::open(small_options());
    if (!db.ok()) return;
    demand(db->verify().ok(), "a database that was accepted verifies");
    sum = sum_of(*db);
  }
  const Options other = other_options(turn);
  auto again = Database::open(other);
  if (!again.ok()) std::fprintf(stderr, "fuzz: under %s: %s\n", std::string(name_of(other.sync)).c_str(), again.status().message().c_str());
  demand(again.ok() && sum_of(*again) == sum, "what was recovered is recovered again");
}

}  // namespace elider::fuzz
