// DBX-TC, table 1 (section 2.2): how much data each transaction of TPC-C reads and writes. Each
// transaction runs as one region of the emulator, which counts the cache lines that committed
// regions access.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lab/htm/studies.h"
#include "bench/tpcc/consistency.h"
#include "bench/tpcc/load.h"
#include "bench/tpcc/terminal.h"
#include "lab/studies/try_region.h"
#include "elider/try.h"

namespace elider::bench::htm {

namespace {

using tpcc::Kind;

// Configures the emulator as a processor on which no region is too large or too long, and without
// spurious aborts.
class LargeProcessor {
 public:
  LargeProcessor() {
    static_cast<void>(
        configure_emulator("sets=4096,ways=32,hyperthreading=0,read_lines_max=16777215,read_eviction_abort_rate=0,accesses_per_interrupt=0,"
                           "spurious_abort_rate=0,page_faults=0"));
  }
  ~LargeProcessor() { static_cast<void>(configure_emulator("")); }
  LargeProcessor(const LargeProcessor&) = delete;
  LargeProcessor& operator=(const LargeProcessor&) = delete;
};

// The footprint of one kind of transaction, summed over the transactions that ran as one region.
struct Footprint {
  uint64_t transactions = 0, others = 0;
  uint64_t lines_read = 0, lines_written = 0;
};

constexpr uint32_t kNewOrdersADelivery = tpcc::kDistricts;  // one per district, so that each district has an order to deliver
constexpr uint32_t kUncounted = 10;  // the first transactions of each kind, which are not counted because they warm up the worker's memory

Result<Footprint> footprint_of(tpcc::Terminal& terminal, Kind kind, uint32_t count) {
  Footprint sum;
  for (uint32_t i = 0; i < kUncounted + count; ++i) {
    for (uint32_t k = 0; kind == Kind::kDelivery && k < kNewOrdersADelivery; ++k) ELIDER_TRY(terminal.run(Kind::kNewOrder));
    ELIDER_ASSIGN(const EmulatedRegions before, emulated_regions());
    ELIDER_TRY(terminal.run(kind));
    ELIDER_ASSIGN(const EmulatedRegions after, emulated_regions());
    if (i < kUncounted) continue;
    // A transaction that acquired the lock did not run as a region, or ran several small ones.
    if (after.committed != before.committed + 1) {
      ++sum.others;
      continue;
    }
    ++sum.transactions;
    sum.lines_read += after.lines_read - before.lines_read;
    sum.lines_written += after.lines_written - before.lines_written;
  }
  if (sum.transactions == 0) return Status::invalid_argument(fmt::format("none of the {} transactions ran as one region", name_of(kind)));
  return sum;
}

using Footprints = std::array<Footprint, tpcc::kKinds>;

// Loads one warehouse, measures each kind of transaction, and checks the consistency conditions.
Result<Footprints> footprints_of(Session& session, const CommonOptions& common, const tpcc::Workload& workload,
                                 const tpcc::TableChoice& choice, uint32_t count) {
  ELIDER_ASSIGN(const tpcc::Tables tables, tpcc::create_tables(session.db(), choice));
  if (LoadResult loaded = tpcc::load(common, session.db(), tables, workload); !loaded.status.ok()) return loaded.status;
  const tpcc::SnapshotUse no_snapshots{.order_status = false, .stock_level = false};
  tpcc::Terminal terminal(session.db(), tables, workload, no_snapshots, 0);
  Footprints footprints;
  for (uint32_t kind = 0; kind < tpcc::kKinds; ++kind) {
    ELIDER_ASSIGN(footprints[kind], footprint_of(terminal, static_cast<Kind>(kind), count));
  }
  const tpcc::TerminalCounts& counts = terminal.counts();
  const tpcc::RunTotals totals{counts.new_orders, counts.payments, counts.delivered, {terminal.history_keys_used()}};
  ELIDER_ASSIGN(const auto checked, tpcc::check_consistency(session.db(), tables, workload, totals));
  if (!checked.ok()) return Status(Code::kCorrupt, checked.complaints().front());
  return footprints;
}

}  // namespace

Result<Figure> dbx_tc_table_1(const StudyOptions& options) {
  constexpr double kLineBytes = 64;
  Figure figure{"dbx-tc-table-1",
                "TPC-C: bytes that a transaction reads and writes",
                "1 read, 2 written",
                "bytes per transaction",
                "bytes read, bytes written: new_order 7864, 1938; payment 2240, 656; order_status 2241, 469; delivery 13567, 4178; "
                "stock_level 40101, 1341",
                "counts whole cache lines of 64 bytes, including those of indexes, of the read set and of buffered writes; "
                "a line counts as read if the transaction has not written it before",
                {}};
  tpcc::Workload workload;
  workload.constants = tpcc::NonUniformConstants::draw(options.seed);
  workload.seed = options.seed;
  if (options.quick) {
    workload.sizes.items = 1000;
    workload.sizes.customers = 60;
    figure.here += "; the warehouse has 1000 items and 600 customers";
  }
  tpcc::TableChoice choice;
  choice.index = options.mixed_indexes ? tpcc::IndexChoice::kMixed : tpcc::IndexChoice::kBtree;
  choice.groups = options.groups;
  choice.additions = options.additions;
  CommonOptions common;
  common.seed = options.seed;
  common.sync = SyncPolicy::kElided;
  common.htm = options.htm;
  common.protocol = Protocol::kWholeTransaction;
  common.elision.window_runs = 0;  // sites never stop using hardware transactions
  common.data = options.data;
  common.history_file = options.history_file;
  common.quiet = true;
  const LargeProcessor processor;
  ELIDER_ASSIGN(Session session, Session::open(common, tpcc::indexed_schemas(choice)));
  auto footprints = footprints_of(session, common, workload, choice, options.quick ? 50 : 500);
  Status closed = session.close();
  empty_data_folders(common.data);
  if (!footprints.ok()) return footprints.status();
  ELIDER_TRY(closed);
  for (uint32_t kind = 0; kind < tpcc::kKinds; ++kind) {
    const Footprint& sum = (*footprints)[kind];
    const auto mean = [&](uint64_t lines) { return kLineBytes * static_cast<double>(lines) / static_cast<double>(sum.transactions); };
    const Json more = {{"transactions", sum.transactions}, {"left_out", sum.others}};
    figure.series.push_back(
        {std::string(name_of(static_cast<Kind>(kind))), {{1, mean(sum.lines_read), more}, {2, mean(sum.lines_written), more}}});
  }
  return figure;
}

}  // namespace elider::bench::htm
