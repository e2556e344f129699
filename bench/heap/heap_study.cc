#include "bench/heap/heap_study.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include "bench/common/random.h"
#include "bench/heap/heap_map_study.h"
#include "bench/heap/heap_tpcc_study.h"
#include "bench/heap/measure.h"
#include "bench/common/scratch.h"
#include "elider/try.h"
#include "tools/common/interrupt.h"

namespace elider::bench {

using tools::interrupted;

namespace {

struct Words {
  uint64_t first;
};

// Variants of the heap that wait for durability as DUMBO, SPHT and Pisces do (HeapWait). Pisces's
// order requires the software backend, whichever backend the other variants use.
struct WaitVariant {
  const char* name;
  HeapWait wait;
};
constexpr WaitVariant kWaitVariants[] = {
    {"heap", HeapWait::kPruned}, {"heap, SPHT's wait", HeapWait::kTotal}, {"heap, Pisces's order", HeapWait::kOwn}};

// The words that the studies `reads` and `updates` access. They are all in one heap object, so that
// they have the same layout as words in plain memory.
class HeapWords {
 public:
  static Result<std::unique_ptr<HeapWords>> open(const HeapStudyOptions& options, const std::string& path, HeapWait wait,
                                                 uint32_t flush_ns) {
    HeapOptions heap_options;
    heap_options.medium = options.medium;
    heap_options.isolation = options.isolation;
    heap_options.backend = wait == HeapWait::kOwn ? HtmBackend::kNone : options.backend;
    heap_options.suspended_reads = options.suspended_reads;
    heap_options.flush_ns = 0;  // no delay while the heap is filled
    heap_options.wait = HeapWait::kPruned;
    heap_options.log_bytes = uint64_t{512} << 20;  // enough for the measurement, so that, as in the paper, nothing is replayed meanwhile
    heap_options.markers = 1u << 22;
    heap_options.threads_max = options.threads + 1;
    auto words = std::make_unique<HeapWords>();
    constexpr uint64_t kPart = 16'384;
    {
      ELIDER_ASSIGN(Heap heap, Heap::open(path, options.words * 8 + (1 << 20), heap_options));
      ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) -> Status {
        ELIDER_ASSIGN(words->words_, txn.allocate<uint64_t>(options.words));
        ELIDER_ASSIGN(auto root, txn.root<Words>("words"));
        txn.write(txn[root].first, words->words_.offset());
        return {};
      }));
      for (uint64_t first = 0; first < options.words; first += kPart)
        ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) {
          for (uint64_t i = first; i < std::min(options.words, first + kPart); ++i) txn.write((&txn[words->words_])[i], 1);
        }));
    }
    heap_options.flush_ns = flush_ns;
    heap_options.wait = wait;
    heap_options.background_replay = false;
    heap_options.capacity_bytes = uint64_t{4} << 30;
    ELIDER_ASSIGN(words->heap_, Heap::open(path, 1 << 20, heap_options));
    return words;
  }

  // Subtracts 1 from one word and adds 1 to another, for several pairs of words. This preserves the
  // sum of all words.
  Status update(Random& random, const HeapStudyOptions& options) {
    return heap_.transaction([&](HeapTransaction& txn) {
      uint64_t* const words = &txn[words_];
      uint64_t sum = 0;
      for (uint32_t i = 0; i < options.reads; ++i) sum += txn.read(words[random.below(options.words)]);
      keep_ = sum;
      for (uint32_t i = 0; i + 1 < options.writes; i += 2) {
        uint64_t& from = words[random.below(options.words)];
        uint64_t& to = words[random.below(options.words)];
        txn.write(from, txn.read(from) - 1);
        txn.write(to, txn.read(to) + 1);
      }
    });
  }
  Status read(Random& random, const HeapStudyOptions& options) {
    return heap_.read([&](HeapReader& reader) {
      const uint64_t* const words = &reader[words_];
      uint64_t sum = 0;
      for (uint32_t i = 0; i < options.reads; ++i) sum += reader.read(words[random.below(options.words)]);
      keep_ = sum;
    });
  }
  // Fails with kCorrupt if the sum of all words is wrong.
  Status check(const HeapStudyOptions& options) {
    uint64_t sum = 0;
    ELIDER_TRY(heap_.read([&](HeapReader& reader) {
      for (uint64_t i = 0; i < options.words; ++i) sum += reader.read((&reader[words_])[i]);
    }));
    if (sum == options.words) return {};
    return {Code::kCorrupt, fmt::format("the words add up to {}, not to {}", sum, options.words)};
  }

 private:
  Heap heap_;
  HeapPtr<uint64_t> words_;
  static thread_local uint64_t keep_;  // receives what was read, so that the compiler does not remove the reads
};
thread_local uint64_t HeapWords::keep_ = 0;

