#include "bench/heap/heap_tpcc_study.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "bench/common/commands.h"
#include "bench/heap/measure.h"
#include "bench/common/scratch.h"
#include "bench/heap/tpcc_tables.h"
#include "bench/heap/tpcc_transactions.h"
#include "bench/tpcc/consistency.h"
#include "bench/tpcc/load.h"
#include "elider/try.h"

namespace elider::bench {

namespace {

using tpcc::Kind;

struct HeapTpccMix {
  const char* name;
  const char* figure;
  tpcc::Mix mix;
  bool one_pays = false;  // the first thread runs only Payments, which are not counted
  bool apart = false;     // each transaction uses only warehouses of its own thread
};

// `mix` lists the percentages of new_order, payment, order_status, delivery and stock_level. A
// delivery delivers ten orders, so the mix of deliveries contains ten new orders for each delivery.
constexpr HeapTpccMix kMixes[] = {
    {.name = "order status, with one thread of payments", .figure = "1", .mix = {0, 0, 100, 0, 0}, .one_pays = true},
    {.name = "95% order status and 5% payment, each thread with its own warehouses", .figure = "4", .mix = {0, 5, 95, 0, 0}, .apart = true},
    {.name = "order status", .figure = "6", .mix = {0, 0, 100, 0, 0}},
    {.name = "stock level", .figure = "6", .mix = {0, 0, 0, 0, 100}},
    {.name = "payment", .figure = "7", .mix = {0, 100, 0, 0, 0}},
    {.name = "delivery, and the ten new orders that each delivers", .figure = "7", .mix = {91, 0, 0, 9, 0}},
    {.name = "85% that read", .figure = "8", .mix = {5, 5, 43, 5, 42}},
    {.name = "the standard mix", .figure = "8", .mix = tpcc::kStandardMix},
};
std::string study_of(const HeapTpccMix& mix) { return fmt::format("tpcc, {} (figure {})", mix.name, mix.figure); }

struct HeapTpccVariant {
  const char* name;
  HeapIsolation isolation;
  HeapWait wait;
};
constexpr HeapTpccVariant kVariants[] = {
    {"heap, serializable", HeapIsolation::kSerializable, HeapWait::kPruned},
    {"heap, snapshot", HeapIsolation::kSnapshot, HeapWait::kPruned},
    {"heap, SPHT's wait", HeapIsolation::kSerializable, HeapWait::kTotal},
    {"heap, Pisces's order", HeapIsolation::kSnapshot, HeapWait::kOwn},  // Pisces has snapshot isolation
};

// Runs the transactions of one thread.
class HeapTerminal {
 public:
  HeapTerminal(Heap& heap, HeapPtr<TpccHeap> root, const tpcc::Workload& workload, uint32_t thread)
      : heap_(heap), root_(root), inputs_(workload, thread) {}

  Status run_one(bool pays) {
    return run(
        pays ? Kind::kPayment : inputs_.kind(), [&](auto&& procedure) { return heap_.transaction(procedure); },
        [&](auto&& procedure) { return heap_.read(procedure); });
  }
  // Runs one transaction of this kind as an update transaction, even if the kind is read-only,
  // because only update transactions have a footprint.
  Status run_counted(Kind kind, HeapFootprint* footprint) {
    const auto counted = [&](auto&& procedure) {
      return heap_.transaction([&](HeapTransaction& txn) -> Status {
        Status status = procedure(txn);
        *footprint = txn.footprint();
        return status;
      });
    };
    return run(kind, counted, counted);
  }
  const tpcc::RunTotals& totals() const { return totals_; }
  uint64_t history_keys_used() const { return inputs_.history_keys_used(); }

 private:
  // Calls update(procedure) or read(procedure) with a transaction of this kind.
  template <class Update, class Read>
  Status run(Kind kind, Update&& update, Read&& read) {
    const uint32_t warehouse = inputs_.home_warehouse();
    switch (kind) {
      case Kind::kNewOrder: {
        inputs_.draw(warehouse, &new_order_.first);
        const Status status = update([&](HeapTransaction& txn) { return new_order(txn, root_, new_order_.first, &new_order_.second); });
        totals_.new_orders += status.ok();
        return status.code() == Code::kRolledBack ? Status() : status;
      }
      case Kind::kPayment: {
        inputs_.draw(warehouse, &payment_.first);
        ELIDER_TRY(update([&](HeapTransaction& txn) { return payment(txn, root_, payment_.first, scratch_, &payment_.second); }));
        ++totals_.payments;
        return {};
      }
      case Kind::kOrderStatus:
        inputs_.draw(warehouse, &order_status_.first);
        return read([&](HeapReader& reader) { return order_status(reader, root_, order_status_.first, scratch_, &order_status_.second); });
      case Kind::kDelivery: {
        inputs_.draw(warehouse, &delivery_.first);
        ELIDER_TRY(update([&](HeapTransaction& txn) { return delivery(txn, root_, delivery_.first, &delivery_.second); }));
        for (const uint32_t order : delivery_.second.order) totals_.delivered += order != 0;
        return {};
      }
      case Kind::kStockLevel:
        inputs_.draw(warehouse, &stock_level_.first);
        return read([&](HeapReader& reader) { return stock_level(reader, root_, stock_level_.first, &stock_level_.second); });
    }
    return {};
  }

