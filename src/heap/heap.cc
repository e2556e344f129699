#include "elider/heap.h"

#include <new>
#include <system_error>

#include "base/fork.h"
#include "heap/allocator.h"
#include "heap/inside.h"
#include "heap/roots.h"

namespace elider {

std::string_view name_of(HeapIsolation isolation) {
  switch (isolation) {
    case HeapIsolation::kSerializable: return "serializable";
    case HeapIsolation::kSnapshot: return "snapshot";
  }
  return "?";
}
std::string_view name_of(HeapMedium medium) {
  switch (medium) {
    case HeapMedium::kFile: return "file";
    case HeapMedium::kDax: return "dax";
    case HeapMedium::kDelay: return "delay";
  }
  return "?";
}
std::string_view name_of(HeapDurability durability) {
  switch (durability) {
    case HeapDurability::kWait: return "wait";
    case HeapDurability::kLater: return "later";
  }
  return "?";
}
std::string_view name_of(HeapWait wait) {
  switch (wait) {
    case HeapWait::kPruned: return "pruned";
    case HeapWait::kTotal: return "total";
    case HeapWait::kOwn: return "own";
  }
  return "?";
}

void HeapReader::read_bytes(const void* place, std::span<std::byte> into) const {
  if (plain_)
    std::memcpy(into.data(), place, into.size());
  else
    attempt_.read_bytes(place, into);
}
HeapFootprint HeapTransaction::footprint() const { return attempt_.footprint(); }
Status HeapReader::find_root(std::string_view name, std::string_view type, size_t bytes, uint64_t* offset) const {
  return heap::find_root(attempt_, name, type, bytes, offset);
}

void HeapTransaction::write_bytes(void* place, std::span<const std::byte> bytes) { attempt_.write_bytes(place, bytes); }
void HeapTransaction::claim_bytes(const void* place, size_t bytes) { attempt_.claim_bytes(place, bytes); }
Status HeapTransaction::allocate_bytes(uint64_t bytes, uint64_t* offset) { return heap::Allocator(attempt_).allocate(bytes, offset); }
Status HeapTransaction::free_bytes(uint64_t offset) { return heap::Allocator(attempt_).free(offset); }
Status HeapTransaction::find_or_make_root(std::string_view name, std::string_view type, size_t bytes, uint64_t* offset) {
  const Status found = heap::find_root(attempt_, name, type, bytes, offset);
  return found.not_found() ? heap::make_root(attempt_, name, type, bytes, offset) : found;
}
Status HeapTransaction::remove_root(std::string_view name) { return heap::remove_root(attempt_, name); }

void detail::EndHeap::operator()(HeapInside* heap) const {
  if (!heap->in_child()) {
    delete heap;
    return;
  }
  heap->abandon();
  keep_until_exit(heap);
}

Heap::Heap() = default;
Heap::Heap(Heap&&) noexcept = default;
Heap& Heap::operator=(Heap&&) noexcept = default;
Heap::~Heap() = default;
Heap::Heap(std::unique_ptr<detail::HeapInside> inside) : inside_(inside.release()) {}

Result<Heap> Heap::open(const std::string& path, uint64_t bytes, const HeapOptions& options) {
  std::unique_ptr<detail::HeapInside> inside;
  try {
    if (Status status = detail::HeapInside::open(path, bytes, options, &inside); !status.ok()) return status;
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  } catch (const std::system_error& error) {
    return Status(Code::kMemoryLimit, "cannot start the thread that replays the log of '" + path + "': " + error.what());
  }
  return Heap(std::move(inside));
}

Result<Heap> Heap::open(const std::string& path, const HeapOptions& options) { return open(path, heap::kBytesMin, options); }

Status Heap::usable() const {
  if (inside_ == nullptr) return Status::invalid_argument("the heap is not open");
  return inside_->in_child() ? opened_before_fork("heap") : Status();
}

Status Heap::run(FunctionRef<Status(HeapTransaction&)> procedure) {
  Status status = usable();
  return status.ok() ? inside_->run(procedure) : status;
}
Status Heap::run_reader(FunctionRef<Status(HeapReader&)> procedure) {
  Status status = usable();
  return status.ok() ? inside_->read(procedure) : status;
}
Status Heap::persist() {
  Status status = usable();
  return status.ok() ? inside_->persist() : status;
}
Status Heap::replay() {
  Status status = usable();
  return status.ok() ? inside_->replay() : status;
}
HeapStatus Heap::status() const { return usable().ok() ? inside_->status() : HeapStatus(); }

}  // namespace elider
