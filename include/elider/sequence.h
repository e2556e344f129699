// Sequence: numbers that are given once, for keys that mean nothing by themselves (HyPer-HTM,
// section 5.2, "declustered surrogate keys").
//
// Each thread has a zone, which a few threads share where there are many, and takes its numbers
// from the zone's chunk, so that two threads that insert seldom meet in one leaf of an index and
// nothing is shared but the next chunk.
//
//   unique   no number is given twice: not by other threads, not after the database was closed or a
//            crash. With data folders each chunk is on the disk before its first number is given;
//            with Durability::kNone there is no log, and numbers of a lost chunk come again, as the
//            rows do not
//   order    a thread's numbers rise within a chunk, from 1 on; between threads there is no order
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

  Sequence() = default;  // of no database: next() is refused

  // May be called within a transaction and outside. Every chunk's first call runs a transaction of
  // its own, and waits for the disk where there is a log.
  //   kInvalidArgument  the sequence is of no database, or its numbers are used up
  //   kDeadline, kMemoryLimit, kIoError
  //                     as Database::run(); no number was given
  Result<uint64_t> next();

 private:
  friend class Database;
  explicit Sequence(detail::SequenceState* state) : state_(state) {}
  detail::SequenceState* state_ = nullptr;
};

}  // namespace elider
