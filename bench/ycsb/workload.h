// Workload: the operations of a YCSB run, their shares, and the distribution of their keys.
//
// A workload is one of the standard workloads A to F (Cooper et al., "Benchmarking cloud serving
// systems with YCSB", SoCC 2010), or a mix of reads and read-modify-writes, as in papers on
// transactions (--mix 80/20).
// Thread safety: none; options are plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bench/common/options.h"
#include "bench/ycsb/key_format.h"
#include "elider/schema.h"

namespace elider::bench {

enum class OperationKind : uint8_t { kRead, kUpdate, kReadModifyWrite, kInsert, kScan };
inline constexpr size_t kOperationKinds = 5;
const char* name_of(OperationKind kind);

// kLatest is zipfian, with rank 0 for the newest record.
enum class Distribution : uint8_t { kUniform, kZipfian, kLatest };
const char* name_of(Distribution distribution);

inline constexpr uint32_t kOperationsMax = 16;  // per transaction
inline constexpr uint32_t kScanRowsMax = 100;   // YCSB's default

// Percentages by OperationKind, which add up to 100.
using Shares = std::array<double, kOperationKinds>;

struct YcsbOptions {
  CommonOptions common;
  uint64_t records = 1'000'000;     // --records, 1 to 2^32
  uint32_t value_bytes = 100;       // --value-bytes, 8 to 2^20
  std::string workload;             // --workload, a to f; empty: use `mix`
  std::string mix = "80/20";        // --mix, reads/read-modify-writes
  std::string distribution_name;    // --distribution; empty: the workload's own
  double theta = 0.99;              // --theta of zipfian and latest, above 0 and below 1
  uint32_t operations = 1;          // --operations per transaction, 1 to kOperationsMax
  bool inline_rows = false;         // --inline-rows: rows are stored in their hash buckets (SchemaOf::inline_rows)
  bool batch = false;               // --batch: one multi_get for all keys of a transaction
  bool snapshot_reads = false;      // --snapshot-reads: transactions without writes run as read-only transactions
  bool clustered = false;           // --clustered: a zipfian rank is the record's number; false: ranks are scattered
  KeyIndex key_index = KeyIndex::kHashed;  // --index hash, btree or art
  bool index_chosen = false;        // --index was given
  bool hashed_keys = false;         // --key-order hashed
  std::string key_kind;             // --key-kind number, bytes, tuple, uuid or url; empty: bytes if key_bytes is set, else number
  uint32_t key_bytes = 0;           // --key-bytes of --key-kind bytes, 8 to 256; 0: 16
  bool skip_check = false;          // --skip-check: values are not checked at the end

  // Computed by resolve().
  Shares shares{};
  Distribution distribution = Distribution::kUniform;
  KeyForm key_form = KeyForm::kNumber;
  KeyFormat key_format;
};

// Computes the shares and the distribution, and refuses incompatible options (refuse_option).
void resolve(YcsbOptions& options);

// Returns a title such as "mix 80/20" or "workload a".
std::string title_of(const YcsbOptions& options);
inline bool has(const YcsbOptions& options, OperationKind kind) { return options.shares[static_cast<size_t>(kind)] > 0; }
// The sum of all counters can reveal lost updates only if no blind write overwrites the counters.
inline bool keeps_counters(const YcsbOptions& options) { return !has(options, OperationKind::kUpdate); }

}  // namespace elider::bench
