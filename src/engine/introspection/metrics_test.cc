#include "elider/metrics.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elider {
namespace {

Statistics some() {
  Statistics s;
  s.commits = 3;
  s.aborts[static_cast<size_t>(Cause::kPhantom)] = 2;
  s.procedures.resize(2);
  s.procedures[1].name = "pay";
  s.procedures[1].commits = 1;
  s.tables.resize(1);
  s.tables[0].name = "a \"b\"";
  s.tables[0].rows = 7;
  s.tables[0].aborts[static_cast<size_t>(Cause::kUser)] = 1;
  s.memory.rows = 64;
  s.checkpoints.running = true;
  s.workers = 2;
  return s;
}

TEST(Metrics, EachHasANameOfItsOwnAndWords) {
  std::set<std::pair<MetricInfo::Of, std::string_view>> names;
  for (const MetricInfo& metric : metric_table()) {
    EXPECT_TRUE(names.emplace(metric.of, metric.name).second) << metric.name << " is there twice";
    EXPECT_FALSE(metric.words.empty()) << metric.name;
    EXPECT_NE(metric.words.back(), '.') << metric.name;
  }
}

TEST(Metrics, JsonIsWrittenByTheList) {
  EXPECT_EQ(some().to_json(),
            R"({"commits":3,"read_only_commits":0,"conflicts":2,"aborts":{"phantom":2},)"
            R"("procedures":[{"name":"","commits":0,"region_commits":0,"lock_bit_commits":0,"locked_commits":0,"aborts":{}},)"
            R"({"name":"pay","commits":1,"region_commits":0,"lock_bit_commits":0,"locked_commits":0,"aborts":{}}],)"
            R"("tables":[{"name":"a \"b\"","rows":7,"row_bytes":0,"version_bytes":0,"index_bytes":0,"commits":0,"aborts":{"user":1}}],)"
            R"("memory":{"rows":64,"versions":0,"blocks":0,"indexes":0,"free":0,"reserved":0},)"
            R"("versions_alive":0,"lookups_of_rows":0,"lookups_rows_kept":0,"lookups_of_trees":0,"lookups_leaves_kept":0,)"
            R"("retired_objects":0,"snapshot":0,"durable_snapshot":0,"log_bytes":0,"log_frames":0,"log_records":0,)"
            R"("log_syncs":0,"log_room_waits":0,"durable_lag_us":0,"durable_lag_sum_us":0,"durable_lag_max_us":0,)"
            R"("checkpoints":{"taken":0,"failed":0,"snapshot":0,"time_s":0,"rows":0,"bytes":0,"duration_us":0,"running":1,"failure":""},)"
            R"("epoch":0,"workers":2,"turn_waits":0,"longest_active_us":0})");
}

TEST(Metrics, EachValueIsVisitedWithWhatItIsOf) {
  std::vector<std::string> seen;
  const Statistics statistics = some();
  for_each_metric(statistics, [&](const Metric& metric) {
    if (metric.number == 0 && metric.text.empty()) return;
    seen.push_back(std::string(metric.info.name) + "|" + std::string(metric.element) + "|" + std::string(metric.cause) + "|" +
                   std::to_string(metric.number));
  });
  const std::vector<std::string> expected = {"commits|||3",      "conflicts|||2",          "aborts||phantom|2",
                                             "commits|pay||1",   "rows|a \"b\"||7",        "aborts|a \"b\"|user|1",
                                             "memory.rows|||64", "checkpoints.running|||1", "workers|||2"};
  EXPECT_EQ(seen, expected);
}

TEST(Metrics, WhatIsNotSetIsLeftOut) {
  Statistics statistics;
  EXPECT_EQ(statistics.to_json().find("log_failure"), std::string::npos);
  EXPECT_EQ(statistics.to_json().find("elision"), std::string::npos);
  statistics.log_failure = "the disk is full";
  statistics.elision.push_back({"index get", "accounts", 4, 1, 2, 3, {}});
  EXPECT_NE(statistics.to_json().find("\"log_failure\":\"the disk is full\""), std::string::npos);
  EXPECT_NE(statistics.to_json().find(R"("elision":[{"site":"index get","table":"accounts","attempts":5,"commits":4,"in_vain":1,)"
                                      R"("fallbacks":2,"direct":3,"aborts":{}}])"),
            std::string::npos)
      << statistics.to_json();
}

}  // namespace
}  // namespace elider
