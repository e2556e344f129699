// KeyChooser chooses the record that an operation uses. KeySpace maps record numbers to keys, and
// tracks which records exist while threads insert more.
//
// Records 0 to records - 1 are loaded. During the run, thread t of T inserts the records records +
// t, records + t + T, ... in this order, so no two threads insert the same key. From each thread's
// number of inserts, KeySpace computes a number below which all records exist.
// Thread safety: a KeySpace is shared by all threads; a KeyChooser belongs to one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/common/random.h"
#include "bench/ycsb/workload.h"
#include "bench/ycsb/zipfian.h"
#include "elider/key.h"

namespace elider::bench {

class KeySpace {
 public:
  KeySpace(uint64_t records, uint32_t threads, bool hashed) : records_(records), hashed_(hashed) {
    for (uint32_t thread = 0; thread < threads; ++thread) inserted_.push_back(std::make_unique<Inserted>());
  }
  // Returns the key of a record. Hashed keys are unique and spread over all 64-bit numbers.
  Key key(uint64_t record) const { return hashed_ ? mix64(record + 1) : record; }

  uint64_t records() const { return records_; }
  // Returns the record that the thread inserts next, after `ahead` other inserts.
  uint64_t next_record(uint32_t thread, uint64_t ahead = 0) const {
    return records_ + (inserted(thread) + ahead) * inserted_.size() + thread;
  }
  // Sets how many records the thread has inserted in earlier runs, which had the same number of
  // threads. Called before the run.
  void resume(uint32_t thread, uint64_t inserted) { inserted_[thread]->count.store(inserted, std::memory_order_release); }
  // Called by the thread itself after it has committed the insert of next_record(). Release, so
  // that a thread that sees the new count finds the record's row.
  void record_inserted(uint32_t thread) { inserted_[thread]->count.store(inserted(thread) + 1, std::memory_order_release); }
  uint64_t inserted(uint32_t thread) const { return inserted_[thread]->count.load(std::memory_order_acquire); }
  // Returns a number below which all records exist.
  uint64_t existing() const {
    uint64_t rounds = ~uint64_t{0};
    for (uint32_t thread = 0; thread < inserted_.size(); ++thread) rounds = std::min(rounds, inserted(thread));
    return records_ + rounds * inserted_.size();
  }

 private:
  struct alignas(128) Inserted {
    std::atomic<uint64_t> count{0};
  };
  const uint64_t records_;
  const bool hashed_;
  std::vector<std::unique_ptr<Inserted>> inserted_;
};

class KeyChooser {
 public:
  KeyChooser(const YcsbOptions& options, const KeySpace& space)
      : space_(space),
        distribution_(options.distribution),
        clustered_(options.clustered),
        records_(options.records),
        zipfian_(options.records, options.theta) {}

  Key draw(Random& random) { return space_.key(draw_record(random)); }

 private:
  // The number of draws between two calls to KeySpace::existing(), which reads all threads' counts.
  // This number is so large that the cost of the calls is negligible.
  static constexpr uint32_t kDrawsBetweenLooks = 256;

  uint64_t draw_record(Random& random) {
    return distribution_ == Distribution::kUniform ? random.below(records_) : draw_uneven(random);
  }
  [[gnu::noinline]] uint64_t draw_uneven(Random& random) {
    switch (distribution_) {
      case Distribution::kUniform: break;
      case Distribution::kZipfian: {
        const uint64_t rank = zipfian_.rank(random.uniform());
        return clustered_ ? rank : Random::scale(mix64(rank + 1), records_);
      }
      case Distribution::kLatest: break;
    }
    if (draws_++ % kDrawsBetweenLooks == 0) zipfian_.resize(space_.existing());
    return zipfian_.size() - 1 - zipfian_.rank(random.uniform());
  }

  const KeySpace& space_;
  const Distribution distribution_;
  const bool clustered_;
  const uint64_t records_;
  Zipfian zipfian_;
  uint32_t draws_ = 0;
};

}  // namespace elider::bench
