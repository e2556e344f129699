// The workload `tpcc` of crash_victim: terminals on a small warehouse. It first checks the
// consistency conditions of the recovered database, and reports what the database has counted. Then
// each terminal reports what it begins and what it has done.
// Thread safety: run_tpcc_victim() by one thread, which starts others.
#pragma once

#include <vector>

#include "bench/common/driver.h"
#include "bench/tpcc/consistency.h"
#include "bench/tpcc/load.h"
#include "bench/tpcc/terminal.h"
#include "tests/crash/victim_threads.h"

namespace elider::crash {

class TpccVictim {
 public:
  explicit TpccVictim(const VictimOptions& options) : options_(options) {
    workload_.sizes = {.warehouses = 1, .items = 200, .customers = 30};
    workload_.constants = bench::tpcc::NonUniformConstants::draw(1);
    workload_.seed = options.seed;
    workload_.threads = options.threads;
  }

  Status run() {
    Options options = database_options(options_);
    options.schemas = schemas();
    auto opened = Database::open(options);
    if (!opened.ok()) return opened.status();
    Database db = std::move(*opened);
    auto tables = bench::tpcc::create_tables(db, bench::tpcc::IndexChoice::kBtree);
    if (!tables.ok()) return tables.status();
    tables_ = *tables;
    if (Status status = load_once(db); !status.ok()) return status;
    in_pieces_ = db.protocol() == Protocol::kChopped;
    if (in_pieces_)
      if (Status status = bench::tpcc::install_chopped(db, tables_, &chopped_, {.choices = {.deferring = true}, .always_in_pieces = true});
          !status.ok())
        return status;
    if (Status status = tell_recovered(db); !status.ok()) return status;
    VictimThreads threads(db, options_);
    threads.run([&](uint32_t i) { work(db, options_.process + i, &threads); });
    tell("{\"t\":\"end\"}\n");
    return {};
  }

 private:
  struct Loaded {
    uint64_t yes = 1;
  };

  // Returns the schemas with their key functions, which are not stored in a file.
  static std::vector<Schema> schemas() {
    std::vector<Schema> all;
    auto db = Database::open();
    if (!db.ok() || !bench::tpcc::create_tables(*db, bench::tpcc::IndexChoice::kBtree).ok()) return all;
    for (const TableRef& table : db->tables()) all.push_back(table.schema());
    return all;
  }

  // A row records that loading has ended. Without it, the tables are only partly filled, and the
  // folder is useless.
  Status load_once(Database& db) {
    auto loaded = db.create_table(SchemaOf<Loaded>("loaded").column("yes", &Loaded::yes));
    if (!loaded.ok()) return loaded.status();
    bool there = false;
    Status status = db.run_read_only([&](Transaction& txn) -> Status {
      there = txn.get(*loaded, 0).ok();
      return {};
    });
    if (!status.ok() || there) return status;
    bench::CommonOptions quiet;
    quiet.threads = 1;
    quiet.quiet = true;
    if (status = bench::tpcc::load(quiet, db, tables_, workload_).status; !status.ok()) return status;
    return db.run([&](Transaction& txn) { return txn.insert(*loaded, 0, Loaded{}); });
  }

  // Counts rows to find out what has been done to the tables since they were loaded.
  Status count(Database& db, bench::tpcc::RunTotals* totals) {
    using namespace bench::tpcc;
    return db.run_read_only([&](Transaction& txn) -> Status {
      *totals = {};
      const uint64_t loaded = uint64_t{kDistricts} * workload_.sizes.customers;
      Status status =
          txn.scan(tables_.order, KeyRange{}, ScanOptions{}, [&](Key, const View<Order>&) { return ++totals->new_orders, true; });
      if (!status.ok()) return status;
      totals->new_orders -= loaded;
      status = txn.scan(tables_.customer, KeyRange{}, ScanOptions{}, [&](Key, const View<Customer>& customer) {
        totals->delivered += customer->delivery_count;
        return true;
      });
      if (!status.ok()) return status;
      return txn.scan(tables_.history, KeyRange{}, ScanOptions{}, [&](Key key, const View<History>&) {
        const auto [source, counter] = HistoryKey::unpack(key);
        if (source == kLoaderSource) return true;
        ++totals->payments;
        if (totals->history_keys.size() < source) totals->history_keys.resize(source);
        uint64_t& keys = totals->history_keys[source - 1];
        keys = std::max(keys, counter + 1);
        return true;
      });
    });
  }

  Status tell_recovered(Database& db) {
    if (Status status = db.verify(); !status.ok()) return status;
    bench::tpcc::RunTotals totals;
    if (Status status = count(db, &totals); !status.ok()) return status;
    auto report = bench::tpcc::check_consistency(db, tables_, workload_, totals);
    if (!report.ok()) return report.status();
    if (!report->ok()) return Status(Code::kCorrupt, report->complaints().front());
    tell(fmt::format("{{\"t\":\"recovered\",\"ns\":{},\"snapshot\":{},\"new_orders\":{},\"payments\":{},\"delivered\":{}}}\n", now_ns(),
                     db.recovery().snapshot, totals.new_orders, totals.payments, totals.delivered));
    return {};
  }

  void work(Database& db, uint32_t process, VictimThreads* threads) {
    bench::tpcc::Terminal terminal(db, tables_, workload_, bench::tpcc::SnapshotUse{}, process, 0, nullptr,
                                   in_pieces_ ? &chopped_ : nullptr);
    for (uint64_t i = 0; options_.transactions == 0 || i < options_.transactions; ++i) {
      tell(fmt::format("{{\"t\":\"begin\",\"p\":{}}}\n", process));
      if (terminal.run_one() == bench::kWorkerFailed) {
        tell(fmt::format("{{\"t\":\"info\",\"p\":{}}}\n", process));
        return;
      }
      tell(fmt::format("{{\"t\":\"done\",\"p\":{},\"new_orders\":{},\"payments\":{},\"delivered\":{}}}\n", process,
                       terminal.counts().new_orders, terminal.counts().payments, terminal.counts().delivered));
      threads->one_ended();
    }
  }

  const VictimOptions& options_;
  bench::tpcc::Workload workload_;
  bench::tpcc::Tables tables_;
  bool in_pieces_ = false;
  bench::tpcc::ChoppedTransactions chopped_;
};

inline Status run_tpcc_victim(const VictimOptions& options) { return TpccVictim(options).run(); }

}  // namespace elider::crash
