// `elider bench tpcc`: its options.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/common/commands.h"
#include "bench/common/number_option.h"
#include "bench/common/options.h"
#include "bench/tpcc/tpcc.h"

namespace elider::bench {
namespace {

constexpr uint32_t kItemsMin = 100, kCustomersMin = 20;

struct Chosen {
  CommonOptions common;
  tpcc::TpccOptions tpcc;
  std::string mix = "45,43,4,4,4";
  std::string index = "mixed";
  std::vector<std::string> no_snapshot;
};

void run(Chosen& chosen) {
  check_common_options(chosen.common);
  auto mix = tpcc::parse_mix(chosen.mix);
  if (!mix.ok()) refuse_option("--mix", mix.status().message());
  chosen.tpcc.mix = *mix;
  chosen.tpcc.index = chosen.index == "mixed" ? tpcc::IndexChoice::kMixed : tpcc::IndexChoice::kBtree;
  for (const std::string& name : chosen.no_snapshot) {
    if (name == "order_status") chosen.tpcc.snapshots.order_status = false;
    else chosen.tpcc.snapshots.stock_level = false;
  }
  set_exit_code(tpcc::run_tpcc(chosen.common, chosen.tpcc));
}

}  // namespace

void add_tpcc(CLI::App& bench) {
  auto chosen = std::make_shared<Chosen>();
  CLI::App& command = *bench.add_subcommand("tpcc", "TPC-C: order entry of a wholesale supplier, five transactions");
  command.footer(tpcc::kTpccDeviations);
  CLI::Option* warehouses =
      command.add_option("--warehouses", chosen->tpcc.sizes.warehouses, "Warehouses, about 110 MB each (1 to 65535); --resume finds them")
          ->check(number_in(1u, tpcc::kWarehousesMax))
          ->capture_default_str();
  command.add_option("--items", chosen->tpcc.sizes.items, "Items; fewer than the specification's are for tests")
      ->check(number_in(kItemsMin, tpcc::Sizes{}.items))
      ->capture_default_str();
  command.add_option("--customers", chosen->tpcc.sizes.customers, "Customers a district; likewise")
      ->check(number_in(kCustomersMin, tpcc::Sizes{}.customers))
      ->capture_default_str();
  add_common_options(command, chosen->common);
  warehouses->excludes(command.get_option("--resume"));
  command.add_option("--index", chosen->index, "mixed: hash tables, and B+-trees where a transaction scans; btree: B+-trees throughout")
      ->check(CLI::IsMember({"mixed", "btree"}))
      ->type_name("KIND")
      ->capture_default_str();
  command.add_option("--mix", chosen->mix, "Percentages of new_order, payment, order_status, delivery, stock_level")
      ->type_name("N,N,N,N,N")
      ->capture_default_str();
  command.add_option("--no-snapshot", chosen->no_snapshot, "Run this as a transaction that can conflict: order_status, stock_level")
      ->check(CLI::IsMember({"order_status", "stock_level"}))
      ->delimiter(',')
      ->type_name("NAME");
  command.callback([chosen] { run(*chosen); });
}

}  // namespace elider::bench