void say(const HeapStudyOptions& options, const std::string& words) {
  if (!options.quiet) fmt::print(stderr, "  {}\n", words);
}

Status study_reads(const HeapStudyOptions& options, HeapFigure* figure) {
  *figure = {"reads", "read-only transactions/s", "", {{"plain", {}}, {"heap, no delay", {}}}, 2};
  for (const WaitVariant& variant : kWaitVariants) figure->series.push_back({variant.name, {}});
  std::vector<uint64_t> plain(options.words, 1);
  const auto plainly = [&](uint32_t thread, const std::atomic<bool>& stop, uint64_t* done) -> Status {
    Random random(options.seed, thread);
    uint64_t keep = 0;
    volatile uint64_t* const words = plain.data();
    while (!stop.load(std::memory_order_relaxed)) {
      uint64_t sum = 0;
      for (uint32_t i = 0; i < options.reads; ++i) sum += words[random.below(options.words)];
      if (thread == 0) {
        for (uint32_t i = 0; i < options.writes; ++i) words[random.below(options.words)] = sum;
        continue;
      }
      keep += sum;
      ++*done;
    }
    plain[0] += keep & 1;
    return {};
  };
  for (uint32_t round = 0; round < options.repeat && !interrupted(); ++round) {
    say(options, fmt::format("reads, repetition {} of {}", round + 1, options.repeat));
    ELIDER_ASSIGN(const double of_plain, measure(options, plainly));
    std::vector<double> of_heaps;
    std::vector<std::pair<HeapWait, uint32_t>> variants = {{HeapWait::kPruned, 0}};
    for (const WaitVariant& variant : kWaitVariants) variants.emplace_back(variant.wait, options.flush_ns);
    for (const auto& [wait, flush_ns] : variants) {
      const Scratch scratch(options.folder);
      ELIDER_ASSIGN(const std::string path, scratch.file("reads.heap"));
      ELIDER_ASSIGN(const std::unique_ptr<HeapWords> words, HeapWords::open(options, path, wait, flush_ns));
      ELIDER_ASSIGN(const double a_second, measure(options, [&](uint32_t thread, const std::atomic<bool>& stop, uint64_t* done) -> Status {
                      Random random(options.seed, thread);
                      while (!stop.load(std::memory_order_relaxed)) {
                        if (thread == 0)
                          ELIDER_TRY(words->update(random, options));
                        else {
                          ELIDER_TRY(words->read(random, options));
                          ++*done;
                        }
                      }
                      return {};
                    }));
      ELIDER_TRY(words->check(options));
      of_heaps.push_back(a_second);
    }
    if (interrupted()) break;
    figure->series[0].values.push_back(of_plain);
    for (size_t i = 0; i < of_heaps.size(); ++i) figure->series[1 + i].values.push_back(of_heaps[i]);
  }
  return {};
}

