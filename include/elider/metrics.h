// The list of metrics: each figure of Statistics with its name, kind, unit and words.
// Statistics::to_json() writes them by it, and whoever else shows figures of a database reads it;
// docs/metrics.md is printed from it.
//
// Thread safety: the list never changes; the functions are pure.
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
    kCounter,  // only rises while the database is open
    kGauge,
    kText,
  };
  // What has a value of its own.
  enum class Of : uint8_t { kDatabase, kProcedure, kTable, kSite, kConflictedKey };
  std::string_view name;          // as in JSON; "memory.rows" is "rows" within "memory"
  Kind kind = Kind::kCounter;
  Of of = Of::kDatabase;
  bool by_cause = false;          // a value for each cause; causes that have not happened are left out
  bool when_set = false;          // of texts: left out where it is empty
  std::string_view unit = {};     // "bytes", "us", "s"; empty: a count
  std::string_view words = {};
};

std::span<const MetricInfo> metric_table();

// One value of one metric.
struct Metric {
  const MetricInfo& info;
  // The procedure, table or site. Empty for an unnamed procedure, the database and a conflicted
  // key.
  std::string_view element;
  std::string_view table;    // of an index's site, or of a conflicted key
  std::string_view cause;    // of a metric by cause
  uint64_t number = 0;
  std::string_view text;     // of kText
  uint64_t key = 0;          // of a conflicted key
};

// All values, element by element, in the order of the list. They live as long as the statistics.
void for_each_metric(const Statistics& statistics, FunctionRef<void(const Metric&)> visit);

}  // namespace elider
