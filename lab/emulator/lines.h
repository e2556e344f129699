// LineTable: records the owners of each 64-byte line that running regions have accessed. The owners
// of a line are the regions that have read the line, and the region that has written it. Lines
// without an owner are not in the table.
//
// The table is a chained hash table. Its entries are in a pool that never shrinks. Thread safety:
// used only by the thread that holds the turn (machine.h).
#pragma once

#include <cstdint>

namespace elider::emulator {

inline constexpr uint32_t kLineShift = 6;
inline constexpr int32_t kNoRegion = -1;

struct Line {
  uint64_t number;   // address >> kLineShift
  uint64_t readers;  // one bit per region
  int32_t writer;    // id of a region, or kNoRegion
  uint32_t undo;     // index of the writer's undo line
  uint32_t next;     // next entry in the chain or in the free list; 0: none
};

class LineTable {
 public:
  // Returns null if no region owns the line.
  Line* find(uint64_t number);
  Line& find_or_insert(uint64_t number);
  // Removes the region from the line. Removes the line from the table if no other region owns it.
  void release(uint64_t number, int32_t region);

 private:
  static constexpr uint32_t kBuckets = 1u << 16;
  static constexpr uint32_t kLinesMax = 1u << 24;

  static uint32_t bucket_of(uint64_t number) { return static_cast<uint32_t>((number * 0x9e3779b97f4a7c15u) >> 48); }

  uint32_t heads_[kBuckets];
  Line* pool_;
  uint32_t used_;
  uint32_t free_;
};

}  // namespace elider::emulator
