// Index study: measures each kind of index by itself, without transactions. It measures inserts,
// single and combined lookups, mixes of lookups with puts and with changes, scans and memory. If
// requested, it also measures how an index grows under a mix of lookups, inserts and puts.
//
// Thread safety: run_index_study() starts and joins its own threads; results are values.
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
  bool lock_free = false;  // also measures the lock-free table of lock_free.h, if the build has it
  std::vector<KeyShape> shapes;
  uint64_t records = 1'000'000;
  uint32_t threads = 1;
  double seconds = 1;        // per measurement, except for inserts
  uint32_t lookups_pct = 50;                // share of lookups; the other operations are puts of existing keys
  uint32_t lookups_beside_changes_pct = 50;  // share of lookups; the other operations remove a key and insert it again
  bool reads_before_puts = false;           // a put is preceded by a lookup of its key; both count as one operation
  // The shares of lookups and of inserts in the mix that doubles the number of keys. The other
  // operations are puts. If the share of inserts is 0, this mix does not run.
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
  double together_per_s = 0;  // lookups, in batches of 64
  double puts_per_s = 0;      // operations per second: lookups and puts
  double mixed_per_s = 0;     // operations per second: lookups, removals and insertions
  double growing_per_s = 0;   // operations per second: lookups, inserts of new keys, puts; 0: did not run
  double scanned_per_s = 0;   // entries; 0: the index is not ordered
  double bytes_a_key = 0;     // size of the index before it grows
};

// Skips indexes that do not support such keys. An error means that an index did not find an
// existing key or that one of its invariants does not hold.
Result<std::vector<IndexFigure>> run_index_study(const IndexStudyOptions& options);

}  // namespace elider::bench
