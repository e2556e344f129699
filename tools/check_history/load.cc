#include "tools/check_history/load.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "elider/schema.h"
#include "tools/check_history/adds.h"

namespace elider::check {
namespace {

using Json = nlohmann::json;

// An error in a line. The functions below that read fields throw it. The loader catches it and adds
// the file and the line, so this exception never leaves this file.
struct LineError {
  std::string what;
};

// Formats a JSON value for a message, shortened if necessary.
std::string shown(const Json& value) {
  constexpr size_t kMost = 200;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

const Json& field(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw LineError{std::string("field \"") + name + "\" is missing"};
  return *found;
}

uint64_t number(const Json& value, const char* name) {
  if (!value.is_number_unsigned()) throw LineError{std::string(name) + " is " + shown(value) + ", not an unsigned number"};
  return value.get<uint64_t>();
}

uint32_t small_number(const Json& value, const char* name, uint64_t max) {
  const uint64_t got = number(value, name);
  if (got > max) throw LineError{std::string(name) + " is " + std::to_string(got) + ", more than " + std::to_string(max)};
  return static_cast<uint32_t>(got);
}

bool boolean(const Json& value, const char* name) {
  if (!value.is_boolean()) throw LineError{std::string(name) + " is " + shown(value) + ", not true or false"};
  return value.get<bool>();
}

const std::string& text(const Json& value, const char* name) {
  if (!value.is_string()) throw LineError{std::string(name) + " is " + shown(value) + ", not a string"};
  return value.get_ref<const std::string&>();
}

// Returns true if the line is nested more deeply than a line of a history can be. Such a line is
// neither parsed nor printed, because both would need too much stack.
bool nested_too_deeply(const std::string& line) {
  constexpr int kDepthMax = 16;
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (in_text && line[i] == '\\') ++i;
    else if (line[i] == '"') in_text = !in_text;
    else if (!in_text && (line[i] == '[' || line[i] == '{') && ++depth > kDepthMax) return true;
    else if (!in_text && (line[i] == ']' || line[i] == '}')) --depth;
  }
  return false;
}

class Loader {
 public:
  // `line` is the text of the line with number `line_number`.
  void line(const std::string& line, uint64_t line_number) {
    if (nested_too_deeply(line)) throw LineError{"it is nested too deeply"};
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_discarded()) throw LineError{"it is not valid JSON"};
    if (!object.is_object()) throw LineError{"it is not a JSON object"};
    const std::string& kind = text(field(object, "t"), "\"t\"");
    if (kind == "table") return table(object);
    if (kind == "txn") return transaction(object, line_number);
    throw LineError{"\"t\" is \"" + kind + "\", not \"table\" or \"txn\""};
  }

  RecordedHistory take() {
    RecordedHistory& history = builder_.history();
    for (uint32_t table = 0; table < byte_keys_.size(); ++table) sort_byte_keys(table, &history);
    return std::move(history);
  }

 private:
  void table(const Json& object) {
    const uint64_t position = number(field(object, "position"), "\"position\"");
    const size_t expected = builder_.history().tables.size();
    if (position != expected) {
      throw LineError{"table position " + std::to_string(position) + " where " + std::to_string(expected) + " comes next"};
    }
    const uint32_t groups = small_number(field(object, "groups"), "\"groups\"", kColumnGroupsMax);
    builder_.table(text(field(object, "name"), "\"name\""), groups);
    const auto byte_keys = object.find("byte_keys");
    byte_keys_.emplace_back();
    byte_keys_.back().used = byte_keys != object.end() && boolean(*byte_keys, "\"byte_keys\"");
  }

  void transaction(const Json& object, uint64_t line_number) {
    RecordedTransaction txn;
    txn.line = line_number;
    txn.session = number(field(object, "session"), "\"session\"");
    txn.begin_ns = number(field(object, "start_ns"), "\"start_ns\"");
    txn.end_ns = number(field(object, "end_ns"), "\"end_ns\"");
    if (txn.end_ns < txn.begin_ns) throw LineError{"\"end_ns\" is before \"start_ns\""};
    txn.snapshot = number(field(object, "snapshot"), "\"snapshot\"");
    txn.order = number(field(object, "order"), "\"order\"");
    txn.attempt = small_number(field(object, "attempt"), "\"attempt\"", std::numeric_limits<uint32_t>::max());
    txn.read_only = boolean(field(object, "read_only"), "\"read_only\"");
    const std::string& outcome = text(field(object, "outcome"), "\"outcome\"");
    if (outcome != "committed" && outcome != "aborted") {
      throw LineError{"\"outcome\" is \"" + outcome + "\", not \"committed\" or \"aborted\""};
    }
    txn.committed = outcome == "committed";
    const auto procedure = object.find("procedure");
    txn.procedure = builder_.procedure(procedure == object.end() ? std::string() : text(*procedure, "\"procedure\""));
    const Json& operations = field(object, "ops");
    if (!operations.is_array()) throw LineError{"\"ops\" is not an array"};
    builder_.transaction(txn);
    for (const Json& entry : operations) operation(entry);
  }

