#include "tools/rows/dump.h"

#include <cstring>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "tools/data/progress_line.h"
#include "tools/rows/fields.h"
#include "tools/rows/row_writer.h"
#include "tools/rows/scan.h"
#include "tools/rows/schema_json.h"
#include "tools/rows/status_words.h"
#include "tools/rows/utf8.h"

namespace elider::tools {

namespace {

Status check_names(const TableFields& table) {
  bool valid = utf8_end(table.schema().name) == table.schema().name.size();
  for (const Field& field : table.fields()) valid = valid && utf8_end(field.name) == field.name.size();
  for (const SecondaryIndex& index : table.schema().indexes) valid = valid && utf8_end(index.name) == index.name.size();
  if (valid) return {};
  return Status::invalid_argument(fmt::format(
      "table '{}': its name, or the name of a column or an index, is not UTF-8, so a dump cannot contain it", shown(table.schema().name)));
}

Status append_row(std::string& out, const TableFields& table, const std::string& prefix, RowFields& row) {
  out += prefix;
  append_key_json(out, table.schema(), row.key());
  out += ",\"row\":{";
  bool first = true;
  for (const Field& field : table.fields()) {
    if (field.kind == Field::Kind::kKey || (field.hidden && !row.padded())) continue;
    if (!first) out += ',';
    first = false;
    if (Status status = append_member(out, table, field, row, true); !status.ok()) return status;
  }
  out += "}}\n";
  return {};
}

}  // namespace

Status dump_database(Database& db, OutputFile& out, Dumped* dumped) {
  std::vector<TableFields> tables;
  out.text() += "{\"elider_dump\":1}\n";
  for (const TableRef& ref : db.tables()) {
    Result<TableFields> table = TableFields::of(ref);
    if (!table.ok()) return table.status();
    if (Status status = check_names(*table); !status.ok()) return status;
    out.text() += Json{{"schema", schema_to_json(*table)}}.dump() + "\n";
    tables.push_back(*std::move(table));
  }
  ProgressLine line;
  for (const TableFields& table : tables) {
    std::string prefix = "{\"table\":";
    append_json_string(prefix, table.schema().name);
    prefix += ",\"key\":";
    const Result<RowRange> all = parse_range(table.schema(), {});
    if (!all.ok()) return all.status();
    RowFields row(table);
    Status failed;
    bool wanted = true;
    const Status scanned = scan_table(db, table.table(), *all, false, [&](const RowKey& key, const RawView& view) {
      failed = row.show(key, view);
      if (failed.ok()) failed = append_row(out.text(), table, prefix, row);
      if (!failed.ok())
        failed = Status(failed.code(), fmt::format("{} (the row with the key {})", words_of(failed), shown(key_text(table.schema(), key))));
      if (++dumped->rows % 4096 == 0) line.count("rows", dumped->rows);
      return failed.ok() && (wanted = out.write_some());
    });
    if (!failed.ok() || !scanned.ok()) return failed.ok() ? scanned : failed;
    if (!wanted) return {};
    ++dumped->tables;
  }
  out.text() += fmt::format("{{\"end\":{{\"tables\":{},\"rows\":{}}}}}\n", dumped->tables, dumped->rows);
  return {};
}

namespace {

// A table that is being loaded.
struct LoadedTable {
  LoadedTable(Database& db, TableFields its_fields, OnConflict mode)
      : fields(std::move(its_fields)), editor(fields), writer(db, fields, mode) {}
  TableFields fields;
  RowEditor editor;
  RowWriter writer;
};

class Load {
 public:
  Load(Database& db, InputFile& in, bool merge, Dumped* loaded) : db_(db), in_(in), merge_(merge), loaded_(loaded) {}

  Status run() {
    ProgressLine progress;
    Status status;
    for (std::string_view text; status.ok() && read_line(&text);) {
      if (line_ % 1024 == 0) progress.show("loading", in_.percent());
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (Status parsed = object_.parse(text); !parsed.ok()) return refuse(line_, parsed);
      status = ended_ ? refuse("text follows the end of the dump") : load_line();
    }
    if (!status.ok()) return status;
    if (!in_.status().ok()) return in_.status();
    if (!ended_) return Status::invalid_argument(fmt::format("{}: the dump is incomplete: its last line is missing", in_.name()));
    return {};
  }

 private:
  Status refuse(uint64_t line, const Status& why) const { return with_place(fmt::format("{}, line {}", in_.name(), line), why); }
  Status refuse(const std::string& why) const { return refuse(line_, Status::invalid_argument(why)); }

  bool read_line(std::string_view* text) {
    in_.consume(consumed_later_);
    ++line_;
    for (size_t searched = 0;;) {
      const void* const end = in_.size() == searched ? nullptr : std::memchr(in_.data() + searched, '\n', in_.size() - searched);
      if (end != nullptr) *text = {in_.data(), static_cast<size_t>(static_cast<const char*>(end) - in_.data())};
      if (end == nullptr) searched = in_.size();
      if (end == nullptr && in_.more()) continue;
      if (end == nullptr) *text = {in_.data(), in_.size()};
      consumed_later_ = text->size() + (end != nullptr ? 1 : 0);
      return end != nullptr || (!text->empty() && in_.status().ok());
    }
  }

