// The state of the emulated machine: its threads, the holder of the turn, the regions, and the
// functions that enter and leave the runtime.
//
// Every call of the runtime goes through enter() and leave(). Between the two, the thread holds the
// turn. It may change every part of the machine that is not marked as guarded by the lock.
// Thread safety: as stated for each group.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "lab/emulator/cache.h"
#include "htm/emulator.h"
#include "lab/emulator/lines.h"
#include "lab/emulator/pages.h"
#include "lab/emulator/system.h"

namespace elider::emulator {

inline constexpr uint32_t kThreadsMax = 256;
inline constexpr int32_t kRegionsMax = 64;  // concurrently: Line::readers has one bit for each

inline constexpr unsigned kStarted = 0xFFFFFFFFu;
inline constexpr unsigned kExplicitBit = 1u << 0;
inline constexpr unsigned kRetryBit = 1u << 1;
inline constexpr unsigned kConflictBit = 1u << 2;
inline constexpr unsigned kCapacityBit = 1u << 3;
inline constexpr unsigned kNestedBit = 1u << 5;

// The registers that a call preserves. rsp is the stack pointer after begin has returned.
struct Registers {
  uintptr_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

// A written line. It stores the old values of only the bytes that were written, because the other
// bytes may belong to code that the runtime does not see, such as the headers of the heap.
struct UndoLine {
  uint64_t number;
  uint64_t mask;
  unsigned char old[1u << kLineShift];
};

struct Region {
  uint32_t depth;   // nesting depth; 0: no region
  int32_t id;       // the bit of the region in Line::readers
  bool doomed;      // the region was rolled back, and its thread has not received the abort yet
  unsigned status;  // the abort's status word
  Suspension suspended;  // kNone: all accesses are tracked
  bool frame_due;        // the region was rolled back while suspended, so its thread restores the frame when it receives the abort
  Registers at_begin;
  uintptr_t frame_end;   // end of the frame that called begin
  uintptr_t returns_to;  // return address of that frame, while the frame exists
  uintptr_t copied_end;  // the copied stack ranges from at_begin.rsp to here
  unsigned char* frame;   // the copied bytes
  UndoLine* undo;
  uint32_t undo_count;
  uint64_t* read_lines;
  uint32_t read_count;
  Cache* cache;
  RegionSize last;       // of the region that committed last
  uint32_t spurious_in;  // accesses until a spurious abort; 0: never
};

enum class ThreadState : uint32_t { kFree, kAway, kReady, kRunning, kBlocked };

// A plain write whose access may not have happened yet when the next call is a read. This is the
// case for the copy of an object.
struct PendingWrite {
  uintptr_t address;
  size_t bytes;
  uint64_t turns;
};

struct Thread {
  // Used only by the thread itself.
  void* (*function)(void*);  // the thread's start function
  void* argument;
  uint32_t inside;  // the thread is in the runtime; a thread that steals its turn reads this after a membarrier
  PendingWrite pending;
  Random random;

  // Guarded by the turn.
  uint64_t progress;  // number of calls
  uint64_t quantum;   // calls until the turn passes
  uint64_t until_interrupt;
  Region region;
  Counters counters;

  // Guarded by machine.lock.
  ThreadState state;
  const void* waits_for;
  bool timed;      // the wait ends if no other thread can run
  bool timed_out;
  uint64_t ticket;  // the lowest ticket has waited longest
  uint32_t go;      // futex: set when the thread is given the turn
  int tid;
  uint64_t ordinal;
  pthread_t handle;
};

struct Machine {
  uint32_t armed;  // 0: accesses are plain, and threads do not need the turn; once 1, it remains 1
  uint32_t processor;  // all threads stay on this processor once the machine is armed
  Options options;

  // Changed under the lock. A thread reads `holder` without the lock, to check whether it holds the
  // turn.
  Lock lock;
  Thread* holder;
  uint32_t ready;   // number of threads that wait for the turn
  uint64_t turns;   // how often the turn has passed
  uint64_t tickets;
  uint64_t ordinals;
  Thread threads[kThreadsMax];
  uint32_t threads_end;  // all threads that were ever used are below this index

