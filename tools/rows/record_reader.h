// RecordReader: reads records from a CSV file (RFC 4180 with a heading) or from JSON lines.
//
// Memory is bounded by the longest record. Lines of CSV may end in LF or CRLF, quoted fields may
// contain ends of lines, and a byte order mark is skipped. In CSV, an empty field without quotation
// marks is null.
// Thread safety: one thread at a time may use a reader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elider/status.h"

namespace elider::tools {

// A value of a record, before its type is known.
struct Cell {
  enum class Kind : uint8_t { kAbsent, kNull, kBool, kNumber, kText, kNested };
  Kind kind = Kind::kAbsent;
  std::string_view text;  // the contents of a text; true, false, digits; or an object or array as JSON
  std::string_view json;  // the value as JSON; empty in CSV
};

// The members of a JSON object.
class JsonObject {
 public:
  struct Member {
    std::string_view name;
    Cell cell;
  };
  // Parses the text, which must remain valid as long as the members are used.
  //   kInvalidArgument  the text is not one JSON object; the message says why, and at which column
  Status parse(std::string_view text);
  const std::vector<Member>& members() const { return members_; }
  // Returns the member's value, or an absent cell.
  Cell find(std::string_view name) const;

 private:
  class Handler;
  struct Place {
    size_t name, name_size, text, text_size, json, json_size;
    Cell::Kind kind;
  };
  std::string decoded_;  // names and texts
  std::vector<Place> places_;
  std::vector<Member> members_;
};

// A file that is read piece by piece.
class InputFile {
 public:
  InputFile() = default;
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // "-" is standard input.
  //   kNotFound, kIoError  the file cannot be read; the message names it
  Status open(const std::string& path);
  // The bytes that were read and not consumed. Valid until the next call.
  char* data() { return buffer_.data() + begin_; }
  size_t size() const { return buffer_.size() - begin_; }
  // Reads more bytes after those. Returns false at the end of the file, and after an error.
  bool more();
  void consume(size_t bytes) { begin_ += bytes, consumed_ += bytes; }
  const Status& status() const { return status_; }
  const std::string& name() const { return name_; }  // "'orders.csv'"
  // Returns the percentage of the file that was consumed; 0 if its size is unknown.
  uint64_t percent() const { return bytes_ == 0 ? 0 : 100 * consumed_ / bytes_; }

 private:
  std::string buffer_;
  size_t begin_ = 0;
  uint64_t consumed_ = 0, bytes_ = 0;
  int file_ = -1;
  std::string name_;
  Status status_;
};

class RecordReader {
 public:
  // `format` is csv or jsonl.
  //   kInvalidArgument  the heading of the file is missing or has a name twice
  // and the statuses of InputFile::open().
  static Result<std::unique_ptr<RecordReader>> open(const std::string& path, const std::string& format);
  virtual ~RecordReader() = default;

  // Reads the next record. Returns false at the end.
  //   kInvalidArgument  the file is malformed; the message names the file and the line
  virtual Result<bool> next() = 0;
  // The names of the columns. JSON lines may add names at any time.
  const std::vector<std::string>& names() const { return names_; }
  // The values of the record, by the positions of the names. Valid until the next call of next().
  const std::vector<Cell>& cells() const { return cells_; }
  uint64_t line() const { return record_line_; }  // where the record begins
  std::string where(uint64_t line) const;         // "'orders.csv', line 7"
  uint64_t percent() const { return file_.percent(); }

 protected:
  Status refuse(uint64_t line, const std::string& why) const;

  InputFile file_;
  std::vector<std::string> names_;
  std::vector<Cell> cells_;
  uint64_t line_ = 1;  // of the next byte
  uint64_t record_line_ = 0;
};

}  // namespace elider::tools
