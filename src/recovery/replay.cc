#include "recovery/replay.h"

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/status_words.h"
#include "recovery/build_indexes.h"
#include "recovery/changed_rows.h"
#include "storage/table.h"
#include "txn/log_record.h"

namespace elider::recovery {

namespace {

constexpr uint32_t kThreadsMax = 16;
// How many bytes of log are in memory at a time. Together with the changes that are parsed from
// them, they roughly fill a processor's last-level cache, and they contain enough pieces for
// kThreadsMax threads.
constexpr uint64_t kWindowBytes = 16u << 20;
constexpr uint64_t kLittleBytes = 1u << 20;  // less log than this is recovered as fast by one thread as by several
constexpr uint64_t kPartBytes = 128u << 10;  // log bytes per part of a window; a part's changes fit into the second-level cache
constexpr uint32_t kPartsMax = 256;
// The number of adjacent keys whose entries are assigned to the same part. So new keys that belong
// to the same leaf of an ordered index are usually inserted by one thread, one after the other.
constexpr uint32_t kNeighbours = 256;

Status corrupt(const std::string& where, const std::string& words) { return Status(Code::kCorrupt, where + ": " + words); }

uint32_t threads_of(bool one_thread, const Options& options) {
  if (one_thread) return 1;
  const uint32_t wanted = options.recovery_threads != 0 ? options.recovery_threads : processors(kThreadsMax);
  return std::min(wanted, options.workers_max);
}

uint64_t microseconds_since(uint64_t begin_ns) { return (now_ns() - begin_ns) / 1000; }

}  // namespace

// The log records with numbers above `after` and up to `to`.
struct Replay::Window {
  uint64_t after = 0, to = 0;
  std::vector<const log::LogPiece*> pieces;
  std::vector<io::ReadBuffer> buffers;  // indexed by thread: the piece that the thread parses
  size_t parts = 0;                      // a power of two
  std::vector<std::vector<txn::RowChanges>> changes;  // indexed by parsing thread and part
  std::vector<ChangedRows> rows;         // indexed by thread: the part that the thread applies
  std::vector<Described> described;      // guarded by Replay::mutex_, like the counts below
  uint64_t records = 0, records_void = 0, last_number = 0;
  uint64_t bytes_all = 0;                // total size of the pieces of all windows, to report progress
};

Replay::Replay(txn::Catalog& catalog, Workers& workers, log::Directory& directory, const Options& options, const How& how)
    : catalog_(catalog),
      workers_(workers),
      directory_(directory),
      options_(options),
      how_(how),
      threads_(threads_of(how.one_thread, options)) {}

Status Replay::run(Recovery* report) {
  const uint64_t begin_ns = now_ns();
  log::RecoveryFacts facts;
  const auto progress = [this](uint64_t done, uint64_t all) { tell(RecoveryProgress::Step::kJudge, done, all); };
  if (Status status = directory_.judge(threads_, options_.recovery_progress ? progress : log::Directory::Progress(), &facts); !status.ok())
    return status;
  std::optional<log::Checkpoint> base;
  if (Status status = directory_.choose_base(options_.recover_to, how_.skipped, &base); !status.ok()) return status;
  report->judge_us = microseconds_since(begin_ns);
  report->log_bytes = facts.bytes;
  report->records_void = facts.records_void;
  for (const log::CutTail& cut : facts.cuts) report->cuts.push_back(log::describe(cut));
  if (facts.bytes < kLittleBytes && (!base.has_value() || base->parts == 1)) threads_ = 1;
  if (Status status = take_loaders(); !status.ok()) return status;
  const uint64_t load_ns = now_ns();
  if (base.has_value()) {
    if (Status status = load_checkpoint(*base, report); !status.ok()) {
      // After other errors the checkpoint must not be skipped: it may be intact, even if it cannot
      // be read now or by this program.
      may_skip_ = status.code() == Code::kCorrupt && directory_.manifest().checkpoints.front().number < base->number;
      return status;
    }
    base_ = report->snapshot = report->checkpoint = base->number;
  }
  report->checkpoint_us = microseconds_since(load_ns);
  const uint64_t log_ns = now_ns();
  if (Status status = bring_in_log(report); !status.ok()) return status;
  report->log_us = microseconds_since(log_ns);
  if (Status status = complete_tables(); !status.ok()) return status;
  loaders_.clear();  // frees their workers, because build_indexes() may need them
  const uint64_t index_ns = now_ns();
  const auto built = [this](uint64_t done, uint64_t all) { tell(RecoveryProgress::Step::kIndexes, done, all); };
  std::erase(tables_, nullptr);
  if (Status status = build_indexes(tables_, workers_, threads_, built); !status.ok()) return status;
  report->index_us = microseconds_since(index_ns);
  report->tables = tables_.size();
  for (const AnyTable* table : tables_) {
    report->rows += static_cast<uint64_t>(table->recovered_rows());
    if (!table->lacks_indexes()) continue;
    for (const SecondaryIndex& index : table->schema().indexes)
      report->indexes_left_out.push_back("'" + table->schema().name + "'.'" + index.name + "'");
  }
  return {};
}

Status Replay::take_loaders() {
  while (loaders_.size() < threads_) {
    WorkerLoan worker = lend_worker(workers_);
    if (worker == nullptr) return Status(Code::kMemoryLimit, "not enough workers for recovery (Options::workers_max)");
    loaders_.push_back(std::make_unique<RowLoader>(std::move(worker)));
  }
  return {};
}

void Replay::tell(RecoveryProgress::Step step, uint64_t done, uint64_t all) {
  if (options_.recovery_progress) options_.recovery_progress({step, done, all});
}

// -- tables ---------------------------------------------------------------------------------------

Status Replay::make_tables(std::vector<Described> described) {
  std::sort(described.begin(), described.end(), [](const Described& a, const Described& b) {
    return std::pair(a.record.id, a.record.version) < std::pair(b.record.id, b.record.version);
  });
  for (const Described& table : described)
    if (Status status = table.record.id < tables_.size() ? change_table(table) : make_table(table); !status.ok()) return status;
  return {};
}

// Returns the program's schema for this table, or null. Tools do not have one.
const Schema* Replay::given(const Schema& described) const {
  if (how_.without_indexes) return nullptr;
  for (const Schema& schema : options_.schemas)
    if (schema.name == described.name) return &schema;
  return nullptr;
}

// Creates a table. If the program's schema is already known to match, it says how many zones and
// inline rows the program wants. complete_table() does the rest.
Status Replay::make_table(const Described& table) {
  const auto& [record, where] = table;
  if (record.id != tables_.size())
    return corrupt(where, "table '" + record.schema.name + "' has id " + std::to_string(record.id) + " instead of " +
                              std::to_string(tables_.size()));
  if (record.dropped) {
    catalog_.recover_dropped(record.version);
    tables_.push_back(nullptr);
  } else {
    Schema schema = record.schema;
    if (const Schema* const own = given(record.schema); own != nullptr && storage::difference(record.schema, *own).empty()) {
      schema.zones = own->zones;
      schema.inline_rows = own->inline_rows;
    }
    auto made = catalog_.recover(schema, record.version);
    if (!made.ok() && made.status().code() == Code::kMemoryLimit && schema.inline_rows != 0) {
      schema.inline_rows = 0;  // inline rows only make reads faster
      made = catalog_.recover(schema, record.version);
    }
    if (!made.ok()) {
      const Code code = made.status().code() == Code::kMemoryLimit ? Code::kMemoryLimit : Code::kCorrupt;
      return reworded(code, where + ": ", made.status());
    }
    tables_.push_back(*made);
  }
  versions_.push_back(record.version);
  schemas_.push_back(record.schema);
  return {};
}

namespace {
// Gives the columns of indexes the names that the columns at the same positions have in `stored`.
// `changed` has the row columns of `stored`, and the indexes of a later version.
void rename_index_columns(const std::vector<RowColumn>& columns, const Schema& stored, Schema* changed) {
  for (SecondaryIndex& index : changed->indexes)
    for (std::string& name : index.columns)
      for (size_t i = 0; i < std::min(columns.size(), stored.row_columns.size()); ++i)
        if (!columns[i].dropped && columns[i].name == name) {
          name = stored.row_columns[i].name;
          break;
        }
}
}  // namespace

// Applies a later record of a table. The record may also be known already, because a checkpoint may
// contain tables that were created while it was being taken.
Status Replay::change_table(const Described& table) {
  const auto& [record, where] = table;
  const std::string named = "table " + std::to_string(record.id);
  AnyTable*& its = tables_[record.id];
  uint32_t& version = versions_[record.id];
  if (record.version < version) return {};
  if (record.version == version) {
    if (record.dropped != (its == nullptr)) return corrupt(where, named + " is described by two different records");
    const std::string what = record.dropped ? "" : storage::difference(schemas_[record.id], record.schema, storage::kTwoRecords);
    return what.empty() ? Status() : corrupt(where, named + " already exists with a different schema: " + what);
  }
  if (its == nullptr) return corrupt(where, named + " is changed after it was dropped");
  if (record.version != version + 1)
    return corrupt(where, named + " has version " + std::to_string(record.version) + " after version " + std::to_string(version));
  version = record.version;
  if (record.dropped) {
    catalog_.recover_drop(*its, record.version);
    its = nullptr;
    return {};
  }
  Schema same = record.schema;
  same.name = schemas_[record.id].name;
  same.row_columns = schemas_[record.id].row_columns;
  if (record.indexes_changed) same.indexes = schemas_[record.id].indexes;
  else rename_index_columns(record.schema.row_columns, schemas_[record.id], &same);
  if (const std::string what = storage::difference(schemas_[record.id], same, storage::kTwoRecords); !what.empty())
    return corrupt(where, named + " is changed in a way that is not possible: " + what);
  if (Status status = storage::check_schema(record.schema, true); !status.ok()) return reworded(Code::kCorrupt, where + ": ", status);
  catalog_.recover_change(*its, record.schema, record.version);
  schemas_[record.id] = record.schema;
  return {};
}

// Called when the newest schema of each table is known.
Status Replay::complete_tables() {
  for (uint32_t id = 0; id < tables_.size(); ++id)
    if (tables_[id] != nullptr)
      if (Status status = complete_table(id); !status.ok()) return status;
  return catalog_.name_recovered();
}

// Compares a table with the program's schema, and takes the key functions of its indexes from
// there.
Status Replay::complete_table(uint32_t id) {
  AnyTable& table = *tables_[id];
  const Schema& stored = schemas_[id];
  const Schema* const own = given(stored);
  if (own == nullptr && storage::lacks_key_functions(stored) && !how_.without_indexes && !options_.leave_out_indexes)
    return Status(Code::kSchemaMismatch, "table '" + stored.name +
                                             "' has secondary indexes with key functions, which files do not contain; pass its schema in "
                                             "Options::schemas, or set Options::leave_out_indexes");
  if (own != nullptr) {
    const std::string what = storage::difference(stored, *own);
    // create_table() upgrades the table when the database is open.
    if (!what.empty() && !(options_.upgrade && !how_.read_only && storage::upgraded(stored, *own).ok()))
      return Status(Code::kSchemaMismatch, "table '" + stored.name + "' has a different schema in Options::schemas: " + what);
    if (storage::lacks_key_functions(stored)) {
      Schema schema = table.schema();
      for (size_t i = 0; i < schema.indexes.size(); ++i) schema.indexes[i].key = own->indexes[i].key;
      catalog_.recover_key_functions(table, std::move(schema));
    }
  }
  if (table.lacks_indexes()) table.restrict_writes();
  return {};
}

// -- the checkpoint -------------------------------------------------------------------------------

Status Replay::load_checkpoint(const log::Checkpoint& checkpoint, Recovery* report) {
  if (Status status = load_tables(checkpoint); !status.ok()) return status;
  done_ = 0;
  uint64_t all_bytes = 0;  // if a part cannot be examined here, reading it reports the error
  for (uint32_t part = 0; part < checkpoint.parts && options_.recovery_progress; ++part) {
    uint64_t bytes = 0;
    const std::string name = log::file_name(log::CheckpointName{checkpoint.number, part});
    if (!io::file_bytes(directory_.folder_of(part), name, log::kNumberMax, &bytes).ok()) break;
    all_bytes += bytes;
  }
  // The number of parts comes from a file and may be wrong, so it must not determine how much
  // memory is allocated before the parts are known to exist.
  return parallel(threads_, checkpoint.parts, [&](uint32_t thread, size_t i) {
    const auto part = static_cast<uint32_t>(i);
    std::unique_ptr<log::PartReader> reader;
    Status opened =
        log::PartReader::open(directory_.folder_of(part), directory_.manifest().database, {checkpoint.number, part}, &reader);
    if (!opened.ok()) return opened;
    Status loaded = load_part(*loaders_[thread], *reader, all_bytes);
    std::lock_guard lock(mutex_);
    report->checkpoint_rows += reader->facts().rows;
    report->checkpoint_bytes += reader->facts().bytes;
    return loaded;
  });
}

// Creates the tables. Their descriptions are at the beginning of the first part.
Status Replay::load_tables(const log::Checkpoint& checkpoint) {
  std::unique_ptr<log::PartReader> part;
  const log::CheckpointName first{checkpoint.number, 0};
  if (Status status = log::PartReader::open(directory_.folder_of(0), directory_.manifest().database, first, &part); !status.ok())
    return status;
  std::vector<Described> described;
  log::CheckpointBlock block;
  for (;;) {
    if (Status status = part->next(&block); !status.ok()) return status;
    if (block.kind != log::BlockKind::kTable) break;
    Described table;
    table.where = "'" + part->path() + "' at byte " + std::to_string(block.offset);
    if (Status status = txn::decode_table(block.payload, &table.record); !status.ok())
      return reworded(status.code(), table.where + ": ", status);
    described.push_back(std::move(table));
  }
  return make_tables(std::move(described));
}

Status Replay::load_part(RowLoader& loader, log::PartReader& part, uint64_t all_bytes) {
  log::CheckpointBlock block;
  for (uint64_t told = 0;;) {
    if (Status status = part.next(&block); !status.ok()) return status;
    if (block.kind == log::BlockKind::kRows || block.kind == log::BlockKind::kSizedRows || block.kind == log::BlockKind::kKeyedRows)
      if (Status status = load_block(loader, part, block); !status.ok()) return status;
    if (options_.recovery_progress) {
      std::lock_guard lock(mutex_);
      done_ += part.facts().bytes - told;
      told = part.facts().bytes;
      tell(RecoveryProgress::Step::kCheckpoint, done_, all_bytes);
    }
    if (block.kind == log::BlockKind::kEnd) return {};
  }
}

Status Replay::load_block(RowLoader& loader, const log::PartReader& part, const log::CheckpointBlock& block) {
  const std::string where = "'" + part.path() + "' at byte " + std::to_string(block.offset);
  if (block.table >= tables_.size() || tables_[block.table] == nullptr)
    return corrupt(where, "the block contains rows of table " + std::to_string(block.table) + ", which the checkpoint does not describe");
  if (block_kind_of(tables_[block.table]->layout()) != block.kind)
    return corrupt(where, "the block's kind (fixed-size rows, variable-size rows or byte keys) does not match table " +
                              std::to_string(block.table));
  Status status = loader.load(*tables_[block.table], block.payload, block.count);
  return status.code() == Code::kCorrupt ? reworded(Code::kCorrupt, where + ": ", status) : status;
}

// -- the log --------------------------------------------------------------------------------------

Status Replay::bring_in_log(Recovery* report) {
  const std::vector<log::LogPiece>& pieces = directory_.pieces();
  done_ = 0;
  Window window;
  for (const log::LogPiece& piece : pieces) window.bytes_all += piece.range.bytes;
  window.parts = std::bit_ceil(std::clamp<uint64_t>(std::min(window.bytes_all, kWindowBytes) / kPartBytes, 1, kPartsMax));
  window.changes.resize(threads_);
  for (auto& parts : window.changes) parts.resize(window.parts);
  window.buffers.resize(threads_);
  window.rows.resize(threads_);
  window.after = base_;
  for (size_t next = 0; next < pieces.size(); window.after = window.to) {
    // The window ends at the last number of the pieces that are taken here. Other pieces may
    // contain numbers both in the window and after it; these are read now, and again for the next
    // window.
    uint64_t bytes = 0;
    while (next < pieces.size() && (bytes == 0 || bytes + pieces[next].range.bytes <= kWindowBytes)) bytes += pieces[next++].range.bytes;
    const auto same_end = [&] { return pieces[next].range.last_number == pieces[next - 1].range.last_number; };
    while (next < pieces.size() && same_end()) bytes += pieces[next++].range.bytes;
    window.to = next < pieces.size() ? pieces[next - 1].range.last_number : log::kNumberMax;
    window.pieces.clear();
    for (const log::LogPiece& piece : pieces)
      if (piece.range.last_number > window.after && piece.range.first_number <= window.to) window.pieces.push_back(&piece);
    if (Status status = bring_in(window); !status.ok()) return status;
    tell(RecoveryProgress::Step::kLog, done_ += bytes, window.bytes_all);
  }
  report->records = window.records;
  report->records_void += window.records_void;
  report->snapshot = std::max(report->snapshot, window.last_number);
  return {};
}

Status Replay::bring_in(Window& window) {
  for (auto& parts : window.changes)
    for (auto& part : parts) part.clear();
  window.described.clear();
  Status status = parallel(threads_, window.pieces.size(),
                           [&](uint32_t thread, size_t i) { return parse(window, thread, *window.pieces[i], &window.buffers[thread]); });
  if (!status.ok()) return status;
  if (status = make_tables(std::move(window.described)); !status.ok()) return status;
  return parallel(threads_, window.parts, [&](uint32_t thread, size_t part) { return apply_part(window, thread, part); });
}

Status Replay::parse(Window& window, uint32_t thread, const log::LogPiece& piece, io::ReadBuffer* buffer) {
  uint64_t records = 0, records_void = 0, last_number = 0;
  const uint64_t to = std::min({window.to, piece.cut, options_.recover_to});
  const std::string where = "'" + piece.folder->path_of(log::file_name(piece.name)) + "'";
  Status status = directory_.read(piece, buffer, [&](const log::Record& record) -> Status {
    if (record.number > piece.cut && record.number > window.after && record.number <= window.to) ++records_void;
    if (record.number <= window.after || record.number > to) return {};
    ++records;
    last_number = std::max(last_number, record.number);
    return parse_record(window, thread, where, piece.name.generation, record);
  });
  std::lock_guard lock(mutex_);
  window.records += records;
  window.records_void += records_void;
  window.last_number = std::max(window.last_number, last_number);
  return status;
}

Status Replay::parse_record(Window& window, uint32_t thread, const std::string& file, uint32_t generation, const log::Record& record) {
  txn::RowChanges* const parts = window.changes[thread].data();
  const size_t mask = window.parts - 1;
  const auto where = [&] { return file + ", the record with number " + std::to_string(record.number); };
  const auto made = [&](txn::TableRecord table) {
    std::lock_guard lock(mutex_);
    window.described.push_back({std::move(table), where()});
    return Status();
  };
  const auto changed = [&](const txn::LogEntry& entry) {
    const Key key = entry.byte_key ? txn::RowChanges::hash_of(entry.key_bytes()) : entry.key;
    const uint64_t hash = (key / kNeighbours + entry.table) * 0x9e3779b97f4a7c15;
    parts[hash >> 32 & mask].add(entry, generation);
    return Status();
  };
  Status status = txn::take_record_apart(record.bytes, made, changed);
  return status.ok() ? status : reworded(status.code(), where() + ": ", status);
}

Status Replay::apply_part(Window& window, uint32_t thread, size_t part) {
  const std::string where = "the log up to number " + std::to_string(std::min(window.to, options_.recover_to));
  std::vector<const txn::RowChanges*> lists;
  for (const auto& parts : window.changes) {
    if (parts[part].tables() > tables_.size())
      return corrupt(where, "table " + std::to_string(parts[part].tables() - 1) + " is written to but was never created");
    lists.push_back(&parts[part]);
  }
  ChangedRows& rows = window.rows[thread];
  rows.group(lists, tables_.size());
  for (size_t table = 0; table < tables_.size(); ++table) {
    if (rows.of_table(table).empty() || tables_[table] == nullptr) continue;  // null: a later record of the log drops the table
    Status status = loaders_[thread]->apply(*tables_[table], rows.of_table(table));
    if (status.code() == Code::kCorrupt) return reworded(Code::kCorrupt, where + ": ", status);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace elider::recovery
