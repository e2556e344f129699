// Declares the options of `elider bench tpcc`.
#include <memory>
#include <string>
#include <vector>


#include "bench/common/commands.h"
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
  bool no_groups = false, no_additions = false;
};

void run(Chosen& chosen) {
  check_common_options(chosen.common);
  auto mix = tpcc::parse_mix(chosen.mix);
  if (!mix.ok()) refuse_option("--mix", mix.status().message());
  chosen.tpcc.mix = *mix;
  for (const auto index : {tpcc::IndexChoice::kMixed, tpcc::IndexChoice::kBtree, tpcc::IndexChoice::kArt, tpcc::IndexChoice::kHash})
    if (chosen.index == name_of(index)) chosen.tpcc.index = index;
  if (chosen.tpcc.index == tpcc::IndexChoice::kHash &&
      (chosen.tpcc.mix[2] + chosen.tpcc.mix[3] + chosen.tpcc.mix[4] != 0 || chosen.common.data.resume))
    refuse_option("--index",
                  "hash supports only new_order and payment (such as --mix 100,0,0,0,0), without --resume, because it cannot scan");
  chosen.tpcc.groups = !chosen.no_groups;
  chosen.tpcc.additions = !chosen.no_additions;
  if (chosen.tpcc.chopped.choices.deferring && chosen.common.protocol != Protocol::kChopped)
    refuse_option("--deferring", "requires --protocol chopped");
  if (chosen.tpcc.chopped.answers_at_once && !chosen.tpcc.chopped.choices.deferring)
    refuse_option("--answers-at-once", "requires --deferring");
  if (chosen.no_additions && chosen.common.protocol == Protocol::kChopped)
    refuse_option("--no-additions", "cannot be combined with --protocol chopped, whose Payment declares additions");
  for (const std::string& name : chosen.no_snapshot) {
    if (name == "order_status") chosen.tpcc.snapshots.order_status = false;
    else chosen.tpcc.snapshots.stock_level = false;
  }
  if (chosen.tpcc.durable_sample_every != 0 && !chosen.common.data.logs())
    refuse_option("--durable-every", "requires a log: --durability async or group");
  set_exit_code(tpcc::run_tpcc(chosen.common, chosen.tpcc));
}

}  // namespace

void add_tpcc(Command bench) {
  auto chosen = std::make_shared<Chosen>();
  Command command = bench.add("tpcc", "TPC-C: the order processing of a wholesale supplier, with five transactions");
  command.footer(tpcc::kTpccDeviations);
  Option warehouses =
      command.option("--warehouses", chosen->tpcc.sizes.warehouses, "Warehouses, about 110 MB each (1 to 65535); --resume finds them")
          .in(1u, tpcc::kWarehousesMax)
          .shows_default();
  command.option("--items", chosen->tpcc.sizes.items, "Items; smaller numbers are only for tests")
      .in(kItemsMin, tpcc::Sizes{}.items)
      .shows_default();
  command.option("--customers", chosen->tpcc.sizes.customers, "Customers per district; smaller numbers are only for tests")
      .in(kCustomersMin, tpcc::Sizes{}.customers)
      .shows_default();
  add_common_options(command, chosen->common);
  warehouses.excludes(command.named("--resume"));
  add_group_option(command, chosen->common);
  command
      .option("--index", chosen->index,
              "mixed: hash tables, but B+-trees for tables that are scanned or whose keys only grow; btree, art, hash: only "
              "B+-trees, radix trees or hash tables (hash: only for mixes without scans)")
      .one_of({"mixed", "btree", "art", "hash"})
      .type("KIND")
      .shows_default();
  command.option("--mix", chosen->mix, "Percentages of new_order, payment, order_status, delivery and stock_level")
      .type("N,N,N,N,N")
      .shows_default();
  command
      .option("--partition-crossing", chosen->tpcc.crossing_percent,
              "Percentage of NewOrders and Payments that access a second warehouse (0 to 100) [as specified]")
      .in(0, 100)
      .type("PERCENT");
  command.option("--zones", chosen->tpcc.zones, "Use zoned tables with this number of zones each (1 to 1024) [not zoned]")
      .in(1u, 1024u)
      .type("N");
  command.flag("--sequence", chosen->tpcc.sequence,
               "Payments take the numbers of their history rows from a Sequence of the database, not from a counter of their thread");
  command.flag("--no-groups", chosen->no_groups, "Validate whole rows, as in the papers, instead of column groups");
  command.flag("--no-additions", chosen->no_additions,
               "Payments read and write the sums of their warehouse and district, as in the papers, instead of adding to them");
  command.flag("--deferring", chosen->tpcc.chopped.choices.deferring,
               "With --protocol chopped: a Delivery defers its additions to customers, so that it does not conflict with Payments");
  command.flag("--answers-at-once", chosen->tpcc.chopped.answers_at_once,
               "With --deferring: a NewOrder does not wait for a running Delivery (serializable, but not strictly serializable)");
  command
      .option("--no-snapshot", chosen->no_snapshot,
              "Run this transaction without a snapshot, so that it can conflict: order_status, stock_level")
      .one_of({"order_status", "stock_level"})
      .between_commas()
      .type("NAME");
  command.flag("--held-snapshots", chosen->tpcc.snapshots.held,
               "OrderStatus and StockLevel read a snapshot that their thread holds and advances without waiting (elider/held_snapshot.h)");
  command
      .option("--durable-every", chosen->tpcc.durable_sample_every,
              "With --data: measure how long every N-th transaction of each thread takes to reach the disk. Under --durability async, "
              "the thread does not wait, but the log is flushed immediately [not measured]")
      .in(1u, 1'000'000u)
      .type("N")
      .needs(command.named("--data"));
  command.runs([chosen] { run(*chosen); });
}

}  // namespace elider::bench
