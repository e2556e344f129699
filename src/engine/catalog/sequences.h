// Sequences: the implementation of elider/sequence.h. Numbers are reserved in chunks, and a table
// of the database records which numbers are reserved.
//
// The table `elider_sequences` has one row per sequence. The row contains the sequence's name, and
// the first number that is not in a chunk yet. A sequence has several zones, each with its own
// chunk, so that few threads share one. A thread whose zone has used up its chunk runs a
// transaction that raises the number in the row. When the transaction is durable, the zone owns the
// new chunk. The zone's latch is not held during this time, because the transaction may wait for
// locks of a procedure that itself requests a number. So several threads of a zone may each fetch a
// chunk, and the zone keeps all of these chunks.
//
// Invariant: a number is assigned only from a chunk whose transaction has committed and, if there
// is a log, is durable. So no number is assigned twice.
//
// at_least() raises the number in the row, then raises floor_, and then drops the smaller numbers
// from each zone. A thread that fetched a chunk earlier may add it to the zone only after that. It
// therefore first removes the numbers below floor_ from the chunk. It reads floor_ under the zone's
// latch. If this thread acquires the latch before at_least() does, at_least() finds the chunk in
// the zone. If it acquires the latch later, it reads the new value of floor_.
//
// Thread safety: all threads may call all functions. Lock order: a zone's latch and
// Sequences::mutex_ are leaves.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/cache_line.h"
#include "elider/function_ref.h"
#include "elider/options.h"
#include "elider/sequence.h"
#include "elider/table.h"
#include "sync/exclusive.h"

namespace elider::detail {

class Engine;

struct SequenceRow {
  char name[64];  // padded with zeros
  uint64_t next;
};

class SequenceState {
 public:
  SequenceState(Engine& engine, Table<SequenceRow> table, Key key, std::string name, uint32_t chunk);

  Status next(uint64_t* number);
  Status at_least(uint64_t number);
  void set_chunk(uint32_t chunk) { chunk_ = chunk; }

 private:
  struct Chunk {
    uint64_t next = 0, end = 0;
    bool empty() const { return next == end; }
    void drop_below(uint64_t floor) { next = std::max(next, std::min(floor, end)); }
  };
  struct Zone {
    sync::SpinLatch latch;
    Chunk current;
    std::vector<Chunk> more;
  };

  bool take(Zone& zone, uint64_t* number);
  Status fetch(Chunk* chunk);
  Status change_row(FunctionRef<Status(SequenceRow& row)> change);

  Engine& engine_;
  const Table<SequenceRow> table_;
  const Key key_;
  const std::string name_;
  std::atomic<uint32_t> chunk_;
  std::atomic<uint64_t> floor_{0};  // the smallest number that may be assigned; it only rises, and is read under a zone's latch
  const uint32_t zone_count_;  // a power of two
  const std::unique_ptr<CacheLine<Zone>[]> zones_;
};

// Returns kInvalidArgument if an application creates a table that has a reserved name and whose
// schema differs from the database's own schema for it.
Status check_reserved_name(const Schema& schema);
// Returns true if the name is reserved for tables of the database itself.
bool is_reserved_name(std::string_view name);
Status refuse_reserved_name(std::string_view name);

class Sequences {
 public:
  // Implements Database::sequence().
  Status find(Engine& engine, std::string_view name, const SequenceOptions& options, SequenceState** state);

 private:
  Status open(Engine& engine, const std::string& name, const SequenceOptions& options, std::unique_ptr<SequenceState>* state);

  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<SequenceState>> by_name_;
};

}  // namespace elider::detail
