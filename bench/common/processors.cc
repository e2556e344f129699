#include "bench/common/processors.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include <fmt/format.h>

namespace elider::bench {

namespace {

std::vector<uint32_t> allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<uint32_t> processors;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return processors;
  for (uint32_t processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  return processors;
}

std::vector<std::vector<uint32_t>> allowed_cores() {
  const std::vector<uint32_t> processors = allowed_processors();
  std::vector<std::string> siblings;
  for (const uint32_t processor : processors) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
    std::getline(file, siblings.emplace_back());
  }
  return cores_of(processors, siblings);
}

}  // namespace

std::vector<uint32_t> parse_processors(std::string_view list) {
  std::vector<uint32_t> processors;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    uint32_t first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) return {};
    uint32_t last = first;
    if (read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || last < first || last - first >= CPU_SETSIZE) return {};
    for (uint32_t processor = first; processor <= last; ++processor) processors.push_back(processor);
    at = read.ptr;
    if (at == end) break;
    if (*at++ != ',' || at == end) return {};
  }
  return processors;
}

std::vector<std::vector<uint32_t>> cores_of(const std::vector<uint32_t>& processors, const std::vector<std::string>& siblings) {
  std::vector<std::vector<uint32_t>> cores;
  for (size_t i = 0; i < processors.size(); ++i) {
    const std::vector<uint32_t> sharing = parse_processors(siblings[i]);
    const auto core = std::find_if(cores.begin(), cores.end(), [&](const std::vector<uint32_t>& one) {
      return std::find(sharing.begin(), sharing.end(), one.front()) != sharing.end();
    });
    if (core != cores.end())
      core->push_back(processors[i]);
    else
      cores.push_back({processors[i]});
  }
  return cores;
}

std::vector<uint32_t> processors_core_by_core() {
  const std::vector<std::vector<uint32_t>> cores = allowed_cores();
  std::vector<uint32_t> processors;
  for (size_t i = 0, added = 1; added != 0; ++i) {
    added = 0;
    for (const std::vector<uint32_t>& core : cores)
      if (i < core.size()) processors.push_back(core[i]), ++added;
  }
  return processors;
}

std::vector<uint32_t> processors_side_by_side() {
  std::vector<uint32_t> processors;
  for (const std::vector<uint32_t>& core : allowed_cores()) processors.insert(processors.end(), core.begin(), core.end());
  return processors;
}

uint32_t core_count() { return static_cast<uint32_t>(allowed_cores().size()); }

bool bind_thread(uint32_t processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof(one), &one) == 0;
}

}  // namespace elider::bench
