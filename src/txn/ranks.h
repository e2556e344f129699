// Ranks: the counts of a ranked index (SecondaryIndex::ranked), with which a transaction counts the
// rows of a range, and finds the n-th row of a range, in logarithmic time.
//
// The counts are rows of an internal table, so they are versioned, validated, logged and recovered
// as all rows are. They form a skip list with widths (Pugh, "A Skip List Cookbook", 1990). A level
// divides the index into intervals. An interval begins at a boundary and ends before the next one.
// The boundaries of level l are the empty string and the live entries whose rank_level() is at
// least l. So an interval of level l consists of about 2^kRankBits intervals of level l - 1, where
// level 0 is the index itself. The table has a row with the number of live entries of each
// interval:
//
//   key:  255 - level (1 byte) | boundary      the first row of the table is of the highest level
//   row:  level | number of live entries
//
// A level exists from the time when the first entry of its rank_level() is added. So the table of
// a small index is empty, and a count is a scan. Levels are not removed.
//
// Adding an entry adds 1 to its interval in each level, and removing it subtracts 1. These are
// additions (Transaction::add) to a column group of its own, so writers neither conflict with each
// other nor with those that look for their interval. An entry that is a boundary divides an
// interval when it is added, and two intervals merge when it is removed. Its writer then also
// conflicts with writers to these intervals.
//
// The entries have at most kRankedEntryBytesMax bytes. Bounds of ranges may be longer, and are
// replaced by the shortest bound that has the same entries before it.
//
// Deviation from the paper: a hash determines the level of an entry, so a level need not be stored.
//
// Thread safety: a Ranks object belongs to one operation of one transaction.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elider/byte_key.h"
#include "elider/function_ref.h"
#include "elider/schema.h"
#include "elider/status.h"
#include "elider/table.h"
#include "elider/transaction.h"
#include "txn/any_table.h"

namespace elider::txn {

// These numbers, and the seed of rank_level(), are part of the file format (docs/formats.md).
inline constexpr uint32_t kRankBits = 5;
// An entry of a high level conflicts with all writes to a large part of the index, so there are few
// levels. An interval of the highest one has about 32,768 rows.
inline constexpr uint32_t kRankLevelsMax = 3;

// A row of the table of counts. Each of the columns has a column group.
struct RankRow {
  uint64_t level;
  int64_t rows;
};

// Returns the highest level of which the entry is a boundary. 0 for most entries.
uint32_t rank_level(Bytes entry);
// Returns the name and the schema of the table of the counts of an index. `table` is the id of the
// index's table, and `index` the name of the index. Neither of them changes.
std::string rank_table_name(uint32_t table, const std::string& index);
Schema rank_schema(uint32_t table, const std::string& index);

// The key of a row in the table of counts, or of a bound.
class RankKey {
 public:
  RankKey(uint32_t level, Bytes boundary, bool after = false) { set(level, boundary, after); }
  static RankKey end_of(uint32_t level) { return {level - 1, Bytes()}; }
  detail::KeyRef ref() const { return key_.ref(); }
  Bytes bytes() const { return detail::bytes_of(ref()); }
  static uint32_t level_of(Bytes key) { return key.empty() ? 0 : 255 - std::to_integer<uint32_t>(*key.data()); }
  static Bytes boundary_of(Bytes key) { return key.empty() ? key : Bytes(key.data() + 1, key.size() - 1); }

 private:
  void set(uint32_t level, Bytes boundary, bool after);
  detail::KeyBuffer key_;
};

class Ranks {
 public:
  // The index must be ranked. `txn` must be active.
  Ranks(Transaction& txn, AnyTable& table, uint32_t index);

  // Updates the counts for an entry that a write has removed from the index, or added to it, or
  // both. Null if there isn't one. The transaction must already see the write.
  //   kNotFound, kDuplicateKey  the counts do not fit the index; another transaction has changed
  //                             them, so this one cannot commit
  Status change(const Bytes* removed, const Bytes* added);

