// Models of the durable heap's waits, in atomic steps, and an exhaustive search of all their
// interleavings. They prove the order of steps, and show that each other order tried fails.
//
// waits(): DUMBO's algorithm 1: a writer in a hardware transaction, and a reader.
//   writer   says inactive; [stamps: non-durable, time]; looks who is active; waits for them;
//            [published: stamps here]; commits (what it wrote shows); marker; says inactive
//   reader   [published: takes its time here]; says active; [takes its time]; reads; says inactive;
//            looks who is non-durable since before its time; waits for them; answers
// Checked: a reader that saw what the writer wrote answers after its marker. In the published
// algorithm, both steps are at the places marked "published". The model has a violation unless both
// are moved.
//
// moments(): the software protocol (src/heap/slots.h): two writers of the same two words, and a
// reader.
//   writer   moment as the reader; lock, refused if newer than the moment; says deciding(clock);
//            takes a number; says published(number); waits for readers below it; writes x; writes
//            y; says written; unlocks; marker; says idle
//   reader   looks at the clock; says active; looks again: its moment; for each writer: waits while
//            it is deciding below the moment, remembers it if it is published up to it; reads x,
//            and y: from whom it remembers, else the heap; says inactive; waits until all up to its
//            moment are durable; answers
//   Durable first (HeapWait::kOwn): marker before published; the reader answers at once.
// Checked: x and y are of one writer, the newest up to the moment; and it answers after the marker.
//
// regions(): update transactions in regions (src/heap/region_attempt.h): two that read and write
// the same two words (or, apart, one, and two more that write words of their own), and a reader.
// If another transaction reads or writes what a region has written, the region aborts.
//   writer   [all: clock, says active, clock again: its moment]; reads and writes x, then y;
//            all:   says inactive; says deciding(clock); takes a number; says written(number);
//                   waits for all who are active below it; commits
//            loads: looks at the clock: c; waits for the reader while it is active up to c;
//                   number, written(c) and commit are one step
//            marker; says idle; waits until all up to its moment (loads: below its number) are
//            durable; answers
//   reader   as in moments(), but it does not remember anything
// Checked: x and y are of one writer; no commit up to the moment is missed; recovery keeps every
// transaction that answered, and those that it read from: the markers of all that they need are
// there, or were given up.
// Thread safety: none.
#pragma once

#include <cstdint>

#include "tests/exhaustive/search_all.h"

namespace elider::models {

struct WaitsModel {
  bool stamps_after_wait = false;   // as published
  bool time_before_active = false;  // as published
};
SearchResult search(const WaitsModel& model);

enum class MomentsFlaw : uint8_t {
  kNone,
  kMomentBeforeActive,     // the reader's first look at the clock is its moment
  kNumberBeforeDeciding,   // a writer takes its number before it says that it is deciding
  kIgnoresDeciding,        // the reader goes on though a writer is deciding
  kIgnoresPublished,       // the reader reads the heap alone
  kSkipsIsolationWait,
  kSkipsDurabilityWait,    // that of the reader; durable first: a writer publishes before its marker
};
SearchResult search(MomentsFlaw flaw, bool durable_first);

enum class RegionsFlaw : uint8_t {
  kNone,
  kMomentBeforeActive,
  kSkipsIsolationWait,
  kStampsAfterWait,        // all: says deciding and written after it has waited, with the clock of that time: as published
  kLooksBeforeClock,       // loads: looks for the reader, and then at the clock
  kSaysNumber,             // loads: says its number in place of c
  kWritersDoNotWait,       // a writer answers when its own marker is durable
  kIgnoresDeciding,        // all: the durability wait passes over a writer that is deciding
};
SearchResult search(RegionsFlaw flaw, bool suspends_all, bool apart);

}  // namespace elider::models
