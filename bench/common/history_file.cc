#include "bench/common/history_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elider::bench {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

// Returns the letter that denotes `kind` in the file format (docs/history.md).
char kind_letter(HistoryOperation::Kind kind) {
  switch (kind) {
    case HistoryOperation::Kind::kRead: return 'r';
    case HistoryOperation::Kind::kReadAbsent: return 'a';
    case HistoryOperation::Kind::kWrite: return 'w';
    case HistoryOperation::Kind::kRemove: return 'd';
    case HistoryOperation::Kind::kAdd: return '+';
    case HistoryOperation::Kind::kScan: return 's';
    case HistoryOperation::Kind::kIndexScan: return 'i';
    case HistoryOperation::Kind::kIndexValue: return 'v';
  }
  return '?';
}

// Encodes `text` as a JSON string. Bytes that are not valid UTF-8 are replaced.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Encodes a byte key as a JSON string. Each byte becomes the Unicode character with the same
// number.
std::string json_key(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\') text += fmt::format("\\u{:04x}", byte);
    else text += c;
  }
  return text + '"';
}

// Writes an operation on a table with byte keys.
void write_bytes_operation(std::string& line, const HistoryOperation& operation) {
  using Kind = HistoryOperation::Kind;
  const char letter = kind_letter(operation.kind);
  const std::string key = json_key(operation.key_bytes);
  const std::string end = operation.to_end ? "null" : json_key(operation.end_bytes);
  const bool index_scan = operation.kind == Kind::kIndexScan;
  if (operation.kind == Kind::kIndexValue) {
    line += fmt::format(R"(["{}",{},{},{},{}])", letter, operation.table, operation.index, key, operation.value);
    return;
  }
  if (index_scan)
    line += fmt::format(R"(["{}",{},{},{},{},{},{},[)", letter, operation.table, operation.index, operation.range.first,
                        operation.range.last, operation.reverse, operation.stopped);
  else if (operation.kind == Kind::kScan)
    line += fmt::format(R"(["{}",{},{},{},{},[)", letter, operation.table, key, end, operation.reverse);
  else {
    line += fmt::format(R"(["{}",{},{},{},{}])", letter, operation.table, operation.group, key, operation.version);
    return;
  }
  for (size_t i = 0; i < operation.rows.size(); ++i) {
    const std::string row = json_key(operation.row_keys[i]);
    line += i == 0 ? "" : ",";
    line += index_scan ? fmt::format("[{},{}]", operation.rows[i].first, row) : fmt::format("[{},{}]", row, operation.rows[i].second);
  }
  line += index_scan ? fmt::format("],{},{}]", key, end) : "]]";
}

void write_operation(std::string& line, const HistoryOperation& operation) {
  using Kind = HistoryOperation::Kind;
  const char letter = kind_letter(operation.kind);
  const KeyRange& range = operation.range;
  if (operation.kind == Kind::kIndexValue) {
    line += fmt::format(R"(["{}",{},{},{},{}])", letter, operation.table, operation.index, operation.key, operation.value);
    return;
  }
  if (operation.kind == Kind::kIndexScan) {
    line += fmt::format(R"(["{}",{},{},{},{},{},{},[)", letter, operation.table, operation.index, range.first, range.last,
                   operation.reverse, operation.stopped);
  } else if (operation.kind == Kind::kScan) {
    line += fmt::format(R"(["{}",{},{},{},{},[)", letter, operation.table, range.first, range.last, operation.reverse);
  } else {
    line += fmt::format(R"(["{}",{},{},{},{}])", letter, operation.table, operation.group, operation.key, operation.version);
    return;
  }
  for (size_t i = 0; i < operation.rows.size(); ++i)
    line += fmt::format("{}[{},{}]", i == 0 ? "" : ",", operation.rows[i].first, operation.rows[i].second);
  line += "]";
  if (operation.kind == Kind::kIndexScan && (operation.first_key != 0 || operation.last_key != kKeyMax))
    line += fmt::format(",{},{}", operation.first_key, operation.last_key);
  line += "]";
}

}  // namespace

HistoryFile::HistoryFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {
  std::setvbuf(file_, nullptr, _IOFBF, kBufferBytes);
}

Result<std::unique_ptr<HistoryFile>> HistoryFile::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return Status::invalid_argument(fmt::format("cannot write the history file '{}': {}", path, std::strerror(errno)));
  return std::unique_ptr<HistoryFile>(new HistoryFile(path, file));
}

HistoryFile::~HistoryFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void HistoryFile::append(const std::string& line) {
  const std::lock_guard guard(mutex_);
  if (file_ == nullptr) return;
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() && error_ == 0) error_ = errno;
}

void HistoryFile::on_table(uint32_t position, const Schema& schema) {
  const bool bytes = schema.key_kind == KeyKind::kBytes;
  if (bytes && position < byte_keys_.size()) byte_keys_[position].store(true, std::memory_order_relaxed);
  uint32_t groups = 1;
  for (const Column& column : schema.columns) groups = std::max(groups, column.group + 1);
  nlohmann::ordered_json line = {{"t", "table"},
                                 {"position", position},
                                 {"name", schema.name},
                                 {"ordered", is_ordered(schema.key_index)},
                                 {"groups", groups}};
  if (bytes) line["byte_keys"] = true;
  append(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void HistoryFile::on_transaction(const HistoryTransaction& transaction) {
  std::string line = fmt::format(
      R"({{"t":"txn","session":{},"start_ns":{},"end_ns":{},"snapshot":{},"order":{},"outcome":"{}","cause":"{}",)", transaction.worker,
      transaction.begin_ns, transaction.end_ns, transaction.snapshot, transaction.order, transaction.committed ? "committed" : "aborted",
      name_of(transaction.cause));
  line += fmt::format(R"("attempt":{},"procedure":{},"read_only":{},"ops":[)", transaction.attempt, json_text(transaction.procedure),
                      transaction.read_only);
  bool first = true;
  for (const HistoryOperation& operation : transaction.operations) {
    if (!first) line.push_back(',');
    first = false;
    if (byte_keys_[operation.table].load(std::memory_order_relaxed)) write_bytes_operation(line, operation);  // set before any use
    else write_operation(line, operation);
  }
  line += "]}\n";
  append(line);
}

Status HistoryFile::close() {
  const std::lock_guard guard(mutex_);
  if (file_ == nullptr) return {};
  if (std::fclose(file_) != 0 && error_ == 0) error_ = errno;
  file_ = nullptr;
  if (error_ == 0) return {};
  return Status::invalid_argument(fmt::format("the history file '{}' is incomplete: {}", path_, std::strerror(error_)));
}

}  // namespace elider::bench
