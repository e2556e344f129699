#include "bench/common/figure.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "bench/common/wrapped_output.h"

namespace elider::bench {

Json to_json(const Figure& figure, const std::string& backend) {
  Json series = Json::array();
  for (const Series& line : figure.series) {
    Json points = Json::array();
    for (const Point& point : line.points) {
      Json json = {{"x", point.x}, {"y", point.y}};
      json.update(point.more);
      points.push_back(std::move(json));
    }
    series.push_back({{"name", line.name}, {"points", points}});
  }
  return {{"figure", figure.name}, {"regions_by", backend},         {"title", figure.title}, {"x", figure.x},
          {"y", figure.y},         {"published", figure.published}, {"here", figure.here},   {"series", series}};
}

void print_figure(const Figure& figure, const std::string& backend) {
  const WrappedOutput wrapped(stdout, 13);
  std::FILE* const out = wrapped.file();
  fmt::print(out, "\n{}: {} ({})\n", figure.name, figure.title, backend);
  if (!figure.here.empty()) fmt::print(out, "  here       {}\n", figure.here);
  fmt::print(out, "  published  {}\n", figure.published);
  fmt::print(out, "  shown      {}\n", figure.y);
  std::map<double, std::vector<std::optional<double>>> rows;
  for (size_t i = 0; i < figure.series.size(); ++i)
    for (const Point& point : figure.series[i].points) {
      auto& row = rows[point.x];
      row.resize(figure.series.size());
      row[i] = point.y;
    }
  // Prints as many series side by side as fit, and the others in further tables below.
  const size_t columns = columns_of(stdout), x_width = std::max<size_t>(figure.x.size(), 10);
  for (size_t first = 0, end = 0; first < figure.series.size(); first = end) {
    size_t used = 2 + x_width;
    const auto width_of = [&](size_t i) { return std::max<size_t>(figure.series[i].name.size(), 8); };
    while (end < figure.series.size() && (end == first || used + 2 + width_of(end) <= columns)) used += 2 + width_of(end++);
    fmt::print(out, "  {:>{}}", figure.x, x_width);
    for (size_t i = first; i < end; ++i) fmt::print(out, "  {:>{}}", figure.series[i].name, width_of(i));
    fmt::print(out, "\n");
    for (const auto& [x, row] : rows) {
      if (std::none_of(row.begin() + static_cast<std::ptrdiff_t>(first), row.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const std::optional<double>& y) { return y.has_value(); }))
        continue;
      fmt::print(out, "  {:>{}.10g}", x, x_width);
      for (size_t i = first; i < end; ++i) fmt::print(out, "  {:>{}}", row[i] ? fmt::format("{:.4g}", *row[i]) : "", width_of(i));
      fmt::print(out, "\n");
    }
  }
}

}  // namespace elider::bench
