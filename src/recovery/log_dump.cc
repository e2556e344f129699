// files::dump_log() and files::logged_tables(): read the records of a log, and find the names of
// the tables and columns that they change.
#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <span>

#include "base/status_words.h"
#include "elider/files.h"
#include "log/checkpoint_file.h"
#include "log/directory.h"
#include "storage/layout.h"
#include "storage/table.h"
#include "txn/log_record.h"

namespace elider::files {

namespace {

// The tables that are described in the checkpoints and segments of a folder. Files that cannot be
// read are ignored.
class Catalog {
 public:
  struct Known {
    Schema schema;
    uint32_t version = 0;
    std::unique_ptr<storage::Layout> layout;  // refers to the schema
  };

  // Ignores a malformed description.
  void add(log::Bytes description) {
    txn::TableRecord record;
    if (!txn::decode_table(description, &record).ok() || record.dropped || !storage::check_rows(record.schema).ok()) return;
    const uint32_t id = record.id;
    if (const auto found = tables_.find(id); found != tables_.end() && found->second->version >= record.version) return;
    auto known = std::make_unique<Known>();
    known->schema = std::move(record.schema);
    known->version = record.version;
    known->schema.indexes.clear();  // the layout does not depend on the indexes
    known->layout = std::make_unique<storage::Layout>(nullptr, known->schema, kSizedRowBytesMax + 1);
    tables_[id] = std::move(known);
  }
  void add_checkpoint(io::Folder& folder, const log::DatabaseId& database, const log::CheckpointName& name) {
    std::unique_ptr<log::PartReader> part;
    log::CheckpointBlock block;
    if (!log::PartReader::open(folder, database, name, &part).ok()) return;
    while (part->next(&block).ok() && block.kind == log::BlockKind::kTable) add(block.payload);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [id, known] : tables_) all.push_back(known->schema.name);
    return all;
  }
  const Known* find(uint32_t id) const {
    const auto found = tables_.find(id);
    return found == tables_.end() ? nullptr : found->second.get();
  }

