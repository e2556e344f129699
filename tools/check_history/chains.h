// Chains: determines which transaction wrote each version of an item, and which write each read
// saw.
//
// Every read and write of a history has a version, so the dependencies of committed transactions
// are recorded, not inferred. The writes of an item, sorted by version, are the item's chain, and a
// read refers to a position in the chain. The only exception is an absence without a version, that
// is, a key that a scan did not return or a key without a record. The replay (replay.h) uses the
// commit order to determine the version of such an absence.
//
// Chains reports faults that no order of the transactions can explain:
// - versions that were never written
// - reads of aborted writes and of intermediate writes
// - two writes with the same version
// - reads that contradict writes
// - unsorted scans
// - transactions that write a version that is not newer than the one that they read
// Thread safety: one thread builds a Chains object, which is constant afterwards.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tools/check_history/model.h"

namespace elider::check {

struct Item {
  Key key = 0;
  uint32_t table = 0;
  uint32_t group = 0;
};

struct ChainWrite {
  uint64_t version = 0;
  uint32_t txn = 0;
  OperationKind kind = OperationKind::kWrite;
  bool intermediate = false;  // the same transaction wrote the item again
};

// A position in the array of all writes, or one of the following constants.
using WriteIndex = uint32_t;
inline constexpr WriteIndex kInitial = ~WriteIndex{0};         // before the first write of the chain, when the item is absent
inline constexpr WriteIndex kUnresolved = ~WriteIndex{0} - 1;  // an absence with an unknown version
inline constexpr WriteIndex kUnknown = ~WriteIndex{0} - 2;     // no committed write has this version; reported, and then ignored

struct ChainRead {
  uint32_t item = 0;
  WriteIndex seen = kInitial;
  bool itself = true;  // false: an index scan, which shows only that it did not see the next write
};

// A fault that cannot be explained by any order of the transactions.
struct Anomaly {
  std::string kind;  // "G1a (aborted read)", ...
  std::string words;
  uint64_t line = 0;  // line of the transaction in the file
};

class Chains {
 public:
  explicit Chains(const RecordedHistory& history);

  const RecordedHistory& history() const { return history_; }
  const std::vector<Anomaly>& anomalies() const { return anomalies_; }

  uint32_t items_count() const { return static_cast<uint32_t>(items_.size()); }
  const Item& item(uint32_t id) const { return items_[id]; }
  uint32_t item_of_operation(uint64_t operation) const { return operation_items_[operation]; }
  uint32_t item_of_row(uint64_t row) const { return row_items_[row]; }
  // Returns the items of the table's column group 0 whose keys are in the range, as [first,
  // second).
  std::pair<uint32_t, uint32_t> items_in(uint32_t table, KeyRange range) const;

  // The writes of an item: [chain_begin, chain_end), in ascending order of versions.
  WriteIndex chain_begin(uint32_t item) const { return chain_begins_[item]; }
  WriteIndex chain_end(uint32_t item) const { return chain_begins_[item + 1]; }
  const ChainWrite& write(WriteIndex index) const { return writes_[index]; }
  // Returns the write after `seen`, or kInitial if `seen` is the last one.
  WriteIndex next(uint32_t item, WriteIndex seen) const;
  bool absent_at(WriteIndex seen) const { return seen == kInitial || writes_[seen].kind == OperationKind::kRemove; }
  // Returns the write of exactly this version, or kUnknown.
  WriteIndex find_version(uint32_t item, uint64_t version) const;
  // Stores the writes of a transaction in *writes, sorted by item.
  struct OwnWrite {
    uint32_t item;
    uint64_t version;
  };
  void own_writes(uint32_t txn, std::vector<OwnWrite>* writes) const;
  bool may_have_written_row(uint32_t txn, uint32_t table, Key key) const;
  static const OwnWrite* find_own(const std::vector<OwnWrite>& writes, uint32_t item);

  // The write that a read saw, or kUnresolved if the replay must determine it.
  WriteIndex seen_by_operation(uint64_t operation) const { return operation_seen_[operation]; }
  // The write that a scan saw for a returned row, or kUnknown for the transaction's own write.
  WriteIndex seen_by_row(uint64_t row) const { return row_seen_[row]; }

  // Names for messages: "T12", where 12 is the line in the file; "accounts[17]", or
  // "accounts[17].1" for column group 1.
  std::string name_of_txn(uint32_t txn) const;
  std::string name_of_item(uint32_t item) const;
  std::string name_of_version(WriteIndex seen) const;
  // A name such as "accounts[17] with value 3 of index 0".
  std::string name_of_entry(uint32_t table, uint32_t index, const IndexEntry& entry) const;

  void report(std::string kind, uint32_t txn, std::string words);

 private:
  void find_items();
  void link_writes();
  void mark_repeated_writes(uint32_t item);
  void resolve_operations(uint32_t txn);
  void resolve_scans(uint32_t txn);
  void find_index_values();
  void find_reads_of_groups(uint32_t txn);
  bool is_of_another_group(uint32_t table, const RecordedRow& row) const;
  void check_index_scans(uint32_t txn);
  WriteIndex resolve_read(uint32_t txn, uint32_t item, uint64_t version);
  WriteIndex resolve_absence(uint32_t txn, uint32_t item, uint64_t version);
  void check_writes_follow_reads(uint32_t txn);
  void report_bad_read(uint32_t txn, uint32_t item, uint64_t version, WriteIndex seen);

  const RecordedHistory& history_;
  std::vector<Item> items_;  // sorted by table, group, key
  std::vector<uint32_t> operation_items_;
  std::vector<uint32_t> row_items_;
  std::vector<WriteIndex> chain_begins_;
  std::vector<ChainWrite> writes_;
  std::vector<WriteIndex> operation_seen_;
  std::vector<WriteIndex> row_seen_;
  // Writes of aborted transactions, sorted by item, then version.
  struct AbortedWrite {
    uint32_t item;
    uint32_t txn;
    uint64_t version;
  };
  std::vector<AbortedWrite> aborted_writes_;
  // Values that rows of committed transactions had in secondary indexes, sorted.
  struct IndexValue {
    uint32_t table;
    uint32_t index;
    IndexEntry entry;
    friend auto operator<=>(const IndexValue&, const IndexValue&) = default;
  };
  std::vector<IndexValue> index_values_;
  std::vector<Anomaly> anomalies_;
  // The own writes of the transaction that the constructor is processing.
  std::vector<OwnWrite> own_;
  using ReadOfGroup = std::tuple<uint32_t, Key, uint64_t, uint16_t>;  // table, key, version, column group
  std::vector<ReadOfGroup> reads_of_groups_;                          // sorted
};

}  // namespace elider::check
