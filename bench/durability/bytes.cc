// Compares the number of bytes that a TPC-C NewOrder writes to the log with the number of bytes
// that it changes in the tables.
#include <fmt/format.h>

#include "bench/durability/durability.h"
#include "bench/tpcc/tpcc.h"

namespace elider::bench {

namespace {

using namespace tpcc;

// Counts only columns, not keys. An order has 5 to 15 order lines, 10 on average.
double changed_bytes_a_new_order() {
  constexpr double kLines = (kLinesMin + kLinesMax) / 2.0;
  constexpr size_t kOfOrder = sizeof(Order::entry_date) + sizeof(Order::warehouse) + sizeof(Order::customer) + sizeof(Order::district) +
                              sizeof(Order::carrier) + sizeof(Order::line_count) + sizeof(Order::all_local);
  constexpr size_t kOfLine = sizeof(OrderLine::delivery_date) + sizeof(OrderLine::amount) + sizeof(OrderLine::item) +
                             sizeof(OrderLine::supply_warehouse) + sizeof(OrderLine::quantity) + sizeof(OrderLine::district_info);
  constexpr size_t kOfStock = sizeof(Stock::quantity) + sizeof(Stock::ytd) + sizeof(Stock::order_count) + sizeof(Stock::remote_count);
  return sizeof(District::next_order) + kOfOrder + sizeof(NewOrder::undelivered) + kLines * (kOfLine + kOfStock);
}

}  // namespace

Status measure_bytes(const DurabilityOptions& options, DurabilityRows* rows) {
  show_step(options, "NewOrders: bytes of the log");
  const RunFolder folder(options, "bytes");
  CommonOptions common = options.common;
  common.threads = 1;
  common.quiet = true;
  common.seconds = 1;
  common.data.folders = {folder.path()};
  common.data.durability = Durability::kAsync;
  TpccOptions chosen;
  chosen.mix = {100, 0, 0, 0, 0};
  auto outcome = measure_tpcc(common, chosen);
  if (!outcome.ok()) return outcome.status();
  if (!outcome->ok) return Status(Code::kCorrupt, "the TPC-C run of NewOrders failed or violated a consistency condition");
  const LogUse& log = outcome->report.result.log;
  if (log.records == 0) return Status::invalid_argument("no NewOrder committed within a second");
  const double logged = static_cast<double>(log.bytes) / static_cast<double>(log.records), changed = changed_bytes_a_new_order();
  DurabilityRow row;
  row.part = "bytes";
  row.work = "log bytes of a TPC-C NewOrder, compared with the bytes that it changes";
  row.unit = "x";
  row.aim = 1.3;
  row.smaller_is_better = true;
  row.runs = {logged / changed};
  row.details = {
      fmt::format("{:.0f} log bytes, {:.0f} bytes changed in columns (without keys), 10 order lines on average", logged, changed)};
  row.figures = {{"log_bytes", logged}, {"changed_bytes", changed}};
  rows->push_back(std::move(row));
  return {};
}

}  // namespace elider::bench
