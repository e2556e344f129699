// Figure: a figure of a paper, measured again. It has the axes, the series, and a description of
// what the paper reports. A figure is printed as a table and written as JSON (docs/benchmarks.md).
// This file does not measure anything.
// Thread safety: values.
#pragma once

#include <string>
#include <vector>

#include "bench/common/report.h"

namespace elider::bench {

struct Point {
  double x = 0;
  double y = 0;
  Json more = Json::object();  // further results of the point's run: aborts by cause, throughput
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

struct Figure {
  std::string name;       // "dbx-1a": the paper, and the figure's number in it
  std::string title;
  std::string x = {}, y = {};  // labels of the axes, with their units
  std::string published;  // what the paper reports, for comparison
  std::string here = {};  // how this run differs from the paper's; empty: it does not
  std::vector<Series> series = {};
};

// `backend` describes in words what ran the hardware transactions. Each figure repeats it, because
// figures are copied out of the document.
Json to_json(const Figure& figure, const std::string& backend);
void print_figure(const Figure& figure, const std::string& backend);

}  // namespace elider::bench
