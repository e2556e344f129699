#include "lab/scan/scan.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "bench/common/random.h"
#include "elider/laboratory.h"

namespace elider::bench {

namespace {

struct ScannedRow {
  uint32_t value;
  uint32_t others[24];
};
static_assert(sizeof(ScannedRow) == 100);

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A random permutation of the numbers below `count`. It is not stored: operator[] computes the i-th
// number.
class RandomOrder {
 public:
  RandomOrder(uint64_t count, uint64_t seed) : count_(count) {
    Random random(seed, 0);
    do step_ = random.below(count) | 1;
    while (std::gcd(step_, count) != 1);
    first_ = random.below(count);
  }
  uint64_t operator[](uint64_t i) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * step_ + first_) % count_);
  }

 private:
  uint64_t count_, step_ = 1, first_ = 0;
};

// Runs f(0) to f(threads - 1), each on its own thread. Returns the error of the first thread that
// failed.
Status run_in_threads(uint32_t threads, const std::function<Status(uint32_t)>& f) {
  std::vector<Status> ends(threads);
  std::vector<std::thread> all;
  for (uint32_t t = 0; t < threads; ++t) all.emplace_back([&, t] { ends[t] = f(t); });
  for (std::thread& thread : all) thread.join();
  for (const Status& end : ends)
    if (!end.ok()) return end;
  return {};
}

SchemaOf<ScannedRow> schema_of(std::string name, uint32_t zones) {
  SchemaOf<ScannedRow> schema(std::move(name));
  schema.ordered().column("value", &ScannedRow::value).column("others", &ScannedRow::others);
  return zones == 0 ? schema : schema.zoned(zones);
}

class ScanRun {
 public:
  explicit ScanRun(const ScanStudyOptions& options) : options_(options), order_(options.rows, options.seed) {}

  Result<ScanStudy> run() {
    Options of_database;
    of_database.threads_at_once = std::max(options_.threads, 4u);
    ELIDER_ASSIGN(db_, Database::open(of_database));
    ScanStudy study;
    study.row_bytes = sizeof(ScannedRow);
    std::vector<uint32_t> thread_counts{1};
    if (options_.threads > 1) thread_counts.push_back(options_.threads);
    for (const uint32_t threads : thread_counts) study.figures.push_back({.threads = threads});
    if (options_.zoned) {
      for (ScanFigure& figure : study.figures) {
        ELIDER_ASSIGN(figure.zoned_inserts_per_s, inserts(figure.threads));
      }
      ELIDER_ASSIGN(zoned_, db_.create_table(schema_of("zoned", options_.zones)));
      ELIDER_TRY(fill(zoned_));
      for (const Statistics::Table& table : db_.statistics().tables)
        if (table.name == "zoned")
          study.bytes_a_row = static_cast<double>(table.row_bytes) / static_cast<double>(options_.rows) + sizeof(Key);
      for (ScanFigure& figure : study.figures) {
        ELIDER_ASSIGN(figure.zoned_rows_per_s, scans(figure.threads, true));
        figure.zoned_bytes_per_s = figure.zoned_rows_per_s * study.bytes_a_row;
      }
      for (ScanFigure& figure : study.figures) figure.memory_bytes_per_s = memory(figure.threads, study.bytes_a_row);
    }
    ELIDER_ASSIGN(tree_, db_.create_table(schema_of("tree", 0)));
    ELIDER_TRY(fill(tree_));
    ELIDER_ASSIGN(study.figures.front().tree_rows_per_s, scans(1, false));
    return study;
  }

 private:
  static constexpr uint64_t kRowsATransaction = 100;
  struct alignas(128) Sum {  // one per thread
    uint64_t values = 0, rows = 0;
    void add(const ScannedRow& row) {
      values += row.value;
      ++rows;
    }
  };

