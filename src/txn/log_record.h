// Decodes a record of the log, which contains either the entries of a commit or a table that was
// created. The caller decides what to do with them.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "elider/status.h"
#include "txn/log_entry.h"
#include "txn/table_record.h"

namespace elider::txn {

// Calls on_table(id, schema) -> Status for a table, or on_entry(entry) -> Status for each entry in
// order. Stops at the first status that is not ok, and returns it. Returns kCorrupt if the record
// is malformed, and kUnsupported if this program does not support all of it. The message does not
// name the record.
template <class OnTable, class OnEntry>
Status take_record_apart(std::span<const std::byte> bytes, OnTable&& on_table, OnEntry&& on_entry) {
  if (bytes.empty()) return Status(Code::kCorrupt, "it is empty");
  switch (static_cast<RecordKind>(bytes.front())) {
    case RecordKind::kCommit: {
      std::span<const std::byte> rest = bytes.subspan(1);
      LogEntry entry;
      while (!rest.empty()) {
        if (!take_entry(&rest, &entry)) return Status(Code::kCorrupt, "an entry extends past its end");
        if (Status status = on_entry(entry); !status.ok()) return status;
      }
      return {};
    }
    case RecordKind::kTable:
    case RecordKind::kUntaggedTable: {
      uint32_t id = 0;
      Schema schema;
      if (Status status = decode_table(bytes, &id, &schema); !status.ok()) return status;
      return on_table(id, std::move(schema));
    }
  }
  return Status(Code::kCorrupt, "it is of an unknown kind");
}

}  // namespace elider::txn
