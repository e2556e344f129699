// The file of a durable heap: after a first byte, the input is what the parts of a small heap begin
// with (heap_parts.h). Every fourth first byte leaves the checksums alone; else they are made to
// fit. The heap is checked, opened and used. A refusal names the file, and a check changes nothing.
#include "elider/heap.h"
#include "elider/try.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/fuzz/heap_parts.h"

namespace elider::fuzz {
namespace {

void use(Heap& heap) {
  for (int i = 0; i < 3; ++i)
    static_cast<void>(heap.transaction([](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(auto root, txn.root<uint64_t>("root"));
      txn.write(txn[root], txn.read(txn[root]) + 1);
      ELIDER_ASSIGN(auto small, txn.allocate<uint64_t>(7));
      ELIDER_ASSIGN(auto large, txn.allocate<uint64_t>(7000));
      ELIDER_TRY(txn.free(small));
      return txn.free(large);
    }));
  static_cast<void>(heap.status());
}

void demand_named(const Status& status) {
  demand(status.ok() || status.code() == Code::kMemoryLimit || status.message().find("a.heap") != std::string::npos,
         "a message names the file");
}

}  // namespace
}  // namespace elider::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace elider;
  if (size == 0) return 0;
  std::vector<std::byte> file = fuzz::heap_of(fuzz::bytes_of(data + 1, size - 1));
  if (data[0] % 4 != 3) fuzz::fit_checksums(file);
  io::MemoryFiles files({{fuzz::kHeapPath, file}});
  const io::SubstituteFiles substitute(files);
  const auto checked = Heap::check(fuzz::kHeapPath);
  fuzz::demand_named(checked.status());
  fuzz::demand_named(Heap::status_of(fuzz::kHeapPath).status());
  fuzz::demand(files.contents().at(fuzz::kHeapPath) == file, "looking at a heap changes nothing");
  auto heap = Heap::open(fuzz::kHeapPath, fuzz::heap_options());
  fuzz::demand_named(heap.status());
  fuzz::demand(heap.ok() || !checked.ok() || heap.status().code() == Code::kInvalidArgument, "what the check accepts can be opened");
  if (heap.ok()) fuzz::use(*heap);
  return 0;
}
