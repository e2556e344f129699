#include "bench/heap/heap_history.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "bench/common/random.h"
#include "bench/common/scratch.h"
#include "bench/history/elle_record.h"
#include "elider/heap_map.h"
#include "elider/heap_vector.h"
#include "elider/try.h"

namespace elider::bench {

namespace {

using List = HeapVector<int64_t>;
using Lists = HeapMap<int64_t, HeapPtr<List>>;

struct Step {
  int64_t key;
  bool appends;
};

// Finds one of the heap's lists. Returns null if it does not exist.
Result<HeapPtr<List>> find_list(const HeapReader& reader, HeapPtr<Lists> lists, int64_t key) {
  auto found = reader[lists].get(reader, key);
  if (found.status().not_found()) return HeapPtr<List>();
  return found;
}

// An upper bound on the number of words that one transaction records.
constexpr size_t kRecordedMax = 1 << 16;

struct When {
  uint64_t index, time_ns;
};

// One run of a procedure. A run that did not commit is recorded as a transaction that only read.
// Its record contains what the run had read, except for lists that it had appended to. A checker of
// strict serializability therefore also checks opacity: even a run that does not commit must see a
// consistent state.
class Attempt {
 public:
  Attempt() {
    for (MicroOps* const operations : {&asked_, &did_, &asked_of_others_, &read_of_others_}) operations->reserve(kRecordedMax);
    values_.reserve(kRecordedMax);
    appended_to_.reserve(kRecordedMax);
  }
  void begin(When begun) {
    next_ = begun;
    begin_again();
  }
  // Called at the end of a run. `now` is the time of that end, and `next` the time at which the
  // next run begins, if the procedure runs again.
  void ends(When now, When next) {
    ended_ = now;
    next_ = next;
  }
  bool has_ended() const { return ended_.index != 0; }
  void begin_again() {
    begun_ = next_;
    ended_ = {};
    for (MicroOps* const operations : {&asked_, &did_, &asked_of_others_, &read_of_others_}) operations->clear();
    appended_to_.clear();
  }
  void append(int64_t key, int64_t value) {
    asked_.append(key, value);
    did_.append(key, value);
    appended_to_.push_back(key);
  }
  void read(int64_t key, const HeapReader& reader, HeapPtr<List> list) {
    values_.clear();
    if (list) reader[list].for_each(reader, [&](uint64_t, int64_t value) { values_.push_back(value); });
    asked_.read_unknown(key);
    did_.read_list(key, values_);
    if (std::find(appended_to_.begin(), appended_to_.end(), key) != appended_to_.end()) return;
    asked_of_others_.read_unknown(key);
    read_of_others_.read_list(key, values_);
  }
  void record(bool committed, When now, ElleSession* session) const {
    session->record(begun_.index, begun_.time_ns, EventType::kInvoke, asked_);
    session->record(now.index, now.time_ns, committed ? EventType::kOk : EventType::kInfo, committed ? did_ : asked_);
  }
  // Records what the run read. Called if the procedure runs again. Returns false if the run did not
  // read anything that can be recorded.
  bool record_reads(ElleSession* session) const {
    if (asked_of_others_.words().empty()) return false;
    session->record(begun_.index, begun_.time_ns, EventType::kInvoke, asked_of_others_);
    session->record(ended_.index, ended_.time_ns, EventType::kOk, read_of_others_);
    return true;
  }

