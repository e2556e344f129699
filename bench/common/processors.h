// Finds the processors that this process may use, and which of them share a core.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elider::bench {

// Returns the processors that this process may use: first one of each core, then the second of each
// core, and so on. The first n processors are thus spread over as many cores as possible. If the
// system does not report which processors share a core, the processors are in ascending order.
std::vector<uint32_t> processors_core_by_core();
// Returns the same processors, but with those that share a core next to each other.
std::vector<uint32_t> processors_side_by_side();
uint32_t core_count();
// Groups processors by core. For each processor, `siblings` lists those that share its core, such
// as "0,4" or "2-3".
std::vector<std::vector<uint32_t>> cores_of(const std::vector<uint32_t>& processors, const std::vector<std::string>& siblings);
// Parses such a list. Returns an empty vector if `list` is malformed.
std::vector<uint32_t> parse_processors(std::string_view list);

// Binds the calling thread to the processor. Returns false if the system refuses.
bool bind_thread(uint32_t processor);

}  // namespace elider::bench
