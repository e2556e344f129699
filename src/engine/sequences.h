// Sequences: they assign the numbers of elider/sequence.h in chunks, which are counted in a table
// of the database.
//
// The table `elider_sequences` has one row per sequence: its name, and the first number that is not
// in a chunk. A zone whose chunk is used up runs a transaction that raises this number, waits until
// the transaction is durable, and then owns the chunk. No latch is held meanwhile, because the
// transaction may wait for locks of a procedure that itself requests a number. So several threads
// of a zone may each fetch a chunk, and the zone keeps all of them.
//
// Invariant: a number is assigned only from a chunk whose transaction has committed and, if there
// is a log, is durable. So no number is assigned twice.
//
// at_least() raises the row, then the floor, and then drops the smaller numbers from each zone. A
// chunk that was fetched before may reach its zone later. Its thread cuts it at the floor, which it
// reads under the zone's latch. If it takes the latch before at_least() does, at_least() finds the
// chunk. If it takes the latch after at_least(), it sees the new floor.
//
// Thread safety: all. Lock rank: a zone's latch and Sequences::mutex_ are leaves.
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
  std::atomic<uint64_t> floor_{0};  // the minimum of numbers to assign; rises, and is read under a zone's latch
  const uint32_t zone_count_;  // a power of two
  const std::unique_ptr<CacheLine<Zone>[]> zones_;
};

// Ok; or kInvalidArgument if a program wants to create a table with a reserved name and a schema
// other than the database's own.
Status check_reserved_name(const Schema& schema);

class Sequences {
 public:
  // Like Database::sequence.
  Status find(Engine& engine, std::string_view name, const SequenceOptions& options, SequenceState** state);

 private:
  Status open(Engine& engine, const std::string& name, const SequenceOptions& options, std::unique_ptr<SequenceState>* state);

  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<SequenceState>> by_name_;
};

}  // namespace elider::detail