 private:
  std::map<uint32_t, std::unique_ptr<Known>> tables_;
};

// Splits the bytes of a variable-size row into columns. If bytes follow the last column, they are
// added as a column with an empty name.
void name_columns_of_sized(const Catalog::Known& known, const txn::LogEntry& entry, LoggedChange* change) {
  if (entry.kind != txn::EntryKind::kWhole || !known.layout->fits(entry.bytes.size())) return;
  const auto part = [&](size_t begin, size_t end) {
    return std::vector<std::byte>(entry.bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                  entry.bytes.begin() + static_cast<std::ptrdiff_t>(end));
  };
  size_t described = 0;
  for (const Column& column : known.schema.columns) {
    change->columns.push_back({column.name, column.type, part(column.offset, column.offset + column.size)});
    described = std::max<size_t>(described, column.offset + column.size);
  }
  if (described < entry.bytes.size()) change->columns.push_back({"", ColumnType::kBytes, part(described, entry.bytes.size())});
}

// Splits the bytes of an entry into columns.
void name_columns(const Catalog::Known& known, const txn::LogEntry& entry, LoggedChange* change) {
  const auto& columns = known.schema.columns;
  if (entry.kind == txn::EntryKind::kAdd) {
    for (const Column& column : columns)
      if (column.offset == entry.columns) change->columns.push_back({column.name, column.type, {entry.bytes.begin(), entry.bytes.end()}});
    return;
  }
  if (entry.group >= known.layout->group_count()) return;
  storage::OwnColumnSets own;
  const storage::ColumnSet& set = entry.kind == txn::EntryKind::kWhole ? known.layout->all() : known.layout->of_union(entry.columns, own);
  std::vector<std::byte> row(known.schema.row_bytes);
  const std::byte* from = entry.bytes.data();
  if (known.layout->sized_rows()) return name_columns_of_sized(known, entry, change);
  if (set.bytes[entry.group] != entry.bytes.size()) return;
  for (uint32_t s = set.begin[entry.group]; s < set.begin[entry.group + 1]; ++s) {
    std::memcpy(row.data() + set.spans[s].row_offset, from, set.spans[s].size);
    from += set.spans[s].size;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    if (column.group != entry.group || !(set.whole || (set.columns >> i & 1))) continue;
    change->columns.push_back({column.name, column.type, {row.begin() + column.offset, row.begin() + column.offset + column.size}});
  }
}

LoggedChange change_of(const Catalog& catalog, const txn::LogEntry& entry) {
  LoggedChange change;
  change.kind = static_cast<LoggedChange::Kind>(entry.kind);
  change.table = entry.table;
  change.group = entry.group;
  change.byte_key = entry.byte_key;
  if (entry.byte_key) change.key_bytes = entry.key_bytes().to_string();
  else change.key = entry.key;
  change.version_number = entry.version_number;
  change.bytes = entry.bytes.size();
  if (const Catalog::Known* known = catalog.find(entry.table)) {
    change.table_name = known->schema.name;
    change.tuple_key = entry.byte_key && !known->schema.key_fields.empty();
    name_columns(*known, entry, &change);
  }
  if (change.columns.empty() && !entry.bytes.empty())
    change.columns.push_back({"", ColumnType::kBytes, {entry.bytes.begin(), entry.bytes.end()}});
  return change;
}
static_assert(static_cast<int>(LoggedChange::Kind::kColumns) == static_cast<int>(txn::EntryKind::kColumns) &&
              static_cast<int>(LoggedChange::Kind::kRow) == static_cast<int>(txn::EntryKind::kWhole) &&
              static_cast<int>(LoggedChange::Kind::kRemove) == static_cast<int>(txn::EntryKind::kRemove) &&
              static_cast<int>(LoggedChange::Kind::kAdd) == static_cast<int>(txn::EntryKind::kAdd));

// Decodes the bytes of a record into *record.
Status record_of(const Catalog& catalog, log::Bytes bytes, LoggedRecord* record) {
  const auto made = [&](txn::TableRecord table) {
    record->made_table = true;
    record->table = table.id;
    record->table_version = table.version;
    record->dropped = table.dropped;
    record->schema = std::move(table.schema);
    return Status();
  };
  const auto changed = [&](const txn::LogEntry& entry) {
    record->changes.push_back(change_of(catalog, entry));
    return Status();
  };
  Status status = txn::take_record_apart(bytes, made, changed);
  return status.ok() ? status : reworded(status.code(), "a record with number " + std::to_string(record->number) + ": ", status);
}

// Reads log segments and calls visit(record) for each record with a number from `first` to `last`.
class Dump {
 public:
  Dump(uint64_t first, uint64_t last, FunctionRef<bool(const LoggedRecord&)> visit) : first_(first), last_(last), visit_(visit) {}
  Catalog catalog;
  bool tables_alone = false;  // only collect the tables, without visiting records

  // Records with numbers above `cut` are visited as void. kFinished: visit() stopped the dump.
  Status segment(io::Folder& folder, const log::DatabaseId& database, const log::SegmentName& name,
                 uint64_t cut) {
    log::SegmentFacts facts;
    const auto of_frame = [&](const log::FrameView& frame) {
      return log::read_records(frame, folder.path(), [&](const log::Record& record) -> Status {
        if (record.number < first_ || record.number > last_) return {};
        LoggedRecord shown;
        shown.file = folder.path_of(log::file_name(name));
        shown.offset = frame.offset;
        shown.number = record.number;
        shown.counts = record.number <= cut;
        if (Status status = record_of(catalog, record.bytes, &shown); !status.ok())
          return reworded(status.code(), "'" + shown.file + "' at byte " + std::to_string(frame.offset) + ": ", status);
        return visit_(shown) ? Status() : Status(Code::kFinished, "enough");
      });
    };
    return log::read_segment(folder, database, name, &buffer_, of_frame, &facts);
  }
  void learn_tables(io::Folder& folder, const log::DatabaseId& database, const log::SegmentName& name) {
    log::SegmentFacts facts;
    const auto of_frame = [&](const log::FrameView& frame) {
      return log::read_records(frame, folder.path(), [&](const log::Record& record) {
        if (!record.bytes.empty() && record.bytes.front() != static_cast<std::byte>(txn::RecordKind::kCommit)) catalog.add(record.bytes);
        return Status();
      });
    };
    static_cast<void>(log::read_segment(folder, database, name, &buffer_, of_frame, &facts));  // tables in damaged parts remain unknown
  }