  Heap& heap_;
  const HeapPtr<TpccHeap> root_;
  tpcc::InputStream inputs_;
  tpcc::Scratch scratch_;
  tpcc::RunTotals totals_;
  // The last transaction's inputs and outputs. They are members so that the compiler cannot
  // optimize the outputs away.
  std::pair<tpcc::NewOrderInput, tpcc::NewOrderOutput> new_order_;
  std::pair<tpcc::PaymentInput, tpcc::PaymentOutput> payment_;
  std::pair<tpcc::OrderStatusInput, tpcc::OrderStatusOutput> order_status_;
  std::pair<tpcc::DeliveryInput, tpcc::DeliveryOutput> delivery_;
  std::pair<tpcc::StockLevelInput, tpcc::StockLevelOutput> stock_level_;
};

// A heap with TPC-C's tables, for one mix.
class HeapTpcc {
 public:
  HeapTpcc(const HeapStudyOptions& options, const HeapTpccMix& mix, std::string path)
      : options_(options), mix_(mix), path_(std::move(path)) {
    workload_.sizes = options.sizes;
    if (options.sizes.warehouses == 0) workload_.sizes.warehouses = options.threads;
    workload_.mix = mix.mix;
    workload_.crossing_percent = mix.apart ? 0 : -1;
    workload_.constants = tpcc::NonUniformConstants::draw(options.seed);
    workload_.seed = options.seed;
    workload_.threads = options.threads;
    workload_.history_keys.assign(options.threads, 0);
    // As in the paper (section 4.1), the log is large enough that the replayer does not run during
    // a measurement.
    heap_options_.log_bytes = uint64_t{256} << 20;
    heap_options_.markers = 1u << 21;
    heap_options_.threads_max = options.threads + 1;
    heap_options_.medium = HeapMedium::kDelay;
    heap_options_.suspended_reads = options.suspended_reads;
  }

  Status load() {
    ELIDER_ASSIGN(auto filled, in_memory());
    CommonOptions common;
    common.threads = options_.threads;
    common.quiet = true;
    if (const LoadResult loaded = tpcc::load(common, filled.db, filled.tables, workload_); !loaded.status.ok()) return loaded.status;
    heap_options_.flush_ns = 0;
    heap_options_.durability = HeapDurability::kLater;
    heap_options_.background_replay = true;
    ELIDER_ASSIGN(Heap heap, Heap::open(path_, 1 << 20, heap_options_));
    ELIDER_ASSIGN(root_, pour_into_heap(filled.db, filled.tables, heap));
    return {};
  }

  // Measures one variant. Returns the number of transactions per second.
  Result<double> run(const HeapTpccVariant& variant, uint64_t seed) {
    heap_options_.isolation = variant.isolation;
    heap_options_.wait = variant.wait;
    heap_options_.backend = variant.wait == HeapWait::kOwn ? HtmBackend::kNone : options_.backend;
    heap_options_.flush_ns = options_.flush_ns;
    heap_options_.durability = HeapDurability::kWait;
    heap_options_.background_replay = false;
    ELIDER_ASSIGN(Heap heap, Heap::open(path_, 1 << 20, heap_options_));
    workload_.seed = seed;
    std::vector<std::unique_ptr<HeapTerminal>> terminals;
    for (uint32_t thread = 0; thread < options_.threads; ++thread)
      terminals.push_back(std::make_unique<HeapTerminal>(heap, root_, workload_, thread));
    auto a_second = measure(options_, [&](uint32_t thread, const std::atomic<bool>& stop, uint64_t* done) -> Status {
      const bool pays = mix_.one_pays && thread == 0;
      while (!stop.load(std::memory_order_relaxed)) {  // relaxed: the thread may end a little later
        ELIDER_TRY(terminals[thread]->run_one(pays));
        *done += !pays;
      }
      return {};
    });
    for (uint32_t thread = 0; thread < options_.threads; ++thread) {
      const tpcc::RunTotals& its = terminals[thread]->totals();
      totals_.new_orders += its.new_orders;
      totals_.payments += its.payments;
      totals_.delivered += its.delivered;
      workload_.history_keys[thread] = terminals[thread]->history_keys_used();
    }
    return a_second;
  }

