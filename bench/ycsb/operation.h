// Operation: one step of a YCSB transaction, for any store. OperationStream: draws one thread's
// operations according to the workload's shares and distribution, and counts the committed inserts
// and read-modify-writes.
//
// Operations are drawn before a transaction runs, so that a retry does the same work.
// Thread safety: an OperationStream belongs to one thread, but all threads share its KeySpace.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "bench/common/random.h"
#include "bench/ycsb/key_chooser.h"
#include "bench/ycsb/workload.h"
#include "elider/key.h"

namespace elider::bench {

struct Operation {
  Key key = 0;
  uint64_t counter = 0;    // for an update: the new value of the counter
  uint32_t scan_rows = 0;  // for a scan: the maximum number of rows
  OperationKind kind = OperationKind::kRead;

  bool writes() const { return kind != OperationKind::kRead && kind != OperationKind::kScan; }
};

inline bool any_writes(std::span<const Operation> operations) {
  for (const Operation& operation : operations)
    if (operation.writes()) return true;
  return false;
}

inline bool any_scans(std::span<const Operation> operations) {
  for (const Operation& operation : operations)
    if (operation.kind == OperationKind::kScan) return true;
  return false;
}

class OperationStream {
 public:
  // `thread` selects the records of `space` that the stream inserts. Different values of `stream`
  // give different operations for the same seed.
  OperationStream(const YcsbOptions& options, KeySpace& space, uint32_t thread, uint64_t stream);

  // Draws the operations of one transaction.
  void draw(std::span<Operation> operations);
  // Like draw(), but the transaction has only one operation.
  [[gnu::always_inline]] inline void draw_one(Operation& operation) {
    operation.kind = draw_kind();
    if (operation.kind != OperationKind::kRead && operation.kind != OperationKind::kReadModifyWrite) return draw_more(operation);
    operation.key = chooser_.draw(random_);
  }
  // Called after the transaction has committed.
  void committed(std::span<const Operation> operations) {
    for (const Operation& operation : operations) committed_one(operation);
  }
  [[gnu::always_inline]] inline void committed_one(const Operation& operation) {
    if (operation.kind == OperationKind::kRead) return;
    read_modify_writes_ += operation.kind == OperationKind::kReadModifyWrite;
    if (operation.kind != OperationKind::kInsert) [[likely]] return;
    space_.record_inserted(thread_);
    --inserts_under_way_;
  }
  uint64_t read_modify_writes() const { return read_modify_writes_; }  // in committed transactions

 private:
  OperationKind draw_kind() {
    if (only_one_kind_) return only_kind_;
    const uint64_t drawn = random_.next() >> 32;
    size_t kind = 0;
    while (drawn >= kind_below_[kind]) ++kind;
    return static_cast<OperationKind>(kind);
  }
  void draw_more(Operation& operation);  // for kinds other than reads and read-modify-writes

  KeySpace& space_;
  const uint32_t thread_;
  KeyChooser chooser_;
  Random random_;
  std::array<uint64_t, kOperationKinds> kind_below_{};  // cumulative shares, as fractions of 2^32
  bool only_one_kind_ = false;  // if true, the kind is not drawn
  OperationKind only_kind_ = OperationKind::kRead;
  uint64_t read_modify_writes_ = 0;
  uint64_t inserts_under_way_ = 0;  // number of inserts that were drawn but have not committed
};

}  // namespace elider::bench