 private:
  const uint64_t first_, last_;
  FunctionRef<bool(const LoggedRecord&)> visit_;
  io::ReadBuffer buffer_;
};

Status dump_folders(io::FileSystem& files, const Folders& folders, Dump& dump) {
  std::unique_ptr<log::Directory> directory;
  if (Status status = log::Directory::open(files, folders, false, &directory); !status.ok()) return status;
  log::RecoveryFacts facts;
  if (Status status = directory->judge(1, nullptr, &facts); !status.ok()) return status;
  const log::DatabaseId& database = directory->manifest().database;
  for (const log::Checkpoint& checkpoint : directory->manifest().checkpoints)
    dump.catalog.add_checkpoint(directory->folder_of(0), database, {checkpoint.number, 0});
  const auto folder_of = [&](const log::SegmentFacts& segment) -> io::Folder& { return directory->folder_of(segment.name.stream); };
  for (const log::SegmentFacts& segment : directory->segments()) dump.learn_tables(folder_of(segment), database, segment.name);
  if (dump.tables_alone) return {};
  for (const log::SegmentFacts& segment : directory->segments()) {
    const uint64_t cut = directory->cut_of(segment.name.generation);
    if (Status status = dump.segment(folder_of(segment), database, segment.name, cut); !status.ok()) return status;
  }
  return {};
}

// Reads a single log file without locking any folder. `file` is its path. Descriptions of tables
// are also read from the files in `folders`.
Status dump_file(io::FileSystem& files, const std::string& file, std::span<const std::string> folders, Dump& dump) {
  std::vector<std::unique_ptr<io::Folder>> opened(1);
  std::string its_name;
  if (Status status = files.open_folder_of(file, &opened.front(), &its_name); !status.ok()) return status;
  for (const std::string& folder : folders)
    if (Status status = files.open_folder(folder, &opened.emplace_back()); !status.ok()) return status;
  io::Folder& its_folder = *opened.front();
  log::SegmentName name;
  if (!log::parse_file_name(its_name, &name)) return Status::invalid_argument("'" + file + "' does not have the name of a log file");
  io::ReadBuffer buffer;
  if (Status status = buffer.read_part(its_folder, its_name, 0, log::kSegmentHeaderBytes); !status.ok()) return status;
  log::DatabaseId database{};
  if (Status status = log::database_of(buffer.bytes(), &database); !status.ok())
    return reworded(status.code(), "'" + its_folder.path_of(its_name) + "' at byte 0: ", status);
  for (const auto& folder : opened) {
    std::vector<std::string> names;
    if (Status status = folder->list(&names); !status.ok()) return status;
    for (const std::string& text : names) {
      log::CheckpointName part;
      log::SegmentName other;
      if (log::parse_file_name(text, &part) && part.part == 0) dump.catalog.add_checkpoint(*folder, database, part);
      if (log::parse_file_name(text, &other)) dump.learn_tables(*folder, database, other);
    }
  }
  return dump.tables_alone ? Status() : dump.segment(its_folder, database, name, log::kNumberMax);
}

Status dump_places(const Folders& places, Dump& dump) {
  if (places.empty()) return Status::invalid_argument("no folder or log file was given");
  io::FileSystem& files = io::system_files();
  const std::string& place = places.front();
  log::SegmentName name;
  const bool one_file = log::parse_file_name(place.substr(place.find_last_of('/') + 1), &name);
  Status status = one_file ? dump_file(files, place, std::span(places).subspan(1), dump) : dump_folders(files, places, dump);
  return status.code() == Code::kFinished ? Status() : status;
}

}  // namespace

Status dump_log(const Folders& places, uint64_t first, uint64_t last, FunctionRef<bool(const LoggedRecord&)> visit) {
  try {
    Dump dump(first, last, visit);
    return dump_places(places, dump);
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

Status logged_tables(const Folders& places, std::vector<std::string>* names) {
  if (names != nullptr) names->clear();
  try {
    const auto nothing = [](const LoggedRecord&) { return false; };
    Dump dump(0, 0, nothing);
    dump.tables_alone = true;
    Status status = dump_places(places, dump);
    if (status.ok() && names != nullptr) *names = dump.catalog.names();
    return status;
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

}  // namespace elider::files
