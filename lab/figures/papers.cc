#include "lab/figures/papers.h"

#include <string_view>

#include <fmt/format.h>

namespace elider::bench::papers {

namespace {

constexpr PaperFigure kDbx[] = {
    {"1a", "dbx-1a", "htm"},
    {"1b", "dbx-1b", "htm"},
    {"1c", "dbx-1c", "htm"},
    {"1d", "dbx-1d", "htm"},
    {"5", "dbx-5", "protocols"},
    {"6", "dbx-6", "protocols"},
    {"section 6.2", "dbx-6.2", "protocols"},
    {"7", "dbx-7", "protocols"},
    {"8", "dbx-8", "protocols"},
    {"9", "dbx-9", "htm"},
    {"10", "dbx-10", "htm"},
    {"11", "dbx-11", "protocols"},
    {"12", "dbx-12", "protocols"},
    {"13", "dbx-13", "protocols"},
    {"14", "dbx-14", "protocols"},
    {"15", "dbx-15", "htm"},
    {"16", "dbx-16", "protocols"},
    {"17", "dbx-17", "protocols"},
};

constexpr PaperFigure kYdb[] = {
    {"table", "ydb", "protocols"},
};

constexpr PaperFigure kHyper[] = {
    {"1, 18, 20", "hyper-18", "protocols"},
    {"18, 20", "hyper-20", "protocols"},
    {"5", "hyper-5", "htm"},
    {"6", "hyper-6", "htm"},
    {"8, 9", "hyper-9", "htm"},
    {"11", "hyper-11", "protocols"},
    {"12", "hyper-12", "protocols"},
    {"16", "zones", "protocols"},
    {"19", "hyper-19", "protocols"},
    {"21", "hyper-21", "htm"},
    {"section 6.1", "restarts", "protocols"},
    {"section 6.1", "warehouses", "protocols"},
    {"section 6.2", "hyper-6.2", "protocols"},
};

constexpr PaperFigure kDbxTc[] = {
    {"1a", "dbx-1a", "htm"},
    {"1b", "dbx-tc-1b", "htm"},
    {"1c", "dbx-tc-1c", "htm"},
    {"table 1", "dbx-tc-table-1", "htm --htm emulated"},
    {"12", "dbx-tc-12", "protocols"},
    {"13a", "dbx-tc-13a", "protocols"},
    {"13b", "dbx-tc-13b", "protocols"},
    {"13c", "dbx-tc-13c", "protocols"},
    {"14", "dbx-tc-14", "protocols"},
    {"15", "dbx-tc-15", "protocols"},
};

constexpr PaperFigure kDumbo[] = {
    {"1", "dumbo-1", "heap"},
    {"4", "dumbo-4", "heap"},
    {"table 1", "dumbo-table-1", "heap"},
    {"6", "dumbo-6", "heap"},
    {"7", "dumbo-7", "heap"},
    {"8", "dumbo-8", "heap"},
    {"9", "dumbo-9", "heap"},
};

constexpr Paper kPapers[] = {
    {"dbx", "DBX", kDbx}, {"ydb", "yDB", kYdb}, {"hyper", "HyPer-HTM", kHyper}, {"dbx-tc", "DBX-TC", kDbxTc}, {"dumbo", "DUMBO", kDumbo},
};

}  // namespace

std::span<const Paper> all() { return kPapers; }

std::string label_of(const PaperFigure& figure) {
  const std::string number = figure.number;
  if (number.starts_with("table")) return "T" + number.substr(1);
  if (number.starts_with("section")) return "S" + number.substr(1);
  return (number.find(',') == std::string::npos ? "Figure " : "Figures ") + number;
}

bool is_called(const PaperFigure& figure, const std::string& name) {
  return name == figure.name || fmt::format(", {}, ", figure.number).find(fmt::format(", {}, ", name)) != std::string::npos;
}

std::string command_of(const PaperFigure& figure, const std::string& program, const std::string& file, bool quick) {
  const std::string json = file.empty() ? "" : " --json " + file;
  const bool of_the_heap = std::string_view(figure.study).starts_with("heap");
  return fmt::format("{}{} {} --figure {}{}{}", program, of_the_heap ? " bench" : "-lab", figure.study, figure.name, json,
                     quick ? " --quick" : "");
}

}  // namespace elider::bench::papers
