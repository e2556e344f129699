// Index study: the cost of each kind of index by itself, without transactions. It measures inserts,
// single and combined lookups, mixes of lookups with puts and with changes, scans and memory. If
// requested, it also measures growth by a mix of lookups, inserts and puts.
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
  bool lock_free = false;  // and the lock-free table of others (lock_free.h), if the build has it
  std::vector<KeyShape> shapes;
  uint64_t records = 1'000'000;
  uint32_t threads = 1;
  double seconds = 1;        // of each figure but the inserts
  uint32_t lookups_pct = 50;                // beside puts, each of which finds its key, or inserts it
  uint32_t lookups_beside_changes_pct = 50;  // beside keys that are removed and inserted again
  bool reads_before_puts = false;           // a put looks its key up first, and counts once
  // The mix that doubles the number of keys: the shares of lookups and of inserts; the rest are
  // puts. If the share of inserts is 0, the mix does not run.
  uint32_t growing_lookups_pct = 0, growing_inserts_pct = 0;
  uint64_t scan_length = 100;
  uint64_t seed = 1;
  SyncPolicy sync = SyncPolicy::kAutomatic;
  HtmBackend htm = HtmBackend::kNone;
};

struct IndexFigure {
  std::string index;  // "btree", "hash", "art"; "lock-free"
  KeyShape shape;
  double key_bytes = 0;  // of the keys themselves
  double inserts_per_s = 0;
  double lookups_per_s = 0;
  double together_per_s = 0;  // lookups, 64 of them together
  double puts_per_s = 0;      // operations: lookups and puts
  double mixed_per_s = 0;     // operations: lookups, and keys removed and inserted again
  double growing_per_s = 0;   // operations: lookups, inserts of new keys, puts; 0: did not run
  double scanned_per_s = 0;   // entries; 0: no order
  double bytes_a_key = 0;     // of the index, before it grows
};

// Leaves out an index that does not support such keys. An error is one of the index: it did not
// find an existing key, or an invariant does not hold.
Result<std::vector<IndexFigure>> run_index_study(const IndexStudyOptions& options);

}  // namespace elider::bench
