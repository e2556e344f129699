// What RowReader makes of arbitrary bytes. The first byte of the input selects a schema, and the
// rest is the row. The reader refuses the row, or reads columns inside of it. If check() accepts
// the row, a builder that is given its values writes the same bytes. The rest is also checked as
// JSON, and the answer is compared with that of another parser.
#include "elider/row.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/utf8.h"
#include "rows/json.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/fuzz/row_schemas.h"

namespace elider::fuzz {
namespace {

using Input = std::span<const std::byte>;

void touch(std::string_view text) {
  [[maybe_unused]] static volatile char last;
  for (const char c : text) last = c;
}

void read(const RowSchema& schema, const RowReader& row, bool whole) {
  const char* const begin = reinterpret_cast<const char*>(row.bytes().data());
  for (size_t i = 0; i < schema.columns(); ++i) {
    const auto value = row.value(i);
    demand(value.ok() || !whole || i >= row.columns_written(), "all columns of a row that is whole can be read");
    if (value.ok()) {
      demand(value->is_null() == row.is_null(i), "is_null() agrees with the value");
      demand(value->text().empty() || (value->text().data() >= begin && value->text().data() + value->text().size() <= begin + row.size()),
             "text is inside the row");
      touch(value->text());
    }
    const auto number = row.get<std::optional<int64_t>>(i);
    demand(!number.ok() || !number->has_value() || (value.ok() && value->kind() == RowValue::Kind::kInteger),
           "integers are read from integers");
    const auto text = row.get<std::string_view>(i);
    demand(text.ok() == (value.ok() && value->kind() == RowValue::Kind::kText), "text is read from text");
    demand(!row.get<Bytes>(i).ok() || value->kind() == RowValue::Kind::kBytes, "bytes are read from bytes");
    static_cast<void>(row.get<bool>(i));
    static_cast<void>(row.get<double>(i));
    static_cast<void>(row.get<Uuid>(i));
  }
  demand(!row.value(schema.columns()).ok(), "a column after the last is refused");
}

void rebuild(const RowSchema& schema, const RowReader& row, Input bytes) {
  RowBuilder copy(schema), builder(schema);
  for (size_t i = schema.columns(); i-- > 0;) builder.set(i, *row.value(i));
  for (const auto& built : {copy.edit(row).finish(), builder.finish()}) {
    demand(built.ok(), "what is read can be written");
    demand(std::equal(built->begin(), built->end(), bytes.begin(), bytes.end()), "what is written is what was read");
  }
}

void check_as_json(std::string_view text) {
  if (utf8_end(text) != text.size()) return;
  const auto mistake = rows::check_json(text);
  demand(mistake.offset <= text.size(), "a mistake is inside the text");
  // The other parser skips a byte order mark, and a zero byte ends its input.
  if (text.starts_with("\xef\xbb\xbf") || text.find('\0') != text.npos) return;
  if (nlohmann::json::accept(text))
    demand(mistake.reason == nullptr || std::string_view(mistake.reason).find("deep") != std::string_view::npos,
           "JSON that another parser accepts is accepted");
  if (mistake.reason == nullptr)
    demand(nlohmann::json::accept(text) || text.find_first_of("0123456789") != text.npos, "others accept it, unless a number is large");
}

}  // namespace
}  // namespace elider::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace elider;
  using namespace elider::fuzz;
  if (size == 0) return 0;
  static const std::vector<RowSchema> schemas = {row_schema_of(0), row_schema_of(1), row_schema_of(2), row_schema_of(3),
                                                 row_schema_of(4), row_schema_of(5), row_schema_of(6), row_schema_of(7)};
  const RowSchema& schema = schemas[data[0] % schemas.size()];
  const std::vector<std::byte> bytes = bytes_of(data + 1, size - 1);
  check_as_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto row = RowReader::open(schema, bytes);
  if (!row.ok()) {
    demand(row.status().code() == Code::kCorrupt || row.status().code() == Code::kSchemaMismatch, "refused bytes are corrupt");
    return 0;
  }
  demand(row->size() == bytes.size(), "a row has the size of its bytes");
  const bool whole = row->check().ok();
  read(schema, *row, whole);
  if (whole && row->columns_written() == schema.columns()) {
    rebuild(schema, *row, bytes);
  } else {
    RowBuilder builder(schema);
    static_cast<void>(builder.edit(*row).finish());
  }
  return 0;
}
