// Processors: which ones this process may use, and which of them share a core, as the system tells.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elider::bench {

// Those that this process may use: first one of each core, then the others of each core, in turn.
// So the first n are on as many cores as there are. Where the system does not tell which share a
// core, in the order of their numbers.
std::vector<uint32_t> processors_core_by_core();
// Processors that share a core are adjacent.
std::vector<uint32_t> processors_side_by_side();
uint32_t core_count();
// From lists such as "0,4" or "2-3", one of each processor, of those that share its core.
std::vector<std::vector<uint32_t>> cores_of(const std::vector<uint32_t>& processors, const std::vector<std::string>& siblings);
// Empty if the text is not such a list.
std::vector<uint32_t> parse_processors(std::string_view list);

// Binds the calling thread to it. False: the system refused.
bool bind_thread(uint32_t processor);

}  // namespace elider::bench
