#include "txn/index_build.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/spin.h"
#include "base/test_points.h"
#include "txn/reclaim.h"
#include "txn/table_cursor.h"

namespace elider::txn {

namespace {

constexpr size_t kRowsAtOnce = 1024;  // between two moments at which memory can be reclaimed

Status no_worker(const AnyTable& table) {
  return Status(Code::kMemoryLimit,
                "table '" + table.schema().name + "': not enough workers to build an index (Options::workers_max)");
}

// Locks a row block that is in the index and has been filled by a commit.
class LockedRow {
 public:
  enum class Outcome : uint8_t { kLocked, kUnlocked, kGone, kBusy };

  LockedRow(const Layout& layout, Row* row) : layout_(layout), row_(row) {
    if (word::removed(row->cell(layout, 0).load())) outcome_ = Outcome::kGone;
    else if (ELIDER_MUTANT(kFillUnlocked)) outcome_ = Outcome::kUnlocked;
    else if (!reclaim::try_lock_row(layout, row, words_)) outcome_ = Outcome::kBusy;
    else if (word::removed(words_[0]) || row->cell(layout, 0).snapshot() == 0) unlock(), outcome_ = Outcome::kGone;
  }
  ~LockedRow() {
    if (outcome_ == Outcome::kLocked) unlock();
  }
  LockedRow(const LockedRow&) = delete;
  LockedRow& operator=(const LockedRow&) = delete;
  Outcome outcome() const { return outcome_; }
  // Returns true if the row is locked and has not been removed.
  bool present() const { return outcome_ == Outcome::kUnlocked || (outcome_ == Outcome::kLocked && !word::absent(words_[0])); }

 private:
  void unlock() { reclaim::unlock_row(layout_, row_, words_); }

  const Layout& layout_;
  Row* const row_;
  uint64_t words_[kColumnGroupsMax] = {};
  Outcome outcome_ = Outcome::kLocked;
};

// Inserts the entry of a locked row, which some commit has filled. A row that has been removed but
// not unlinked also has the entry of its last value. The value of such a row need not fit an entry.
Status insert_locked(Worker& worker, AnyTable& table, uint32_t i, KeyRef key, Row* row, bool present, std::byte* image) {
  const ColumnIndex& columns = *table.column_index(i);
  const RowImage bytes = reclaim::image_locked(table, row, i, image);
  EntryBuffer buffer;
  const KeyBytes* const value = columns.encode(bytes, key, buffer);
  if (value == nullptr) return present ? columns.refuse(table, bytes, key) : Status();
  ELIDER_TEST_POINT("index_build.row_read");
  // Writers need the mutex often, so it is acquired only if the index leads to another block.
  const AnyTable::Entry entry{IndexValue(value), key, reinterpret_cast<index::Handle>(row)};
  const index::Handle there = table.find_or_insert_entry(worker, i, entry);
  if (there == entry.handle) return {};
  if (there != index::kNoHandle) {
    const std::lock_guard lock(table.stale().mutex);
    if (reclaim::put_entry(worker, table, row, key, i, entry.value)) return {};
  }
  return table.error(Code::kMemoryLimit, Cause::kMemoryLimit, key);
}

// Inserts the entries of these rows. Leaves in *entries those whose rows others have locked.
Status insert_rows(Worker& worker, AnyTable& table, uint32_t i, std::byte* image, index::Entries* entries) {
  Status status;
  std::erase_if(*entries, [&](const auto& entry) {
    if (!status.ok()) return true;
    const auto& [key, handle] = entry;
    Row* const row = AnyTable::as_row(handle);
    const LockedRow locked(table.layout(), row);
    const auto outcome = locked.outcome();
    if (outcome == LockedRow::Outcome::kLocked || outcome == LockedRow::Outcome::kUnlocked)
      status = insert_locked(worker, table, i, key, row, locked.present(), image);
    return outcome != LockedRow::Outcome::kBusy;
  });
  return status;
}

}  // namespace

Status fill_index(Workers& workers, AnyTable& table, uint32_t i, BuildProgress progress) {
  const WorkerLoan worker = lend_worker(workers);
  if (worker == nullptr) return no_worker(table);
  const auto image = std::make_unique_for_overwrite<std::byte[]>(table.layout().column_image_bytes());
  TableCursor cursor(table);
  index::Entries entries;
  for (uint64_t done = 0;;) {
    {
      const Inside inside(*worker);
      if (!cursor.next(kRowsAtOnce, &entries)) return {};
      done += entries.size();
      if (Status status = insert_rows(*worker, table, i, image.get(), &entries); !status.ok()) return status;
      // A row stays in memory while this worker is inside the epoch, so it is enough to try again.
      for (Spin spin; !entries.empty(); spin.wait())
        if (Status status = insert_rows(*worker, table, i, image.get(), &entries); !status.ok()) return status;
    }
    ELIDER_TEST_POINT("index_build.portion");
    if (!progress(done, std::max<uint64_t>(done, table.row_blocks())))
      return Status(Code::kRolledBack, "index '" + table.index_definition(i).name + "' of table '" + table.schema().name +
                                           "' was not created, because CreateIndexOptions::progress returned false");
  }
}

namespace {

constexpr size_t kEntriesAtOnce = 4096;  // between two moments at which memory can be reclaimed

// A copy of an entry of an index by columns.
class EntryCopy {
 public:
  void keep(const AnyTable::Entry& entry) {
    const auto* const begin = reinterpret_cast<const std::byte*>(entry.value.entry());
    copy_.assign(begin, begin + sizeof(KeyBytes) + entry.value.entry()->size);
  }
  // Null before keep() is called.
  const KeyBytes* bytes() const { return copy_.empty() ? nullptr : reinterpret_cast<const KeyBytes*>(copy_.data()); }

