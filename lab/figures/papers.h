// Papers: lists, for each paper, the figures that `elider-lab figures` can measure.
// docs/lab/papers.md describes the papers and their figures. Thread safety: all functions return
// constants or new strings.
#pragma once

#include <span>
#include <string>

namespace elider::bench::papers {

struct PaperFigure {
  const char* number;  // the paper's number or numbers: "5", "1, 18, 20", "table 1", "section 6.2"
  const char* name;    // in the JSON documents (bench/common/figure.h)
  const char* study;   // the command that measures it, with options: of elider-lab or, for the heap, of elider bench
};

struct Paper {
  const char* name;  // the paper's name on the command line
  const char* title;
  std::span<const PaperFigure> figures;
};
std::span<const Paper> all();

// Returns the figure's name in headings: "Figure 5", "Figures 1, 18, 20", "Table 1", "Section 6.2".
std::string label_of(const PaperFigure& figure);

// Returns true if `name` is our name of the figure or one of its numbers in the paper.
bool is_called(const PaperFigure& figure, const std::string& name);

// Returns the command line that measures a figure. If `file` is not empty, the command writes the
// result to this file as JSON. `program` is the path of the program elider.
std::string command_of(const PaperFigure& figure, const std::string& program, const std::string& file, bool quick);

}  // namespace elider::bench::papers
