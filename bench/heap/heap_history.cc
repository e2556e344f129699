#include "bench/heap/heap_history.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "bench/common/random.h"
#include "bench/heap/scratch.h"
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

// One of the heap's lists; none: null.
Result<HeapPtr<List>> find_list(const HeapReader& reader, HeapPtr<Lists> lists, int64_t key) {
  auto found = reader[lists].get(reader, key);
  if (found.status().not_found()) return HeapPtr<List>();
  return found;
}

void read_list(const HeapReader& reader, HeapPtr<List> list, int64_t key, MicroOps* did) {
  std::vector<int64_t> values;
  if (list) reader[list].for_each(reader, [&](uint64_t, int64_t value) { values.push_back(value); });
  did->read_list(key, values);
}

Status append(HeapTransaction& txn, HeapPtr<Lists> lists, int64_t key, int64_t value) {
  ELIDER_ASSIGN(HeapPtr<List> list, find_list(txn, lists, key));
  if (!list) {
    ELIDER_ASSIGN(list, txn.allocate<List>());
    ELIDER_TRY(txn[lists].put(txn, key, list));
  }
  return txn[list].push_back(txn, value);
}

}  // namespace

Status write_heap_history(const HeapHistoryOptions& options) {
  const Scratch scratch(options.folder);
  ELIDER_ASSIGN(const std::string path, scratch.file("history.heap"));
  HeapOptions heap_options;
  heap_options.medium = options.medium;
  heap_options.isolation = options.isolation;
  heap_options.durability = options.durability;
  heap_options.flush_ns = 50;
  auto opened = Heap::open(path, 1 << 20, heap_options);
  if (!opened.ok()) return opened.status();
  Heap& heap = *opened;
  HeapPtr<Lists> lists;
  Status failed = heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(lists, txn.root<Lists>("lists"));
    return {};
  });
  std::atomic<uint64_t> next_index{0}, next_value{1}, left{options.transactions};
  const auto begin = std::chrono::steady_clock::now();
  const auto now_ns = [&] { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count()); };
  std::vector<std::unique_ptr<ElleSession>> sessions;
  std::vector<Status> statuses(options.threads);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < options.threads; ++t) sessions.push_back(std::make_unique<ElleSession>());
  for (uint32_t t = 0; t < options.threads && failed.ok(); ++t)
    threads.emplace_back([&, t] {
      Random random(options.seed, t);
      while (statuses[t].ok()) {
        const uint64_t number = left.fetch_sub(1);
        if (number == 0 || number > options.transactions) return;
        // As the run goes on, new lists take the place of old ones.
        const auto first = static_cast<int64_t>((options.transactions - number) / 100);
        const bool only_reads = random.below(3) == 0;
        std::vector<Step> steps;
        for (uint64_t i = 0, count = 1 + random.below(options.operations_max); i < count; ++i)
          steps.push_back({first + static_cast<int64_t>(random.below(options.lists)), !only_reads && random.below(2) == 0});
        const auto value = static_cast<int64_t>(next_value.fetch_add(steps.size()));
        MicroOps asked, did;
        for (size_t i = 0; i < steps.size(); ++i) {
          if (steps[i].appends)
            asked.append(steps[i].key, value + static_cast<int64_t>(i));
          else
            asked.read_unknown(steps[i].key);
        }
        sessions[t]->record(next_index.fetch_add(1), now_ns(), EventType::kInvoke, asked);
        if (only_reads) {
          statuses[t] = heap.read([&](HeapReader& reader) -> Status {
            did.clear();
            for (const Step& step : steps) {
              ELIDER_ASSIGN(const HeapPtr<List> list, find_list(reader, lists, step.key));
              read_list(reader, list, step.key, &did);
            }
            return {};
          });
        } else {
          statuses[t] = heap.transaction([&](HeapTransaction& txn) -> Status {
            did.clear();
            for (size_t i = 0; i < steps.size(); ++i) {
              if (steps[i].appends) {
                ELIDER_TRY(append(txn, lists, steps[i].key, value + static_cast<int64_t>(i)));
                did.append(steps[i].key, value + static_cast<int64_t>(i));
              } else {
                ELIDER_ASSIGN(const HeapPtr<List> list, find_list(txn, lists, steps[i].key));
                read_list(txn, list, steps[i].key, &did);
              }
            }
            return {};
          });
        }
        sessions[t]->record(next_index.fetch_add(1), now_ns(), statuses[t].ok() ? EventType::kOk : EventType::kInfo,
                            statuses[t].ok() ? did : asked);
      }
    });
  for (std::thread& thread : threads) thread.join();
  heap = Heap();
  for (const Status& status : statuses)
    if (failed.ok()) failed = status;
  return failed.ok() ? write_elle(options.path, sessions, false) : failed;
}

}  // namespace elider::bench
