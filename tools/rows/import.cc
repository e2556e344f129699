#include "tools/rows/import.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "tools/data/progress_line.h"
#include "tools/rows/status_words.h"

namespace elider::tools {

namespace {

bool is_wanted(const ImportOptions& options, const std::string& name) {
  return options.columns.empty() || std::find(options.columns.begin(), options.columns.end(), name) != options.columns.end();
}

// Finds the fields of the file's columns, and writes record after record.
class Import {
 public:
  Import(Database& db, const TableFields& table, const ImportOptions& options, RecordReader& reader)
      : db_(db),
        table_(table),
        options_(options),
        reader_(reader),
        key_name_(options.key.empty() ? table.key().name : options.key),
        editor_(table),
        writer_(db, table, options.on_conflict) {}

  Status run() {
    if (Status status = check_heading(); !status.ok()) return status;
    ProgressLine line;
    for (uint64_t rows = 0;; ++rows) {
      const Result<bool> found = reader_.next();
      if (!found.ok()) return found.status();
      if (!*found) return flush();
      if (Status status = add_record(); !status.ok()) return status;
      if (rows % 1024 == 0) line.show("importing", reader_.percent());
    }
  }
  Imported imported() const { return {writer_.written() + updated_, writer_.skipped()}; }

 private:
  Status refuse(uint64_t line, const Status& why) const { return with_place(reader_.where(line), why); }
  Status refuse(const std::string& why) const { return refuse(reader_.line(), Status::invalid_argument(why)); }

  // Finds the fields of names that have not been seen before.
  Status find_fields() {
    for (size_t i = fields_.size(); i < reader_.names().size(); ++i) {
      const std::string& name = reader_.names()[i];
      const Field* field = nullptr;
      if (name == key_name_) {
        field = &table_.key();
      } else if (is_wanted(options_, name)) {
        const Result<const Field*> found = table_.find(name);
        if (!found.ok()) return refuse(words_of(found.status()) + "; --columns chooses columns of the file");
        if ((*found)->kind == Field::Kind::kKey)
          return refuse(fmt::format("both '{}' and '{}' are keys; --columns chooses columns of the file", shown(key_name_), shown(name)));
        field = *found;
      }
      fields_.push_back(field);
    }
    return {};
  }

  // Reports mistakes in the heading of a CSV file, even if no record follows. JSON lines do not
  // have a heading.
  Status check_heading() {
    const std::vector<std::string>& names = reader_.names();
    if (names.empty()) return {};
    const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    for (const std::string& name : options_.columns)
      if (!has(name))
        return refuse(fmt::format("the file does not have the column '{}' of --columns; its columns are {}", shown(name), listed(names)));
    if (!has(key_name_)) return refuse_missing_key();
    return find_fields();
  }
  Status refuse_missing_key() const {
    return refuse(fmt::format("the column '{}' with the key is missing; --key names another column{}", shown(key_name_),
                              reader_.names().empty() ? "" : "; the columns of the file are " + listed(reader_.names())));
  }

  Status add_record() {
    if (Status status = find_fields(); !status.ok()) return status;
    OwnedKey key;
    bool has_key = false;
    values_.clear();
    storages_.resize(fields_.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Cell& cell = reader_.cells()[i];
      const Field* const field = fields_[i];
      if (field == nullptr || cell.kind == Cell::Kind::kAbsent) continue;
      if (field->kind == Field::Kind::kKey) {
        Result<OwnedKey> parsed = parse_key(table_.schema(), cell.text);
        if (!parsed.ok()) return refuse(fmt::format("column '{}': {}", shown(key_name_), words_of(parsed.status())));
        key = *std::move(parsed);
        has_key = true;
        continue;
      }
      const Result<RowValue> value = value_of(*field, cell, false, storages_[i]);
      if (!value.ok()) return refuse(fmt::format("{}: {}", table_.named(*field), words_of(value.status())));
      values_.emplace_back(field, *value);
    }
    if (!has_key) return refuse_missing_key();
    return add_row(key);
  }

