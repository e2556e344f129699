// The program `elider-lab` runs studies that reproduce the papers' figures.
#include <cstdio>
#include <exception>
#include <string>

#include "lab/commands.h"
#include "tools/common/environment.h"

namespace elider::bench {
namespace {

int run(int argc, char** argv) {
  Program program("elider-lab",
                  "Studies of the papers: protocols, htm, index, scan, articles, tickets, neighbours, elision, and their figures; "
                  "and their options (each has its own --help)",
                  version_line());
  const Command lab = program.root();
  add_protocols(lab);
  add_htm(lab);
  add_index(lab);
  add_scan(lab);
  add_articles(lab);
  add_tickets(lab);
  add_neighbours(lab);
  add_elision(lab);
  add_figures(lab);
  add_options(lab);
  return program.run({argv + 1, argv + argc});
}

}  // namespace
}  // namespace elider::bench

int main(int argc, char** argv) {
  try {
    return elider::bench::flush_output(elider::bench::run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elider-lab: %s\n", error.what());
    return elider::bench::kExitFailed;
  }
}
