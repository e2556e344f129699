#include "lab/index/index.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "bench/common/random.h"
#include "lab/index/lock_free.h"
#include "elider/try.h"

namespace elider::bench {

namespace {

using Clock = std::chrono::steady_clock;
using StudyKey = IndexStudy::StudyKey;

constexpr size_t kBlock = 64;  // operations between two reads of the clock

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Runs work(0) to work(threads - 1) concurrently, each on its own thread. Returns the seconds until
// the last thread has finished.
double in_threads(uint32_t threads, const std::function<void(uint32_t)>& work) {
  Clock::time_point begin;
  // The last thread that arrives at the barrier reads the clock. The calling thread might read it
  // too late, because it may have to wait for a processor after the barrier.
  const auto start = [&begin]() noexcept { begin = Clock::now(); };
  std::barrier<decltype(start)> ready(static_cast<std::ptrdiff_t>(threads) + 1, start);
  std::vector<std::thread> running;
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      ready.arrive_and_wait();
      work(t);
    });
  ready.arrive_and_wait();
  for (std::thread& thread : running) thread.join();
  return seconds_since(begin);
}

class Study {
 public:
  // insert_all() inserts the first options.records keys of the set. grow() inserts the other keys.
  Study(const IndexStudyOptions& options, const KeySet& set, IndexStudy& index)
      : options_(options), keys_(std::span(set.keys()).first(options.records)), new_keys_(std::span(set.keys()).subspan(options.records)),
        index_(index) {}

  Status run(IndexFigure* figure) {
    const auto records = static_cast<double>(keys_.size());
    figure->inserts_per_s = records / insert_all();
    figure->bytes_a_key = static_cast<double>(index_.memory_bytes()) / records;
    using Keys = std::span<StudyKey>;
    figure->lookups_per_s = repeat([](auto& session, Keys keys, auto&, uint64_t) { return session.look_up(keys); }, true);
    figure->together_per_s = repeat([](auto& session, Keys keys, auto&, uint64_t) { return session.look_up_together(keys); }, true);
    figure->scanned_per_s =
        repeat([this](auto& session, Keys keys, auto&, uint64_t) { return session.scan(keys.first(4), options_.scan_length); }, false);
    figure->puts_per_s = repeat([this](auto& session, Keys keys, auto&, uint64_t) { return look_up_and_put(session, keys); }, true);
    figure->mixed_per_s =
        repeat([this](auto& session, Keys keys, auto& random, uint64_t thread) { return mix(session, keys, random, thread); }, false);
    if (!new_keys_.empty()) figure->growing_per_s = grow();
    if (wrong_.load() != 0)
      return Status::invalid_argument("number of existing keys that were not found: " + std::to_string(wrong_.load()));
    if (index_.size() != keys_.size() + new_keys_.size())
      return Status::invalid_argument("the index has lost entries, or has entries that were not inserted");
    return index_.verify();
  }

 private:
  using Operation = std::function<uint64_t(IndexStudy::Session&, std::span<StudyKey>, Random&, uint64_t)>;

