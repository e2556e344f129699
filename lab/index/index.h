// Index study: measures each kind of index by itself, without transactions. It measures the speed
// of inserts, single lookups, batched lookups, scans, and mixes of lookups with puts or with
// removals, as well as the memory that an index uses. If requested, it also measures a mix of
// lookups, inserts and puts that doubles the number of keys.
//
// Thread safety: one thread calls run_index_study(), which starts and joins its own threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/index/key_set.h"
#include "elider/options.h"
#include "elider/schema.h"
#include "elider/status.h"

namespace elider::bench {

struct IndexStudyOptions {
  std::vector<KeyIndex> indexes;
  bool lock_free = false;  // also measure liburcu's lock-free table (lock_free.h), if this build includes it
  std::vector<KeyShape> shapes;
  uint64_t records = 1'000'000;
  uint32_t threads = 1;
  double seconds = 1;        // per measurement, except for inserts
  uint32_t lookups_pct = 50;                // percentage of lookups in puts_per_s; the other operations are puts of existing keys
  uint32_t lookups_beside_changes_pct = 50;  // percentage of lookups in mixed_per_s; the other operations remove a key and insert it again
  bool reads_before_puts = false;           // look up each key before its put; both count as one operation
  // The percentages of lookups and of inserts in growing_per_s, the mix that doubles the number of
  // keys. The other operations are puts. If growing_inserts_pct is 0, this mix does not run.
  uint32_t growing_lookups_pct = 0, growing_inserts_pct = 0;
  uint64_t scan_length = 100;
  uint64_t seed = 1;
  SyncPolicy sync = SyncPolicy::kAutomatic;
  HtmBackend htm = HtmBackend::kNone;
};

struct IndexFigure {
  std::string index;  // "btree", "hash", "art"; "lock-free"
  KeyShape shape;
  double key_bytes = 0;  // mean size of a key
  double inserts_per_s = 0;
  double lookups_per_s = 0;
  double together_per_s = 0;  // lookups in batches of 64
  double puts_per_s = 0;      // operations per second: lookups and puts
  double mixed_per_s = 0;     // operations per second: lookups, removals and insertions
  double growing_per_s = 0;   // operations per second: lookups, inserts of new keys, puts; 0: did not run
  double scanned_per_s = 0;   // entries visited by scans; 0: the index is not ordered
  double bytes_a_key = 0;     // bytes of the index per key, before the mix that doubles the keys
};

// Measures each index with each shape of keys, but skips indexes that do not support such keys.
// Returns an error if an index does not find an existing key, or if one of its invariants does not
// hold.
Result<std::vector<IndexFigure>> run_index_study(const IndexStudyOptions& options);

}  // namespace elider::bench
