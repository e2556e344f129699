// Structs with text and bytes as described rows (elider/struct_table.h).
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "elider/struct_table.h"
#include "rows/layout.h"

namespace elider::detail {

namespace {

// The builders that a thread has used last, so that encoding a struct does not allocate memory.
class ThreadBuilders {
 public:
  // Returns a builder of rows with this description, or null if memory is exhausted.
  RowBuilder* of(const RowSchema& schema) {
    for (size_t i = 0; i < builders_.size(); ++i) {
      const auto& builder = builders_[i];
      if (builder == nullptr || &builder->layout() != schema.layout().get()) continue;
      if (builder->memory_bytes() > kBytesKept) [[unlikely]] return make(i, schema);
      if (i != 0) std::swap(builders_[i], builders_[i - 1]);  // builders that are used often move to the front
      return builders_[i == 0 ? 0 : i - 1].get();
    }
    return make(builders_.size() - 1, schema);
  }

 private:
  static constexpr size_t kBuilders = 8;
  static constexpr size_t kBytesKept = 1 << 20;  // a larger buffer is freed before the next row

  RowBuilder* make(size_t at, const RowSchema& schema) {
    try {
      builders_[at].reset();
      builders_[at] = std::make_unique<RowBuilder>(schema);
      return builders_[at].get();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  std::array<std::unique_ptr<RowBuilder>, kBuilders> builders_;
};

RowBuilder* thread_builder(const RowSchema& schema) {
  thread_local ThreadBuilders builders;
  return builders.of(schema);
}

// Returns why a struct could not be read or written: a column of a member has been dropped or,
// otherwise, `status`.
[[gnu::cold]] Status explain(const StructMembers& members, const RowLayout& layout, Status status) {
  for (const StructMember& member : members)
    if (!layout.has(member.position))
      return layout.refuse(Code::kSchemaMismatch, "column '" + member.column +
                                                      "', which a member of the struct is stored in, was dropped; remove it from RowsOf, "
                                                      "and open the table again");
  return status;
}

[[gnu::cold]] Status no_memory(const RowSchema& schema) {
  return schema.layout()->refuse(Code::kMemoryLimit, "memory for encoding a row is exhausted");
}

Result<std::span<const std::byte>> finish(const StructMembers& members, RowBuilder& row, const std::byte* from, const std::byte* before) {
  for (const StructMember& member : members)
    member.store(row, member.position, from + member.offset, before == nullptr ? nullptr : before + member.offset);
  auto bytes = row.finish();
  if (!bytes.ok()) [[unlikely]] return explain(members, row.layout(), bytes.status());
  return bytes;
}

}  // namespace

Status find_columns(const RowSchema& schema, StructMembers* members) {
  const RowLayout& layout = *schema.layout();
  const auto refuse = [&](const StructMember& member, const std::string& words) {
    return layout.refuse(Code::kSchemaMismatch, "column '" + member.column + "' " + words);
  };
  for (StructMember& member : *members) {
    const auto found = layout.positions.find(member.column);
    if (found == layout.positions.end()) return refuse(member, "of the struct does not exist in the table");
    const RowColumn& column = layout.columns[found->second];
    if (column.type != member.type)
      return refuse(member, "has type " + std::string(name_of(column.type)) + ", but the struct's member has type " +
                                std::string(name_of(member.type)));
    if (column.nullable != member.nullable)
      return refuse(member, column.nullable ? "is nullable; make the struct's member a std::optional"
                                            : "is not nullable, but the struct's member is a std::optional");
    const auto same = [&](const StructMember& other) { return &other != &member && other.offset == member.offset; };
    if (std::any_of(members->begin(), members->end(), same))
      return Status::invalid_argument("table '" + layout.table + "': column '" + member.column +
                                      "' is described with the same member of the struct as another column");
    member.position = found->second;
  }
  return {};
}

Status decode_struct(const StructMembers& members, const RowReader& row, std::byte* to) {
  Status why;
  for (const StructMember& member : members)
    if (!member.load(row, member.position, to + member.offset, &why)) [[unlikely]] return explain(members, row.layout(), std::move(why));
  return {};
}

Result<std::span<const std::byte>> encode_struct(const StructMembers& members, const RowSchema& schema, const std::byte* from) {
  RowBuilder* const row = thread_builder(schema);
  if (row == nullptr) [[unlikely]] return no_memory(schema);
  return finish(members, row->begin(), from, nullptr);
}

Result<std::span<const std::byte>> encode_struct(const StructMembers& members, const RowSchema& schema, const std::byte* from,
                                                 const RowReader& old, const std::byte* before) {
  RowBuilder* const row = thread_builder(schema);
  if (row == nullptr) [[unlikely]] return no_memory(schema);
  return finish(members, row->edit(old), from, before);
}

}  // namespace elider::detail
