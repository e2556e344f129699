// Options: how a database is opened, and RunPolicy: how a conflicted transaction is tried again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "elider/elision.h"

namespace elider {

class HistorySink;

// How shared nodes are guarded (docs/architecture.md).
enum class SyncPolicy : uint8_t {
  kAutomatic,       // kElided where hardware transactions are proved to work (elider/hardware.h), else kOptimistic
  kOptimistic,      // version latches; readers write no shared memory
  kLatched,         // one spinlock an index: the papers' baseline
  kSingleThreaded,  // no guard: one transaction at a time, from one thread at a time
  kElided,          // hardware transactions; where they fail, locks (docs/hardware-transactions.md)
};
// How transactions execute and commit.
enum class Protocol : uint8_t { kOcc };

std::string_view name_of(SyncPolicy sync);  // "automatic", "optimistic", "latched", "single-threaded", "elided"
std::string_view name_of(Protocol protocol);
bool parse(std::string_view name, SyncPolicy* sync);

struct Options {
  SyncPolicy sync = SyncPolicy::kAutomatic;
  Protocol protocol = Protocol::kOcc;

  // For kElided: what executes the hardware transactions, and when they give up.
  HtmBackend htm = HtmBackend::kAutomatic;
  ElisionPolicy elision = {};

  // Bytes of rows, versions and index nodes at the most; 0: no limit. Range 0 or >= 4 MiB. A
  // transaction that needs more fails with kMemoryLimit. Memory is taken in chunks of 2 MiB (less
  // where the limit is small), so the limit acts a few chunks early a thread.
  uint64_t memory_limit_bytes = 0;

  // Ask the system for 2 MiB pages (a random access costs about half with them). Where it has none,
  // memory is of 4 KiB pages and nothing else changes.
  bool huge_pages = true;

  // Memory to take and touch when the database opens, in bytes; 0: none. Range up to memory_limit_bytes
  // where there is a limit, else 2^40. A first touch of 2 MiB costs the system 0.1 to 10 ms, which a
  // transaction would otherwise wait for. kMemoryLimit if the system has not so much.
  uint64_t prefault_bytes = 0;

  // A commit group of at least this many bytes is kept as a block that a commit swaps by pointer
  // (DBX, section 5.1) and a reader views without a copy; smaller ones are updated in place. Bytes,
  // default 2048, range 64 to 2^20. Raising it makes readers copy more; lowering it costs a cache
  // miss a read and an allocation a write.
  uint32_t block_threshold_bytes = 2048;

  // Threads (and open transactions) at one time, at the most. Range 1 to 4096. Each costs 76 bytes when the
  // database opens; one that has been used, some 290 KB of the process's heap, which the next user takes
  // over, and, once it writes, a chunk of the database's memory (2 MiB of it, see memory_limit_bytes).
  uint32_t workers_max = 512;

  // Receives every transaction's reads and writes (elider/history.h). Null: off. It costs much.
  HistorySink* history = nullptr;
};

struct RunPolicy {
  // Runs of the procedure at the most; 0: no bound. When they are used up: kDeadline.
  uint32_t attempts_max = 0;
  // Microseconds from the call, 0: none. Checked between attempts. When passed: kDeadline.
  uint64_t deadline_us = 0;
  // The wait before an attempt is random up to backoff_min_us << (attempt - 2), and at the most
  // backoff_max_us. 0 turns waiting off.
  uint32_t backoff_min_us = 1;
  uint32_t backoff_max_us = 256;
  // What Database::procedure_id gave; statistics are counted under that name.
  uint32_t procedure_id = 0;
};

}  // namespace elider
