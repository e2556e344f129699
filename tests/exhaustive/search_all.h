// search_all(): an exhaustive search of all interleavings of a few processes, in atomic steps.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace elider::models {

struct SearchResult {
  uint64_t states = 0;
  std::string violation;  // empty: none
};

// All interleavings of a state's processes: step(state, process, &next) says false where it must
// wait. A state is compared by its bytes.
template <class State, class Step, class Wrong>
SearchResult search_all(const State& first, int processes, Step&& step, Wrong&& wrong) {
  const auto less = [](const State& a, const State& b) { return std::memcmp(&a, &b, sizeof(State)) < 0; };
  std::set<State, decltype(less)> seen(less);
  std::vector<State> open{first};
  seen.insert(first);
  SearchResult result;
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    ++result.states;
    if (result.violation = wrong(state); !result.violation.empty()) return result;
    for (int process = 0; process < processes; ++process) {
      State next = state;
      if (step(next, process) && seen.insert(next).second) open.push_back(next);
    }
  }
  return result;
}

}  // namespace elider::models