Status study_updates(const HeapStudyOptions& options, HeapFigure* figure) {
  *figure = {"updates", "transactions/s", "", {}};
  for (const WaitVariant& variant : kWaitVariants) figure->series.push_back({variant.name, {}});
  for (uint32_t round = 0; round < options.repeat && !interrupted(); ++round) {
    say(options, fmt::format("updates, repetition {} of {}", round + 1, options.repeat));
    std::vector<double> of_heaps;
    for (const auto& [name, wait] : kWaitVariants) {
      const Scratch scratch(options.folder);
      ELIDER_ASSIGN(const std::string path, scratch.file("updates.heap"));
      ELIDER_ASSIGN(const std::unique_ptr<HeapWords> words, HeapWords::open(options, path, wait, options.flush_ns));
      ELIDER_ASSIGN(const double a_second, measure(options, [&](uint32_t thread, const std::atomic<bool>& stop, uint64_t* done) -> Status {
                      Random random(options.seed, thread);
                      for (; !stop.load(std::memory_order_relaxed); ++*done) ELIDER_TRY(words->update(random, options));
                      return {};
                    }));
      ELIDER_TRY(words->check(options));
      of_heaps.push_back(a_second);
    }
    if (interrupted()) break;
    for (size_t i = 0; i < of_heaps.size(); ++i) figure->series[i].values.push_back(of_heaps[i]);
  }
  return {};
}

// Runs the transactions of the study `replay` with two logs, whose records are linked in the order
// of the transactions. The logs are replayed onto a mapped file with as many words as the heap, as
// SPHT's replayer does. The logs are in the mapped file as well, like those of a heap.
class LinkedLogs {
 public:
  LinkedLogs(const HeapStudyOptions& options, const std::string& path)
      : log_words_((options.replayed / std::size(logs_) + 1) * 42),
        bytes_mapped_((options.replay_words + std::size(logs_) * log_words_) * 8) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor >= 0 && ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes_mapped_)) == 0) {
      void* const mapped = ::mmap(nullptr, bytes_mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
      heap_ = mapped == MAP_FAILED ? nullptr : static_cast<uint64_t*>(mapped);
    }
    if (descriptor >= 0) ::close(descriptor);
    if (heap_ == nullptr) return;
    for (size_t i = 0; i < std::size(logs_); ++i) logs_[i] = heap_ + options.replay_words + i * log_words_;
    copy_.resize(options.replay_words);
  }
  ~LinkedLogs() {
    if (heap_ != nullptr) ::munmap(heap_, bytes_mapped_);
  }
  LinkedLogs(const LinkedLogs&) = delete;
  LinkedLogs& operator=(const LinkedLogs&) = delete;
  bool is_mapped() const { return heap_ != nullptr; }
  uint64_t bytes() const { return bytes_; }
  // Runs the transactions on a copy in memory, as a heap does, so that the processor's caches
  // affect the replay equally on both sides.
  void run(const HeapStudyOptions& options) {
    Random random(options.seed, 0);
    uint64_t* ends[std::size(logs_)];
    std::copy(std::begin(logs_), std::end(logs_), ends);
    bytes_ = 0;
    uint64_t* link = &first_;
    for (uint64_t i = 0; i < options.replayed; ++i) {
      uint64_t*& end = ends[i % std::size(logs_)];
      const uint64_t words = 1 + random.below(20);
      *link = reinterpret_cast<uint64_t>(end);
      link = end;
      *end++ = 0;
      *end++ = words;
      for (uint64_t k = 0; k < words; ++k) {
        const uint64_t place = random.below(options.replay_words);
        copy_[place] = i;
        *end++ = place;
        *end++ = i;
      }
      bytes_ += 16 * words;
    }
  }
  double replay() {
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t at = first_; at != 0;) {
      const auto* const record = reinterpret_cast<const uint64_t*>(at);
      for (uint64_t k = 0; k < record[1]; ++k) heap_[record[2 + 2 * k]] = record[3 + 2 * k];
      at = record[0];
    }
    return seconds_since(begin);
  }

 private:
  std::vector<uint64_t> copy_;
  uint64_t* logs_[2];
  const uint64_t log_words_, bytes_mapped_;
  uint64_t* heap_ = nullptr;
  uint64_t first_ = 0, bytes_ = 0;
};

