#include "lab/emulator/lines.h"

#include "lab/emulator/system.h"

namespace elider::emulator {

Line* LineTable::find(uint64_t number) {
  for (uint32_t i = heads_[bucket_of(number)]; i != 0; i = pool_[i].next) {
    if (pool_[i].number == number) return &pool_[i];
  }
  return nullptr;
}

Line& LineTable::find_or_insert(uint64_t number) {
  if (Line* line = find(number)) return *line;
  if (pool_ == nullptr) pool_ = static_cast<Line*>(map_memory(kLinesMax * sizeof(Line)));
  uint32_t i = free_;
  if (i != 0) {
    free_ = pool_[i].next;
  } else {
    i = ++used_;
    if (i == kLinesMax) die("the running regions have accessed more than %u lines", kLinesMax);
  }
  uint32_t& head = heads_[bucket_of(number)];
  pool_[i] = Line{number, 0, kNoRegion, 0, head};
  head = i;
  return pool_[i];
}

void LineTable::release(uint64_t number, int32_t region) {
  for (uint32_t* link = &heads_[bucket_of(number)]; *link != 0; link = &pool_[*link].next) {
    Line& line = pool_[*link];
    if (line.number != number) continue;
    line.readers &= ~(uint64_t{1} << region);
    if (line.writer == region) line.writer = kNoRegion;
    if (line.readers != 0 || line.writer != kNoRegion) return;
    const uint32_t i = *link;
    *link = line.next;
    line.next = free_;
    free_ = i;
    return;
  }
}

}  // namespace elider::emulator
