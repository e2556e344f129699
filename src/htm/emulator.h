// The emulator of hardware transactions: it begins, ends and aborts regions, and a test uses it to
// control the emulated processor. It exists only in builds of the preset `emulator`
// (ELIDER_EMULATOR).
//
// The preset compiles the program with -fsanitize=thread. The compiler then emits a call before
// every memory access, and these calls enter this runtime instead of the thread sanitizer. The
// sources stay plain. The emulator does not measure speed, and its throughput does not say anything
// about hardware.
//
// **One thread at a time.** A thread runs only while it has the turn, and gives it up only inside
// one of the runtime's calls. The compiler calls the runtime *before* a plain access, so each
// access falls between two calls. The invariant is that the turn does not move between the call and
// its access:
//
//   (1) When a thread's call runs, all earlier accesses of all threads have happened, and no other
//       thread is between its call and its access.
//   (2) A region that loses a conflict is parked inside a call. The winner undoes the region's
//       writes before its own access. The loser finds itself doomed when it gets the turn, before
//       it returns from that call. So a doomed region does not execute another instruction of the
//       program, and cannot store after its undo.
//
// Two exceptions do no harm:
//
//   - The compiler copies an object with two calls, write and then read, before either access. So a
//     read of the same size as the write before it repeats that write's check if the turn moved in
//     between.
//   - The turn is taken from a thread that sleeps in the kernel. Its last access is over, since it
//     precedes the system call. membarrier makes sure that it is not in a call of the runtime.
//
// Conflicts are detected per 64-byte line, as on the processor. The last access wins, and an access
// outside any region always wins. Writes go to memory at once, and the old bytes are saved. Writes
// to the stack below the frame of begin are not tracked, since an abort ends those frames. The
// frame of begin itself is copied at begin and belongs to the region, because the compiler keeps
// values there without a call.
//
// The emulator does not see what libc, libstdc++.so and other code without instrumentation read and
// write. In a region, calls of the allocator, the blocking calls, the end of a thread and calls
// that relink a std::map or std::list abort the region (status 0), as a system call would.
// Thread safety: safe from all threads; configure() and the like only while no region is active.
// The models follow HyPer-HTM (TKDE 2015), section 3 and figure 5, and DBX (EuroSys 2014),
// section 2.
#pragma once

#include <cstdint>

extern "C" {

// Begins a region, or one more level of it. 0xFFFFFFFF: it has begun. Otherwise the status of the
// abort, with the bits of RTM: explicit 0, retry 1, conflict 2, capacity 3, debug 4, nested 5, the
// code of an explicit abort in 24 to 31. At an abort all registers that a call preserves, the
// calling frame and all tracked memory are as they were, so for the compiler it has returned once,
// whatever it returns: `returns_twice` is not needed, and gcc would not inline a caller that has
// it. The calling frame must not return before the commit.
unsigned elider_emulator_begin(void);
// Ends the innermost level; the outermost publishes all writes. Ends the
// process outside any region.
void elider_emulator_commit(void);
// Aborts the region, all levels of it. Nothing happens outside one.
void elider_emulator_abort(unsigned char code);
// 1 inside a region, except while all its tracking is suspended.
int elider_emulator_active(void);

// Suspends the tracking of the calling thread until elider_emulator_track(). Its accesses do not
// belong to its region: they take effect at once, are visible to all threads, and are kept when the
// region aborts. A write to a line that the region has accessed aborts it. If the region is aborted
// meanwhile, its writes are undone at once, and the thread receives the abort in track(). It models
// POWER's tsuspend and tresume, and requires a processor of Suspension::kAll.
void elider_emulator_suspend(void);
// Suspends the tracking of reads only; writes belong to the region. It models XSUSLDTRK, and
// requires kAll or kLoads.
void elider_emulator_suspend_loads(void);
// Accesses are the region's again. Must come before the commit.
void elider_emulator_track(void);

}  // extern "C"

namespace elider::emulator {

// kParallel: the turn passes after a random number of accesses, and blocked threads really block.
// kDeterministic: a seeded scheduler decides at every access who runs next, and mutexes, condition
// variables, futexes and joins are modelled, so that a seed replays. See schedule.h.
enum class Mode : uint32_t { kParallel, kDeterministic };

// What a region can suspend the tracking of: nothing, as Intel's RTM by itself; reads, as with
// TSXLDTRK; all accesses, as on POWER.
enum class Suspension : uint32_t { kNone, kLoads, kAll };

struct Options {
  Mode mode = Mode::kParallel;
  uint64_t seed = 1;

  // The first-level cache that holds the written lines: a power of two of sets, up to
  // 4096; 1 to 32 ways, least recently used out first. A written line that is pushed out
  // aborts the region (capacity).
  uint32_t sets = 64;
  uint32_t ways = 8;
  // Two threads share a core: half the ways, half the read set, twice the risk of
  // reading beyond the cache.
  bool hyperthreading = false;
  // Lines read: those pushed out of the cache are tracked elsewhere, up to this many in
  // all (4 MiB, at which about 47% abort: DBX figure 1a), and each of them aborts the
  // region with this probability.
  uint64_t read_lines_max = 65536;
  double read_eviction_abort_rate = 9.8e-6;

  // Accesses of a thread between two timer interrupts, 0: none. An interrupt aborts
  // a region (status 0), so the risk grows with its length, and a longer region
  // never commits (DBX figure 1d).
  uint64_t accesses_per_interrupt = 0;
  // The share of regions that abort for no reason of their own, with status 0 or the retry bit.
  double spurious_abort_rate = 0;
  // The first touch of a page faults, which aborts (status 0); and again, until code outside any
  // region touches the page: with a write, for a region that writes.
  bool page_faults = true;

  // Mean number of accesses before the turn passes in kParallel, 1 or more.
  // Small: more conflicts, slower.
  uint32_t accesses_per_turn = 300;
  Suspension suspension = Suspension::kAll;

  // The turn is drawn once in this number of accesses in kDeterministic. 0: 1 to 32, chosen by the
  // seed.
  uint32_t switch_one_in = 0;
};

// Takes effect for regions that begin from now on. Ends the process with a message if an option is
// out of its range. The environment variable ELIDER_HTM_EMULATOR sets options at the start of a
// process, e.g. "mode=deterministic,seed=7,sets=1,ways=1,hyperthreading=1,spurious_abort_rate=0.1".
void configure(const Options& options);
// The environment's options, and then these, in the same form.
void configure_from_text(const char* text);
Options options();

// Per thread or of all threads. The sum of the aborts is begun - committed - those still running.
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
  uint64_t lines_read = 0, lines_written = 0;  // sums of RegionSize, of those that committed
};
// The lines of a region: those it wrote, and those it read and did not write before. The frame of
// begin, and the stack below it, are not counted.
struct RegionSize {
  uint64_t lines_read = 0;
  uint64_t lines_written = 0;
};
RegionSize last_region();    // the calling thread's last one that committed
Counters thread_counters();  // of the calling thread
Counters counters();         // of all threads, ended ones included; other threads may be counting
void reset_counters();       // of all threads

}  // namespace elider::emulator