Status study_replay(const HeapStudyOptions& options, HeapFigure* figure) {
  *figure = {"replay", "replayed bytes/s, of words and their addresses", "", {{"heap", {}}, {"linked records (SPHT)", {}}}};
  for (uint32_t round = 0; round < options.repeat && !interrupted(); ++round) {
    say(options, fmt::format("replay, repetition {} of {}", round + 1, options.repeat));
    const Scratch scratch(options.folder);
    ELIDER_ASSIGN(const std::string path, scratch.file("replay.heap"));
    HeapOptions heap_options;
    heap_options.medium = HeapMedium::kDelay;
    heap_options.flush_ns = 0;
    heap_options.durability = HeapDurability::kLater;
    heap_options.background_replay = false;
    heap_options.threads_max = 2;
    heap_options.log_bytes = options.replayed * 256;
    heap_options.markers = 256;
    while (heap_options.markers < 2 * options.replayed) heap_options.markers *= 2;
    ELIDER_ASSIGN(Heap heap, Heap::open(path, options.replay_words * 8 + (1 << 20), heap_options));
    HeapPtr<uint64_t> words;
    uint64_t bytes = 0;
    ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(words, txn.allocate<uint64_t>(options.replay_words));
      return {};
    }));
    ELIDER_ASSIGN(const std::string linked_path, scratch.file("linked.heap"));
    LinkedLogs linked(options, linked_path);
    if (!linked.is_mapped()) return {Code::kIoError, fmt::format("cannot map '{}'", linked_path)};
    // Only the second replay is measured. During the first one, the file system creates each page,
    // which does not happen on persistent memory. On both sides, the replay runs after the
    // transactions of both sides, so that the memory that it writes to has been unused for about
    // the same time.
    double of_heap = 0, of_links = 0;
    for (int replay = 0; replay < 2; ++replay) {
      linked.run(options);
      Random random(options.seed, 0);
      bytes = 0;
      for (uint64_t i = 0; i < options.replayed; ++i) {
        const uint64_t count = 1 + random.below(20);
        ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) {
          for (uint64_t k = 0; k < count; ++k) txn.write((&txn[words])[random.below(options.replay_words)], i);
        }));
        bytes += 16 * count;
      }
      const bool heap_first = round % 2 == 0;
      if (!heap_first) of_links = linked.replay();
      const auto begin = std::chrono::steady_clock::now();
      ELIDER_TRY(heap.replay());
      of_heap = seconds_since(begin);
      if (heap_first) of_links = linked.replay();
    }
    if (interrupted()) break;
    figure->series[0].values.push_back(static_cast<double>(bytes) / of_heap);
    figure->series[1].values.push_back(static_cast<double>(linked.bytes()) / of_links);
  }
  return {};
}

}  // namespace

const std::vector<std::string>& heap_studies() {
  static const std::vector<std::string> all = {"reads", "updates", "map", "tpcc", "lines", "replay"};
  return all;
}

Result<std::vector<HeapFigure>> run_heap_study(const HeapStudyOptions& options) {
  const std::vector<std::string>& wanted = options.studies.empty() ? heap_studies() : options.studies;
  std::vector<HeapFigure> figures;
  for (const std::string& study : wanted) {
    if (interrupted()) break;
    if (study == "tpcc" || study == "lines") {
      ELIDER_TRY(study == "tpcc" ? study_heap_tpcc(options, &figures) : study_heap_lines(options, &figures));
      continue;
    }
    HeapFigure figure;
    Status status;
    if (study == "reads")
      status = study_reads(options, &figure);
    else if (study == "updates")
      status = study_updates(options, &figure);
    else if (study == "map")
      status = study_heap_map(options, &figure);
    else
      status = study_replay(options, &figure);
    if (!status.ok()) return status;
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace elider::bench
