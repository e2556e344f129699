// The state of the emulated machine, and the functions with which threads enter and leave the
// runtime. Once the machine is armed, only one thread at a time runs instrumented code, the thread
// that holds the turn. The turn passes to other threads at accesses to memory and at calls that
// block.
//
// Every call into the runtime begins with enter() and ends with leave(). Between the two, the
// calling thread holds the turn, and may use every part of the machine that is not marked as
// guarded by the lock. Thread safety: see each group of members.
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
inline constexpr int32_t kRegionsMax = 64;  // at the same time: Line::readers has one bit for each

inline constexpr unsigned kStarted = 0xFFFFFFFFu;
inline constexpr unsigned kExplicitBit = 1u << 0;
inline constexpr unsigned kRetryBit = 1u << 1;
inline constexpr unsigned kConflictBit = 1u << 2;
inline constexpr unsigned kCapacityBit = 1u << 3;
inline constexpr unsigned kNestedBit = 1u << 5;

// The registers that a function must preserve for its caller. rsp is the stack pointer after
// elider_emulator_begin() has returned.
struct Registers {
  uintptr_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

// The old contents of a line that a region has written. Only the written bytes are saved and
// restored, because uninstrumented code may write the other bytes, for example the headers of
// allocated memory.
struct UndoLine {
  uint64_t number;
  uint64_t mask;
  unsigned char old[1u << kLineShift];
};

struct Region {
  uint32_t depth;   // nesting depth; 0: no region
  int32_t id;       // the region's bit in Line::readers
  bool doomed;      // the region was rolled back, but its thread has not received the abort yet
  unsigned status;  // the abort's status word
  Suspension suspended;  // the accesses that are not tracked
  bool frame_due;        // the region was rolled back while suspended, so its thread must restore the frame when it receives the abort
  Registers at_begin;
  uintptr_t frame_end;   // end of the stack frame of the function that called elider_emulator_begin()
  uintptr_t returns_to;  // return address in that frame, which has this value as long as the frame exists
  uintptr_t copied_end;  // the copied stack ranges from at_begin.rsp to here
  unsigned char* frame;   // the copied bytes
  UndoLine* undo;
  uint32_t undo_count;
  uint64_t* read_lines;
  uint32_t read_count;
  Cache* cache;
  RegionSize last;       // size of the last region that committed
  uint32_t spurious_in;  // number of accesses until a spurious abort; 0: never
};

enum class ThreadState : uint32_t { kFree, kAway, kReady, kRunning, kBlocked };

// The last plain write that was announced to the runtime. When the compiler copies an object, it
// announces the write before the read, so the write may not have happened yet at the next call.
struct PendingWrite {
  uintptr_t address;
  size_t bytes;
  uint64_t turns;
};

struct Thread {
  // Used only by the thread itself.
  void* (*function)(void*);  // the function that the thread was created with
  void* argument;
  uint32_t inside;  // 1 while the thread is in the runtime; a thread that steals its turn reads this after a membarrier
  PendingWrite pending;
  Random random;

  // Guarded by the turn.
  uint64_t progress;  // number of calls to step()
  uint64_t quantum;   // calls to step() until the turn passes
  uint64_t until_interrupt;
  Region region;
  Counters counters;

  // Guarded by machine.lock.
  ThreadState state;
  const void* waits_for;
  bool timed;      // the wait ends if no other thread can run
  bool timed_out;
  uint64_t ticket;  // of the waiting threads, the one with the lowest ticket has waited longest
  uint32_t go;      // a futex that is set to 1 when the thread is given the turn
  int tid;
  uint64_t ordinal;
  pthread_t handle;
};

struct Machine {
  uint32_t armed;  // 0: the runtime ignores accesses, and threads do not need the turn; once 1, it remains 1
  uint32_t processor;  // to which all threads are bound once the machine is armed
  Options options;

  // Guarded by `lock`. Two members are also read without it: `holder`, to check which thread holds
  // the turn, and `turns`, by that thread.
  Lock lock;
  Thread* holder;
  uint32_t ready;   // number of threads that wait for the turn
  uint64_t turns;   // how many times the turn has passed
  uint64_t tickets;
  uint64_t ordinals;
  Thread threads[kThreadsMax];
  uint32_t threads_end;  // one more than the largest index of an entry that was ever used

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
  Counters ended;  // sums of the counters of threads that have ended
};

extern Machine machine;
extern constinit thread_local Thread* self __attribute__((tls_model("initial-exec")));

// --- the turn (turn.cc) ---

// Arms the machine: from now on, threads need the turn. Called before the first region begins, and
// before the first schedule in deterministic mode.
void arm();
void stay_on_its_processor(const Thread* thread);  // to be called only if the machine is armed
void take_turn(Thread* thread);
// Sets the thread's state, and passes the turn to another thread. With kReady or kBlocked, returns
// when the thread holds the turn again. With kAway or kFree, returns without the turn.
void pass_turn(Thread* thread, ThreadState state);
void draw_turn(Thread* thread);      // in Mode::kDeterministic: may pass the turn to another thread
void quantum_over(Thread* thread);   // in Mode::kParallel: passes the turn if another thread is ready
// Wakes at most `most` threads that block() at this address, those that have waited longest first.
// Returns the number of woken threads.
uint32_t wake(const void* address, uint32_t most);
// Passes the turn and waits until another thread calls wake(address). Returns false if `timed` is
// true and the wait ended because no other thread could run.
bool block(Thread* thread, const void* address, bool timed);

// --- threads (threads.cc) ---

Thread* register_thread();  // registers the calling thread; returns its entry
Thread* allocate_thread(pthread_t handle);
void start_thread(Thread* thread);  // `thread` is the entry of the calling thread
void seed_thread(Thread* thread);

// --- regions (emulated_region.cc) ---

void region_access(Thread* thread, uintptr_t address, size_t bytes, bool write);
// Returns true if the thread's accesses become part of its region.
inline bool tracks(const Region& region) { return region.depth != 0 && region.suspended != Suspension::kAll; }
// Called for an access outside any region, or one that a suspended region does not track. Aborts
// the regions that conflict with the access.
void outside_access(Thread* thread, uintptr_t address, size_t bytes, bool write);
[[noreturn]] void abort_region(Thread* thread, unsigned status, uint64_t Counters::*cause);
[[noreturn]] void resume_doomed(Thread* thread);
// Called when the function with this stack frame returns. Ends the process if the region that the
// function began has not ended.
void check_exit(const Thread* thread, uintptr_t frame);
void interrupt(Thread* thread);

// --- the way in and out ---

inline uint64_t next_quantum(Thread* thread) { return 1 + thread->random.below(2 * uint64_t{machine.options.accesses_per_turn} - 1); }

// Enters the runtime and takes the turn. Returns null if the runtime must ignore the call, because
// the machine is not armed yet, or because the runtime itself made the call.
inline Thread* enter() {
  if (machine.armed == 0) return nullptr;
  Thread* thread = self;
  if (thread == nullptr) thread = register_thread();
  if (thread == nullptr || thread->inside != 0) return nullptr;
  thread->inside = 1;
  compiler_barrier();  // orders the store before the load; for the processor, the membarrier in steal_turn() does so
  if (*const_cast<Thread* volatile*>(&machine.holder) != thread) take_turn(thread);
  return thread;
}

inline void leave(Thread* thread) {
  compiler_barrier();
  *const_cast<volatile uint32_t*>(&thread->inside) = 0;
}

// Called wherever the turn may pass to another thread. If the thread's region has been rolled back,
// delivers the abort: control returns to where the region began.
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
