// A model of the snapshot protocol (docs/design/snapshots.md) in atomic steps, and an exhaustive
// search of all their interleavings. It is not the engine. It proves the order of steps, and shows
// that each other order that is tried fails.
//
// Shared state: the snapshot number S; two records, each with a lock and its versions, newest last,
// where a superseded version may be kept for readers; a slot for each reader.
//
// A writer (an optimistic transaction), each line one step, blocked while what it needs is locked:
//   read      each record of its read set: remember the newest version; waits for a locked record
//   lock      each record of its write set, in order
//   snapshot  n = S
//   slots     each reader's slot: keep old versions if it is "starting", or is published below n
//   validate  each record read: still the newest version and not locked by another, or abort
//   write     each record: append the version with number n, keep or drop the one before, unlock
// A reader:
//   start     its slot says "starting"
//   bump      rs = S, S = S + 1
//   publish   its slot says rs
//   read      each record: waits while it is locked, then the newest version with number <= rs
//   leave     its slot says nothing
// A timer bumps S (group commit's epochs do that where no reader does).
//
// Checked: no reader misses a version that it needs. At the end of each run, each pair of
// transactions where one must precede the other (ww, wr, rw, or one ended before the other began)
// is in the order of (number, readers after writers), and these orders do not form a cycle.
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

namespace elider::models {

inline constexpr int kRecords = 2;
inline constexpr int kWritersMax = 3;
inline constexpr int kReadersMax = 2;
inline constexpr int kProcessesMax = kWritersMax + kReadersMax + 1;

// The step that is in the wrong place.
enum class Flaw {
  kNone,
  kSnapshotBeforeLocks,     // S is read before the locks are taken
  kSlotsBeforeSnapshot,     // the readers' slots are looked at before S is read
  kValidateBeforeSnapshot,  // S is read after the validation
  kReaderNotStarting,       // the reader's slot is empty until rs is published
  kReaderIgnoresLocks,      // the reader takes the newest unlocked-looking version of a locked record
  kNumberOneLate,           // a commit takes S + 1
};

struct Script {
  uint8_t reads = 0;   // bit i: record i
  uint8_t writes = 0;
};

struct Model {
  std::vector<Script> writers;
  int readers = 1;
  int timer_bumps = 1;
  Flaw flaw = Flaw::kNone;
};

struct ModelResult {
  uint64_t states = 0;
  uint64_t ends = 0;      // distinct final states
  std::string violation;  // empty: none; else what went wrong, and the steps that led to it
};

ModelResult search(const Model& model);

}  // namespace elider::models
