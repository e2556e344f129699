// Regions: how they begin, commit, abort and suspend tracking, and how an access aborts other
// regions.
#include "lab/emulator/machine.h"

namespace elider::emulator {

namespace {

constexpr uint32_t kLineBytes = 1u << kLineShift;
constexpr uint32_t kDepthMax = 7;             // of nested regions, as on a processor
constexpr size_t kFrameBytesMax = 64 * 1024;  // of the stack frame that calls elider_emulator_begin()
constexpr size_t kStackArgumentBytes = 64;    // above the frame, for parameters, which the function may change
constexpr uint32_t kUndoLinesMax = 1u << 18;
constexpr uint32_t kReadLinesMax = 1u << 24;
constexpr uint32_t kFrameLine = 0xFFFFFFFFu;  // Line::undo of a line that the copy of the frame contains
constexpr uint32_t kSpuriousAccesses = 32;

uintptr_t here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

[[noreturn]] void commit_is_missing(const Region& region) {
  die("a function returned without ending the region that it began: a commit is missing (the region began at %p)",
      reinterpret_cast<void*>(region.at_begin.rip));
}

// Ends the process if the function that began the region has returned, because the region could no
// longer be rolled back.
void check_frame(const Thread* thread) {
  const Region& region = thread->region;
  const uintptr_t* const returns_to = reinterpret_cast<const uintptr_t*>(region.frame_end) - 1;
  if (here() >= region.at_begin.rsp || *returns_to != region.returns_to) commit_is_missing(region);
}

void release_lines(Region& region) {
  for (uint32_t i = 0; i < region.undo_count; ++i) machine.lines.release(region.undo[i].number, region.id);
  for (uint32_t i = 0; i < region.read_count; ++i) machine.lines.release(region.read_lines[i], region.id);
  const uint64_t last = (region.copied_end - 1) >> kLineShift;
  for (uint64_t line = region.at_begin.rsp >> kLineShift; line <= last; ++line) machine.lines.release(line, region.id);
}

void end_region(Thread* owner) {
  Region& region = owner->region;
  release_lines(region);
  machine.regions[region.id] = nullptr;
  --machine.active_regions;
  region.depth = 0;
}

void restore_frame(const Region& region) {
  copy_bytes(reinterpret_cast<void*>(region.at_begin.rsp), region.frame, region.copied_end - region.at_begin.rsp);
}

// Restores memory to its state at the beginning of the region. `owner` must be the calling thread,
// or a thread that waits in a call into the runtime, below the stack frame that began the region.
void roll_back(Thread* owner, unsigned status) {
  Region& region = owner->region;
  if (region.depth > 1) status |= kNestedBit;
  for (uint32_t i = 0; i < region.undo_count; ++i) {
    const UndoLine& line = region.undo[i];
    auto* bytes = reinterpret_cast<unsigned char*>(line.number << kLineShift);
    for (uint32_t k = 0; k < kLineBytes; ++k) {
      if ((line.mask >> k & 1) != 0) bytes[k] = line.old[k];
    }
  }
  // A thread whose region is suspended continues, and still uses the frame.
  region.frame_due = region.suspended == Suspension::kAll;
  if (!region.frame_due) restore_frame(region);
  end_region(owner);
  region.status = status;
  region.doomed = true;
}

void doom(Thread* owner) {
  ++owner->counters.conflict_aborts;
  roll_back(owner, kConflictBit | kRetryBit);
}

// Rolls back all regions, except `own`, that an access to this line conflicts with.
void win_line(uint64_t number, bool write, int32_t own) {
  const uint64_t own_bit = own == kNoRegion ? 0 : uint64_t{1} << own;
  while (true) {
    const Line* line = machine.lines.find(number);
    if (line == nullptr) return;
    if (line->writer != kNoRegion && line->writer != own) {
      doom(machine.regions[line->writer]);
    } else if (write && (line->readers & ~own_bit) != 0) {
      doom(machine.regions[__builtin_ctzll(line->readers & ~own_bit)]);
    } else {
      return;
    }
  }
}

void use_cache(Thread* thread, uint64_t number, bool write) {
  const Options& options = machine.options;
  const Cache::Evicted evicted = thread->region.cache->access(number, write);
  if (evicted == Cache::Evicted::kWrittenLine) abort_region(thread, kCapacityBit, &Counters::capacity_aborts);
  if (evicted == Cache::Evicted::kReadLine) {
    const double rate = options.read_eviction_abort_rate * (options.hyperthreading ? 2 : 1);
    if (rate > 0 && thread->random.with_probability(rate)) abort_region(thread, kCapacityBit, &Counters::capacity_aborts);
  }
  if (thread->region.read_count > (options.hyperthreading ? options.read_lines_max / 2 : options.read_lines_max)) {
    abort_region(thread, kCapacityBit, &Counters::capacity_aborts);
  }
}

void keep_old_bytes(Region& region, Line& line, uintptr_t address, size_t bytes) {
  if (line.writer != region.id || line.undo == kFrameLine) {
    if (region.undo_count == kUndoLinesMax) die("a region wrote more than %u lines", kUndoLinesMax);
    line.writer = region.id;
    line.undo = region.undo_count++;
    region.undo[line.undo].number = line.number;
    region.undo[line.undo].mask = 0;
  }
  UndoLine& undo = region.undo[line.undo];
  const uint32_t from = address & (kLineBytes - 1);
  const uint64_t mask = (bytes == kLineBytes ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1) << from;
  if ((mask & ~undo.mask) == 0) return;
  const auto* memory = reinterpret_cast<const unsigned char*>(line.number << kLineShift);
  for (uint32_t k = from; k < from + bytes; ++k) {
    if ((undo.mask >> k & 1) == 0) undo.old[k] = memory[k];
  }
  undo.mask |= mask;
}

void region_access_line(Thread* thread, uintptr_t address, size_t bytes, bool write) {
  Region& region = thread->region;
  if (machine.options.page_faults && !machine.pages.present(address, write)) {
    abort_region(thread, 0, &Counters::page_fault_aborts);
  }
  const uint64_t number = address >> kLineShift;
  win_line(number, write, region.id);
  if (!write && region.suspended == Suspension::kLoads) return;
  Line& line = machine.lines.find_or_insert(number);
  const uint64_t bit = uint64_t{1} << region.id;
  if (write) {
    keep_old_bytes(region, line, address, bytes);
  } else if (line.writer != region.id && (line.readers & bit) == 0) {
    if (region.read_count == kReadLinesMax) die("a region read more than %u lines", kReadLinesMax);
    line.readers |= bit;
    region.read_lines[region.read_count++] = number;
  }
  use_cache(thread, number, write);
}

void prepare(Region& region) {
  if (region.frame != nullptr) return;
  region.frame = static_cast<unsigned char*>(map_memory(kFrameBytesMax + kStackArgumentBytes));
  region.undo = static_cast<UndoLine*>(map_memory(kUndoLinesMax * sizeof(UndoLine)));
  region.read_lines = static_cast<uint64_t*>(map_memory(kReadLinesMax * sizeof(uint64_t)));
  region.cache = static_cast<Cache*>(map_memory(sizeof(Cache)));
}

// Copies the stack frame that begins the region, and the parameters above it, so that an abort can
// restore them. Their lines count as written by the region. Therefore another thread that accesses
// a local variable of the frame aborts the region, like any other conflict.
void own_frame(Region& region, const Registers& registers) {
  if (registers.rbp < registers.rsp || registers.rbp - registers.rsp > kFrameBytesMax - 2 * sizeof(uintptr_t)) {
    die("the region at %p was begun by a function without a frame pointer, or with a frame of more than %zu bytes",
        reinterpret_cast<void*>(registers.rip), kFrameBytesMax);
  }
  region.at_begin = registers;
  region.frame_end = registers.rbp + 2 * sizeof(uintptr_t);
  region.returns_to = reinterpret_cast<const uintptr_t*>(region.frame_end)[-1];
  region.copied_end = region.frame_end + kStackArgumentBytes;
  copy_bytes(region.frame, reinterpret_cast<const void*>(registers.rsp), region.copied_end - registers.rsp);
  for (uint64_t line = registers.rsp >> kLineShift; line <= (region.copied_end - 1) >> kLineShift; ++line) {
    win_line(line, true, kNoRegion);
    Line& owned = machine.lines.find_or_insert(line);
    owned.writer = region.id;
    owned.undo = kFrameLine;
  }
}

unsigned start(Thread* thread, const Registers& registers) {
  Region& region = thread->region;
  if (region.suspended != Suspension::kNone) die("a region was begun while the tracking of another region was suspended");
  if (region.depth != 0) {
    // If the same frame begins a region again at the same place, for example in a loop, it has not
    // committed the first region.
    if (registers.rip == region.at_begin.rip && registers.rsp >= region.at_begin.rsp) commit_is_missing(region);
    if (region.depth == kDepthMax) abort_region(thread, 0, &Counters::call_aborts);
    ++region.depth;
    return kStarted;
  }
  int32_t id = 0;
  while (id < kRegionsMax && machine.regions[id] != nullptr) ++id;
  if (id == kRegionsMax) return kRetryBit;  // no processor has more than kRegionsMax hardware threads that run regions
  prepare(region);
  region.id = id;
  region.undo_count = 0;
  region.read_count = 0;
  own_frame(region, registers);
  region.depth = 1;
  machine.regions[id] = thread;
  ++machine.active_regions;
  ++thread->counters.begun;
  const Options& options = machine.options;
  region.cache->start(options.sets, options.hyperthreading && options.ways > 1 ? options.ways / 2 : options.ways);
  const bool spurious = options.spurious_abort_rate > 0 && thread->random.with_probability(options.spurious_abort_rate);
  region.spurious_in = spurious ? 1 + static_cast<uint32_t>(thread->random.below(kSpuriousAccesses)) : 0;
  return kStarted;
}

[[noreturn]] void abort_spuriously(Thread* thread) {
  abort_region(thread, thread->random.below(2) == 0 ? 0 : kRetryBit, &Counters::spurious_aborts);
}

}  // namespace

void Cache::start(uint32_t sets, uint32_t ways) {
  if (sets_ == nullptr) sets_ = static_cast<Set*>(map_memory(kSetsMax * sizeof(Set)));
  count_ = sets;
  ways_ = ways;
  ++generation_;
}

void region_access(Thread* thread, uintptr_t address, size_t bytes, bool write) {
  Region& region = thread->region;
  check_frame(thread);
  if (region.spurious_in != 0 && --region.spurious_in == 0) abort_spuriously(thread);
  // Accesses to the frame that began the region, and to the stack below it, are not tracked. An
  // abort restores the frame from its copy, and the stack below it is not used afterwards.
  if (address >= here() && address + bytes <= region.copied_end) return;
  while (bytes != 0) {
    const size_t in_line = kLineBytes - (address & (kLineBytes - 1));
    const size_t part = bytes < in_line ? bytes : in_line;
    region_access_line(thread, address, part, write);
    address += part;
    bytes -= part;
  }
}

void outside_access(Thread* thread, uintptr_t address, size_t bytes, bool write) {
  if (machine.options.page_faults) machine.pages.touch(address, bytes, write);
  if (machine.active_regions == 0) return;
  const uint64_t last = (address + bytes - 1) >> kLineShift;
  const Region& region = thread->region;
  // In a suspended region, accesses to the frame that began the region, and to the stack below it,
  // do not conflict with the region. Neither do reads of lines that the region has written.
  if (region.suspended != Suspension::kNone && address >= here() && address + bytes <= region.copied_end) return;
  const int32_t own = region.depth != 0 && !write ? region.id : kNoRegion;
  for (uint64_t line = address >> kLineShift; line <= last; ++line) win_line(line, write, own);
}

void check_exit(const Thread* thread, uintptr_t frame) {
  const Region& region = thread->region;
  if ((region.depth != 0 || region.suspended != Suspension::kNone) && region.at_begin.rbp == frame) commit_is_missing(thread->region);
}

void abort_region(Thread* thread, unsigned status, uint64_t Counters::*cause) {
  check_frame(thread);
  ++(thread->counters.*cause);
  roll_back(thread, status);
  resume_doomed(thread);
}

void resume_doomed(Thread* thread) {
  check_frame(thread);
  if (thread->region.frame_due) restore_frame(thread->region);
  thread->region.frame_due = false;
  thread->region.doomed = false;
  thread->region.suspended = Suspension::kNone;
  thread->pending.bytes = 0;
  leave(thread);
  elider_emulator_resume(&thread->region.at_begin, thread->region.status);
}

void interrupt(Thread* thread) {
  thread->until_interrupt = machine.options.accesses_per_interrupt;
  if (thread->region.depth == 0) return;
  if (tracks(thread->region)) abort_region(thread, 0, &Counters::interrupt_aborts);
  ++thread->counters.interrupt_aborts;
  roll_back(thread, 0);
}

namespace {

// Suspends the tracking of `what`. If `what` is kNone, resumes all tracking.
void set_suspension(Suspension what) {
  Thread* const thread = enter();
  if (thread == nullptr) die("tracking was suspended or resumed outside a region");
  step(thread);
  Region& region = thread->region;
  // If the region was rolled back while it was suspended, it has ended, but its thread has not
  // received the abort yet.
  if (region.depth == 0 && !region.doomed) die("tracking was suspended or resumed outside a region");
  if (what > machine.options.suspension) die("the option `suspension` of the emulated processor does not support this kind of suspension");
  if (region.depth != 0) check_frame(thread);
  region.suspended = what;
  thread->pending.bytes = 0;
  if (region.doomed && what != Suspension::kAll) resume_doomed(thread);
  leave(thread);
}

}  // namespace

}  // namespace elider::emulator

