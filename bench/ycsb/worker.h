// YcsbWorker: one thread's stream of YCSB transactions (a BenchWorker, see bench/common/driver.h).
//
// Inputs are drawn before a transaction runs, so that a retry does the same work. Rows are used by the
// engine's untyped interface, since their size is chosen at run time; it is the same path as the typed
// one. Thread safety: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/driver.h"
#include "bench/common/random.h"
#include "bench/ycsb/key_chooser.h"
#include "bench/ycsb/workload.h"
#include "elider/database.h"
#include "elider/table.h"
#include "elider/transaction.h"

namespace elider::bench {

// A row of whatever size the table has. Never copied, never sized: only its address is used.
struct ValueRow {
  std::byte first;
};

// The positions of transaction types in a run's results.
struct YcsbTypes {
  explicit YcsbTypes(const YcsbOptions& options);
  std::vector<std::string> names;
  std::array<uint32_t, kOperationKinds> of_kind{};  // of a transaction of one operation
  uint32_t of_several = 0;                          // of one of several operations
};

class YcsbWorker {
 public:
  // What committed, warm-up included.
  struct Counts {
    uint64_t read_modify_writes = 0;
    uint64_t scanned_rows = 0;
  };

  YcsbWorker(const YcsbOptions& options, const YcsbTypes& types, Database& db, TableRef table, KeySpace& space, uint32_t thread);

  uint32_t run_one();
  std::string failure() const { return failure_; }
  const Counts& counts() const { return counts_; }

 private:
  struct Operation {
    Key key = 0;
    OperationKind kind = OperationKind::kRead;
    uint32_t scan_rows = 0;
  };

  OperationKind draw_kind();
  void draw_operation(Operation& operation);
  template <class F>
  Status execute(bool only_reads, F&& procedure);
  uint32_t run_single();
  uint32_t run_several();
  uint32_t ended(Status status, uint32_t type);

  Status do_operation(Transaction& txn, const Operation& operation);
  Status do_batch(Transaction& txn);
  Status read(Transaction& txn, Key key);
  Status update(Transaction& txn, Key key);
  Status read_modify_write(Transaction& txn, Key key);
  Status insert(Transaction& txn, Key key);
  Status scan(Transaction& txn, Key key, uint32_t rows);
  Status write_view(Transaction& txn, const Operation& operation, RawView view);
  static Status damaged(Key key);

  // Constant after construction.
  const YcsbOptions& options_;
  const YcsbTypes& types_;
  Database& db_;
  const TableRef table_;
  const uint32_t value_bytes_;
  const uint32_t operations_;
  std::array<uint64_t, kOperationKinds> kind_below_{};  // cumulated shares of 2^32

  KeySpace& space_;
  KeyChooser chooser_;
  Random random_;
  RunPolicy policy_;
  uint32_t thread_;
  std::array<Operation, kOperationsMax> drawn_;
  std::array<Key, kOperationsMax> keys_;
  std::array<RawView, kOperationsMax> views_;
  std::vector<std::byte> row_;  // a whole row, for inserts and blind writes
  uint64_t scanned_ = 0;        // rows, by the attempt that runs
  Counts counts_;
  std::string failure_;
};

}  // namespace elider::bench