  void operation(const Json& entry) {
    if (!entry.is_array() || entry.empty()) throw LineError{"operation " + shown(entry) + " is not an array"};
    const std::string& kind = text(entry[0], "an operation's kind");
    if (kind == "s") return scan(entry);
    if (kind == "i") return index_scan(entry);
    if (kind == "v") return index_value(entry);
    OperationKind operation_kind;
    if (kind == "r") operation_kind = OperationKind::kRead;
    else if (kind == "a") operation_kind = OperationKind::kReadAbsent;
    else if (kind == "w") operation_kind = OperationKind::kWrite;
    else if (kind == "d") operation_kind = OperationKind::kRemove;
    else if (kind == "+") operation_kind = OperationKind::kAdd;
    else
      throw LineError{"operation kind \"" + kind + "\" is unknown; the kinds are r, a, w, d, +, s, i and v"};
    if (entry.size() != 5) throw LineError{"operation " + shown(entry) + " does not have 5 elements"};
    const uint32_t table = table_position(entry[1]);
    builder_.operation(operation_kind, table, static_cast<uint16_t>(small_number(entry[2], "a column group", 0xffff)),
                       key(table, entry[3], "a key"), number(entry[4], "a version"));
  }

  void scan(const Json& entry) {
    if (entry.size() != 6) throw LineError{"scan " + shown(entry) + " does not have 6 elements"};
    const uint32_t table = table_position(entry[1]);
    const KeyRange range{key(table, entry[2], "a range's first key"), last_key(table, entry[3], "a range's last key")};
    const bool reverse = boolean(entry[4], "a scan's direction");
    if (!entry[5].is_array()) throw LineError{"the rows of scan " + shown(entry) + " are not an array"};
    builder_.scan(table, range, reverse);
    for (const Json& row : entry[5]) {
      if (!row.is_array() || row.size() != 2) throw LineError{"row " + shown(row) + " of a scan is not [key, version]"};
      builder_.row(key(table, row[0], "a row's key"), number(row[1], "a row's version"));
    }
  }

  void index_scan(const Json& entry) {
    if (entry.size() != 8 && entry.size() != 10) throw LineError{"index scan " + shown(entry) + " does not have 8 or 10 elements"};
    const uint32_t table = table_position(entry[1]);
    if (byte_keys_[table].used && entry.size() != 10) throw LineError{"index scan " + shown(entry) + " does not have 10 elements"};
    IndexEntry first{number(entry[3], "a range's first value"), 0}, last{number(entry[4], "a range's last value"), kKeyMax};
    if (entry.size() == 10)
      first.key = key(table, entry[8], "a range's first key"), last.key = last_key(table, entry[9], "a range's last key");
    const bool reverse = boolean(entry[5], "a scan's direction"), stopped = boolean(entry[6], "whether a scan was stopped");
    if (!entry[7].is_array()) throw LineError{"the rows of index scan " + shown(entry) + " are not an array"};
    if (stopped && entry[7].empty()) throw LineError{"index scan " + shown(entry) + " was stopped at a row, but does not list any rows"};
    builder_.index_scan(table, index_position(entry[2]), first, last, reverse, stopped);
    for (const Json& row : entry[7]) {
      if (!row.is_array() || row.size() != 2) throw LineError{"row " + shown(row) + " of an index scan is not [value, key]"};
      builder_.index_row({number(row[0], "a row's value"), key(table, row[1], "a row's key")});
    }
  }

  void index_value(const Json& entry) {
    if (entry.size() != 5) throw LineError{"operation " + shown(entry) + " does not have 5 elements"};
    const uint32_t table = table_position(entry[1]);
    builder_.index_value(table, index_position(entry[2]), {number(entry[4], "a value"), key(table, entry[3], "a key")});
  }

