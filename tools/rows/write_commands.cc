// The commands that change data: set, delete, import.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/data/data_commands.h"
#include "tools/rows/arguments.h"
#include "tools/rows/import.h"
#include "tools/rows/open.h"
#include "tools/rows/output_file.h"
#include "tools/rows/status_words.h"

namespace elider::tools {

namespace {

struct WriteChosen {
  Place place;
  std::string table, key;
  std::vector<std::string> values;
  ImportOptions import;
  std::string on_conflict = "fail";
  bool create = false;
  std::vector<std::string> types;
};

// Closes the database after everything is on the disk.
Status close(Database& db, const Status& status) {
  Status durable = db.wait_durable();
  db = Database();
  return status.ok() ? durable : status;
}

Status run_set(const WriteChosen& chosen) {
  if (Status status = refuse_internal_table(chosen.table); !status.ok()) return status;
  Result<Database> db = open_for_rows(chosen.place, Access::kWrite);
  if (!db.ok()) return db.status();
  const Result<TableFields> table = find_fields(*db, chosen.table);
  if (!table.ok()) return table.status();
  const Result<OwnedKey> key = parse_key(table->schema(), chosen.key);
  if (!key.ok()) return key.status();
  const Result<std::vector<FieldText>> texts = parse_field_texts(*table, chosen.values, "COLUMN=VALUE");
  if (!texts.ok()) return texts.status();
  std::vector<std::string> storages(texts->size());
  std::vector<FieldValue> values;
  for (size_t i = 0; i < texts->size(); ++i) {
    const Result<RowValue> value = value_of(*table, (*texts)[i], storages[i]);
    if (!value.ok()) return value.status();
    values.emplace_back((*texts)[i].field, *value);
  }
  RowEditor editor(*table);
  const Result<bool> inserted = update_row(*db, *table, editor, key->key(), values);
  const std::string row = shown(key_text(table->schema(), key->key()));
  if (Status status = close(*db, inserted.status()); !status.ok()) return status;
  fmt::print("{} the row {} of table '{}'\n", *inserted ? "inserted" : "updated", row, shown(chosen.table));
  return {};
}

Status run_delete(const WriteChosen& chosen) {
  if (Status status = refuse_internal_table(chosen.table); !status.ok()) return status;
  Result<Database> db = open_for_rows(chosen.place, Access::kWrite);
  if (!db.ok()) return db.status();
  const Result<TableFields> table = find_fields(*db, chosen.table);
  if (!table.ok()) return table.status();
  const Result<OwnedKey> key = parse_key(table->schema(), chosen.key);
  if (!key.ok()) return key.status();
  Status removed = db->run([&](Transaction& txn) {
    return table->table().byte_keys() ? txn.remove(table->table(), key->bytes.bytes()) : txn.remove(table->table(), key->number);
  });
  const std::string row = shown(key_text(table->schema(), key->key()));
  if (removed.code() == Code::kNotFound)
    removed = Status(Code::kNotFound, fmt::format("table '{}' does not have a row with the key {}", shown(chosen.table), row));
  if (Status status = close(*db, explain(*table, removed)); !status.ok()) return status;
  fmt::print("deleted the row {} of table '{}'\n", row, shown(chosen.table));
  return {};
}

Status create_table(Database& db, const Schema& schema) {
  if (db.table(schema.name).ok())
    return Status::invalid_argument(fmt::format("--create: table '{}' exists; import into it without --create", shown(schema.name)));
  return db.create_table(schema).status();
}

Status run_import(const WriteChosen& chosen) {
  if (Status status = refuse_internal_table(chosen.table); !status.ok()) return status;
  std::optional<Schema> created;
  std::string description;
  if (chosen.create) {  // before a folder is created
    Result<Schema> schema = infer_schema(chosen.table, chosen.import, chosen.types, &description);
    if (!schema.ok()) return schema.status();
    created = *std::move(schema);
  }
  Result<Database> db = open_for_rows(chosen.place, chosen.create ? Access::kCreate : Access::kWrite);
  if (!db.ok()) return db.status();
  if (created.has_value())
    if (Status status = create_table(*db, *created); !status.ok()) return status;
  const Result<TableFields> table = find_fields(*db, chosen.table);
  if (!table.ok()) return table.status();
  Imported imported;
  Status status = import_file(*db, *table, chosen.import, &imported);
  // The next attempt may need other types.
  if (!status.ok() && created.has_value() && imported.written == 0) static_cast<void>(db->drop_table(chosen.table));
  status = close(*db, status);
  if (!status.ok() && imported.written != 0)
    return Status(status.code(), fmt::format("{} ({} {} imported before; when the file is corrected, --on-conflict skip leaves them out)",
                                             words_of(status), imported.written, imported.written == 1 ? "row was" : "rows were"));
  if (!status.ok()) return status;
  if (created.has_value()) fmt::print("created table '{}' with {}\n", shown(chosen.table), description);
  fmt::print("imported {} rows into table '{}'", imported.written, shown(chosen.table));
  if (imported.skipped != 0) fmt::print(", and skipped {} rows whose keys exist", imported.skipped);
  fmt::print("\n");
  return {};
}

void add_table_and_key(Command command, WriteChosen& chosen) {
  command.option("TABLE", chosen.table, "The table").required();
  command.option("KEY", chosen.key, "The key of the row, as elider rows prints it").required();
}

}  // namespace

void add_set(Command app) {
  auto chosen = std::make_shared<WriteChosen>();
  Command command = app.add("set", "Set columns of one row of a closed database, or insert the row");
  add_folders(command, chosen->place);
  add_table_and_key(command, *chosen);
  command.option("COLUMN=VALUE", chosen->values, "New values; other columns keep theirs, or have their defaults in a new row");
  command.footer(
      std::string("  elider set data orders 17 quantity=5 'customer=Ada Lovelace' note=null\n"
                  "  elider set data prices '(\"eu\", 5)' cents=1250\n\n"
                  "null is null in a nullable column; \"null\" in quotation marks is text. Indexes whose key functions belong to the\n"
                  "program are built when the program opens the database; columns that they read cannot be set.\n") +
      kDataExitCodes);
  command.runs([chosen] { static_cast<void>(finish(run_set(*chosen))); });
}

void add_delete(Command app) {
  auto chosen = std::make_shared<WriteChosen>();
  Command command = app.add("delete", "Delete one row of a closed database");
  add_folders(command, chosen->place);
  add_table_and_key(command, *chosen);
  command.footer(std::string("  elider delete data orders 17\n\n") + kDataExitCodes);
  command.runs([chosen] { static_cast<void>(finish(run_delete(*chosen))); });
}

void add_import(Command app) {
  auto chosen = std::make_shared<WriteChosen>();
  Command command = app.add("import", "Write the rows of a CSV file or of JSON lines to a table of a closed database");
  add_folders(command, chosen->place);
  command.option("TABLE", chosen->table, "The table").required();
  command.option("FILE", chosen->import.file, "The file; - is standard input").required();
  command.option("--format", chosen->import.format, "csv or jsonl; by default as the file's name says").one_of({"csv", "jsonl"});
  command.option("--key", chosen->import.key, "The file's column with the keys; by default the name of the table's key, usually key")
      .type("COLUMN");
  command.option("--columns", chosen->import.columns, "Import only these columns of the file, and the key")
      .between_commas()
      .type("COLUMN,...");
  command
      .option("--on-conflict", chosen->on_conflict,
              "If a key exists: fail; skip the new row; replace the old row; or update its columns that the file has")
      .one_of({"fail", "skip", "replace", "update"})
      .shows_default();
  command.flag("--create", chosen->create, "Create the table, and the database if it is missing, with the columns and types of the file");
  command.option("--types", chosen->types, "Types of columns for --create; ? makes a column nullable")
      .between_commas()
      .type("COLUMN:TYPE[?],...");
  command.footer(
      std::string("  elider import data orders orders.csv --key id --create\n"
                  "  elider import data prices prices.jsonl --on-conflict replace\n"
                  "  elider import data items items.csv --key sku --create --types 'sku:text,price:decimal(2)'\n\n"
                  "CSV has a heading with the names of the columns. An empty field is null, and \"\" is empty text. Each batch of rows\n"
                  "is a transaction, so after an error the table contains the rows of the batches before.\n") +
      kDataExitCodes);
  command.runs([chosen] {
    if (!chosen->types.empty() && !chosen->create) refuse_option("--types", "needs --create");
    if (chosen->create && chosen->import.file == "-") refuse_option("--create", "reads the file twice, so it cannot read standard input");
    ImportOptions& import = chosen->import;
    if (import.format.empty()) import.format = format_of_file(import.file, "");
    if (import.format.empty())
      refuse_option("--format", fmt::format("give csv or jsonl, because the file's name does not say it: {}", kFormatEndings));
    const auto found = std::find(std::begin(kOnConflictNames), std::end(kOnConflictNames), chosen->on_conflict);
    import.on_conflict = static_cast<OnConflict>(found - std::begin(kOnConflictNames));
    static_cast<void>(finish(run_import(*chosen)));
  });
}

}  // namespace elider::tools
