// Partitioned: a protocol that divides the database into partitions with one lock each. A procedure
// declares its partitions (RunPolicy::partitions, Touches::partition) and runs while it holds their
// locks. This is HyPer-HTM's baseline "partitioned" (section 6), which follows H-Store. Procedures
// in different partitions run concurrently. A procedure that uses several partitions acquires their
// locks in ascending order, so there cannot be a deadlock. A procedure that does not declare any
// partition acquires all locks.
//
// Correctness does not depend on the declaration. Each attempt is one of the underlying protocol,
// which also detects conflicts that the locks do not prevent: with procedures that break their
// declaration, with open transactions, and on leaves that several partitions share. The locks avoid
// most conflicts, but not the cost of detecting conflicts, as under Serial.
//
// Not reentrant: a procedure inside another transaction of its thread does not acquire a lock. Lock
// rank: before all others. The locks are acquired outside of the epoch, except for the calls of a
// group. Thread safety: that of a protocol (txn/protocol.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "base/cache_line.h"
#include "elider/laboratory.h"
#include "sync/exclusive.h"
#include "txn/protocol.h"

namespace elider::txn {

template <ProtocolObject Base>
class Partitioned : public Base {
 public:
  using typename Base::Snapshot;
  static constexpr elider::Protocol kName = elider::Protocol::kPartitioned;

  explicit Partitioned(Store& store)
      : Base(store), count_(store.laboratory.partitions), locks_(new CacheLine<sync::SpinLatch>[store.laboratory.partitions]) {}

  template <RunnableTransaction Txn>
  Status run(Txn& txn, const Call& call) {
    return with_locks<Txn>(call, [&] { return Base::run(txn, call); });
  }
  template <RunnableTransaction Txn>
  Status attempt_once(Txn& txn, const Call& call) {
    Status status = with_locks<Txn>(call, [&] { return Base::attempt_once(txn, call); });
    if (txn.active()) [[unlikely]] txn.rollback(Cause::kUser);  // the transaction was rejected before it ran
    return status;
  }

 private:
  // Holds the locks of the given partitions. If none or too many are given, holds all locks.
  class Held {
   public:
    Held(Partitioned& protocol, std::span<const uint32_t> declared) : protocol_(protocol) {
      if (declared.empty() || declared.size() > few_.size()) {
        all_ = true;
        for (uint32_t p = 0; p < protocol_.count_; ++p) protocol_.locks_[p]->lock();
        return;
      }
      std::copy(declared.begin(), declared.end(), few_.begin());
      const auto begin = few_.begin(), end = begin + static_cast<std::ptrdiff_t>(declared.size());
      if (declared.size() > 1) std::sort(begin, end);
      count_ = static_cast<size_t>(std::unique(begin, end) - begin);
      for (size_t i = 0; i < count_; ++i) protocol_.locks_[few_[i]]->lock();
    }
    ~Held() {
      for (uint32_t p = 0; all_ && p < protocol_.count_; ++p) protocol_.locks_[p]->unlock();
      for (size_t i = 0; i < count_; ++i) protocol_.locks_[few_[i]]->unlock();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Partitioned& protocol_;
    std::array<uint32_t, 32> few_;
    size_t count_ = 0;
    bool all_ = false;
  };

  template <class Txn, class F>
  Status with_locks(const Call& call, F&& f) {
    if (std::is_same_v<Txn, Snapshot> || call.nested) return f();
    for (const uint32_t partition : call.policy.partitions)
      if (partition >= count_) [[unlikely]] return refuse_partition(partition);
    const Held held(*this, call.policy.partitions);
    return f();
  }
  [[gnu::noinline]] Status refuse_partition(uint32_t partition) const {
    return Status::invalid_argument("partition " + std::to_string(partition) +
                                    " does not exist: partitions are numbered from 0, and LaboratoryOptions::partitions is " +
                                    std::to_string(count_));
  }

  const uint32_t count_;
  const std::unique_ptr<CacheLine<sync::SpinLatch>[]> locks_;
};

}  // namespace elider::txn
