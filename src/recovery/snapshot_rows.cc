#include "recovery/snapshot_rows.h"

#include <cstring>
#include <utility>

#include "base/test_points.h"

namespace elider::recovery {

namespace {

// Ensures that there is space for `bytes` more bytes after the used ones.
void make_room(size_t bytes, StoredRows* rows) {
  const size_t needed = rows->used + bytes;
  if (rows->bytes.size() < needed) rows->bytes.resize(std::max(needed, rows->bytes.size() * 5 / 4));
}

// Stores the row as of the snapshot `number`. Returns false if the row did not exist then.
bool store_row(const Layout& layout, Row& row, Key key, SnapshotNumber number, StoredRows* rows) {
  std::byte* const to = rows->bytes.data() + rows->used;
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    uint64_t version_number = 0;
    if (!storage::read_cell_at(row.cell(layout, g), layout.group(g), layout.all(), g, number, to + stored_header_bytes(layout),
                               &version_number))
      return false;
    std::memcpy(to + sizeof(Key) + sizeof(uint64_t) * g, &version_number, sizeof version_number);
  }
  std::memcpy(to, &key, sizeof key);
  rows->used += stored_row_bytes(layout);
  return true;
}

// Stores the bytes of a variable-size row, from `before` bytes after the used ones. Stores its
// version number and its size first. Returns the number of bytes that it has stored, or 0 if the
// row did not exist.
size_t store_sized(const Layout& layout, Row& row, size_t before, SnapshotNumber number, StoredRows* rows) {
  uint64_t header[2] = {};
  const auto place = [&](size_t size) {
    make_room(before + sizeof header + size, rows);
    return rows->bytes.data() + rows->used + before + sizeof header;
  };
  const storage::SizedRow found = storage::read_sized_at(row.cell(layout, 0), number, &header[0], place);
  if (found.bytes == nullptr) return 0;
  header[1] = found.size;
  std::byte* const to = place(found.size);
  if (to != found.bytes) std::memcpy(to, found.bytes, found.size);
  std::memcpy(to - sizeof header, header, sizeof header);
  return sizeof header + found.size;
}

// Stores a row with a byte key, of fixed or variable size.
bool store_keyed_row(const Layout& layout, Row& row, SnapshotNumber number, StoredRows* rows) {
  const detail::KeyBytes& key = *row.key(layout);
  const auto key_size = static_cast<uint16_t>(key.size);
  const size_t before = sizeof key_size + key_size, version_numbers = sizeof(uint64_t) * layout.group_count();
  size_t stored = 0;
  if (layout.sized_rows()) {
    stored = store_sized(layout, row, before, number, rows);
    if (stored == 0) return false;
  } else {
    make_room(before + version_numbers + layout.row_bytes(), rows);
    std::byte* const to = rows->bytes.data() + rows->used + before;
    for (uint32_t g = 0; g < layout.group_count(); ++g) {
      uint64_t version_number = 0;
      if (!storage::read_cell_at(row.cell(layout, g), layout.group(g), layout.all(), g, number, to + version_numbers, &version_number))
        return false;
      std::memcpy(to + sizeof(uint64_t) * g, &version_number, sizeof version_number);
    }
    stored = version_numbers + layout.row_bytes();
  }
  std::byte* const begin = rows->bytes.data() + rows->used;
  std::memcpy(begin, &key_size, sizeof key_size);
  if (key_size != 0) std::memcpy(begin + sizeof key_size, key.data(), key_size);
  rows->used += before + stored;
  return true;
}

bool store_sized_row(const Layout& layout, Row& row, Key key, SnapshotNumber number, StoredRows* rows) {
  const size_t stored = store_sized(layout, row, sizeof key, number, rows);
  if (stored == 0) return false;
  std::memcpy(rows->bytes.data() + rows->used, &key, sizeof key);
  rows->used += sizeof key + stored;
  return true;
}

}  // namespace

