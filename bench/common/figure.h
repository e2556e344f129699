// Figure: a published drawing made again: its axes, its lines, and what the paper reports,
// for people as a table and for programs as JSON (docs/benchmarks.md). It measures
// nothing. Thread safety: values.
#pragma once

#include <string>
#include <vector>

#include "bench/common/report.h"

namespace elider::bench {

struct Point {
  double x = 0;
  double y = 0;
  Json more = Json::object();  // what else the point's run gave: aborts by cause, throughput
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

struct Figure {
  std::string name;       // "dbx-1a": the paper and the number there
  std::string title;
  std::string x = {}, y = {};  // of the axes, with their units
  std::string published;  // what the paper reports, for comparison
  std::string here = {};  // how this run differs from the paper's; empty: as there
  std::vector<Series> series = {};
};

// `backend`: what ran the regions, in words. A figure that is taken out of
// its document still says it.
Json to_json(const Figure& figure, const std::string& backend);
void print_figure(const Figure& figure, const std::string& backend);

}  // namespace elider::bench
