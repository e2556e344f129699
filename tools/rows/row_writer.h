// RowWriter: writes rows to a table, many per transaction. update_row(): changes some columns of a
// row, or inserts it. Both work for tables that were opened without their secondary indexes, as far
// as the database allows.
// Thread safety: one thread at a time may use a RowWriter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elider/database.h"
#include "elider/status.h"
#include "tools/rows/fields.h"
#include "tools/rows/record_reader.h"

namespace elider::tools {

// What happens if a key exists.
enum class OnConflict { kFail, kSkip, kReplace, kUpdate };
inline constexpr const char* kOnConflictNames[] = {"fail", "skip", "replace", "update"};

// Returns the value of a cell for a field that is not the key. `exact` is true for dumps, which
// contain JSON documents as text. The value refers to the cell or to `storage`.
//   kInvalidArgument  the message says why, without the name of the column
Result<RowValue> value_of(const Field& field, const Cell& cell, bool exact, std::string& storage);

using FieldValue = std::pair<const Field*, RowValue>;
// Sets these columns of the row, and inserts the row if it does not exist. Returns true if it has
// inserted it.
//   kInvalidArgument  a value does not fit; the message names the column
//   kUnsupported      a secondary index that needs the program's key function reads a column
Result<bool> update_row(Database& db, const TableFields& table, RowEditor& editor, const RowKey& key, std::span<const FieldValue> values);

// Explains a failed write to a table whose indexes were left out.
Status explain(const TableFields& table, const Status& status);

class RowWriter {
 public:
  // The arguments must outlive the writer. `mode` is not kUpdate.
  RowWriter(Database& db, const TableFields& table, OnConflict mode) : db_(db), table_(table), mode_(mode) {}

  // Adds a row, which is copied, and commits a full batch. After an error, the rows of earlier
  // batches are in the table, and failed_line() is the line of the row that failed.
  //   kDuplicateKey  the key exists (OnConflict::kFail)
  Status add(const OwnedKey& key, std::span<const std::byte> row, uint64_t line);
  // Commits the rest.
  Status flush();
  uint64_t written() const { return written_; }
  uint64_t skipped() const { return skipped_; }
  uint64_t failed_line() const { return failed_line_; }

 private:
  static constexpr size_t kRowsMax = 1000, kBytesMax = 1 << 20;
  struct Row {
    OwnedKey key;
    size_t begin, size;
    uint64_t line;
  };
  Status write(Transaction& txn, const Row& row, uint64_t* skipped) const;

  Database& db_;
  const TableFields& table_;
  const OnConflict mode_;
  std::vector<Row> rows_;
  std::vector<std::byte> bytes_;
  uint64_t written_ = 0, skipped_ = 0, failed_line_ = 0;
};

}  // namespace elider::tools
