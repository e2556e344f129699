// The commands that show data: tables, schema, rows, export.
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "elider/statistics.h"
#include "tools/commands.h"
#include "tools/common/json.h"
#include "tools/common/values.h"
#include "tools/data/data_commands.h"
#include "tools/rows/open.h"
#include "tools/rows/output_file.h"
#include "tools/rows/print_rows.h"
#include "tools/rows/schema_json.h"

namespace elider::tools {

namespace {

struct RowsChosen {
  Place place;
  std::string table, file, format, json;
  RowsAsked asked;
};

// -- tables and schema ----------------------------------------------------------------------------

struct TableSize {
  uint64_t rows = 0, row_bytes = 0, index_bytes = 0;
};
TableSize size_of(const Statistics& statistics, const std::string& table) {
  for (const Statistics::Table& one : statistics.tables)
    if (one.name == table) return {one.rows, one.row_bytes, one.index_bytes};
  return {};
}

std::string names_of_indexes(const Schema& schema) {
  std::string names;
  for (const SecondaryIndex& index : schema.indexes)
    names += (names.empty() ? "" : ", ") + shown(index.name) + (index.unique ? " (unique)" : "");
  return names;
}

void print_lines(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) {
      if (widths.size() == i) widths.push_back(0);
      widths[i] = std::max(widths[i], line[i].size());
    }
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) text += fmt::format("{:<{}}  ", line[i], widths[i]);
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }
}

Status run_tables(const RowsChosen& chosen) {
  Result<Database> db = open_for_rows(chosen.place, Access::kRead);
  if (!db.ok()) return db.status();
  const Statistics statistics = db->statistics();
  Json list = Json::array();
  std::vector<std::vector<std::string>> lines = {{"table", "key", "row", "rows", "bytes", "indexes"}};
  for (const TableRef& table : db->tables()) {
    const Schema& schema = table.schema();
    const TableSize size = size_of(statistics, schema.name);
    Json names = Json::array();
    for (const SecondaryIndex& index : schema.indexes) names.push_back(index.name);
    list.push_back({{"name", schema.name},
                    {"key", key_type_name(schema)},
                    {"key_index", std::string(name_of(schema.key_index))},
                    {"row", row_kind(schema)},
                    {"rows", size.rows},
                    {"row_bytes", size.row_bytes},
                    {"index_bytes", size.index_bytes},
                    {"indexes", names},
                    {"needs_program", needs_program(schema)}});
    lines.push_back({shown(schema.name), fmt::format("{} {}", key_type_name(schema), name_of(schema.key_index)), row_kind(schema),
                     fmt::to_string(size.rows), fmt::to_string(size.row_bytes + size.index_bytes), names_of_indexes(schema)});
  }
  if (!chosen.json.empty()) return write_json(chosen.json, list);
  print_lines(lines);
  return {};
}

void print_schema(const TableFields& table) {
  const Schema& schema = table.schema();
  fmt::print("table    {}\nkey      {}, index {}\nrow      {}", shown(schema.name), key_type_name(schema), name_of(schema.key_index),
             row_kind(schema));
  if (!table.described()) fmt::print(", {}{} bytes", schema.sized_rows ? "up to " : "", schema.row_bytes);
  fmt::print("{}{}\n\n", schema.zones != 0 ? ", zoned" : "", schema.inline_rows != 0 ? ", inline" : "");
  std::vector<std::vector<std::string>> lines = {{"column", "type", "null", "default"}};
  if (!table.described()) lines[0] = {"column", "type", "offset", "group"};
  for (const Field& field : table.fields()) {
    std::vector<std::string> line = {shown(field.name), field.kind == Field::Kind::kKey ? key_type_name(schema) : type_name(field.type)};
    if (field.kind == Field::Kind::kKey) line[1] += " (the key)";
    if (field.kind == Field::Kind::kDescribed) {
      line.push_back(field.nullable ? "yes" : "no");
      line.push_back(shown(default_text(table, field)));
    }
    if (field.kind == Field::Kind::kStruct) {
      line.push_back(fmt::to_string(field.offset));
      for (const Column& column : schema.columns)
        if (column.name == field.name) line.push_back(fmt::to_string(column.group));
    }
    if (!field.hidden) lines.push_back(std::move(line));
  }
  print_lines(lines);
  if (!schema.indexes.empty()) fmt::print("\n");
  for (const SecondaryIndex& index : schema.indexes) {
    fmt::print("index    {}\n", text_of_index(index));
    if (!index.by_columns) fmt::print("         Only the program knows its order, so these columns cannot be changed.\n");
  }
}

Status run_schema(const RowsChosen& chosen) {
  Result<Database> db = open_for_rows(chosen.place, Access::kRead);
  if (!db.ok()) return db.status();
  const Result<TableFields> table = find_fields(*db, chosen.table);
  if (!table.ok()) return table.status();
  if (!chosen.json.empty()) return write_json(chosen.json, schema_to_json(*table));
  print_schema(*table);
  return {};
}

// -- rows and export ------------------------------------------------------------------------------

