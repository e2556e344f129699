// Sequence: numbers that are given once, for keys that mean nothing by themselves (HyPer-HTM,
// section 5.2, "declustered surrogate keys").
//
// Each thread has a zone, which a few threads share where there are many, and takes its numbers
// from the zone's chunk, so that two threads that insert seldom meet in one leaf of an index and
// nothing is shared but the next chunk.
//
//   unique   no number is given twice: not by other threads, not after the database was closed or a
//            crash. With data folders each chunk is on the disk before its first number is given.
//            There are two exceptions. Durability::kNone writes no log, so the numbers of a lost
//            chunk come again; the rows that had them are lost as well. Options::recover_to takes
//            the database back to an earlier state, sequences included: numbers that were given
//            after that state come again
//   order    a thread's numbers rise within a chunk, from SequenceOptions::start on; numbers of
//            different threads come in any order
//   gaps     what was left of the chunks when the database was closed, and what was given to a
//            transaction that rolled back: next() is no part of a transaction, and is never undone
//
// A Sequence is a small value that lives as long as the Database. Thread safety: all.
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

  Sequence() = default;  // of no database: every call is refused

  // May be called within a transaction and outside. Every chunk's first call runs a transaction of
  // its own, and waits for the disk where there is a log.
  //   kInvalidArgument  the sequence is of no database, or its numbers are used up
  //   kDeadline, kMemoryLimit, kIoError
  //                     as Database::run(); no number was given
  Result<uint64_t> next();

  // Raises the sequence: every call of next() that begins after this one has returned gives a
  // number of at least `number`. Call it with the largest key + 1 after you have loaded rows whose
  // keys do not come from the sequence. It never lowers the sequence. It runs a transaction of its
  // own, and waits for the disk if there is a log. May be called within a transaction and outside.
  //   kInvalidArgument  the sequence is of no database, or the number is above kNumberMax
  //   kDeadline, kMemoryLimit, kIoError
  //                     as Database::run(); the sequence may have been raised all the same
  Status at_least(uint64_t number);

 private:
  friend class Database;
  explicit Sequence(detail::SequenceState* state) : state_(state) {}
  detail::SequenceState* state_ = nullptr;
};

// What Database::sequence is given.
struct SequenceOptions {
  // The first number of a sequence that this call makes. An existing sequence goes on where it is:
  // Sequence::at_least raises it. 1 to Sequence::kNumberMax.
  uint64_t start = 1;
  // How many numbers a thread takes at a time; the last call for this name decides. More of them
  // mean fewer waits for the disk and larger gaps. 1 to Sequence::kChunkMax.
  uint32_t chunk = Sequence::kChunk;
};

}  // namespace elider
