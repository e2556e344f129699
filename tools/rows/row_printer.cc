// The formats of rows: a table for people, CSV, and JSON lines.
#include <algorithm>
#include <filesystem>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "tools/rows/output_file.h"

namespace elider::tools {

namespace {

using Fields = std::vector<const Field*>;

// CSV as in RFC 4180, with lines that end in a line feed. Null is an empty field, and an empty text
// of a nullable column is "".
class CsvPrinter : public RowPrinter {
 public:
  CsvPrinter(const TableFields& table, const Fields& fields) : table_(table), fields_(fields) {}

  void begin(std::string& text) override {
    for (const Field* field : fields_) {
      append_quoted(text, field->name);
      text += field == fields_.back() ? '\n' : ',';
    }
  }
  Status print(RowFields& row, std::string& text) override {
    for (const Field* field : fields_) {
      if (field->kind == Field::Kind::kKey) {
        append_key(row.key(), text);
      } else {
        Status status = row.with_value(*field, [&](const auto& value) {
          using Value = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, RowValue>) append_field(text, *field, value);
          else if constexpr (std::is_same_v<Value, std::string_view>) append_words(text, *field, value);
          else append_text(text, value);
        });
        if (!status.ok()) [[unlikely]] return status;
      }
      text += ',';
    }
    text.back() = '\n';
    return {};
  }

 private:
  void append_key(const RowKey& key, std::string& text) {
    if (!table_.table().byte_keys()) return append_text(text, key.number);
    key_.clear();
    append_key_text(key_, table_.schema(), key);
    append_quoted(text, key_);
  }
  static void append_words(std::string& text, const Field& field, std::string_view value) {
    if (value.empty() && field.nullable) text += "\"\"";
    else append_quoted(text, value);
  }
  static void append_field(std::string& text, const Field& field, const RowValue& value) {
    switch (value.kind()) {
      case RowValue::Kind::kText: append_words(text, field, value.text()); break;
      case RowValue::Kind::kBytes: {
        std::string bytes;
        append_text(bytes, field.type, value);
        append_quoted(text, bytes);
        break;
      }
      default: append_text(text, field.type, value);
    }
  }
  static void append_quoted(std::string& text, std::string_view value) {
    const bool plain = std::none_of(value.begin(), value.end(), [](char c) { return c == '"' || c == ',' || c == '\n' || c == '\r'; });
    if (plain) {
      text += value;
      return;
    }
    text += '"';
    for (const char c : value) {
      if (c == '"') text += '"';
      text += c;
    }
    text += '"';
  }

  const TableFields& table_;
  const Fields& fields_;
  std::string key_;
};

class JsonLinesPrinter : public RowPrinter {
 public:
  JsonLinesPrinter(const TableFields& table, const Fields& fields) : table_(table), fields_(fields) {}

  Status print(RowFields& row, std::string& text) override {
    text += '{';
    for (const Field* field : fields_) {
      if (field != fields_.front()) text += ',';
      if (Status status = append_member(text, table_, *field, row, false); !status.ok()) return status;
    }
    text += "}\n";
    return {};
  }

 private:
  const TableFields& table_;
  const Fields& fields_;
};

// Columns of equal width. The first rows decide the widths, so that memory is bounded.
class TablePrinter : public RowPrinter {
 public:
  TablePrinter(const TableFields& table, const Fields& fields) : table_(table), fields_(fields), widths_(fields.size()) {}

  Status print(RowFields& row, std::string& text) override {
    std::vector<std::string> cells;
    for (const Field* field : fields_) {
      std::string cell;
      if (field->kind == Field::Kind::kKey) {
        append_key_text(cell, table_.schema(), row.key());
      } else {
        const Result<RowValue> value = row.value(*field);
        if (!value.ok()) return value.status();
        if (value->is_null())
          cell = "null";
        else
          append_text(cell, field->type, *value);
      }
      cells.push_back(shortened(shown(cell)));
    }
    first_.push_back(std::move(cells));
    if (measured_ || first_.size() == kMeasuredRows) flush(text);
    return {};
  }
  void end(uint64_t rows, std::string& text) override {
    flush(text);
    text += fmt::format("({} row{})\n", rows, rows == 1 ? "" : "s");
  }

