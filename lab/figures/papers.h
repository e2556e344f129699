// Papers: the figures of each paper that a command can measure (`elider-lab figures`).
// docs/lab/papers.md describes the papers and their figures. Thread safety: constants.
#pragma once

#include <span>
#include <string>

namespace elider::bench::papers {

struct PaperFigure {
  const char* number;  // in the paper: "5", "1, 18, 20", "table 1", "section 6.2"
  const char* name;    // in the JSON documents (bench/common/figure.h)
  const char* study;   // name and options of the study in elider-lab or, for the heap, in elider bench
};

struct Paper {
  const char* name;  // the paper's name on the command line
  const char* title;
  std::span<const PaperFigure> figures;
};
std::span<const Paper> all();

// The figure's name in a heading: "Figure 5", "Figures 1, 18, 20", "Table 1", "Section 6.2".
std::string label_of(const PaperFigure& figure);

// Returns true if `name` is our name of the figure or one of its numbers in the paper.
bool is_called(const PaperFigure& figure, const std::string& name);

// The command that measures a figure. It writes the document to `file`, unless `file` is empty.
std::string command_of(const PaperFigure& figure, const std::string& program, const std::string& file, bool quick);

}  // namespace elider::bench::papers
