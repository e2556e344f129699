// The list of metrics: the name, kind, unit and description of each value in Statistics.
// Statistics::to_json() and docs/metrics.md are generated from this list, which other exporters can
// also use.
//
// Thread safety: the list is constant, and the functions are pure.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "elider/function_ref.h"
#include "elider/statistics.h"

namespace elider {

struct MetricInfo {
  enum class Kind : uint8_t {
    kCounter,  // never decreases while the database is open
    kGauge,
    kText,
  };
  // The kind of object that each value of the metric belongs to.
  enum class Of : uint8_t { kDatabase, kProcedure, kTable, kSite, kConflictedKey };
  std::string_view name;          // as in JSON; "memory.rows" is "rows" in the object "memory"
  Kind kind = Kind::kCounter;
  Of of = Of::kDatabase;
  bool by_cause = false;          // one value per cause; causes that have not occurred are left out
  bool when_set = false;          // for kText: the metric is left out if its text is empty
  std::string_view unit = {};     // "bytes", "us", "s"; empty for counts
  std::string_view words = {};
};

std::span<const MetricInfo> metric_table();

// One value of one metric.
struct Metric {
  const MetricInfo& info;
  // The name of the procedure, table or site. Empty for an unnamed procedure, the database and a
  // conflicted key.
  std::string_view element;
  std::string_view table;    // for an index's site and for a conflicted key
  std::string_view cause;    // for a metric with by_cause
  uint64_t number = 0;
  std::string_view text;     // for kText
  uint64_t key = 0;          // for a conflicted key
};

// Calls visit() for all values, element by element, in the order of metric_table(). The strings in
// a Metric are valid as long as `statistics`.
void for_each_metric(const Statistics& statistics, FunctionRef<void(const Metric&)> visit);

}  // namespace elider