 private:
  When begun_{}, ended_{}, next_{};
  MicroOps asked_, did_, asked_of_others_, read_of_others_;
  std::vector<int64_t> values_, appended_to_;
};

Status append(HeapTransaction& txn, HeapPtr<Lists> lists, int64_t key, int64_t value) {
  ELIDER_ASSIGN(HeapPtr<List> list, find_list(txn, lists, key));
  if (!list) {
    ELIDER_ASSIGN(list, txn.allocate<List>());
    ELIDER_TRY(txn[lists].put(txn, key, list));
  }
  return txn[list].push_back(txn, value);
}

}  // namespace

Status write_heap_history(const HeapHistoryOptions& options, uint64_t* attempts_again, uint64_t* in_regions) {
  const Scratch scratch(options.folder);
  ELIDER_ASSIGN(const std::string path, scratch.file("history.heap"));
  HeapOptions heap_options;
  heap_options.medium = options.medium;
  heap_options.isolation = options.isolation;
  heap_options.durability = options.durability;
  heap_options.wait = options.wait;
  heap_options.backend = options.backend;
  heap_options.suspended_reads = options.suspended_reads;
  heap_options.flush_ns = 50;
  auto opened = Heap::open(path, 1 << 20, heap_options);
  if (!opened.ok()) return opened.status();
  Heap& heap = *opened;
  const bool in_software = options.backend == HtmBackend::kAutomatic || options.backend == HtmBackend::kNone;
  HeapPtr<Lists> lists;
  Status failed = heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(lists, txn.root<Lists>("lists"));
    return {};
  });
  std::atomic<uint64_t> again{0}, next_index{1}, next_value{1}, left{options.transactions};
  const auto begin = std::chrono::steady_clock::now();
  const auto now = [&] {
    const uint64_t index = next_index.fetch_add(1);
    return When{index, static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count())};
  };
  std::vector<std::unique_ptr<ElleSession>> sessions;
  std::vector<Status> statuses(options.threads);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < options.threads; ++t) sessions.push_back(std::make_unique<ElleSession>());
  for (uint32_t t = 0; t < options.threads && failed.ok(); ++t)
    threads.emplace_back([&, t] {
      Random random(options.seed, t);
      ElleSession& session = *sessions[t];
      Attempt attempt;
      while (statuses[t].ok()) {
        const uint64_t number = left.fetch_sub(1);
        if (number == 0 || number > options.transactions) return;
        // During the run, new lists replace old ones.
        const auto first = static_cast<int64_t>((options.transactions - number) / 100);
        const bool only_reads = random.below(3) == 0;
        std::vector<Step> steps;
        for (uint64_t i = 0, count = 1 + random.below(options.operations_max); i < count; ++i)
          steps.push_back({first + static_cast<int64_t>(random.below(options.lists)), !only_reads && random.below(2) == 0});
        const auto value = static_cast<int64_t>(next_value.fetch_add(steps.size()));
        attempt.begin(now());
        if (only_reads) {
          statuses[t] = heap.read([&](HeapReader& reader) -> Status {
            for (const Step& step : steps) {
              ELIDER_ASSIGN(const HeapPtr<List> list, find_list(reader, lists, step.key));
              attempt.read(step.key, reader, list);
            }
            return {};
          });
        } else {
          statuses[t] = heap.transaction([&](HeapTransaction& txn) -> Status {
            if (attempt.has_ended()) {
              if (attempt.record_reads(&session)) again.fetch_add(1);
              attempt.begin_again();
            }
            for (size_t i = 0; i < steps.size(); ++i) {
              if (steps[i].appends) {
                ELIDER_TRY(append(txn, lists, steps[i].key, value + static_cast<int64_t>(i)));
                attempt.append(steps[i].key, value + static_cast<int64_t>(i));
              } else {
                ELIDER_ASSIGN(const HeapPtr<List> list, find_list(txn, lists, steps[i].key));
                attempt.read(steps[i].key, txn, list);
              }
            }
            // A hardware transaction that aborts does not leave a trace, so its runs cannot be
            // recorded this way. Also, all hardware transactions would conflict on the counter.
            if (!in_software) return {};
            const When ended = now();
            attempt.ends(ended, now());
            return {};
          });
        }
        attempt.record(statuses[t].ok(), now(), &session);
      }
    });
  for (std::thread& thread : threads) thread.join();
  *in_regions = heap.status().region_commits;
  heap = Heap();
  *attempts_again = again.load();
  for (const Status& status : statuses)
    if (failed.ok()) failed = status;
  return failed.ok() ? write_elle(options.path, sessions, false) : failed;
}

}  // namespace elider::bench
