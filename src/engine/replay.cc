#include "engine/replay.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>

#include "engine/engine.h"
#include "storage/layout.h"
#include "storage/number.h"
#include "storage/table.h"

namespace elider::detail {

namespace {

constexpr size_t kRowsATransaction = 256;

Status corrupt(const log::Record& record, const std::string& words) {
  return Status(Code::kCorrupt, "the log's record of number " + std::to_string(record.number) + ": " + words);
}

uint32_t part_of(uint32_t table, Key key) {
  return static_cast<uint32_t>((key + table) * 0x9e3779b97f4a7c15 >> 32) % Replay::kThreads;
}

}  // namespace

// -- records -------------------------------------------------------------------------------------------------

Status Replay::add(uint32_t generation, const log::Record& record) {
  if (record.bytes.empty()) return corrupt(record, "it is empty");
  chunks_.emplace_back(new std::byte[record.bytes.size()]);
  std::memcpy(chunks_.back().get(), record.bytes.data(), record.bytes.size());
  const log::Record kept{record.number, log::Bytes(chunks_.back().get(), record.bytes.size())};
  switch (static_cast<txn::RecordKind>(record.bytes.front())) {
    case txn::RecordKind::kTable: {
      Described table{0, {}, kept};
      if (!txn::decode_table(kept.bytes, &table.id, &table.schema)) return corrupt(record, "the table's schema does not fit");
      described_.push_back(std::move(table));
      return {};
    }
    case txn::RecordKind::kCommit: commits_.push_back({generation, kept}); return {};
  }
  return corrupt(record, "it is of no known kind");
}

Status Replay::make_tables() {
  std::sort(described_.begin(), described_.end(), [](const Described& a, const Described& b) { return a.id < b.id; });
  for (const Described& table : described_)
    if (Status status = make_table(table); !status.ok()) return status;
  return {};
}

Status Replay::make_table(const Described& table) {
  const auto& [id, described, record] = table;
  Schema schema = described;
  if (id != tables_.size()) return corrupt(record, "table '" + schema.name + "' has id " + std::to_string(id) + ", but " + std::to_string(tables_.size()) + " is next");
  if (!schema.indexes.empty()) {
    const auto given = std::find_if(schemas_.begin(), schemas_.end(), [&](const Schema& s) { return s.name == schema.name; });
    if (given == schemas_.end())
      return Status(Code::kSchemaMismatch, "table '" + schema.name + "' has secondary indexes, whose key functions are in no file: give its schema in Options::schemas");
    if (const std::string what = storage::difference(schema, *given); !what.empty())
      return Status(Code::kSchemaMismatch, "table '" + schema.name + "' has another schema in Options::schemas: " + what);
    schema = *given;
  }
  auto made = engine_.create_table(schema);
  if (!made.ok()) return made.status();
  tables_.push_back(*made);
  return {};
}

// The entry fits the table that it names.
Status Replay::check(const txn::LogEntry& entry) const {
  const auto wrong = [&](const std::string& words) { return Status(Code::kCorrupt, "an entry of key " + std::to_string(entry.key) + " " + words); };
  if (entry.table >= tables_.size()) return wrong("is of table " + std::to_string(entry.table) + ", which was not made");
  const storage::Layout& layout = tables_[entry.table].base()->layout();
  if (entry.group >= layout.group_count()) return wrong("is of a commit group that table '" + tables_[entry.table].schema().name + "' has not");
  size_t bytes = 0;
  if (entry.kind == txn::EntryKind::kWhole) bytes = layout.all().bytes[entry.group];
  if (entry.kind == txn::EntryKind::kColumns) bytes = layout.of_columns(entry.columns).bytes[entry.group];
  if (entry.kind == txn::EntryKind::kAdd) {
    bytes = sizeof(uint64_t);
    const auto& columns = tables_[entry.table].schema().columns;
    if (std::none_of(columns.begin(), columns.end(), [&](const Column& c) { return c.offset == entry.columns && storage::is_number(c.type); }))
      return wrong("adds to no column");
  }
  if (bytes != entry.bytes.size()) return wrong("has " + std::to_string(entry.bytes.size()) + " bytes instead of " + std::to_string(bytes));
  return {};
}

Status Replay::split(const Kept& commit) {
  const auto& [generation, record] = commit;
  log::Bytes rest = record.bytes.subspan(1);
  txn::LogEntry entry;
  for (uint32_t order = 0; !rest.empty(); ++order) {
    if (!txn::take_entry(&rest, &entry)) return corrupt(record, "entry " + std::to_string(order) + " does not fit in it");
    if (Status status = check(entry); !status.ok()) return corrupt(record, status.message());
    parts_[part_of(entry.table, entry.key)].push_back({entry.key, entry.sequence, generation, entry.table, entry.columns, entry.bytes.data(),
                                                       static_cast<uint32_t>(entry.bytes.size()), static_cast<uint8_t>(entry.group), entry.kind, order});
  }
  return {};
}

// -- rows ------------------------------------------------------------------------------------------------------

Status Replay::apply(uint32_t threads, uint64_t* rows) {
  if (Status status = make_tables(); !status.ok()) return status;
  for (const Kept& commit : commits_)
    if (Status status = split(commit); !status.ok()) return status;
  Status status[kThreads];
  uint64_t counts[kThreads] = {};
  if (threads <= 1) {
    for (uint32_t i = 0; i < kThreads; ++i) status[i] = apply_part(parts_[i], &counts[i]);
  } else {
    std::vector<std::thread> running;
    for (uint32_t i = 0; i < kThreads; ++i) running.emplace_back([&, i] { status[i] = apply_part(parts_[i], &counts[i]); });
    for (std::thread& thread : running) thread.join();
  }
  for (uint32_t i = 0; i < kThreads; ++i) {
    if (!status[i].ok()) return status[i];
    *rows += counts[i];
  }
  return {};
}

// What a row's entries, in order, leave of it. False: no row.
bool Replay::fold(const Entry* begin, const Entry* end, std::byte* image) const {
  const storage::Layout& layout = tables_[begin->table].base()->layout();
  bool present = false;  // by group 0, with which every row comes and goes
  for (const Entry* entry = begin; entry != end; ++entry) {
    if (entry->kind == txn::EntryKind::kAdd) {
      const auto offset = static_cast<uint32_t>(entry->columns);
      for (const Column& column : tables_[entry->table].schema().columns)
        if (column.offset == offset) storage::add_numbers(column.type, image + offset, image + offset, entry->bytes);
      continue;
    }
    if (entry->group == 0) present = entry->kind != txn::EntryKind::kRemove;
    if (entry->kind == txn::EntryKind::kRemove) continue;
    const storage::ColumnSet& set = entry->kind == txn::EntryKind::kWhole ? layout.all() : layout.of_columns(entry->columns);
    const std::byte* from = entry->bytes;
    for (uint32_t s = set.begin[entry->group]; s < set.begin[entry->group + 1]; ++s) {
      std::memcpy(image + set.spans[s].row_offset, from, set.spans[s].size);
      from += set.spans[s].size;
    }
  }
  return present;
}

Status Replay::apply_part(std::vector<Entry>& entries, uint64_t* rows) {
  const auto rank = [](const Entry& e) { return std::tuple(e.table, e.key, e.group, e.generation, e.sequence, e.order); };
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return rank(a) < rank(b); });
  std::vector<std::byte> image;
  const Entry* const end = entries.data() + entries.size();
  for (const Entry* at = entries.data(); at != end;) {
    const Entry* next = at;
    uint64_t written = 0;
    Status status = engine_.run([&](Transaction& txn) -> Status {
      next = at;
      written = 0;
      for (size_t row = 0; row < kRowsATransaction && next != end; ++row) {
        const Entry* const first = next;
        while (next != end && next->table == first->table && next->key == first->key) ++next;
        const TableRef& table = tables_[first->table];
        image.assign(table.schema().row_bytes, std::byte{0});
        if (!fold(first, next, image.data())) continue;
        ++written;
        if (Status put = txn.put(table, first->key, image); !put.ok()) return put;
      }
      return {};
    }, {}, false);
    if (!status.ok()) return status;
    at = next;
    *rows += written;
  }
  return {};
}

}  // namespace elider::detail
