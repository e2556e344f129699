#include "tools/rows/arguments.h"

#include <utility>

#include <fmt/format.h>
#include "tools/rows/status_words.h"

namespace elider::tools {

Result<std::vector<FieldText>> parse_field_texts(const TableFields& fields, const std::vector<std::string>& arguments, const char* option) {
  std::vector<FieldText> parsed;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0)
      return Status::invalid_argument(fmt::format("{}: '{}' is not of the form COLUMN=VALUE", option, shown(argument)));
    const Result<const Field*> field = fields.find(argument.substr(0, equals));
    if (!field.ok()) return field.status();
    FieldText one{*field, argument.substr(equals + 1)};
    one.null = one.text == "null" && one.field->nullable;
    parsed.push_back(std::move(one));
  }
  return parsed;
}

Result<RowValue> value_of(const TableFields& fields, const FieldText& argument, std::string& storage) {
  if (argument.null) return RowValue();
  const Field& field = *argument.field;
  const auto refuse = [&](const Status& why) { return with_place(fields.named(field), why); };
  std::string_view text = argument.text;
  std::string unquoted;
  // A JSON document may itself be a text in quotation marks.
  const bool quoted = text.starts_with('"') && field.type.type != RowType::kJson;
  if (quoted) {
    const Result<std::string_view> inner = parse_quoted(text, unquoted);
    if (!inner.ok()) return refuse(inner.status());
    text = *inner;
  }
  const Result<RowValue> value = parse_value(field.type, text, storage);
  if (!value.ok()) return refuse(value.status());
  if (value->kind() != RowValue::Kind::kText && value->kind() != RowValue::Kind::kBytes) return *value;
  if (value->text().data() != storage.data()) storage = std::string(value->text());
  return value->kind() == RowValue::Kind::kText ? RowValue(std::string_view(storage)) : RowValue(Bytes(storage));
}

Result<RowFilter> RowFilter::of(const TableFields& fields, const std::vector<std::string>& arguments) {
  Result<std::vector<FieldText>> parsed = parse_field_texts(fields, arguments, "--where");
  if (!parsed.ok()) return parsed.status();
  RowFilter filter;
  RowEditor editor(fields);  // refuses values that no row can have, such as decimals with too many digits
  for (FieldText& one : *parsed) {
    if (one.field->kind == Field::Kind::kKey) {
      Result<OwnedKey> key = parse_key(fields.schema(), one.text);
      if (!key.ok()) return with_place(fields.named(*one.field), key.status());
      filter.key_ = *std::move(key);
      continue;
    }
    Test test{one.field, std::make_unique<std::string>(), {}};
    const Result<RowValue> value = value_of(fields, one, *test.storage);
    if (!value.ok()) return value.status();
    test.value = *value;
    editor.begin();
    if (Status status = editor.set(*one.field, test.value); !status.ok()) return status;
    filter.tests_.push_back(std::move(test));
  }
  return filter;
}

Result<bool> RowFilter::passes(RowFields& row) const {
  for (const Test& test : tests_) {
    const Result<RowValue> value = row.value(*test.field);
    if (!value.ok()) return value.status();
    if (!same_value(test.field->type, *value, test.value)) return false;
  }
  return true;
}

}  // namespace elider::tools