  Status load_line() {
    const Cell version = object_.find("elider_dump");
    if (!begun_) {
      if (version.text != "1") return refuse("the file is not a dump of elider, or was written by a newer version");
      begun_ = true;
      return {};
    }
    if (const Cell schema = object_.find("schema"); schema.kind != Cell::Kind::kAbsent) return load_schema(schema.json);
    if (const Cell table = object_.find("table"); table.kind != Cell::Kind::kAbsent) return load_row(std::string(table.text));
    if (const Cell end = object_.find("end"); end.kind != Cell::Kind::kAbsent) return load_end(end.json);
    return refuse("the line is neither a schema nor a row");
  }

  Status load_schema(std::string_view json) {
    const Json parsed = Json::parse(json, nullptr, false);
    const Result<Schema> schema = schema_from_json(parsed);
    if (!schema.ok()) return refuse(line_, schema.status());
    if (tables_.contains(schema->name)) return refuse("table '" + shown(schema->name) + "' is described twice");
    if (!merge_ && db_.table(schema->name).ok())
      return refuse(fmt::format("table '{}' exists; load into an empty folder, or use --merge", shown(schema->name)));
    const Result<TableRef> table = db_.create_table(*schema);
    if (!table.ok()) return refuse(line_, table.status());
    Result<TableFields> fields = TableFields::of(*table);
    if (!fields.ok()) return refuse(line_, fields.status());
    tables_.emplace(schema->name,
                    std::make_unique<LoadedTable>(db_, *std::move(fields), merge_ ? OnConflict::kReplace : OnConflict::kFail));
    return {};
  }

  Status load_row(const std::string& name) {
    if (last_ == nullptr || name != last_->fields.schema().name) {
      const auto found = tables_.find(name);
      if (found == tables_.end()) return refuse("the schema of table '" + shown(name) + "' is missing");
      last_ = found->second.get();
    }
    LoadedTable& table = *last_;
    const Cell key_cell = object_.find("key"), row_cell = object_.find("row");
    if (key_cell.kind == Cell::Kind::kAbsent) return refuse("the key is missing");
    const Result<OwnedKey> key = parse_key(table.fields.schema(), key_cell.text);
    if (!key.ok()) return refuse(line_, key.status());
    if (row_cell.kind != Cell::Kind::kNested || !row_.parse(row_cell.json).ok()) return refuse("the row is not an object");
    table.editor.begin();
    for (const JsonObject::Member& member : row_.members()) {
      const Result<const Field*> field = table.fields.find(member.name);
      if (!field.ok()) return refuse(line_, field.status());
      const Result<RowValue> value = value_of(**field, member.cell, true, storage_);
      if (!value.ok()) return refuse(fmt::format("{}: {}", table.fields.named(**field), words_of(value.status())));
      if (Status status = table.editor.set(**field, *value); !status.ok()) return refuse(line_, status);
    }
    const Result<std::span<const std::byte>> bytes = table.editor.finish();
    if (!bytes.ok()) return refuse(line_, bytes.status());
    ++loaded_->rows;
    Status status = table.writer.add(*key, *bytes, line_);
    return status.ok() ? status : refuse(table.writer.failed_line(), status);
  }

  Status load_end(std::string_view json) {
    for (const auto& [name, table] : tables_)
      if (Status status = table->writer.flush(); !status.ok()) return refuse(table->writer.failed_line(), status);
    loaded_->tables = tables_.size();
    if (!row_.parse(json).ok() || row_.find("rows").text != std::to_string(loaded_->rows))
      return refuse(fmt::format("the dump is damaged: it should have {} rows, but has {}", shown(row_.find("rows").text), loaded_->rows));
    ended_ = true;
    return {};
  }

  Database& db_;
  InputFile& in_;
  const bool merge_;
  Dumped* const loaded_;
  std::map<std::string, std::unique_ptr<LoadedTable>> tables_;
  LoadedTable* last_ = nullptr;  // the table of the last row
  JsonObject object_, row_;
  std::string storage_;
  uint64_t line_ = 0;
  size_t consumed_later_ = 0;
  bool begun_ = false, ended_ = false;
};

}  // namespace

Status check_dump(InputFile& in) {
  constexpr std::string_view kBegin = "{\"elider_dump\":";
  while (in.size() < kBegin.size() && in.more()) {
  }
  if (!in.status().ok() || std::string_view(in.data(), in.size()).starts_with(kBegin)) return in.status();
  return Status::invalid_argument(in.name() + " is not a dump of elider");
}

Status load_database(Database& db, InputFile& in, bool merge, Dumped* loaded) { return Load(db, in, merge, loaded).run(); }

}  // namespace elider::tools
