#include "lab/figures/measured.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/common/report.h"

namespace elider::bench {

namespace {

// Formats a value with three significant digits, and with K, M or G if it is large.
std::string digits_of(double value) { return value < 1000 ? fmt::format("{:.3g}", value) : short_number(value); }

double number_in(const Json& point, const char* name) {
  return point.is_object() && point.contains(name) && point[name].is_number() ? point[name].get<double>() : 0;
}

// Returns true if the x axis numbers the columns of a table, as in "1 read, 2 written".
bool names_columns(const std::string& x) { return x.starts_with("1 "); }

// Returns the header of a table whose series have these points.
std::string head_of(const std::string& x, const Json& points) {
  std::vector<std::string> cells;
  if (names_columns(x)) {
    cells.push_back("");
    for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 2) {
      end = x.find(", ", begin);
      const std::string column = x.substr(begin, end == std::string::npos ? end : end - begin);
      cells.push_back(column.substr(column.find(' ') + 1));
    }
  } else if (points.size() == 1) {
    cells = {"", "value"};
  } else {
    cells = {x, fmt::format("{:g}", number_in(points.front(), "x")), fmt::format("{:g}", number_in(points.back(), "x"))};
  }
  std::string rule = "|";
  for (size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return fmt::format("| {} |\n{}\n", fmt::join(cells, " | "), rule);
}

std::string row_of(const std::string& x, const Json& line) {
  const Json& points = line["points"];
  std::vector<std::string> cells = {text_in(line, "name")};
  for (size_t i = 0; i < points.size(); ++i)
    if (names_columns(x) || i == 0 || i + 1 == points.size()) cells.push_back(digits_of(number_in(points[i], "y")));
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

// Replaces the text between each pair of the figure's markers in *text, which is the contents of
// `file`. Sets *replaced to true if there is a pair.
Status replace_places(const std::string& file, const std::string& name, const std::string& markdown, std::string* text, bool* replaced) {
  const std::string begin_mark = fmt::format("<!-- measured {} -->\n", name), end_mark = fmt::format("<!-- end of {} -->\n", name);
  for (size_t at = text->find(begin_mark); at != std::string::npos; at = text->find(begin_mark, at)) {
    at += begin_mark.size();
    const size_t end = text->find(end_mark, at);
    if (end == std::string::npos)
      return Status::invalid_argument(fmt::format("'{}': the marker '<!-- end of {} -->' is missing", file, name));
    text->replace(at, end - at, markdown);
    *replaced = true;
  }
  return {};
}

}  // namespace

std::string text_in(const Json& figure, const char* key) {
  return figure.contains(key) && figure[key].is_string() ? figure[key].get<std::string>() : "";
}

Result<Measured> read_documents(const std::vector<std::string>& files) {
  Measured measured;
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) return Status(Code::kIoError, fmt::format("'{}' cannot be read", file));
    const Json document = Json::parse(in, nullptr, false);
    if (document.is_discarded() || !document.is_object() || !document.contains("figures") || !document["figures"].is_array())
      return Status::invalid_argument(
          fmt::format("'{}' is not a document of figures; expected a file that elider-lab protocols, elider-lab htm or elider bench heap "
                      "--figure wrote with --json", file));
    const Json configuration = document.value("configuration", Json::object());
    const bool quick = configuration.is_object() && configuration.value("quick", Json()) == Json(true);
    const std::string commit = text_in(configuration, "commit");
    for (const Json& figure : document["figures"]) {
      const bool whole = figure.is_object() && figure.value("figure", Json()).is_string() && figure.value("series", Json()).is_array();
      if (!whole) return Status::invalid_argument(fmt::format("'{}': a figure does not have a name and a list of series", file));
      measured[figure["figure"].get<std::string>()] = {figure, quick, commit.empty() ? "unknown" : commit};
    }
  }
  return measured;
}

std::string markdown_of(const MeasuredFigure& measured, const std::string& command) {
  const Json& figure = measured.figure;
  const std::string x = text_in(figure, "x");
  std::string markdown, head;
  for (const Json& line : figure["series"]) {
    if (!line.is_object() || !line.contains("points") || !line["points"].is_array() || line["points"].empty()) continue;
    if (std::string own_head = head_of(x, line["points"]); own_head != head) {
      markdown += (head.empty() ? "" : "\n") + own_head;
      head = std::move(own_head);
    }
    markdown += row_of(x, line);
  }
  return markdown +
         fmt::format("\nUnit: {}. Measured with `{}` ({}; commit {}).\n", text_in(figure, "y"), command, text_in(figure, "regions_by"),
                     measured.commit);
}

Status merge_into(const std::string& file, const std::vector<const papers::PaperFigure*>& figures, const Measured& measured) {
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return Status(Code::kIoError, fmt::format("'{}' cannot be read", file));
  bool replaced = false;
  for (const papers::PaperFigure* figure : figures) {
    const auto found = measured.find(figure->name);
    if (found == measured.end()) continue;
    const std::string markdown = markdown_of(found->second, papers::command_of(*figure, "elider", "", found->second.quick));
    if (Status status = replace_places(file, figure->name, markdown, &text, &replaced); !status.ok()) return status;
  }
  if (!replaced)
    return Status::invalid_argument(
        fmt::format("'{}' does not have markers (<!-- measured NAME -->) for any of the measured figures", file));
  std::ofstream out(file);
  out << text;
  out.flush();
  return out ? Status() : Status(Code::kIoError, fmt::format("'{}' cannot be written", file));
}

}  // namespace elider::bench
