#include "heap/roots.h"

#include <cxxabi.h>
#include <cstdlib>

#include <algorithm>
#include <memory>

#include "heap/allocator.h"
#include "heap/inside.h"

namespace elider::heap {

using detail::HeapInside;

namespace {

constexpr size_t kNameBytesMax = 255;
constexpr size_t kTypeBytesMax = 4096;

Status check_name(std::string_view name) {
  if (!name.empty() && name.size() <= kNameBytesMax) return {};
  return Status::invalid_argument("root: the name has " + std::to_string(name.size()) + " bytes; it must have 1 to 255");
}

// Returns the demangled name of the type.
std::string readable(const std::string& type) {
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> words(abi::__cxa_demangle(type.c_str(), nullptr, nullptr, &failed), &std::free);
  return failed == 0 && words != nullptr ? std::string(words.get()) : type;
}

std::string text_at(detail::HeapAttempt& attempt, uint64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  attempt.read_bytes(attempt.heap().base() + offset, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

// Must not allocate memory, because that would abort a region, and most transactions begin by
// finding a root.
bool is_text_at(detail::HeapAttempt& attempt, uint64_t offset, std::string_view text) {
  char piece[64];
  for (size_t done = 0; done < text.size(); done += sizeof(piece)) {
    const size_t part = std::min(sizeof(piece), text.size() - done);
    attempt.read_bytes(attempt.heap().base() + offset + done, std::as_writable_bytes(std::span(piece, part)));
    if (std::string_view(piece, part) != text.substr(done, part)) return false;
  }
  return true;
}

RootNode node_at(detail::HeapAttempt& attempt, uint64_t offset) {
  RootNode node;
  attempt.read_bytes(attempt.heap().base() + offset, std::as_writable_bytes(std::span(&node, 1)));
  return node;
}

// Returns the offset of the word that links to the node of this name, or 0 if the name is unknown.
uint64_t link_to(detail::HeapAttempt& attempt, std::string_view name, RootNode* node) {
  uint64_t link = HeapHead::kRootsAt;
  for (uint64_t at = attempt.load_at(link); at != 0; at = node->next) {
    *node = node_at(attempt, at);
    if (node->name_bytes == name.size() && is_text_at(attempt, at + sizeof(RootNode), name)) return link;
    link = at;  // `next` is the node's first word
  }
  return 0;
}

}  // namespace

bool for_each_root(uint32_t threads, uint64_t end, ReadHeap read, FunctionRef<void(uint64_t, const RootNode&)> visit) {
  const uint64_t first = HeapHead::bytes(threads) + kChunkHeadBytes + kBlockHeadBytes;
  const auto may_lie = [&](uint64_t offset, uint64_t bytes) {
    return offset % kWordBytes == 0 && offset >= first && offset <= end && bytes <= end - offset;
  };
  uint64_t at = 0, seen = 0, steps = 0, steps_max = 1;  // a cycle leads back to `seen`
  read(HeapHead::kRootsAt, std::as_writable_bytes(std::span(&at, 1)));
  while (at != 0) {
    RootNode node{};
    if (at == seen || !may_lie(at, sizeof(node))) return false;
    read(at, std::as_writable_bytes(std::span(&node, 1)));
    if (node.name_bytes == 0 || node.name_bytes > kNameBytesMax || node.type_bytes > kTypeBytesMax ||
        !may_lie(at, sizeof(node) + node.name_bytes + node.type_bytes) || !may_lie(node.object, node.object_bytes))
      return false;
    visit(at, node);
    if (++steps == steps_max) {
      seen = at;
      steps = 0;
      steps_max *= 2;
    }
    at = node.next;
  }
  return true;
}

bool list_roots(uint32_t threads, uint64_t end, ReadHeap read, std::vector<HeapRoot>* roots) {
  const auto text = [&](uint64_t offset, size_t bytes) {
    std::string found(bytes, '\0');
    read(offset, std::as_writable_bytes(std::span(found.data(), bytes)));
    return found;
  };
  return for_each_root(threads, end, read, [&](uint64_t at, const RootNode& node) {
    const uint64_t name_at = at + sizeof(RootNode);
    roots->push_back(
        {text(name_at, node.name_bytes), readable(text(name_at + node.name_bytes, node.type_bytes)), node.object_bytes});
  });
}

Status check_no_root(detail::HeapAttempt& attempt, uint64_t offset) {
  HeapInside& heap = attempt.heap();
  if (!heap.root_filter().may_have(offset)) return {};
  const auto read = [&](uint64_t from, std::span<std::byte> into) { attempt.read_bytes(heap.base() + from, into); };
  RootNode found{};
  uint64_t found_at = 0;
  static_cast<void>(for_each_root(heap.geometry().threads, heap.heap_bytes(), read, [&](uint64_t at, const RootNode& node) {
    if (at != offset && node.object != offset) return;
    found_at = at;
    found = node;
  }));
  if (found_at == 0) return {};
  attempt.needs_software();  // a region cannot allocate memory for the message
  const std::string name = text_at(attempt, found_at + sizeof(RootNode), found.name_bytes);
  return Status::invalid_argument("free: the object at offset " + std::to_string(offset) + " is the root '" + name +
                                  "'; call remove_root() instead");
}

Status find_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object) {
  if (Status status = check_name(name); !status.ok()) return status;
  RootNode node;
  const uint64_t link = link_to(attempt, name, &node);
  if (link == 0) return {Code::kNotFound, "the heap does not have a root '" + std::string(name) + "'"};
  const uint64_t at = attempt.load_at(link);
  const uint64_t type_at = at + sizeof(RootNode) + node.name_bytes;
  if (node.type_bytes != type.size() || node.object_bytes != bytes || !is_text_at(attempt, type_at, type)) {
    const std::string its_type = text_at(attempt, type_at, node.type_bytes);
    return {Code::kSchemaMismatch, "the root '" + std::string(name) + "' is a " + readable(its_type) + " of " +
                                       std::to_string(node.object_bytes) + " bytes, not a " + readable(std::string(type)) + " of " +
                                       std::to_string(bytes)};
  }
  *object = node.object;
  return {};
}

Status make_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object) {
  if (type.size() > kTypeBytesMax) return Status::invalid_argument("root: the name of the type has more than 4096 bytes");
  Allocator allocator(attempt);
  uint64_t at = 0;
  if (Status status = allocator.allocate(bytes, object); !status.ok()) return status;
  if (Status status = allocator.allocate(sizeof(RootNode) + name.size() + type.size(), &at); !status.ok()) return status;
  const RootNode node{attempt.load_at(HeapHead::kRootsAt), *object, bytes, static_cast<uint32_t>(name.size()),
                      static_cast<uint32_t>(type.size())};
  std::byte* const memory = attempt.heap().base() + at;
  attempt.write_bytes(memory, std::as_bytes(std::span(&node, 1)));
  attempt.write_bytes(memory + sizeof(node), std::as_bytes(std::span(name)));
  attempt.write_bytes(memory + sizeof(node) + name.size(), std::as_bytes(std::span(type)));
  attempt.store_at(HeapHead::kRootsAt, at);
  attempt.heap().root_filter().add(*object);
  attempt.heap().root_filter().add(at);
  return {};
}

Status remove_root(detail::HeapAttempt& attempt, std::string_view name) {
  if (Status status = check_name(name); !status.ok()) return status;
  RootNode node;
  const uint64_t link = link_to(attempt, name, &node);
  if (link == 0) return {Code::kNotFound, "the heap does not have a root '" + std::string(name) + "'"};
  const uint64_t at = attempt.load_at(link);
  attempt.store_at(link, node.next);
  Allocator allocator(attempt);
  if (Status status = allocator.free(node.object); !status.ok()) return status;
  return allocator.free(at);
}

}  // namespace elider::heap
