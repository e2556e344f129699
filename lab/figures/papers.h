// Papers: the figures of each paper that a command measures (`elider-lab figures`). The text
// about papers and figures is in docs/lab/papers.md. Thread safety: constants.
#pragma once

#include <span>
#include <string>

namespace elider::bench::papers {

struct PaperFigure {
  const char* number;  // in the paper: "5", "1, 18, 20", "table 1", "section 6.2"
  const char* name;    // in the JSON documents (bench/common/figure.h)
  const char* study;   // of elider-lab, or of elider bench for the heap, with its options
};

struct Paper {
  const char* name;  // on the command line
  const char* title;
  std::span<const PaperFigure> figures;
};
std::span<const Paper> all();

// "Figure 5", "Figures 1, 18, 20", "Table 1", "Section 6.2": how a heading names it.
std::string label_of(const PaperFigure& figure);

// Whether `name` is our name of the figure, or one of its numbers in the paper.
bool is_called(const PaperFigure& figure, const std::string& name);

// The command that measures a figure and writes its document to `file`, unless that is empty.
std::string command_of(const PaperFigure& figure, const std::string& program, const std::string& file, bool quick);

}  // namespace elider::bench::papers