  // Sets *rows to the number of rows in the range.
  Status count(const detail::KeyRefRange& entries, uint64_t* rows);
  // Skips this many rows of the range. If there is another row, sets *found to true and *position
  // to its entry.
  Status skip(const detail::KeyRefRange& entries, uint64_t rows, bool reverse, detail::KeyBuffer* position, bool* found);

 private:
  friend class RankBuilder;
  // A bound in the order of the entries: before all entries >= `at`, or after all entries.
  struct Bound {
    Bound() { set(Bytes()); }
    Bound(const Bound& other) { *this = other; }
    Bound& operator=(const Bound& other) {
      set(other.bytes());
      end = other.end;
      return *this;
    }
    void set(Bytes bytes) {
      at.set(bytes);
      end = false;
    }
    Bytes bytes() const { return detail::bytes_of(at.ref()); }

    detail::KeyBuffer at;
    bool end = false;
  };
  static Bound bound_of(detail::KeyRef at, bool end);
  // A range of boundaries of a level, and how it is scanned.
  struct LevelScan {
    uint32_t level;
    const RankKey& from;
    const RankKey& to;
    bool reverse = false;
    bool counts = true;  // reads the counts, which are otherwise 0
    uint64_t limit = kNoLimit;
  };
  // The state of skip().
  struct Walk {
    Bound from, to;   // the range
    bool reverse;
    Bound at;         // where the walk is; for a reverse walk, the rows from here on have been skipped
    uint64_t left;    // the number of rows to skip from there
    detail::KeyBuffer* position;
  };

  using Visit = FunctionRef<bool(Bytes boundary, int64_t rows)>;
  Status scan(const LevelScan& how, Visit visit);
  Status scan_entries(const Bound& from, const Bound& to, bool reverse, uint64_t limit, FunctionRef<bool(Bytes)> visit);
  Status check_index();
  Status find_levels(uint32_t* levels);
  Status find_interval(uint32_t level, Bytes entry, detail::KeyBuffer* boundary);
  Status find_boundary(uint32_t level, const Bound& at, bool reverse, Bound* boundary, bool* found);
  Status count_from_level(uint32_t level, const Bound& from, const Bound& to, bool ends_at_boundary, uint64_t* rows);
  Status walk_level(uint32_t level, Walk& walk, const Bound* until, bool* found);
  Status put_in(uint32_t level, bool exists, Bytes entry);
  Status take_out(uint32_t level, Bytes entry);
  Status insert(uint32_t level, Bytes boundary, uint64_t rows);
  static Status insert_row(Transaction& txn, const TableRef& ranks, const RankKey& key, uint64_t rows);
  Status add(uint32_t level, Bytes boundary, int64_t rows);

  Transaction& txn_;
  const TableRef table_, ranks_;
  const uint32_t index_, position_;  // the index's slot, and its IndexRef::position
  const detail::ColumnSet& none_of_table_;
  const detail::ColumnSet& none_;
  const detail::ColumnSet& rows_;
};

// Computes the counts of an index from its live entries. Thread safety: one thread at a time.
class RankBuilder {
 public:
  struct Interval {
    std::string key;  // as a RankKey
    uint64_t rows;
  };

  // Adds the next live entry. They must come in ascending order.
  void add(Bytes entry);
  // Called after the last entry. The counts then have at least this many levels. Returns all rows
  // of the table, ordered by key.
  const std::vector<Interval>& finish(uint32_t levels = 0);
  // Inserts the next rows, at most `max`, into the table of the counts, which must have been empty.
  // Call it after finish(), until *done is set to true, in one transaction or several. If a
  // transaction does not commit, go back to the `next` that it has begun with.
  Status insert(Transaction& txn, AnyTable& ranks, size_t max, size_t* next, bool* done) const;

 private:
  struct Level {
    std::vector<std::pair<std::string, uint64_t>> intervals;  // boundaries and counts
  };
  uint64_t entries_ = 0;
  std::vector<Level> levels_;  // levels_[l - 1] is level l; intervals before the first boundary come from entries_
  std::vector<Interval> finished_;
};

}  // namespace elider::txn
