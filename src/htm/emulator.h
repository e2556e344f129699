// The emulator of hardware transactions. The program uses it to begin, end and abort regions, and
// tests use it to control the emulated processor. It exists only in builds of the preset `emulator`
// (ELIDER_EMULATOR).
//
// The preset compiles the unchanged sources with -fsanitize=thread, so that the compiler emits a
// call before every memory access. These calls enter this runtime instead of that of the thread
// sanitizer. The emulator does not measure speed, and its throughput does not indicate that of
// hardware.
//
// **One thread at a time.** A thread runs only while it has the turn, and gives up the turn only
// inside a call of the runtime. The compiler calls the runtime *before* a plain access, so each
// access falls between two calls. The invariant is that the turn does not move between a call and
// its access:
//
//   (1) When a thread's call runs, all earlier accesses of all threads have happened, and no other
//       thread is between its call and its access.
//   (2) A region that loses a conflict is parked inside a call. The winner undoes the region's
//       writes before the winner's own access. When the loser gets the turn, it finds that its
//       region is doomed before it returns from that call. So a doomed region does not execute
//       another instruction of the program, and cannot store after its writes are undone.
//
// Two exceptions do no harm:
//
//   - To copy an object, the compiler emits a call for the write and then a call for the read,
//     before either access. If the turn has moved between the two calls, a read of the same size
//     as the preceding write repeats the check of that write.
//   - The turn is taken from a thread that sleeps in the kernel. The thread's last access has
//     happened, because it precedes the system call. membarrier makes sure that the thread is not
//     in a call of the runtime.
//
// Conflicts are detected per 64-byte cache line, as on the processor. The later access wins, and an
// access outside any region always wins. Writes go to memory immediately, and the old bytes are
// saved. Writes to the stack below the frame that called begin are not tracked, because an abort
// ends those frames. The calling frame itself is copied at begin and belongs to the region, because
// the compiler keeps values there without calling the runtime.
//
// The emulator does not see accesses of libc, libstdc++.so and other code without instrumentation.
// Calls to the allocator, blocking calls, the end of a thread, and calls that relink the nodes of a
// std::map or std::list abort a region (status 0), as a system call would. Thread safety: all
// threads may call all functions, but configure(), configure_from_text() and reset_counters() only
// while no region is active. The models follow HyPer-HTM (TKDE 2015), section 3 and figure 5, and
// DBX (EuroSys 2014), section 2.
#pragma once

#include <cstdint>

extern "C" {

// Begins a region, or one more level of nesting. Returns 0xFFFFFFFF if the region has begun.
// Otherwise returns the status of the abort, with the bits of RTM: explicit 0, retry 1, conflict 2,
// capacity 3, debug 4, nested 5, and the code of an explicit abort in 24 to 31. An abort restores
// all registers that a call preserves, the calling frame and all tracked memory. To the compiler,
// the function therefore appears to return only once, so it does not need the attribute
// `returns_twice`, with which gcc would not inline the caller. The calling frame must not return
// before the commit.
unsigned elider_emulator_begin(void);
// Ends the innermost level. At the outermost level, publishes all writes. Ends the process if
// called outside a region.
void elider_emulator_commit(void);
// Aborts the region with all its levels. Does nothing outside a region.
void elider_emulator_abort(unsigned char code);
// Returns 1 inside a region, except while all its tracking is suspended.
int elider_emulator_active(void);

// Suspends the tracking of the calling thread's accesses until elider_emulator_track(). Suspended
// accesses do not belong to the region. They take effect immediately, are visible to all threads,
// and are kept when the region aborts. A suspended write to a cache line that the region has
// accessed aborts the region. If the region is aborted meanwhile, the region's writes are undone
// immediately, but the thread learns of the abort only in track(). This models tsuspend and tresume
// of POWER, and requires Options::suspension to be kAll.
void elider_emulator_suspend(void);
// Suspends the tracking of reads only; writes still belong to the region. This models XSUSLDTRK,
// and requires kAll or kLoads.
void elider_emulator_suspend_loads(void);
// Resumes tracking. Must be called before the commit.
void elider_emulator_track(void);

}  // extern "C"

