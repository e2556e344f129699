#include "bench/htm/figure.h"

#include <map>
#include <optional>

#include <fmt/format.h>

namespace elider::bench::htm {

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

void print(const Figure& figure, const std::string& backend) {
  fmt::print("\n{}: {} ({})\n", figure.name, figure.title, backend);
  if (!figure.here.empty()) fmt::print("  here       {}\n", figure.here);
  fmt::print("  published  {}\n", figure.published);
  std::map<double, std::vector<std::optional<double>>> rows;
  for (size_t i = 0; i < figure.series.size(); ++i)
    for (const Point& point : figure.series[i].points) {
      auto& row = rows[point.x];
      row.resize(figure.series.size());
      row[i] = point.y;
    }
  fmt::print("  {:>24}", figure.x);
  for (const Series& line : figure.series) fmt::print("  {:>24}", line.name);
  fmt::print("   {}\n", figure.y);
  for (const auto& [x, row] : rows) {
    fmt::print("  {:>24.10g}", x);
    for (const std::optional<double>& y : row) fmt::print("  {:>24}", y ? fmt::format("{:.4g}", *y) : "");
    fmt::print("\n");
  }
}

}  // namespace elider::bench::htm