  void tell(const std::string& what) const {
    if (!options_.quiet) fmt::print(stderr, "{}\n", what);
  }
  Status insert(const Table<ScannedRow>& table, uint64_t first, uint64_t last) {
    return db_.run([&](Transaction& txn) -> Status {
      ScannedRow row{};
      for (uint64_t i = first; i < last; ++i) {
        const Key key = order_[i];
        row.value = static_cast<uint32_t>(key);
        ELIDER_TRY(txn.insert(table, key, row));
      }
      return {};
    });
  }
  Status fill(const Table<ScannedRow>& table) {
    tell(fmt::format("inserting {} rows into table '{}'", options_.rows, table.schema().name));
    std::atomic<uint64_t> next{0};
    return run_in_threads(options_.threads, [&](uint32_t) -> Status {
      for (uint64_t i; (i = next.fetch_add(kRowsATransaction)) < options_.rows;)
        ELIDER_TRY(insert(table, i, std::min(i + kRowsATransaction, options_.rows)));
      return {};
    });
  }
  Result<double> inserts(uint32_t threads) {
    tell(fmt::format("inserting into one zoned table, {} {}", threads, threads == 1 ? "thread" : "threads"));
    return measure_inserts(options_.rows, threads, {.zones = options_.zones});
  }
  // Scans the table repeatedly, and returns rows per second. Each scan must find exactly the
  // inserted rows.
  Result<double> scans(uint32_t threads, bool zoned) {
    tell(fmt::format("scanning {}, {} {}", zoned ? "rows in their zones" : "through the B+-tree", threads,
                     threads == 1 ? "thread" : "threads"));
    uint64_t scanned = 0;
    const double begin = now_s();
    do {
      uint64_t sum = 0, rows = 0;
      Status status = db_.run_read_only([&](Transaction& txn) -> Status {
        std::vector<Sum> sums(threads);
        Status ended =
            zoned ? txn.scan_rows(zoned_, {.threads = threads}, [&](Key, const View<ScannedRow>& row, unsigned t) { sums[t].add(*row); })
                  : txn.scan(tree_, KeyRange{}, {}, [&](Key, const View<ScannedRow>& row) { sums[0].add(*row); });
        sum = rows = 0;
        for (const Sum& of_thread : sums) sum += of_thread.values, rows += of_thread.rows;
        return ended;
      });
      if (!status.ok()) return status;
      if (rows != options_.rows || sum != options_.rows * (options_.rows - 1) / 2)
        return Status(Code::kCorrupt, fmt::format("a scan found {} rows with the sum {}, but {} rows with the sum {} were inserted",
                                                  rows, sum, options_.rows, options_.rows * (options_.rows - 1) / 2));
      scanned += rows;
    } while (now_s() - begin < options_.seconds);
    return static_cast<double>(scanned) / (now_s() - begin);
  }
  // Repeatedly adds up an array that is as large as the zoned table's rows, and returns bytes per
  // second.
  double memory(uint32_t threads, double bytes_a_row) const {
    tell(fmt::format("reading memory, {} {}", threads, threads == 1 ? "thread" : "threads"));
    const size_t words =
        static_cast<size_t>(static_cast<double>(options_.rows) * bytes_a_row) / 8 / (512 * threads) * 512 * threads + 512 * threads;
    void* const mapped = ::mmap(nullptr, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return 0;
    ::madvise(mapped, words * 8, MADV_HUGEPAGE);
    auto* const data = static_cast<uint64_t*>(mapped);
    std::fill_n(data, words, 1);
    std::atomic<uint64_t> read{0}, sum{0};
    const double begin = now_s();
    static_cast<void>(run_in_threads(threads, [&](uint32_t thread) -> Status {
      const size_t share = words / threads;
      const uint64_t* const from = data + thread * share;
      uint64_t passes = 0, all = 0;
      do {
        uint64_t sums[16] = {};
        for (size_t i = 0; i < share; i += 16)
          for (size_t k = 0; k < 16; ++k) sums[k] += from[i + k];
        for (const uint64_t one : sums) all += one;
        ++passes;
      } while (now_s() - begin < options_.seconds);
      read += passes * share * 8;
      sum += all;
      return {};
    }));
    // Every word is 1, so the sum shows that all words were read.
    const double per_s = sum * 8 == read ? static_cast<double>(read) / (now_s() - begin) : 0;
    ::munmap(mapped, words * 8);
    return per_s;
  }

  const ScanStudyOptions& options_;
  const RandomOrder order_;
  Database db_;
  Table<ScannedRow> zoned_, tree_;
};

}  // namespace

Result<double> measure_inserts(uint64_t rows, uint32_t threads, const InsertTarget& target) {
  constexpr uint64_t kBytesAnInsert = 200;  // includes the row's share of index leaves that are half full
  Options of_database;
  of_database.threads_at_once = std::max(threads, 4u);
  if (target.prefaulted) of_database.prefault_bytes = rows * kBytesAnInsert + (uint64_t{64} << 20);
  change_laboratory(of_database).parts.own_allocators = target.own_allocators;
  ELIDER_ASSIGN(Database db, Database::open(of_database));
  ELIDER_ASSIGN(const Table<ScannedRow> table, db.create_table(schema_of("inserts", target.zones)));
  const uint64_t each = std::max<uint64_t>(1, rows / threads);
  const double begin = now_s();
  ELIDER_TRY(run_in_threads(threads, [&](uint32_t thread) -> Status {
    ScannedRow row{};
    const Key first = uint64_t{thread} << 48;
    for (Key key = first; key < first + each; ++key) {
      row.value = static_cast<uint32_t>(key);
      ELIDER_TRY(db.run([&](Transaction& txn) { return txn.insert(table, key, row); }));
    }
    return {};
  }));
  return static_cast<double>(each * threads) / (now_s() - begin);
}

Result<ScanStudy> run_scan_study(const ScanStudyOptions& options) { return ScanRun(options).run(); }

}  // namespace elider::bench