  Status add_row(const OwnedKey& key) {
    if (options_.on_conflict == OnConflict::kUpdate) {
      const Result<bool> inserted = update_row(db_, table_, editor_, key.key(), values_);
      if (!inserted.ok()) return refuse(reader_.line(), inserted.status());
      ++updated_;
      return {};
    }
    editor_.begin();
    for (const auto& [field, value] : values_)
      if (Status status = editor_.set(*field, value); !status.ok()) return refuse(reader_.line(), status);
    const Result<std::span<const std::byte>> row = editor_.finish();
    if (!row.ok()) return refuse(reader_.line(), row.status());
    Status status = writer_.add(key, *row, reader_.line());
    return status.ok() ? status : refuse(writer_.failed_line(), status);
  }
  Status flush() {
    Status status = writer_.flush();
    return status.ok() ? status : refuse(writer_.failed_line(), status);
  }

  Database& db_;
  const TableFields& table_;
  const ImportOptions& options_;
  RecordReader& reader_;
  const std::string key_name_;
  RowEditor editor_;
  RowWriter writer_;
  std::vector<const Field*> fields_;  // by the positions of the file's columns; null for columns that are not imported
  std::vector<FieldValue> values_;
  std::vector<std::string> storages_;
  uint64_t updated_ = 0;
};

// Returns the digits of a number from the first to the last that is not zero, without sign, point
// and exponent.
std::string significant_digits(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, text.find_first_of("eE")))
    if (c >= '0' && c <= '9' && !(digits.empty() && c == '0')) digits += c;
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}
// Returns true if a double gives the digits of this number back.
bool fits_double(std::string_view text, double number) {
  constexpr size_t kDigitsOfEveryDouble = 15;
  const std::string digits = significant_digits(text);
  if (digits.size() <= kDigitsOfEveryDouble || !std::isfinite(number)) return true;
  return significant_digits(fmt::format("{:.{}e}", number, digits.size() - 1)) == digits;
}
// Returns true for digits such as a postal code, whose zeros a number would lose.
bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// What the values of a column have in common: the first of these types that can hold all of them.
constexpr RowType kInferred[] = {RowType::kBool, RowType::kInt64, RowType::kUInt64, RowType::kDouble, RowType::kTimestamp, RowType::kUuid};
struct Inferred {
  bool any = false;
  bool nested = false;
  bool json_text = false;  // a text of JSON lines, which is never another type than text, a time or a UUID
  bool possible[std::size(kInferred)] = {true, true, true, true, true, true};

  void see(const Cell& cell) {
    if (cell.kind == Cell::Kind::kAbsent || cell.kind == Cell::Kind::kNull) return;
    any = true;
    nested = nested || cell.kind == Cell::Kind::kNested;
    const bool from_json = !cell.json.empty();
    json_text = json_text || (from_json && cell.kind == Cell::Kind::kText);
    std::string storage;
    for (size_t i = 0; i < std::size(kInferred); ++i) {
      if (!possible[i]) continue;
      const bool word = cell.text == "true" || cell.text == "false";
      const Result<RowValue> value = parse_value({.type = kInferred[i]}, cell.text, storage);
      possible[i] = value.ok() && (kInferred[i] != RowType::kBool || word);
      if (kInferred[i] == RowType::kDouble && possible[i]) possible[i] = fits_double(cell.text, value->number());
      if (kInferred[i] <= RowType::kDouble && has_leading_zero(cell.text)) possible[i] = false;
    }
  }
  RowType type() const {
    if (nested) return RowType::kJson;
    if (!any) return RowType::kText;
    for (size_t i = json_text ? 4 : 0; i < std::size(kInferred); ++i)
      if (possible[i]) return kInferred[i];
    return RowType::kText;
  }
  bool numbers() const { return possible[2]; }
  // The first value that is not a number from 0 to 2^64 - 1, and its line.
  std::pair<std::string, uint64_t> not_number;
};

struct GivenType {
  ValueType type;
  bool nullable = false;
};
std::string mistake_in_type(const std::string& name) {
  const std::string type = shown(name);
  if (!name.starts_with("decimal(")) return fmt::format("the type '{}' is unknown; the types are {}", type, known_types());
  if (name.find(')') == std::string::npos) return fmt::format("the type '{}' lacks its ')'; the types are {}", type, known_types());
  return fmt::format("the type '{}' is not decimal(SCALE), for example decimal(2); SCALE is 0 to {}", type, kDecimalScaleMax);
}
Result<std::map<std::string, GivenType>> parse_types(const std::vector<std::string>& types) {
  std::map<std::string, GivenType> given;
  for (const std::string& one : types) {
    const size_t colon = one.rfind(':');
    if (colon == std::string::npos || colon == 0)
      return Status::invalid_argument(
          fmt::format("--types: '{}' is not of the form COLUMN:TYPE or COLUMN:TYPE?, for example price:decimal(2)?; the types are {}",
                      shown(one), known_types()));
    const std::string column = one.substr(0, colon);
    std::string name = one.substr(colon + 1);
    GivenType type;
    if (type.nullable = name.ends_with('?'); type.nullable) name.pop_back();
    if (!parse_type(name, &type.type))
      return Status::invalid_argument(fmt::format("--types: column '{}': {}", shown(column), mistake_in_type(name)));
    given[column] = type;
  }
  return given;
}

}  // namespace

