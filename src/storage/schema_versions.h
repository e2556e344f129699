// SchemaVersions: the schema of a table, and the schemas that it had before.
//
// Each change of the schema adds a version. The earlier versions are kept as long as the table, so
// threads may use a schema while it is being replaced, and a checkpoint can store the schema of its
// snapshot. Thread safety: one thread at a time may call add(). All threads may call the
// other functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "elider/row_schema.h"
#include "elider/schema.h"
#include "elider/snapshot_number.h"

namespace elider::storage {

class SchemaVersions {
 public:
  struct Version {
    Schema schema;
    RowSchema rows;             // does not have columns if the table does not have described rows
    uint32_t name_id = 0;       // of the table's name (elider/status.h)
    uint32_t version = 0;       // how often the schema had been changed since the table was created
    SnapshotNumber number = 0;  // the snapshot number of the change
    std::unique_ptr<const Version> previous;
  };
  // Prepares a version. The row columns of the schema must have been checked (check_rows). May
  // throw std::bad_alloc.
  std::unique_ptr<Version> prepare(Schema schema, uint32_t version) const;

  explicit SchemaVersions(Schema first);
  ~SchemaVersions();
  SchemaVersions(const SchemaVersions&) = delete;
  SchemaVersions& operator=(const SchemaVersions&) = delete;

  const Version& current() const { return *current_.load(std::memory_order_acquire); }
  const Schema& schema() const { return current().schema; }
  // The description of the newest version, for handles that follow the changes.
  const std::atomic<const RowSchema*>& rows() const { return rows_; }
  // Returns the newest version whose number is at most `number`, or the oldest one.
  const Version& at(SnapshotNumber number) const;
  void add(std::unique_ptr<Version> version, SnapshotNumber number) noexcept;
  // The snapshot number of the table's creation; 0 if the table was recovered. set_created() must
  // be called before other threads can find the table.
  SnapshotNumber created() const { return created_; }
  void set_created(SnapshotNumber number) { created_ = number; }

 private:
  std::atomic<const Version*> current_;  // owned
  std::atomic<const RowSchema*> rows_;
  SnapshotNumber created_ = 0;
};

}  // namespace elider::storage