using namespace elider::emulator;

extern "C" {

// Called by elider_emulator_begin() (context.cc) with the registers of its caller.
unsigned elider_emulator_start(const Registers* registers) {
  if (machine.armed == 0) arm();
  Thread* const thread = enter();
  if (thread == nullptr) die("a region was begun inside the runtime");
  step(thread);
  thread->pending.bytes = 0;
  const unsigned status = start(thread, *registers);
  leave(thread);
  return status;
}

void elider_emulator_commit() {
  Thread* const thread = enter();
  if (thread == nullptr) die("commit outside a region");
  step(thread);
  Region& region = thread->region;
  if (region.depth == 0) die("commit outside a region");
  check_frame(thread);
  if (region.suspended != Suspension::kNone) die("commit while tracking is suspended");
  if (region.depth > 1) {
    --region.depth;
  } else {
    if (region.spurious_in != 0) abort_spuriously(thread);
    Counters& counters = thread->counters;
    ++counters.committed;
    if (region.undo_count > counters.lines_written_max) counters.lines_written_max = region.undo_count;
    if (region.read_count > counters.lines_read_max) counters.lines_read_max = region.read_count;
    counters.lines_read += region.read_count;
    counters.lines_written += region.undo_count;
    region.last = {region.read_count, region.undo_count};
    end_region(thread);
  }
  leave(thread);
}

void elider_emulator_abort(unsigned char code) {
  Thread* const thread = enter();
  if (thread == nullptr) return;
  step(thread);
  if (thread->region.suspended == Suspension::kAll) die("abort while all tracking is suspended");
  if (thread->region.depth != 0) {
    abort_region(thread, kExplicitBit | static_cast<unsigned>(code) << 24, &Counters::explicit_aborts);
  }
  leave(thread);
}

int elider_emulator_active() {
  const Thread* const thread = self;
  if (thread == nullptr || thread->region.suspended == Suspension::kAll) return 0;
  return thread->region.depth != 0 || thread->region.doomed ? 1 : 0;
}

void elider_emulator_suspend() { set_suspension(Suspension::kAll); }
void elider_emulator_suspend_loads() { set_suspension(Suspension::kLoads); }
void elider_emulator_track() { set_suspension(Suspension::kNone); }

}  // extern "C"
