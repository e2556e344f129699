// PersistentHeap: a heap of HeapMedium::kDax on a model of persistent memory (persistent_memory.h).
// Thread safety: the heap's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "elider/heap.h"
#include "tests/support/memory_files.h"
#include "tests/heap/defaults.h"
#include "tests/heap/persistent_memory.h"
#include "tests/support/status_matchers.h"
namespace elider::test {

inline io::MemoryFiles::Contents file_of(std::vector<std::byte> bytes) { return {{kPath, std::move(bytes)}}; }

// A heap on a model that begins with these contents; the heap first, since the others are under it.
struct PersistentHeap {
  explicit PersistentHeap(std::vector<std::byte> contents, const HeapOptions& options)
      : files(contents.empty() ? io::MemoryFiles::Contents() : file_of(contents)),
        substitute_files(files),
        substitute_medium([this](std::unique_ptr<io::File> file) {
          uint64_t bytes = 0;
          size_t count = 0;
          EXPECT_OK(file->size(&bytes));
          before.resize(bytes);
          EXPECT_OK(file->read_at(0, before, &count));
          memory = std::make_unique<PersistentMemory>(before);
          return std::make_unique<PersistentMedium>(*memory);
        }),
        heap(Heap::open(kPath, 1 << 20, options)) {}

  io::MemoryFiles files;
  const io::SubstituteFiles substitute_files;
  std::vector<std::byte> before;  // what the memory begins with, durable
  std::unique_ptr<PersistentMemory> memory;
  const heap::SubstituteMedium substitute_medium;
  Result<Heap> heap;
};

}  // namespace elider::test
