// Figure: our reproduction of a figure in a paper. It has axes, series of points, and a description
// of what the paper reports. It is printed as a table and written as JSON (docs/benchmarks.md).
// Thread safety: none; figures are plain values.
#pragma once

#include <string>
#include <vector>

#include "bench/common/report.h"

namespace elider::bench {

struct Point {
  double x = 0;
  double y = 0;
  Json more = Json::object();  // further results of this point's run, such as aborts by cause
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

struct Figure {
  std::string name;       // such as "dbx-1a": the paper and the number of the figure
  std::string title;
  std::string x = {}, y = {};  // labels of the axes, with their units
  std::string published;  // what the paper reports, for comparison
  std::string here = {};  // how this run differs from the paper's experiment; empty if it does not
  std::vector<Series> series = {};
};

// `backend` says what executed the hardware transactions. Each figure repeats it, because figures
// are copied out of the JSON document.
Json to_json(const Figure& figure, const std::string& backend);
void print_figure(const Figure& figure, const std::string& backend);

}  // namespace elider::bench