namespace elider::emulator {

// kParallel: the turn passes after a random number of accesses, and blocked threads really block.
// kDeterministic: a seeded scheduler chooses the next thread at every access, and models mutexes,
// condition variables, futexes and joins, so that a seed replays a run. See schedule.h.
enum class Mode : uint32_t { kParallel, kDeterministic };

// The accesses whose tracking a region can suspend: none, as with Intel's RTM alone; reads, as with
// TSXLDTRK; or all, as on POWER.
enum class Suspension : uint32_t { kNone, kLoads, kAll };

struct Options {
  Mode mode = Mode::kParallel;
  uint64_t seed = 1;

  // The size of the first-level cache, which holds the written cache lines. The number of sets is a
  // power of two, up to 4096. There are 1 to 32 ways, and the least recently used cache line is
  // evicted first. The eviction of a written cache line aborts the region (capacity).
  uint32_t sets = 64;
  uint32_t ways = 8;
  // Models two threads that share a core: halves `ways` and `read_lines_max`, and doubles
  // `read_eviction_abort_rate`.
  bool hyperthreading = false;
  // Cache lines that a region has only read may be evicted from the cache. They are then tracked
  // elsewhere. At most `read_lines_max` lines are tracked in all. The default is 4 MiB, at which
  // about 47% of regions abort (DBX figure 1a). Each evicted line aborts the region with the
  // probability `read_eviction_abort_rate`.
  uint64_t read_lines_max = 65536;
  double read_eviction_abort_rate = 9.8e-6;

  // The number of a thread's accesses between two timer interrupts; 0 disables interrupts. An
  // interrupt aborts a region (status 0). The risk of an abort therefore grows with the length of a
  // region, and a region with more accesses than this never commits (DBX figure 1d).
  uint64_t accesses_per_interrupt = 0;
  // The fraction of regions that abort spuriously, with status 0 or the retry bit.
  double spurious_abort_rate = 0;
  // If true, a region's first access to a page that has not been touched aborts the region (status
  // 0), as a page fault does. Every region that touches the page aborts in this way, until code
  // outside any region has touched the page. If regions write to the page, that code must also
  // write to it.
  bool page_faults = true;

  // The mean number of accesses before the turn passes in kParallel, at least 1. Small values cause
  // more conflicts and are slower.
  uint32_t accesses_per_turn = 300;
  Suspension suspension = Suspension::kAll;

  // The mean number of accesses after which the scheduler of kDeterministic chooses the next
  // thread. 0: the seed chooses a value from 1 to 32.
  uint32_t switch_one_in = 0;
};

// Sets the options of regions that begin from now on. Ends the process with a message if an option
// is out of its range. The environment variable ELIDER_HTM_EMULATOR sets options at the start of a
// process, e.g. "mode=deterministic,seed=7,sets=1,ways=1,hyperthreading=1,spurious_abort_rate=0.1".
void configure(const Options& options);
// Sets the options from the environment variable, and then those in `text`, which has the same
// form.
void configure_from_text(const char* text);
Options options();

// Counters of one thread or of all threads. The abort counters add up to `begun`, minus
// `committed`, minus the number of regions that are still running.
struct Counters {
  uint64_t begun = 0;  // outermost levels
  uint64_t committed = 0;
  uint64_t explicit_aborts = 0;
  uint64_t conflict_aborts = 0;
  uint64_t capacity_aborts = 0;
  uint64_t interrupt_aborts = 0;
  uint64_t spurious_aborts = 0;
  uint64_t page_fault_aborts = 0;
  uint64_t call_aborts = 0;  // calls that a region must not make: the allocator, locks, system calls
  uint64_t lines_written_max = 0;  // the largest region that committed
  uint64_t lines_read_max = 0;
  uint64_t lines_read = 0, lines_written = 0;  // sums of RegionSize over the regions that committed
};
// The number of cache lines of a region: those that it wrote, and those that it read without having
// written them before. The stack frame that called begin, and the stack below it, are not counted.
struct RegionSize {
  uint64_t lines_read = 0;
  uint64_t lines_written = 0;
};
RegionSize last_region();    // the last region of the calling thread that committed
Counters thread_counters();  // of the calling thread
Counters counters();         // of all threads, including ended ones; approximate while other threads run regions
void reset_counters();       // of all threads

}  // namespace elider::emulator
