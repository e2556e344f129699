// Replay: makes tables and rows of a log's records.
//
// It takes all records first, since those of several files come in no common order, and then makes each row
// once: the entries of a key, by commit group in the order of their sequences, laid over each other. So it needs
// about as much memory as the log's records have bytes. Rows are written by transactions, which build the
// secondary indexes too; several threads write, each its own keys.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "elider/database.h"
#include "log/format.h"
#include "txn/log_entry.h"

namespace elider::detail {

class Engine;

class Replay {
 public:
  static constexpr uint32_t kThreads = 4;

  // `schemas`: where key functions come from.
  Replay(Engine& engine, const std::vector<Schema>& schemas) : engine_(engine), schemas_(schemas) {}

  // Keeps a copy. kCorrupt: the record is of no known kind.
  Status add(uint32_t generation, const log::Record& record);
  // Makes all tables and rows. *rows: how many. kCorrupt: a record makes no sense. kSchemaMismatch: see
  // Options::schemas.
  Status apply(uint32_t threads, uint64_t* rows);

 private:
  struct Entry {
    Key key;
    uint64_t sequence;
    uint32_t generation;
    uint32_t table;
    uint64_t columns;
    const std::byte* bytes;
    uint32_t size;
    uint8_t group;
    txn::EntryKind kind;
    uint32_t order;  // in its record: additions follow the bytes they belong to
  };
  // A table may stand behind what was written to it: they come from different buffers.
  struct Kept {
    uint32_t generation;
    log::Record record;
  };
  struct Described {
    uint32_t id;
    Schema schema;
    log::Record record;
  };
  Status make_tables();
  Status make_table(const Described& table);
  Status split(const Kept& commit);
  Status check(const txn::LogEntry& entry) const;
  Status apply_part(std::vector<Entry>& entries, uint64_t* rows);
  bool fold(const Entry* begin, const Entry* end, std::byte* image) const;

  Engine& engine_;
  const std::vector<Schema>& schemas_;
  std::vector<Described> described_;
  std::vector<Kept> commits_;
  std::vector<TableRef> tables_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;  // the records' bytes
  std::vector<Entry> parts_[kThreads];                // by key
};

}  // namespace elider::detail