  double insert_all() {
    return in_threads(options_.threads, [this](uint32_t thread) {
      const auto session = index_.session();
      const size_t begin = keys_.size() * thread / options_.threads, end = keys_.size() * (thread + 1) / options_.threads;
      for (size_t at = begin; at < end; at += kBlock) {
        const size_t count = std::min(kBlock, end - at);
        wrong_ += count - session->insert(keys_.subspan(at, count));
      }
    });
  }
  // Repeats the operation with random keys, and returns the number of operations per second. If
  // `all_found` is true, each operation must find all of its keys, and return their number.
  double repeat(const Operation& operation, bool all_found) {
    std::atomic<uint64_t> total{0};
    const double seconds = in_threads(options_.threads, [&](uint32_t thread) {
      const auto session = index_.session();
      Random random(options_.seed + 1, thread);
      uint64_t done = 0, wrong = 0;
      const auto begin = Clock::now();
      StudyKey keys[kBlock];
      do {
        for (StudyKey& key : keys) key = keys_[random.below(keys_.size())];
        const uint64_t count = operation(*session, keys, random, thread);
        if (all_found) wrong += kBlock - count;
        done += count;
      } while (seconds_since(begin) < options_.seconds);
      total += done;
      wrong_ += wrong;
    });
    return static_cast<double>(total.load()) / seconds;
  }
  // All keys exist, so each put finds its key.
  uint64_t look_up_and_put(IndexStudy::Session& session, std::span<StudyKey> keys) {
    const size_t lookups = keys.size() * options_.lookups_pct / 100;
    if (options_.reads_before_puts) wrong_ += keys.size() - lookups - session.look_up(keys.subspan(lookups));
    return session.look_up(keys.first(lookups)) + session.find_or_insert(keys.subspan(lookups));
  }
  // Each thread removes and inserts its own keys, so that all keys exist at the end.
  uint64_t mix(IndexStudy::Session& session, std::span<StudyKey> keys, Random& random, uint64_t thread) {
    const size_t lookups = kBlock * options_.lookups_beside_changes_pct / 100;
    session.look_up(keys.first(lookups));
    for (StudyKey& key : keys.subspan(lookups)) {
      const size_t own = random.below(keys_.size() / options_.threads) * options_.threads + thread;
      key = keys_[own];
      if (session.remove({&key, 1}) != 1 || session.insert({&key, 1}) != 1) ++wrong_;
    }
    return kBlock + (kBlock - lookups);
  }
  // Inserts all new keys in a mix with lookups and puts of the original keys. Returns the number of
  // operations per second.
  double grow() {
    const size_t lookups = kBlock * options_.growing_lookups_pct / 100, inserts = kBlock * options_.growing_inserts_pct / 100;
    std::atomic<uint64_t> total{0};
    const double seconds = in_threads(options_.threads, [&](uint32_t thread) {
      const auto session = index_.session();
      Random random(options_.seed + 2, thread);
      uint64_t done = 0, wrong = 0;
      StudyKey keys[kBlock];
      const std::span all(keys);
      const size_t begin = new_keys_.size() * thread / options_.threads, end = new_keys_.size() * (thread + 1) / options_.threads;
      for (size_t at = begin; at < end; at += inserts) {
        for (StudyKey& key : keys) key = keys_[random.below(keys_.size())];
        const size_t count = std::min(inserts, end - at);
        std::copy_n(&new_keys_[at], count, keys + lookups);
        uint64_t found = session->look_up(all.first(lookups));
        found += session->insert(all.subspan(lookups, count));
        found += session->find_or_insert(all.subspan(lookups + count));
        wrong += kBlock - found;
        done += kBlock;
      }
      total += done;
      wrong_ += wrong;
    });
    return static_cast<double>(total.load()) / seconds;
  }

  const IndexStudyOptions& options_;
  const std::span<const StudyKey> keys_, new_keys_;
  IndexStudy& index_;
  std::atomic<uint64_t> wrong_{0};
};

}  // namespace

Result<std::vector<IndexFigure>> run_index_study(const IndexStudyOptions& options) {
  std::vector<IndexFigure> figures;
  for (const KeyShape shape : options.shapes) {
    const KeySet keys(shape, options.growing_inserts_pct == 0 ? options.records : 2 * options.records, options.seed);
    const auto measure = [&](std::string name, Result<std::unique_ptr<IndexStudy>> index) -> Status {
      if (index.status().code() == Code::kUnsupported) return {};
      if (!index.ok()) return index.status();
      IndexFigure figure{};
      figure.index = std::move(name);
      figure.shape = shape;
      figure.key_bytes = keys.bytes_a_key();
      if (Status status = Study(options, keys, **index).run(&figure); !status.ok()) return status;
      figures.push_back(std::move(figure));
      return {};
    };
    for (const KeyIndex kind : options.indexes)
      ELIDER_TRY(measure(std::string(elider::name_of(kind)), IndexStudy::make(kind, study_keys_of(shape), options.sync, options.htm)));
    if (options.lock_free && study_keys_of(shape) == StudyKeys::kNumbers)
      ELIDER_TRY(measure(kLockFree, make_lock_free_table(keys.keys().size())));
  }
  return figures;
}

}  // namespace elider::bench
