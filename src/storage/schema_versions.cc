#include "storage/schema_versions.h"

#include <new>
#include <utility>

#include "base/check.h"
#include "elider/status.h"

namespace elider::storage {

std::unique_ptr<SchemaVersions::Version> SchemaVersions::prepare(Schema schema, uint32_t version) const {
  auto made = std::make_unique<Version>();
  if (!schema.row_columns.empty()) {
    Result<RowSchema> rows = RowSchema::of(schema, this);
    if (rows.status().code() == Code::kMemoryLimit) throw std::bad_alloc();
    ELIDER_CHECK(rows.ok(), "the columns of described rows are checked before a table is made");
    made->rows = *std::move(rows);
  }
  made->name_id = intern_name(schema.name);
  made->schema = std::move(schema);
  made->version = version;
  return made;
}

SchemaVersions::SchemaVersions(Schema first) : current_(prepare(std::move(first), 0).release()), rows_(&current().rows) {}

SchemaVersions::~SchemaVersions() {
  // A loop frees the list, because nested destructors could exhaust the stack.
  std::unique_ptr<const Version> version(current_.load());
  while (version != nullptr) version = std::move(const_cast<Version&>(*version).previous);
}

const SchemaVersions::Version& SchemaVersions::at(SnapshotNumber number) const {
  const Version* version = &current();
  while (version->number > number && version->previous != nullptr) version = version->previous.get();
  return *version;
}

void SchemaVersions::add(std::unique_ptr<Version> version, SnapshotNumber number) noexcept {
  version->number = number;
  version->previous.reset(current_.load());
  // A thread that sees rows of the new version finds their description, because it is stored before
  // the first such row is committed.
  rows_.store(&version->rows, std::memory_order_release);
  current_.store(version.release(), std::memory_order_release);
}

}  // namespace elider::storage
