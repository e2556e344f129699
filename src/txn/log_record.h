// Decodes a log record, which contains either the entries of a commit or the schema of a table
// that was created, changed or dropped.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "elider/status.h"
#include "txn/log_entry.h"
#include "txn/table_record.h"

namespace elider::txn {

// Calls on_table(TableRecord) -> Status if the record describes a table, or on_entry(entry) ->
// Status for each entry of a commit, in order. Stops at the first status that is not ok, and
// returns it.
// Returns kCorrupt if the record is malformed, and kUnsupported if it uses a feature that this
// program does not support. The message does not say which record is affected; the caller adds
// that.
template <class OnTable, class OnEntry>
Status take_record_apart(std::span<const std::byte> bytes, OnTable&& on_table, OnEntry&& on_entry) {
  if (bytes.empty()) return Status(Code::kCorrupt, "the record is empty");
  switch (static_cast<RecordKind>(bytes.front())) {
    case RecordKind::kCommit: {
      std::span<const std::byte> rest = bytes.subspan(1);
      LogEntry entry;
      while (!rest.empty()) {
        if (!take_entry(&rest, &entry)) return Status(Code::kCorrupt, "an entry extends past the end of the record");
        if (Status status = on_entry(entry); !status.ok()) return status;
      }
      return {};
    }
    case RecordKind::kTable:
    case RecordKind::kUntaggedTable: {
      TableRecord record;
      if (Status status = decode_table(bytes, &record); !status.ok()) return status;
      return on_table(std::move(record));
    }
  }
  return Status(Code::kCorrupt, "the record is of an unknown kind");
}

}  // namespace elider::txn
