// Partitioned: a protocol that divides the database into partitions, each of which has a lock. A
// procedure declares the partitions that it uses (RunPolicy::partitions, Touches::partition), and
// holds their locks while it runs. This is the baseline "partitioned" of HyPer-HTM (section 6),
// which follows H-Store. Procedures in different partitions run concurrently. A procedure that uses
// several partitions acquires their locks in ascending order, which prevents deadlocks. A procedure
// that does not declare any partition acquires all locks.
//
// Correctness does not depend on the declaration, because each attempt follows the underlying
// protocol. That protocol detects the conflicts that the locks do not prevent: conflicts with
// procedures that use undeclared partitions, with open transactions, and on index leaves that
// several partitions share. As under Serial, the locks avoid most conflicts, but not the cost of
// detecting them.
//
// The locks are not reentrant. A procedure that is nested in another transaction of its thread does
// not acquire any. A procedure acquires its locks before it enters the epoch. Calls in a group are
// an exception, and acquire their locks inside the epoch. Lock rank: before all others. Thread
// safety: like every protocol (txn/protocol.h).
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
  // Holds the locks of the declared partitions. If no partition is declared, or more than `few_`
  // can hold, holds the locks of all partitions.
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