  // Returns the average numbers of cache lines that a transaction of each Kind reads and writes,
  // measured over `count` transactions (of NewOrder, ten times as many).
  Result<std::array<std::pair<double, double>, tpcc::kKinds>> footprints(uint32_t count) {
    heap_options_.wait = HeapWait::kPruned;
    heap_options_.backend = HtmBackend::kNone;
    heap_options_.flush_ns = 0;
    heap_options_.durability = HeapDurability::kLater;
    ELIDER_ASSIGN(Heap heap, Heap::open(path_, 1 << 20, heap_options_));
    HeapTerminal terminal(heap, root_, workload_, 0);
    std::array<std::pair<double, double>, tpcc::kKinds> sums{};
    for (uint32_t i = 0; i < count && !tools::interrupted(); ++i)
      for (uint32_t kind = 0; kind < tpcc::kKinds; ++kind) {
        // A delivery delivers ten orders, so ten are created for it.
        const uint32_t times = static_cast<Kind>(kind) == Kind::kNewOrder ? tpcc::kDistricts : 1;
        for (uint32_t k = 0; k < times; ++k) {
          HeapFootprint footprint;
          ELIDER_TRY(terminal.run_counted(static_cast<Kind>(kind), &footprint));
          sums[kind].first += static_cast<double>(footprint.lines_read) / (count * times);
          sums[kind].second += static_cast<double>(footprint.lines_written) / (count * times);
        }
      }
    return sums;
  }

  Status check() {
    ELIDER_ASSIGN(auto filled, in_memory());
    heap_options_.flush_ns = 0;
    ELIDER_ASSIGN(Heap heap, Heap::open(path_, 1 << 20, heap_options_));
    ELIDER_TRY(pour_into_database(heap, root_, filled.db, filled.tables));
    totals_.history_keys = workload_.history_keys;
    ELIDER_ASSIGN(const auto checked, tpcc::check_consistency(filled.db, filled.tables, workload_, totals_));
    if (checked.ok()) return {};
    return {Code::kCorrupt, fmt::format("TPC-C on the heap, {}: {}", study_of(mix_), checked.complaints().front())};
  }

 private:
  struct Filled {
    Database db;
    tpcc::Tables tables;
  };
  static Result<Filled> in_memory() {
    Filled filled;
    ELIDER_ASSIGN(filled.db, Database::open(Options{}));
    ELIDER_ASSIGN(filled.tables, tpcc::create_tables(filled.db, tpcc::IndexChoice::kBtree));
    return filled;
  }

  const HeapStudyOptions& options_;
  const HeapTpccMix& mix_;
  const std::string path_;
  tpcc::Workload workload_;
  HeapOptions heap_options_;
  HeapPtr<TpccHeap> root_;
  tpcc::RunTotals totals_;
};

}  // namespace

Status study_heap_tpcc(const HeapStudyOptions& options, std::vector<HeapFigure>* figures) {
  for (const HeapTpccMix& mix : kMixes) {
    if (!options.figure_of_tpcc.empty() && options.figure_of_tpcc != mix.figure) continue;
    if (tools::interrupted()) return {};
    if (!options.quiet) fmt::print(stderr, "  {}: loading\n", study_of(mix));
    const Scratch scratch(options.folder);
    ELIDER_ASSIGN(std::string path, scratch.file("tpcc.heap"));
    HeapTpcc tables(options, mix, std::move(path));
    ELIDER_TRY(tables.load());
    HeapFigure figure{study_of(mix), mix.one_pays ? "order-status transactions/s" : "transactions/s", mix.name, {}, 0};
    for (const HeapTpccVariant& variant : kVariants) figure.series.push_back({variant.name, {}});
    for (uint32_t round = 0; round < options.repeat; ++round) {
      if (!options.quiet) fmt::print(stderr, "  {}: repetition {} of {}\n", study_of(mix), round + 1, options.repeat);
      for (size_t i = 0; i < std::size(kVariants); ++i) {
        ELIDER_ASSIGN(const double a_second, tables.run(kVariants[i], options.seed + round));
        if (tools::interrupted()) return {};
        figure.series[i].values.push_back(a_second);
      }
    }
    ELIDER_TRY(tables.check());
    figures->push_back(std::move(figure));
  }
  return {};
}

Status study_heap_lines(const HeapStudyOptions& options, std::vector<HeapFigure>* figures) {
  constexpr uint32_t kCount = 500;
  constexpr HeapTpccMix kNone = {.name = "each kind", .figure = "table 1", .mix = tpcc::kStandardMix};
  if (!options.quiet) fmt::print(stderr, "  lines: loading\n");
  const Scratch scratch(options.folder);
  ELIDER_ASSIGN(std::string path, scratch.file("tpcc.heap"));
  HeapTpcc tables(options, kNone, std::move(path));
  ELIDER_TRY(tables.load());
  ELIDER_ASSIGN(const auto footprints, tables.footprints(kCount));
  if (tools::interrupted()) return {};
  HeapFigure read{"lines", "cache lines that a TPC-C transaction reads", "", {}, HeapFigure::kNone};
  HeapFigure written{"lines", "cache lines that a TPC-C transaction writes", "", {}, HeapFigure::kNone};
  for (uint32_t kind = 0; kind < tpcc::kKinds; ++kind) {
    const std::string name(tpcc::name_of(static_cast<Kind>(kind)));
    read.series.push_back({name, {footprints[kind].first}});
    written.series.push_back({name, {footprints[kind].second}});
  }
  figures->push_back(std::move(read));
  figures->push_back(std::move(written));
  return {};
}

}  // namespace elider::bench
