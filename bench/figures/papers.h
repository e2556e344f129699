// Papers: which section of a paper stands in which file here, and which of its figures which
// command makes again (`elider bench figures`). It measures nothing. Thread safety: constants.
#pragma once

#include <span>

namespace elider::bench::papers {

struct Section {
  const char* number;
  const char* what;
  const char* where;    // files
  const char* differs;  // from the paper, and why; "": nothing
};

struct PaperFigure {
  const char* number;
  const char* what;
  const char* name;       // of a figure in the documents of `command` (bench/common/figure.h); "": none is measured
  const char* command;    // or where what it shows is to be found
  const char* published;  // "": as the measured figure says
  const char* differs;
};

struct Paper {
  const char* name;  // on the command line
  const char* title;
  std::span<const Section> sections;
  std::span<const PaperFigure> figures;
};
std::span<const Paper> all();

}  // namespace elider::bench::papers