Status import_file(Database& db, const TableFields& table, const ImportOptions& options, Imported* imported) {
  const Result<std::unique_ptr<RecordReader>> reader = RecordReader::open(options.file, options.format);
  if (!reader.ok()) return reader.status();
  Import import(db, table, options, **reader);
  Status status = import.run();
  *imported = import.imported();
  return status;
}

Result<Schema> infer_schema(const std::string& table, const ImportOptions& options, const std::vector<std::string>& types,
                            std::string* description) {
  Result<std::map<std::string, GivenType>> given = parse_types(types);
  if (!given.ok()) return given.status();
  const Result<std::unique_ptr<RecordReader>> reader = RecordReader::open(options.file, options.format);
  if (!reader.ok()) return reader.status();
  std::vector<Inferred> columns;
  ProgressLine line;
  for (uint64_t rows = 0;; ++rows) {
    const Result<bool> found = (*reader)->next();
    if (!found.ok()) return found.status();
    if (!*found) break;
    columns.resize((*reader)->names().size());
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool numbers = columns[i].numbers();
      columns[i].see((*reader)->cells()[i]);
      if (numbers && !columns[i].numbers()) columns[i].not_number = {std::string((*reader)->cells()[i].text), (*reader)->line()};
    }
    if (rows % 1024 == 0) line.show("finding the types", (*reader)->percent());
  }
  const std::vector<std::string>& names = (*reader)->names();
  columns.resize(names.size());
  const std::string key = options.key.empty() ? "key" : options.key;
  const auto key_at = static_cast<size_t>(std::find(names.begin(), names.end(), key) - names.begin());
  if (key_at == names.size())
    return Status::invalid_argument(
        fmt::format("{}: the column '{}' with the key is missing; --key names another column; the columns of the file are {}",
                    (*reader)->where(1), shown(key), listed(names)));
  RowSchema schema(table);
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == key_at || !is_wanted(options, names[i])) continue;
    const auto found = given->find(names[i]);
    if (found != given->end())
      schema.column(names[i], found->second.type.type, {.nullable = found->second.nullable, .scale = found->second.type.scale});
    else
      schema.column(names[i], columns[i].type(), {.nullable = true});
    if (found != given->end()) given->erase(found);
  }
  // The type of the key may be given, so that a file whose first keys are digits can have text.
  const auto key_type = given->find(key);
  const bool all_numbers = columns[key_at].any && columns[key_at].numbers();
  const bool numbers = key_type == given->end() ? all_numbers : key_type->second.type.type == RowType::kUInt64;
  if (key_type != given->end()) {
    if (!numbers && key_type->second.type.type != RowType::kText && key_type->second.type.type != RowType::kBytes)
      return Status::invalid_argument(fmt::format("--types: the key '{}' must be uint64, text or bytes", shown(key)));
    given->erase(key_type);
  }
  if (!given->empty())
    return Status::invalid_argument(
        fmt::format("--types: {} does not have a column '{}'; the columns of the file are {}", (*reader)->where(1),
                    shown(given->begin()->first), listed(names)));
  const auto& [odd, line_of_odd] = columns[key_at].not_number;
  *description = numbers ? "number keys" : "text keys";
  if (!numbers && line_of_odd != 0)
    *description += fmt::format(", because key '{}' in line {} is not a number from 0 to 2^64 - 1", shown(odd), line_of_odd);
  for (size_t i = 0; i < schema.columns(); ++i) {
    const RowColumn& column = schema.column(i);
    *description += fmt::format("{}{} {}", i == 0 ? "; columns " : ", ", shown(column.name), type_name(value_type_of(column)));
  }
  return numbers ? schema.table_schema() : schema.table_schema<Bytes>();
}

}  // namespace elider::tools
