// OutputFile: a file or standard output, written in large pieces. RowPrinter: rows as a table, as
// CSV or as JSON lines.
// Thread safety: one thread at a time may use an object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "elider/status.h"
#include "tools/rows/fields.h"

namespace elider::tools {

class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Creates or replaces the file. "" and "-" are standard output.
  //   kIoError  the file cannot be written; the message names it
  Status open(const std::string& path);
  // Append to this text, and then call write_some().
  std::string& text() { return text_; }
  // Writes the text if there is much of it. Returns false if no more text is wanted: after an
  // error, or because the reader of a pipe has ended, which is not an error.
  bool write_some() { return text_.size() < kPieceBytes ? wanted_ : write_all(); }
  // Writes the rest, and returns the first error.
  Status finish();

 private:
  static constexpr size_t kPieceBytes = 256 << 10;
  bool write_all();

  std::string path_;
  std::string text_;
  int file_ = -1;
  bool wanted_ = true;
  Status status_;
};

// The formats of rows.
enum class RowFormat { kTable, kCsv, kJsonLines };
//   kInvalidArgument  the name is neither csv nor jsonl nor, if `table` is true, table
Result<RowFormat> parse_format(const std::string& name, bool table);
// Returns "csv" or "jsonl" as the end of the file's name says, or otherwise `unknown`.
std::string format_of_file(const std::string& path, const std::string& unknown);
// Returns the ending of the file's name, such as ".csv", or "" if the name does not have one.
std::string ending_of_file(const std::string& path);
// The endings that format_of_file() knows, for messages.
inline constexpr const char* kFormatEndings = ".csv is CSV, and .jsonl, .ndjson and .json are JSON lines";

class RowPrinter {
 public:
  virtual ~RowPrinter() = default;
  // Each function appends to `out`.
  virtual void begin(std::string& /*out*/) {}
  // `row` shows the row.
  virtual Status print(RowFields& row, std::string& out) = 0;
  virtual void end(uint64_t /*rows*/, std::string& /*out*/) {}
};
// All arguments must outlive the printer. Printers of CSV and of JSON lines do not depend on
// earlier rows, so several printers can print parts of a table.
std::unique_ptr<RowPrinter> make_printer(RowFormat format, const TableFields& table, const std::vector<const Field*>& fields);

// Appends `"<name>": <value>` for a field of the row, whose key is also a value. `exact` is as in
// append_json().
Status append_member(std::string& out, const TableFields& table, const Field& field, RowFields& row, bool exact);

}  // namespace elider::tools
