// The program elider-bench, which `elider bench` executes.
#include <cstdio>
#include <exception>
#include <string>

#include "bench/common/commands.h"
#include "tools/common/environment.h"

namespace elider::bench {
namespace {

int run(int argc, char** argv) {
  Program program("elider bench",
                  "Measure: tpcc, ycsb, compare, durability, heap, history (each with its own --help)",
                  version_line());
  const Command bench = program.root();
  add_tpcc(bench);
  add_ycsb(bench);
  add_compare(bench);
  add_durability(bench);
  add_heap(bench);
  add_history(bench);
  return program.run({argv + 1, argv + argc});
}

}  // namespace
}  // namespace elider::bench

int main(int argc, char** argv) {
  try {
    return elider::bench::flush_output(elider::bench::run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elider: %s\n", error.what());
    return elider::bench::kExitFailed;
  }
}
