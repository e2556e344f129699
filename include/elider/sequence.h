// Sequence: unique numbers for surrogate keys (HyPer-HTM, section 5.2, "declustered surrogate
// keys").
//
// A sequence is divided into zones. Each zone has a chunk of numbers, from which one thread or a
// few threads take their numbers. Concurrent inserts therefore rarely go to the same index leaf,
// and threads of different zones contend only when they allocate chunks.
//
//   unique   A number is never returned twice, neither to different threads nor after a restart or
//            a crash. With data folders, each chunk is on disk before its first number is returned.
//            There are two exceptions. Durability::kNone does not write a log, so the numbers of a
//            lost chunk are returned again, but the rows that used these numbers are lost as well.
//            Options::recover_to restores an earlier state including its sequences, so numbers that
//            were returned after that state are returned again.
//   order    Within a chunk, a thread's numbers increase, starting at SequenceOptions::start.
//            Numbers of different threads are in any order.
//   gaps     The rest of a chunk is lost when the database is closed. next() is not part of a
//            transaction, so the numbers that a rolled-back transaction used are lost.
//
// A Sequence is a small value. It is valid until the Database closes.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cstdint>

#include "elider/status.h"

namespace elider {

class Database;
namespace detail {
class SequenceState;
}

class Sequence {
 public:
  static constexpr uint32_t kChunk = 4096, kChunkMax = uint32_t{1} << 24;
  static constexpr uint64_t kNumberMax = (uint64_t{1} << 63) - 1;

  Sequence() = default;  // an empty sequence, on which every call fails

  // Returns the next number. next() may be called inside or outside a transaction. When it needs a
  // new chunk, it runs its own transaction, and waits for the disk if there is a log.
  //   kInvalidArgument  the sequence is empty, or all its numbers are used
  //   kDeadline, kMemoryLimit, kIoError
  //                     as from Database::run(); no number was allocated
  Result<uint64_t> next();

  // Raises the sequence, so that every next() that begins after this call has returned gives a
  // number of at least `number`. After loading rows whose keys do not come from the sequence, call
  // at_least() with the largest key + 1. at_least() never lowers the sequence. It runs its own
  // transaction, waits for the disk if there is a log, and may be called inside or outside a
  // transaction.
  //   kInvalidArgument  the sequence is empty, or the number is above kNumberMax
  //   kDeadline, kMemoryLimit, kIoError
  //                     as from Database::run(); the sequence may have been raised anyway
  Status at_least(uint64_t number);

 private:
  friend class Database;
  explicit Sequence(detail::SequenceState* state) : state_(state) {}
  detail::SequenceState* state_ = nullptr;
};

// Options for Database::sequence.
struct SequenceOptions {
  // The first number of a new sequence, 1 to Sequence::kNumberMax. An existing sequence ignores
  // this option; use Sequence::at_least to raise it.
  uint64_t start = 1;
  // How many numbers a thread takes at a time, 1 to Sequence::kChunkMax. If Database::sequence() is
  // called several times for a name, the value of the last call applies. A higher value means fewer
  // waits for the disk and larger gaps.
  uint32_t chunk = Sequence::kChunk;
};

}  // namespace elider