Status run_rows(const RowsChosen& chosen) {
  Result<Database> db = open_for_rows(chosen.place, Access::kRead);
  if (!db.ok()) return db.status();
  const Result<TableFields> table = find_fields(*db, chosen.table);
  if (!table.ok()) return table.status();
  OutputFile out;
  uint64_t rows = 0;
  if (Status status = out.open(chosen.file); !status.ok()) return status;
  const Status printed = print_rows(*db, *table, chosen.asked, out, &rows);
  const Status finished = out.finish();
  if (!printed.ok()) return printed;
  if (finished.ok() && !chosen.file.empty() && chosen.file != "-") fmt::print("exported {} rows to {}\n", rows, chosen.file);
  return finished;
}

void add_table(Command command, RowsChosen& chosen) { command.option("TABLE", chosen.table, "The table").required(); }

void add_selection(Command command, RowsChosen& chosen) {
  const auto set = [](std::optional<std::string>& key) { return [&key](const std::string& text) { key = text; }; };
  command.option("--from", set(chosen.asked.bounds.from), "Only keys from this one on").type("KEY");
  command.option("--to", set(chosen.asked.bounds.to), "Only keys up to this one, inclusive").type("KEY");
  command.option("--prefix", set(chosen.asked.bounds.prefix), "Only keys that begin with this text or, for tuples, with these fields")
      .type("KEY");
  command.option("--where", chosen.asked.where, "Only rows with this value; repeat for several columns")
      .one_at_a_time()
      .type("COLUMN=VALUE");
  command.option("--columns", chosen.asked.columns, "Only these columns, in this order").between_commas().type("COLUMN,...");
}

constexpr const char* kKeysAndValues =
    "Keys are numbers, text, 0x01ff for bytes that are not text, or tuples: '(\"eu\", 5, -1.5)'. Values are written as the\n"
    "command prints them; null is null, and \"null\" is text. Bytes of structs are shown as text if they are text that is filled\n"
    "up with zeros, and as 0x01ff otherwise.\n";

}  // namespace

void add_tables(Command app) {
  auto chosen = std::make_shared<RowsChosen>();
  Command command = app.add("tables", "List the tables of a closed database: keys, rows, bytes, indexes");
  add_folders(command, chosen->place);
  add_json(command, chosen->json);
  command.footer(std::string("  elider tables data\n\nThe bytes are memory, of rows and indexes.\n") + kDataExitCodes);
  command.runs([chosen] { static_cast<void>(finish(run_tables(*chosen))); });
}

void add_schema(Command app) {
  auto chosen = std::make_shared<RowsChosen>();
  Command command = app.add("schema", "Describe a table of a closed database: columns, types, indexes");
  add_folders(command, chosen->place);
  add_table(command, *chosen);
  add_json(command, chosen->json);
  command.footer(std::string("  elider schema data orders\n\n") + kDataExitCodes);
  command.runs([chosen] { static_cast<void>(finish(run_schema(*chosen))); });
}

void add_rows(Command app) {
  auto chosen = std::make_shared<RowsChosen>();
  chosen->format = "table";
  Command command = app.add("rows", "Print rows of a closed database, in the order of their keys");
  add_folders(command, chosen->place);
  add_table(command, *chosen);
  add_selection(command, *chosen);
  command.flag("--reverse", chosen->asked.reverse, "In descending order");
  command.option("--limit", chosen->asked.limit, "Maximum number of rows").checked(check_whole_number).type("N");
  command.option("--format", chosen->format, "table, csv or jsonl (JSON lines)").one_of({"table", "csv", "jsonl"}).shows_default();
  command.footer(std::string("  elider rows data orders --limit 10\n"
                             "  elider rows data orders --from 100 --to 199 --where customer=Ada\n"
                             "  elider rows data events --prefix '(\"eu\")' --reverse --columns key,note --format csv\n\n") +
                 kKeysAndValues + kDataExitCodes);
  command.runs([chosen] {
    chosen->asked.format = *parse_format(chosen->format, true);
    static_cast<void>(finish(run_rows(*chosen)));
  });
}

void add_export(Command app) {
  auto chosen = std::make_shared<RowsChosen>();
  Command command = app.add("export", "Write a table of a closed database as CSV or JSON lines");
  add_folders(command, chosen->place);
  add_table(command, *chosen);
  command.option("FILE", chosen->file, "The file; standard output if missing or -");
  add_selection(command, *chosen);
  command.option("--format", chosen->format, "csv or jsonl; by default as the file's name says, and csv for names without an ending")
      .one_of({"csv", "jsonl"});
  command.footer(
      std::string("  elider export data orders orders.csv\n  elider export data orders --format jsonl | gzip >orders.jsonl.gz\n\n"
                  "The first column is the key. In CSV, null is an empty field, and empty text in a nullable column is \"\".\n") +
      kDataExitCodes);
  command.runs([chosen] {
    std::string format = chosen->format.empty() ? format_of_file(chosen->file, "") : chosen->format;
    if (const std::string ending = ending_of_file(chosen->file); format.empty() && !ending.empty())
      refuse_option("--format", fmt::format("give csv or jsonl, because the ending '{}' of the file's name is unknown: {}", shown(ending),
                                            kFormatEndings));
    if (format.empty()) format = "csv";
    chosen->asked.format = *parse_format(format, false);
    chosen->asked.shows_progress = !chosen->file.empty() && chosen->file != "-";
    static_cast<void>(finish(run_rows(*chosen)));
  });
}

}  // namespace elider::tools