 private:
  std::vector<std::byte> copy_;
};

// Compares the entries of a unique index that have the same value.
class UniqueCheck {
 public:
  UniqueCheck(AnyTable& table, uint32_t i)
      : table_(table), i_(i), columns_(*table.column_index(i)),
        image_(std::make_unique_for_overwrite<std::byte[]>(table.layout().column_image_bytes())) {}

  // Visits a portion of the index. Returns false at the end, or if *status has been set. The worker
  // must be inside the epoch, and may leave it between two calls.
  bool next(Status* status) {
    size_t visited = 0;
    bool more = false;
    row_before_ = nullptr;
    table_.for_each_entry_from(i_, from_.bytes(), [&](const AnyTable::Entry& entry) {
      const bool same = has_value_before(entry);
      if (++visited > kEntriesAtOnce && !same) {
        from_.keep(entry);
        more = true;
        return false;
      }
      if (same) *status = compare(entry);
      else remember(entry);
      return status->ok();
    });
    return more;
  }

 private:
  KeyRef key_before() const { return table_.byte_keys() ? KeyRef(row_before_->key(table_.layout())) : KeyRef(number_before_); }
  void remember(const AnyTable::Entry& entry) {
    before_.keep(entry);
    row_before_ = AnyTable::as_row(entry.handle);
    if (!table_.byte_keys()) number_before_ = entry.key.number();
  }
  bool has_value_before(const AnyTable::Entry& entry) const {
    return row_before_ != nullptr &&
           columns_.tuple_of(*before_.bytes(), key_before()) == columns_.tuple_of(*entry.value.entry(), entry.key) &&
           !columns_.has_null(*entry.value.entry(), entry.key);
  }
  bool matches(Row* row, KeyRef key, const KeyBytes& entry) const {
    return columns_.matches(reclaim::image_locked(table_, row, i_, image_.get()), key, entry);
  }

  // Compares an entry with the one before, which has the same value.
  Status compare(const AnyTable::Entry& entry) {
    using Outcome = LockedRow::Outcome;
    Row* const row = AnyTable::as_row(entry.handle);
    for (Spin spin;; spin.wait()) {
      const LockedRow first(table_.layout(), row_before_);
      if (first.outcome() == Outcome::kBusy) continue;
      if (!first.present() || !matches(row_before_, key_before(), *before_.bytes())) return remember(entry), Status();
      const LockedRow second(table_.layout(), row);
      if (second.outcome() == Outcome::kBusy) continue;
      if (!second.present() || !matches(row, entry.key, *entry.value.entry())) return {};
      return Status(Code::kDuplicateKey, "unique index '" + columns_.name() + "' of table '" + table_.schema().name +
                                             "' was not created: value " + table_.value_text(i_, entry.value, entry.key) +
                                             " is in the rows of keys " + table_.key_text(key_before()) + " and " +
                                             table_.key_text(entry.key));
    }
  }

  AnyTable& table_;
  const uint32_t i_;
  const ColumnIndex& columns_;
  const std::unique_ptr<std::byte[]> image_;
  EntryCopy from_, before_;
  Row* row_before_ = nullptr;  // valid while the worker stays inside the epoch
  Key number_before_ = 0;
};

}  // namespace

Status check_unique_index(Workers& workers, AnyTable& table, uint32_t i) {
  const WorkerLoan worker = lend_worker(workers);
  if (worker == nullptr) return no_worker(table);
  UniqueCheck check(table, i);
  Status status;
  for (bool more = true; more && status.ok();) {
    const Inside inside(*worker);
    more = check.next(&status);
  }
  return status;
}

Status count_entries(Workers& workers, AnyTable& table, uint32_t i, RankBuilder* counts) {
  const WorkerLoan worker = lend_worker(workers);
  if (worker == nullptr) return no_worker(table);
  const auto image = std::make_unique_for_overwrite<std::byte[]>(table.layout().column_image_bytes());
  // Other writes may lock the row.
  const auto live = [&](const AnyTable::Entry& entry) {
    Row* const row = AnyTable::as_row(entry.handle);
    for (Spin spin;; spin.wait()) {
      const LockedRow locked(table.layout(), row);
      if (locked.outcome() == LockedRow::Outcome::kBusy) continue;
      return locked.present() && table.has_index_value(i, reclaim::image_locked(table, row, i, image.get()), entry.key, entry.value);
    }
  };
  EntryCopy from;
  for (bool more = true; more;) {
    const Inside inside(*worker);
    size_t visited = 0;
    more = false;
    table.for_each_entry_from(i, from.bytes(), [&](const AnyTable::Entry& entry) {
      if (++visited > kEntriesAtOnce) {
        from.keep(entry);
        more = true;
        return false;
      }
      if (live(entry)) counts->add(detail::bytes_of(KeyRef(entry.value.entry())));
      return true;
    });
  }
  counts->finish();
  return {};
}

}  // namespace elider::txn
