#include "bench/heap/heap_figures.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/common/spread.h"
#include "elider/try.h"
#include "tools/common/interrupt.h"

namespace elider::bench {

namespace {

// Describes how update transactions are synchronized.
std::string guarded_by(const HeapStudyOptions& options) {
  switch (options.backend) {
    case HtmBackend::kRtm: return "update transactions in RTM regions";
    case HtmBackend::kEmulated: return "update transactions in emulated regions";
    default: return "update transactions in software";
  }
}
std::string sizes_of(const HeapStudyOptions& options) {
  std::string words = guarded_by(options);
  if (options.sizes.items < tpcc::Sizes{}.items) words += "; small warehouses";
  return words;
}

Point point_of(double x, const HeapSeries& series) { return {x, spread_of(series.values).median, {{"runs", series.values}}}; }

// Measures TPC-C with the mixes of one of the paper's figures, for increasing numbers of threads.
// There are as many warehouses as the largest number of threads.
Result<Figure> tpcc_figure(const HeapStudyOptions& options, std::string_view number, Figure figure) {
  figure.x = "threads";
  figure.y = number == "1" ? "order-status transactions/s" : "transactions/s";
  figure.here += (figure.here.empty() ? "" : "; ") + sizes_of(options);
  HeapStudyOptions study = options;
  study.studies = {"tpcc"};
  study.figure_of_tpcc = number;
  if (study.sizes.warehouses == 0) study.sizes.warehouses = options.threads;
  for (uint32_t threads = number == "1" ? 2 : 1;; threads = std::min(2 * threads, options.threads)) {
    study.threads = threads;
    ELIDER_ASSIGN(const auto measured, run_heap_study(study));
    if (tools::interrupted()) return figure;
    size_t line = 0;
    for (const HeapFigure& mix : measured)
      for (const HeapSeries& series : mix.series) {
        if (line == figure.series.size())
          figure.series.push_back({measured.size() == 1 ? series.variant : fmt::format("{}: {}", mix.mix, series.variant), {}});
        figure.series[line++].points.push_back(point_of(threads, series));
      }
    if (threads >= options.threads) return figure;
  }
}

Result<Figure> dumbo_1(const HeapStudyOptions& options) {
  return tpcc_figure(options, "1",
                     {.name = "dumbo-1",
                      .title = "TPC-C on the heap: order status, with one thread of payments",
                      .published = "up to 4.0 times the second best, 64 threads",
                      .here = "one of the threads runs the payments, which are not counted"});
}
Result<Figure> dumbo_4(const HeapStudyOptions& options) {
  return tpcc_figure(options, "4",
                     {.name = "dumbo-4",
                      .title = "TPC-C on the heap: 95% order status and 5% payment, each thread with its own warehouses",
                      .published = "SPHT with the isolation wait is far below SPHT: readers wait for durability up to 7 times as long"});
}
Result<Figure> dumbo_6(const HeapStudyOptions& options) {
  return tpcc_figure(options, "6",
                     {.name = "dumbo-6",
                      .title = "TPC-C on the heap: order status and stock level alone",
                      .published = "order status 38% above SPHT up to 32 threads; stock level 28% above Pisces; SPHT's always abort"});
}
Result<Figure> dumbo_7(const HeapStudyOptions& options) {
  return tpcc_figure(options, "7",
                     {.name = "dumbo-7",
                      .title = "TPC-C on the heap: payment and delivery alone",
                      .published = "payment 11% (opaque) and 17% (snapshots) above SPHT; delivery: snapshots far above all regions",
                      .here = "deliveries run together with the new orders that they deliver"});
}
Result<Figure> dumbo_8(const HeapStudyOptions& options) {
  return tpcc_figure(options, "8",
                     {.name = "dumbo-8",
                      .title = "TPC-C on the heap: 85% read-only transactions, and the standard mix",
                      .published = "above SPHT and Pisces in both, although updates wait longer than SPHT's if most transactions read"});
}

Result<Figure> dumbo_table_1(const HeapStudyOptions& options) {
  HeapStudyOptions study = options;
  study.studies = {"lines"};
  Figure figure{.name = "dumbo-table-1",
                .title = "What each transaction of TPC-C reads and writes on the heap",
                .x = "1 read, 2 written",
                .y = "cache lines",
                .published =
                    "read and written: stock_level 122K, none; order_status 650, none; delivery 86K, 30; payment 97, 5; new_order "
                    "7.5K, 141",
                .here = options.sizes.items < tpcc::Sizes{}.items ? "small warehouses" : "",
                .series = {}};
  ELIDER_ASSIGN(const auto measured, run_heap_study(study));
  if (tools::interrupted()) return figure;
  for (size_t kind = 0; kind < measured.front().series.size(); ++kind)
    figure.series.push_back(
        {measured[0].series[kind].variant, {point_of(1, measured[0].series[kind]), point_of(2, measured[1].series[kind])}});
  return figure;
}

Result<Figure> dumbo_9(const HeapStudyOptions& options) {
  HeapStudyOptions study = options;
  study.studies = {"replay"};
  Figure figure{.name = "dumbo-9",
                .title = "Replay of the log, compared with following links from record to record",
                .x = "run",
                .y = "replayed bytes/s, of words and their addresses",
                .published = "as fast as SPHT's linked records, however many threads wrote",
                .here = fmt::format("{} transactions of one thread, 1 to 20 words each", options.replayed),
                .series = {}};
  ELIDER_ASSIGN(const auto measured, run_heap_study(study));
  if (tools::interrupted()) return figure;
  for (const HeapSeries& series : measured.front().series) figure.series.push_back({series.variant, {point_of(1, series)}});
  return figure;
}

}  // namespace

std::span<const HeapPaperFigure> heap_paper_figures() {
  static constexpr HeapPaperFigure kFigures[] = {
      {"dumbo-1", "TPC-C: order status, with one thread of payments", dumbo_1},
      {"dumbo-4", "TPC-C: 95% order status and 5% payment, each thread with its own warehouses", dumbo_4},
      {"dumbo-table-1", "TPC-C: the cache lines that each transaction reads and writes", dumbo_table_1},
      {"dumbo-6", "TPC-C: order status and stock level alone", dumbo_6},
      {"dumbo-7", "TPC-C: payment and delivery alone", dumbo_7},
      {"dumbo-8", "TPC-C: 85% read-only transactions, and the standard mix", dumbo_8},
      {"dumbo-9", "replay of the log, and of linked records", dumbo_9},
  };
  return kFigures;
}

}  // namespace elider::bench