std::unique_ptr<SnapshotRows> SnapshotRows::begin(Catalog& catalog, Store& store) {
  WorkerLoan worker = lend_worker(store.workers);
  if (worker == nullptr) return nullptr;
  std::vector<Catalog::TableAt> tables;
  if (ELIDER_MUTANT(kTablesBeforeNumber)) tables = catalog.tables_at(store.snapshots.current());
  ELIDER_TEST_POINT("checkpoint.before_number");
  std::unique_ptr<SnapshotRows> rows(new SnapshotRows(store, std::move(worker)));
  if (!ELIDER_MUTANT(kTablesBeforeNumber)) tables = catalog.tables_at(rows->number());
  ELIDER_TEST_POINT("checkpoint.tables_listed");
  rows->set_tables(std::move(tables));
  return rows;
}

SnapshotRows::SnapshotRows(Store& store, WorkerLoan worker) : store_(store), worker_(std::move(worker)) {
  worker_->enter();
  number_ = store_.snapshots.begin_reading(worker_->id());
}

SnapshotRows::~SnapshotRows() {
  store_.snapshots.end_reading(worker_->id());
  worker_->leave();
}

// Sets the tables to read. `tables` is ordered by id, and includes all tables that were created up
// to the snapshot.
void SnapshotRows::set_tables(std::vector<Catalog::TableAt> tables) {
  tables_ = std::move(tables);
  for (const Catalog::TableAt& each : tables_)
    if (each.table != nullptr) passages_.push_back(std::make_unique<Passage>(*each.table));
  // Small tables are read first, because this is quick. They include queues, whose rows are removed
  // most often. Rows that are removed from a queue are not kept once the queue has been read.
  std::sort(passages_.begin(), passages_.end(), [](const auto& a, const auto& b) { return a->rows_at_begin < b->rows_at_begin; });
}

bool SnapshotRows::next(size_t bytes, size_t room, StoredRows* rows) {
  for (;;) {
    if (rows->at < rows->entries.size()) {
      // The entries of one call to the cursor may have more bytes than a block should have.
      store_rows(bytes, room, rows);
      if (rows->at == rows->entries.size()) leave(*static_cast<Passage*>(rows->passage));
      if (rows->count != 0) return true;
      continue;
    }
    size_t at = table_.load(std::memory_order_relaxed);  // relaxed: a hint where to start
    if (at >= passages_.size()) return false;
    Passage& passage = *passages_[at];
    passage.threads.fetch_add(1);
    rows->passage = &passage;
    rows->at = 0;
    const bool more = passage.cursor.next(rows_in(passage.cursor.table().layout(), bytes), &rows->entries);
    if (!more) passage.ended.store(true);
    if (rows->entries.empty()) leave(passage);
    if (!more) table_.compare_exchange_strong(at, at + 1, std::memory_order_relaxed);  // relaxed: a hint
  }
}

// The last thread to leave the passage sees that it has ended, because a thread sets `ended` before
// it decrements the count.
void SnapshotRows::leave(Passage& passage) {
  if (passage.threads.fetch_sub(1) == 1 && passage.ended.load()) passage.cursor.table().set_passed_by(number_);
}

// Stores rows of rows->entries, beginning with rows->at, until they have about `bytes` bytes.
void SnapshotRows::store_rows(size_t bytes, size_t room, StoredRows* rows) const {
  constexpr size_t kAhead = 8;
  const index::Entries& entries = rows->entries;
  const AnyTable& table = static_cast<Passage*>(rows->passage)->cursor.table();
  const Layout& layout = table.layout();
  const bool varying = layout.sized_rows() || layout.byte_keys();
  rows->table = &table;
  rows->count = 0;
  rows->used = room;
  if (!varying) make_room(entries.size() * stored_row_bytes(layout), rows);
  for (; rows->at < entries.size() && !(varying && rows->used >= bytes + room); ++rows->at) {
    const size_t i = rows->at;
    if (i + kAhead < entries.size())
      for (uint32_t line : layout.all().lines) __builtin_prefetch(reinterpret_cast<const std::byte*>(entries[i + kAhead].second) + line);
    Row& row = *AnyTable::as_row(entries[i].second);
    if (layout.byte_keys()) [[unlikely]] {
      rows->count += store_keyed_row(layout, row, number_, rows);
      continue;
    }
    const Key key = entries[i].first.number();
    rows->count += layout.sized_rows() ? store_sized_row(layout, row, key, number_, rows) : store_row(layout, row, key, number_, rows);
  }
}

}  // namespace elider::recovery
