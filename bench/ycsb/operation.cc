#include "bench/ycsb/operation.h"

#include <cmath>

namespace elider::bench {

namespace {

constexpr double kTwoTo32 = 4294967296.0;

}  // namespace

OperationStream::OperationStream(const YcsbOptions& options, KeySpace& space, uint32_t thread, uint64_t stream)
    : space_(space), thread_(thread), chooser_(options, space), random_(options.common.seed, stream) {
  double sum = 0;
  size_t last = 0, kinds = 0;
  for (size_t kind = 0; kind < kOperationKinds; ++kind) {
    sum += options.shares[kind];
    kind_below_[kind] = static_cast<uint64_t>(std::round(sum / 100 * kTwoTo32));
    if (options.shares[kind] > 0) last = kind, ++kinds;
  }
  only_one_kind_ = kinds == 1;
  only_kind_ = static_cast<OperationKind>(last);
  // Rounding errors are added to the share of the last kind.
  for (size_t kind = last; kind < kOperationKinds; ++kind) kind_below_[kind] = uint64_t{1} << 32;
}

void OperationStream::draw_more(Operation& operation) {
  if (operation.kind == OperationKind::kInsert) operation.key = space_.key(space_.next_record(thread_, inserts_under_way_++));
  else operation.key = chooser_.draw(random_);
  if (operation.kind == OperationKind::kScan) operation.scan_rows = static_cast<uint32_t>(random_.between(1, kScanRowsMax));
  if (operation.kind == OperationKind::kUpdate) operation.counter = random_.next();
}

void OperationStream::draw(std::span<Operation> operations) {
  bool inserts = false;
  for (Operation& operation : operations) {
    draw_one(operation);
    if (operation.kind != OperationKind::kInsert) [[likely]] continue;
    // A transaction inserts at most one record.
    if (inserts) {
      --inserts_under_way_;
      operation = {chooser_.draw(random_), 0, 0, OperationKind::kRead};
    }
    inserts = true;
  }
}

}  // namespace elider::bench