  // Guarded by the turn.
  Random scheduler;
  uint32_t switch_one_in;
  uint64_t accesses;
  uint64_t accesses_max;
  uint64_t trace;
  uint32_t active_regions;
  Thread* regions[kRegionsMax];
  LineTable lines;
  Pages pages;
  Counters ended;  // counters of threads that have ended
};

extern Machine machine;
extern constinit thread_local Thread* self __attribute__((tls_model("initial-exec")));

// --- the turn (turn.cc) ---

// Arms the machine. Called before the first region or a deterministic mode begins. Afterwards,
// threads need the turn.
void arm();
void stay_on_its_processor(const Thread* thread);  // only when the machine is armed
void take_turn(Thread* thread);
// Gives up the turn and sets the thread's state. With kReady and kBlocked, returns when the thread
// holds the turn again. With kAway, returns without the turn.
void pass_turn(Thread* thread, ThreadState state);
void draw_turn(Thread* thread);      // kDeterministic: may pass the turn to another thread
void quantum_over(Thread* thread);   // kParallel
// Makes at most `most` threads that are blocked at `address` ready. Returns their number.
uint32_t wake(const void* address, uint32_t most);
// Waits for wake(address). Returns false if the wait was timed and no other thread could run.
bool block(Thread* thread, const void* address, bool timed);

// --- threads (threads.cc) ---

Thread* register_thread();  // registers the calling thread
Thread* allocate_thread(pthread_t handle);
void start_thread(Thread* thread);  // `thread` is the calling thread
void seed_thread(Thread* thread);

// --- regions (region.cc) ---

void region_access(Thread* thread, uintptr_t address, size_t bytes, bool write);
// Returns true if the thread's accesses belong to its region.
inline bool tracks(const Region& region) { return region.depth != 0 && region.suspended != Suspension::kAll; }
// An access outside any region, or one that is not tracked. It aborts the regions that conflict
// with it.
void outside_access(Thread* thread, uintptr_t address, size_t bytes, bool write);
[[noreturn]] void abort_region(Thread* thread, unsigned status, uint64_t Counters::*cause);
[[noreturn]] void resume_doomed(Thread* thread);
// Called when the function with this frame returns. Its region must have ended.
void check_exit(const Thread* thread, uintptr_t frame);
void interrupt(Thread* thread);

// --- the way in and out ---

inline uint64_t next_quantum(Thread* thread) { return 1 + thread->random.below(2 * uint64_t{machine.options.accesses_per_turn} - 1); }

// Returns null if the access is plain, because the emulator is not armed yet or the runtime itself
// makes the access.
inline Thread* enter() {
  if (machine.armed == 0) return nullptr;
  Thread* thread = self;
  if (thread == nullptr) thread = register_thread();
  if (thread == nullptr || thread->inside != 0) return nullptr;
  thread->inside = 1;
  compiler_barrier();  // orders the store before the load; steal_turn() orders them on other processors with membarrier
  if (*const_cast<Thread* volatile*>(&machine.holder) != thread) take_turn(thread);
  return thread;
}

inline void leave(Thread* thread) {
  compiler_barrier();
  *const_cast<volatile uint32_t*>(&thread->inside) = 0;
}

// Called where the turn may pass. If the region is doomed, it ends here.
inline void step(Thread* thread) {
  ++thread->progress;
  if (thread->until_interrupt != 0 && --thread->until_interrupt == 0) interrupt(thread);
  if (machine.options.mode == Mode::kDeterministic) {
    draw_turn(thread);
  } else if (--thread->quantum == 0) {
    quantum_over(thread);
  }
  if (thread->region.doomed && thread->region.suspended != Suspension::kAll) resume_doomed(thread);
}

inline void access(Thread* thread, uintptr_t address, size_t bytes, bool write) {
  if (bytes == 0) return;
  if (tracks(thread->region)) {
    region_access(thread, address, bytes, write);
  } else {
    outside_access(thread, address, bytes, write);
  }
}
inline void access(Thread* thread, const volatile void* address, size_t bytes, bool write) {
  access(thread, reinterpret_cast<uintptr_t>(address), bytes, write);
}

}  // namespace elider::emulator

extern "C" [[noreturn]] void elider_emulator_resume(const elider::emulator::Registers* registers, unsigned status);
