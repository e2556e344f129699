// The commands elider log dump and elider log verify.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "elider/files.h"
#include "elider/tuple.h"
#include "tools/commands.h"
#include "tools/common/json.h"
#include "tools/common/values.h"
#include "tools/data/data_commands.h"

namespace elider::tools {

namespace {

struct LogChosen {
  Place folders;
  std::string table;
  uint64_t first = 0, last = files::kNewest, limit = files::kNewest;
  std::string json;  // the argument of --json: a file, or "-" for standard output; empty without --json
};

template <class T>
T number_in(const std::vector<std::byte>& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

Json value_of(const files::LoggedColumn& column) {
  switch (column.type) {
    case ColumnType::kInt8: return number_in<int8_t>(column.bytes);
    case ColumnType::kInt16: return number_in<int16_t>(column.bytes);
    case ColumnType::kInt32: return number_in<int32_t>(column.bytes);
    case ColumnType::kInt64: return number_in<int64_t>(column.bytes);
    case ColumnType::kUInt8: return number_in<uint8_t>(column.bytes);
    case ColumnType::kUInt16: return number_in<uint16_t>(column.bytes);
    case ColumnType::kUInt32: return number_in<uint32_t>(column.bytes);
    case ColumnType::kUInt64: return number_in<uint64_t>(column.bytes);
    case ColumnType::kFloat: return number_in<float>(column.bytes);
    case ColumnType::kDouble: return number_in<double>(column.bytes);
    case ColumnType::kBytes: break;
  }
  // A value is printed as text if all its bytes, except for trailing zeros, are printable.
  // Otherwise it is printed in hexadecimal.
  size_t size = column.bytes.size();
  while (size > 0 && column.bytes[size - 1] == std::byte{0}) --size;
  std::string text(reinterpret_cast<const char*>(column.bytes.data()), size);
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (size != 0 && std::all_of(text.begin(), text.end(), printable)) return text;
  text = "0x";
  for (const std::byte byte : column.bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

const char* name_of(files::LoggedChange::Kind kind) {
  switch (kind) {
    case files::LoggedChange::Kind::kColumns: return "update";
    case files::LoggedChange::Kind::kRow: return "row";
    case files::LoggedChange::Kind::kRemove: return "remove";
    case files::LoggedChange::Kind::kAdd: return "add";
  }
  return "";
}

// Names in files of older versions may contain arbitrary bytes, which are printed as \xNN.
std::string shown(const std::string& name) {
  try {
    static_cast<void>(Json(name).dump());
    return name;
  } catch (const Json::type_error&) {
    std::string out;
    for (const char c : name) {
      const auto byte = static_cast<unsigned char>(c);
      out += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    }
    return out;
  }
}

std::string table_of(const files::LoggedChange& change) {
  return change.table_name.empty() ? fmt::format("#{}", change.table) : shown(change.table_name);
}

// Returns the key as JSON. A byte key becomes a string in which each byte is the character with
// that code point. A tuple becomes a string with its fields.
Json key_of(const files::LoggedChange& change) {
  if (!change.byte_key) return change.key;
  if (change.tuple_key) return shown(tuple_to_text(std::as_bytes(std::span(change.key_bytes))));
  std::string utf8;
  for (const char c : change.key_bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) utf8 += c;
    else utf8 += {static_cast<char>(0xc0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3f))};
  }
  return utf8;
}

std::vector<std::string> columns_of(const Schema& schema) {
  std::vector<std::string> names;
  for (const Column& column : schema.columns) names.push_back(shown(column.name));
  for (const RowColumn& column : schema.row_columns)
    if (!column.dropped) names.push_back(shown(column.name));
  return names;
}

void print_text(const files::LoggedRecord& record, const std::string& table) {
  fmt::print("{} {} at {}{}\n", record.number, record.file, record.offset, record.counts ? "" : "  (void)");
  if (record.made_table) {
    fmt::print("  table #{} '{}'", record.table, shown(record.schema.name));
    if (record.dropped) fmt::print(" dropped");
    else if (record.table_version != 0) fmt::print(" changed to version {}", record.table_version);
    if (!record.dropped) fmt::print(", rows of {} bytes:", record.schema.row_bytes);
    for (const std::string& name : columns_of(record.schema)) fmt::print(" {}", name);
    fmt::print("\n");
  }
  for (const files::LoggedChange& change : record.changes) {
    if (!table.empty() && table != table_of(change)) continue;
    const Json key = key_of(change);
    fmt::print("  {} {} key {} group {} version {}", name_of(change.kind), table_of(change),
               change.tuple_key ? key.get<std::string>() : key.dump(), change.group, change.version_number);
    for (const files::LoggedColumn& column : change.columns)
      fmt::print(" {}={}", column.name.empty() ? "bytes" : shown(column.name), value_of(column).dump());
    fmt::print("\n");
  }
}

void print_json(std::FILE* out, const files::LoggedRecord& record, const std::string& table) {
  Json line = {{"number", record.number}, {"file", shown(record.file)}, {"offset", record.offset}, {"counts", record.counts}};
  if (record.made_table) {
    line["table"] = {{"id", record.table},
                     {"name", shown(record.schema.name)},
                     {"version", record.table_version},
                     {"dropped", record.dropped},
                     {"row_bytes", record.schema.row_bytes},
                     {"columns", columns_of(record.schema)}};
  }
  Json changes = Json::array();
  for (const files::LoggedChange& change : record.changes) {
    if (!table.empty() && table != table_of(change)) continue;
    Json columns = Json::object();
    for (const files::LoggedColumn& column : change.columns) columns[column.name.empty() ? "bytes" : shown(column.name)] = value_of(column);
    changes.push_back({{"kind", name_of(change.kind)},
                       {"table", table_of(change)},
                       {"key", key_of(change)},
                       {"group", change.group},
                       {"version", change.version_number},
                       {"columns", columns}});
  }
  if (!record.made_table) line["changes"] = changes;
  fmt::print(out, "{}\n", line.dump());
}

bool concerns(const files::LoggedRecord& record, const std::string& table) {
  if (table.empty()) return true;
  if (record.made_table) return shown(record.schema.name) == table;
  return std::any_of(record.changes.begin(), record.changes.end(),
                     [&](const files::LoggedChange& change) { return table_of(change) == table; });
}

// Returns true if the log contains the table; otherwise prints which tables it contains and returns
// false. A name such as "#7" is always accepted: it is a table that is not described in the files.
bool check_table(const LogChosen& chosen) {
  if (chosen.table.empty() || chosen.table.starts_with('#')) return true;
  std::vector<std::string> names;
  if (!finish(files::logged_tables(chosen.folders.folders(), &names))) return false;
  for (std::string& name : names) name = shown(name);
  if (std::find(names.begin(), names.end(), chosen.table) != names.end()) return true;
  fmt::print(stderr, "elider log dump: --table: table '{}' is not in the log; {}{}\n", chosen.table,
             names.empty() ? "the log does not name any table" : "its tables: ", fmt::join(names, ", "));
  set_exit_code(kExitUsage);
  return false;
}

void run_dump(const LogChosen& chosen) {
  if (!check_table(chosen)) return;
  std::FILE* const out = chosen.json.empty() || chosen.json == "-" ? stdout : std::fopen(chosen.json.c_str(), "w");
  if (out == nullptr) refuse_option("--json", fmt::format("cannot write '{}': {}", chosen.json, std::strerror(errno)));
  uint64_t left = chosen.limit;
  const bool dumped = finish(files::dump_log(chosen.folders.folders(), chosen.first, chosen.last, [&](const files::LoggedRecord& record) {
    if (!concerns(record, chosen.table)) return true;
    if (left == 0) return false;
    if (!chosen.json.empty()) print_json(out, record, chosen.table);
    else print_text(record, chosen.table);
    return --left != 0;
  }));
  if (out != stdout) {
    const bool refused = std::ferror(out) != 0;
    if (std::fclose(out) != 0 || refused)
      static_cast<void>(finish(Status(Code::kIoError, fmt::format("--json: cannot write '{}': {}", chosen.json, std::strerror(errno)))));
  }
  if (!dumped || left != chosen.limit || chosen.limit == 0) return;
  fmt::print(
      stderr, "elider: the log does not contain a record{}{}\n", chosen.table.empty() ? "" : " of a table '" + chosen.table + "'",
      chosen.first == 0 && chosen.last == files::kNewest ? "" : fmt::format(" with a number from {} to {}", chosen.first, chosen.last));
}

void run_verify(const LogChosen& chosen) {
  files::Log log;
  if (!finish(files::verify_log(chosen.folders.folders(), &log))) return;
  if (!chosen.json.empty()) {
    Json segments = Json::array();
    for (const files::Segment& s : log.segments)
      segments.push_back({{"file", s.file},
                          {"bytes", s.bytes},
                          {"whole_bytes", s.whole_bytes},
                          {"frames", s.frames},
                          {"records", s.records},
                          {"first_number", s.first_number},
                          {"last_number", s.last_number}});
    static_cast<void>(finish(write_json(
        chosen.json, {{"checkpoint", log.checkpoint}, {"snapshot", log.snapshot}, {"segments", segments}, {"cuts", log.cuts}})));
    return;
  }
  for (const files::Segment& s : log.segments)
    fmt::print("{}: {} frames, {} records, numbers {} to {}, {} bytes{}\n", s.file, s.frames, s.records, s.first_number, s.last_number,
               s.bytes, s.cut == files::kNewest ? "" : fmt::format(", void after {}", s.cut));
  for (const std::string& words : log.cuts) fmt::print("cut off by a crash: {}\n", words);
  fmt::print("the log is complete up to number {}", log.snapshot);
  if (log.checkpoint != 0) fmt::print("; recovery begins with the checkpoint at {}", log.checkpoint);
  fmt::print("\n");
}

}  // namespace

void add_log(Command app) {
  Command log = app.add("log", "Inspect the log of a database: dump, verify");
  auto dumped = std::make_shared<LogChosen>();
  Command dump = log.add("dump", "Print what commits wrote, with the names of tables and columns");
  add_folders(dump, dumped->folders, "PLACE", "The database's folder, or one file of its log");
  dump.option("--first", dumped->first, "First snapshot number").checked(check_whole_number).type("N");
  dump.option("--last", dumped->last, "Last snapshot number").checked(check_whole_number).type("N");
  dump.option("--limit", dumped->limit, "Maximum number of records").checked(check_whole_number).type("COUNT");
  dump.option("--table", dumped->table, "Print only records that create or change this table").type("NAME");
  dump.option("--json", dumped->json, "Write one JSON object per line to this file (- for standard output)").type("FILE");
  dump.footer(std::string("  elider log dump data --limit 10\n  elider log dump data --table accounts --first 4000 --json -\n"
                          "  elider log dump data2/log-00000001-01-00000000 --also data\n\n"
                          "Records are printed file by file, each with the number of its commit, its file and the offset of its frame.\n") +
              kDataExitCodes);
  dump.runs([dumped] { run_dump(*dumped); });
  auto verified = std::make_shared<LogChosen>();
  Command verify = log.add("verify", "Read the whole log of a closed database: check checksums, order and completeness");
  add_folders(verify, verified->folders);
  add_json(verify, verified->json);
  verify.footer(std::string("  elider log verify data\n\nThis does not load rows; elider check does.\n") + kDataExitCodes);
  verify.runs([verified] { run_verify(*verified); });
}

}  // namespace elider::tools