  static uint32_t index_position(const Json& value) { return small_number(value, "an index's position", kSecondaryIndexesMax - 1); }

  uint32_t table_position(const Json& value) {
    const uint64_t position = number(value, "a table's position");
    if (position >= builder_.history().tables.size()) {
      throw LineError{"an operation is on table " + std::to_string(position) + ", which is not described on an earlier line"};
    }
    return static_cast<uint32_t>(position);
  }

  // While the file is read, byte keys are numbered in the order in which they occur.
  struct ByteKeys {
    bool used = false;
    std::map<std::string, uint64_t> numbers;
  };
  Key key(uint32_t table, const Json& value, const char* name) {
    return byte_keys_[table].used ? 2 * byte_key(table, value, name) + 1 : number(value, name);
  }
  // A range of byte keys does not include its end. If the end is null, the range is unbounded.
  Key last_key(uint32_t table, const Json& value, const char* name) {
    if (!byte_keys_[table].used) return number(value, name);
    return value.is_null() ? kKeyMax : 2 * byte_key(table, value, name);
  }
  uint64_t byte_key(uint32_t table, const Json& value, const char* name) {
    std::string bytes;
    const std::string& utf8 = text(value, name);
    for (size_t i = 0; i < utf8.size(); ++i) {
      const auto first = static_cast<unsigned char>(utf8[i]);
      if (first < 0x80) bytes += utf8[i];
      else if ((first == 0xc2 || first == 0xc3) && ++i < utf8.size()) bytes += static_cast<char>((first & 3) << 6 | (utf8[i] & 0x3f));
      else throw LineError{std::string(name) + " is " + shown(value) + ", which has characters above U+00FF"};
    }
    auto& numbers = byte_keys_[table].numbers;
    return numbers.emplace(std::move(bytes), numbers.size()).first->second;
  }
  // Replaces the number of each byte key by one that follows the order of the keys
  // (RecordedTable::byte_keys).
  void sort_byte_keys(uint32_t table, RecordedHistory* history) {
    const auto& numbers = byte_keys_[table].numbers;
    if (numbers.empty()) return;
    std::vector<uint64_t> places(numbers.size());
    std::vector<std::string>& sorted = history->tables[table].byte_keys;
    for (const auto& [bytes, given] : numbers) {
      places[given] = sorted.size();
      sorted.push_back(bytes);
    }
    const auto place = [&](Key& key) {
      if (key != kKeyMax) key = 2 * places[key / 2] + key % 2;
    };
    const auto place_all = [&](auto& all, auto&& keys) {
      for (auto& each : all)
        if (each.table == table) keys(each);
    };
    place_all(history->operations, [&](RecordedOperation& o) { place(o.key); });
    place_all(history->scans, [&](RecordedScan& scan) {
      place(scan.range.first);
      place(scan.range.last);
      for (uint32_t i = 0; i < scan.rows_count; ++i) place(history->rows[scan.rows_begin + i].key);
    });
    place_all(history->index_scans, [&](RecordedIndexScan& scan) {
      place(scan.first.key);
      place(scan.last.key);
      for (uint32_t i = 0; i < scan.rows_count; ++i) place(history->index_rows[scan.rows_begin + i].key);
    });
    place_all(history->index_values, [&](RecordedIndexValue& value) { place(value.entry.key); });
  }

  HistoryBuilder builder_;
  std::vector<ByteKeys> byte_keys_;  // indexed by table
};

}  // namespace

Result<RecordedHistory> load_history(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return Status::invalid_argument(path + ": cannot be opened: " + std::strerror(errno));
  return load_history(stream, path);
}

Result<RecordedHistory> load_history(std::istream& stream, const std::string& name) {
  Loader loader;
  std::string line;
  uint64_t line_number = 0;
  while (std::getline(stream, line)) {
    ++line_number;
    const std::string where = name + ":" + std::to_string(line_number) + ": ";
    if (stream.eof()) return Status::invalid_argument(where + "the file is truncated: its last line does not end with a newline");
    try {
      loader.line(line, line_number);
    } catch (const LineError& error) {
      return Status::invalid_argument(where + error.what);
    }
  }
  if (stream.bad()) return Status::invalid_argument(name + ": cannot be read after line " + std::to_string(line_number));
  if (line_number == 0) return Status::invalid_argument(name + ": the file is empty");
  RecordedHistory history = loader.take();
  order_adds(&history);
  return history;
}

}  // namespace elider::check
