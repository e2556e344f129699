// ZoneScan: reads all rows of a zoned table as of a snapshot. It scans the memory of the rows
// (storage/zones.h) instead of an index, with several threads (HyPer-HTM, section 5.1).
//
// The caller's worker reads the snapshot and stays inside the epoch (base/worker.h) until run()
// returns. The caller's worker thus protects the snapshot's rows and versions for the helper
// threads as well, so these threads do not need workers of their own. A slot that is reused during
// the scan was free before, so it does not contain a row of the snapshot.
//
// Thread safety: only one call to run() at a time. Its helper threads share the members below;
// comments on the members say how.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "elider/transaction.h"
#include "storage/record.h"
#include "storage/zones.h"

namespace elider::txn {

class ZoneScan {
 public:
  using Visit = FunctionRef<bool(detail::KeyRef, RawView, unsigned thread)>;

  ZoneScan(const storage::Layout& layout, storage::Zones& zones, const storage::ColumnSet& set, SnapshotNumber snapshot, Visit visit,
           FunctionRef<bool()> has_ended)
      : layout_(layout), zones_(zones), set_(set), snapshot_(snapshot), visit_(visit), has_ended_(has_ended), next_(zones.first()) {}

  // A column group that was read. Recorded only for histories.
  struct Seen {
    Key key;
    uint32_t group;
    uint64_t version_number;
  };
  void record(std::vector<Seen>* seen) { seen_ = seen; }

  // Returns true if all rows have been visited, false if visit() stopped the scan. Rethrows the
  // first exception that visit() throws. Uses fewer threads if the system cannot start this many.
  bool run(unsigned threads);

 private:
  struct Piece {
    storage::Zones::Extent* extent;
    uint32_t used;
  };

  void work(unsigned thread);
  void stop();
  bool take(Piece* piece);
  bool scan(const Piece& piece, std::byte* image, unsigned thread);
  inline bool read_one_group(storage::Row* row, std::byte* image, uint64_t* version_numbers) const;
  bool read_groups(storage::Row* row, std::byte* image, uint64_t* version_numbers) const;
  void note(Key key, const uint64_t* version_numbers);

  const storage::Layout& layout_;
  storage::Zones& zones_;
  const storage::ColumnSet& set_;
  const SnapshotNumber snapshot_;
  const Visit visit_;
  const FunctionRef<bool()> has_ended_;  // whether the visitor has ended the transaction
  std::mutex mutex_;  // guards the following members, except stopped_
  std::vector<Seen>* seen_ = nullptr;
  storage::Zones::Extent* next_;
  std::exception_ptr thrown_;
  std::atomic<bool> stopped_{false};
};

}  // namespace elider::txn