 private:
  static constexpr size_t kMeasuredRows = 1000;
  static constexpr size_t kWidthMax = 80;

  // Counts characters and not bytes.
  static size_t width_of(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  }
  static std::string shortened(std::string text) {
    if (text.size() <= kWidthMax || width_of(text) <= kWidthMax) return text;
    size_t end = 0;
    for (size_t characters = 0; characters < kWidthMax - 3 || (text[end] & 0xc0) == 0x80; ++end)
      if ((text[end] & 0xc0) != 0x80) ++characters;
    return text.substr(0, end) + "...";
  }
  static bool is_number(const Field& field) {
    const RowType type = field.type.type;
    return (type >= RowType::kInt8 && type <= RowType::kDouble) || type == RowType::kDecimal;
  }
  void flush(std::string& text) {
    if (!measured_) {
      std::vector<std::string> names;
      for (const Field* field : fields_) names.push_back(shortened(shown(field->name)));
      first_.insert(first_.begin(), std::move(names));
      for (const auto& cells : first_)
        for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i]));
      std::vector<std::string> rule;
      for (const size_t width : widths_) rule.emplace_back(width, '-');
      first_.insert(first_.begin() + 1, std::move(rule));
      measured_ = true;
    }
    for (const auto& cells : first_) append_line(cells, text);
    first_.clear();
  }
  void append_line(const std::vector<std::string>& cells, std::string& text) const {
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t width = width_of(cells[i]), spaces = widths_[i] > width ? widths_[i] - width : 0;
      if (i != 0) text += "  ";
      if (is_number(*fields_[i])) text.append(spaces, ' ');
      text += cells[i];
      if (!is_number(*fields_[i]) && i + 1 != cells.size()) text.append(spaces, ' ');
    }
    text += '\n';
  }

  const TableFields& table_;
  const Fields& fields_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> first_;  // rows that have not been written; later also the lines of the heading
  bool measured_ = false;
};

}  // namespace

Status append_member(std::string& out, const TableFields& table, const Field& field, RowFields& row, bool exact) {
  append_json_string(out, field.name);
  out += ':';
  if (field.kind == Field::Kind::kKey) {
    append_key_json(out, table.schema(), row.key());
    return {};
  }
  const Result<RowValue> value = row.value(field);
  if (!value.ok()) [[unlikely]] return value.status();
  append_json(out, field.type, *value, exact);
  return {};
}

Result<RowFormat> parse_format(const std::string& name, bool table) {
  if (name == "csv") return RowFormat::kCsv;
  if (name == "jsonl") return RowFormat::kJsonLines;
  if (name == "table" && table) return RowFormat::kTable;
  return Status::invalid_argument(fmt::format("--format: '{}' is not a format; use {}csv or jsonl", shown(name), table ? "table, " : ""));
}

std::string ending_of_file(const std::string& path) { return std::filesystem::path(path).extension().string(); }

std::string format_of_file(const std::string& path, const std::string& unknown) {
  if (path.ends_with(".csv")) return "csv";
  for (const char* end : {".jsonl", ".ndjson", ".json"})
    if (path.ends_with(end)) return "jsonl";
  return unknown;
}

std::unique_ptr<RowPrinter> make_printer(RowFormat format, const TableFields& table, const Fields& fields) {
  switch (format) {
    case RowFormat::kCsv: return std::make_unique<CsvPrinter>(table, fields);
    case RowFormat::kJsonLines: return std::make_unique<JsonLinesPrinter>(table, fields);
    case RowFormat::kTable: break;
  }
  return std::make_unique<TablePrinter>(table, fields);
}

}  // namespace elider::tools
