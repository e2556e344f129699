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
// Thread safety: all. Lock rank: a zone's latch and Sequences::mutex_ are leaves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/cache_line.h"
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
  void set_chunk(uint32_t chunk) { chunk_ = chunk; }

 private:
  struct Chunk {
    uint64_t next = 0, end = 0;
  };
  struct Zone {
    sync::SpinLatch latch;
    Chunk current;
    std::vector<Chunk> more;
  };

  bool take(Zone& zone, uint64_t* number);
  Status fetch(Chunk* chunk);

  Engine& engine_;
  const Table<SequenceRow> table_;
  const Key key_;
  const std::string name_;
  std::atomic<uint32_t> chunk_;
  const uint32_t zone_count_;  // a power of two
  const std::unique_ptr<CacheLine<Zone>[]> zones_;
};

class Sequences {
 public:
  // As Database::sequence.
  Status find(Engine& engine, std::string_view name, uint32_t chunk, SequenceState** state);

 private:
  Status open(Engine& engine, const std::string& name, uint32_t chunk, std::unique_ptr<SequenceState>* state);

  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<SequenceState>> by_name_;
};

}  // namespace elider::detail
