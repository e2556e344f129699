// Sequences: the numbers that elider/sequence.h gives, in chunks that a table of the database
// counts.
//
// The table `elider_sequences` has a row a sequence: its name, and the first number that no chunk
// has. A zone that has run out runs a transaction that raises it, waits until that is durable, and
// then owns the chunk. No latch is held meanwhile, for the transaction may wait for locks of a
// procedure that itself wants a number; so several threads of a zone may each fetch a chunk, and
// those are kept.
//
// Invariant: a number is given only from a chunk whose transaction has committed, and is durable
// where there is a log; so none is given twice.
//
// at_least() raises the row, then the floor, then drops what lies below it from each zone. A chunk
// that was fetched before may come to its zone later. Its thread cuts it by the floor, which it
// reads under the zone's latch: it takes the latch either before at_least() does, which then finds
// the chunk, or after it, and then sees the new floor.
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
  char name[64];  // ends with zeros
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
  std::atomic<uint64_t> floor_{0};  // no smaller number is given; rises, and is read under a zone's latch
  const uint32_t zone_count_;  // a power of two
  const std::unique_ptr<CacheLine<Zone>[]> zones_;
};

// Ok, or kInvalidArgument: the name of a table that a program wants to make is reserved, and the
// schema is not the one that the database itself would make.
Status check_reserved_name(const Schema& schema);

class Sequences {
 public:
  // As Database::sequence.
  Status find(Engine& engine, std::string_view name, const SequenceOptions& options, SequenceState** state);

 private:
  Status open(Engine& engine, const std::string& name, const SequenceOptions& options, std::unique_ptr<SequenceState>* state);

  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<SequenceState>> by_name_;
};

}  // namespace elider::detail
