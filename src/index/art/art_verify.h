// RadixTree: checks every invariant, and prints the tree. Included by the instantiations only. No
// other thread may change the tree meanwhile.
#pragma once

#include <ostream>
#include <sstream>
#include <string>

#include "index/art/art.h"

namespace elider::index {

inline void radix_print(std::ostream& out, uint64_t key) { out << key; }
inline void radix_print(std::ostream& out, const ByteKey& key) {
  constexpr char kDigits[] = "0123456789abcdef";
  out << '"';
  for (uint32_t i = 0; i < key.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(key.bytes->data()[i]);
    if (byte >= ' ' && byte < 127 && byte != '"' && byte != '\\') out << static_cast<char>(byte);
    else out << "\\x" << kDigits[byte >> 4] << kDigits[byte & 15];
  }
  out << '"';
}

inline const char* radix_name(RadixKind kind) {
  switch (kind) {
    case RadixKind::kNode4: return "node 4";
    case RadixKind::kNode16: return "node 16";
    case RadixKind::kNode48: return "node 48";
    case RadixKind::kNode256: return "node 256";
    default: return "unknown node";
  }
}

template <class Traits>
Status radix_damage(RadixRef node, const std::string& words) {
  std::ostringstream message;
  typename Traits::Buffer buffer;
  message << "radix tree: the " << radix_name(node.kind()) << " of depth " << node.depth() << " whose first key is ";
  radix_print(message, Traits::template first_of<RadixNode<Traits>>(node, buffer));
  message << ' ' << words;
  return Status(Code::kInvalidArgument, message.str());
}

template <sync::Policy Sync, class KeyType>
Status RadixTree<Sync, KeyType>::verify() const {
  Census census;
  if (Status status = verify_node(root(), census); !status.ok()) return status;
  if (census.entries != size())
    return radix_damage<Traits>(root(),
                                "leads to " + std::to_string(census.entries) + " entries; " + std::to_string(size()) + " were counted");
  if (census.bytes != static_cast<size_t>(counts_.bytes()))
    return radix_damage<Traits>(root(), "leads to " + std::to_string(census.bytes) + " bytes; " + std::to_string(counts_.bytes()) +
                                            " were counted");
  return {};
}

template <sync::Policy Sync, class KeyType>
Status RadixTree<Sync, KeyType>::verify_node(RadixRef node, Census& census) const {
  const uint64_t word = as_node(node)->word.read();
  if (sync::VersionWord::locked(word)) return radix_damage<Traits>(node, "is locked");
  if (sync::VersionWord::obsolete(word)) return radix_damage<Traits>(node, "is linked but obsolete");
  if (node != root()) {
    census.bytes += bytes_of(node);
    ++census.nodes[static_cast<size_t>(node.kind()) - static_cast<size_t>(RadixKind::kNode4)];
    if (as_node(node)->entries() < 2) return radix_damage<Traits>(node, "has fewer than two entries");
  }
  unsigned count = 0;
  int before = kEnd - 1;
  for (int at = radix_next<Traits>(node, kEnd); at < 256; before = at, at = radix_next<Traits>(node, at + 1)) {
    if (radix_previous<Traits>(node, at - 1) != before)
      return radix_damage<Traits>(node, "does not record the entry before byte " + std::to_string(at));
    if (Status status = verify_entry(node, at, census); !status.ok()) return status;
    if (at != kEnd) ++count;
  }
  if (count != as_node(node)->count())
    return radix_damage<Traits>(node, "has " + std::to_string(count) + " bytes but counts " + std::to_string(as_node(node)->count()));
  return {};
}

template <sync::Policy Sync, class KeyType>
Status RadixTree<Sync, KeyType>::verify_entry(RadixRef node, int at, Census& census) const {
  const std::string name = at == kEnd ? "the end" : "byte " + std::to_string(at);
  const Entry entry = radix_entry<Traits>(node, at);
  if (entry.empty()) return radix_damage<Traits>(node, "lacks an entry at " + name);
  if (Traits::is_leaf(entry, node.depth(), at)) {
    const Key key = Traits::key_of(entry);
    if (Traits::handle(entry) == kNoHandle) return radix_damage<Traits>(node, "lacks a handle at " + name);
    if (!leads_to(key, node) || Traits::position(key, node.depth()) != at)
      return radix_damage<Traits>(node, "holds a key of another node at " + name);
    ++census.entries;
    if constexpr (Traits::kBytes) census.bytes += RadixLeaf::bytes_for(entry.leaf()->key.size);
    return {};
  }
  const RadixRef child = entry.child();
  typename Traits::Buffer buffer;
  const Key first = Traits::template first_of<Node>(child, buffer);
  if (child.depth() <= node.depth() || !leads_to(first, node) || Traits::position(first, node.depth()) != at)
    return radix_damage<Traits>(node, "holds a child of another node at " + name);
  return verify_node(child, census);
}

template <sync::Policy Sync, class KeyType>
std::array<size_t, 4> RadixTree<Sync, KeyType>::nodes_by_kind() const {
  Census census;
  static_cast<void>(verify_node(root(), census));
  return census.nodes;
}

template <sync::Policy Sync, class KeyType>
void RadixTree<Sync, KeyType>::dump(std::ostream& out) const {
  out << "radix tree (" << Sync::kName << "), " << size() << " entries\n";
  dump_node(root(), 0, out);
}

template <sync::Policy Sync, class KeyType>
void RadixTree<Sync, KeyType>::dump_node(RadixRef node, unsigned depth, std::ostream& out) const {
  out << std::string(2 * depth, ' ') << radix_name(node.kind()) << " depth " << node.depth();
  out << " word " << as_node(node)->word.read() << ':';
  for (int at = radix_next<Traits>(node, kEnd); at < 256; at = radix_next<Traits>(node, at + 1)) {
    const Entry entry = radix_entry<Traits>(node, at);
    if (!Traits::is_leaf(entry, node.depth(), at)) continue;
    out << ' ';
    radix_print(out, Traits::key_of(entry));
    out << "->" << Traits::handle(entry);
  }
  out << '\n';
  for (int at = radix_next<Traits>(node, kEnd); at < 256; at = radix_next<Traits>(node, at + 1)) {
    const Entry entry = radix_entry<Traits>(node, at);
    if (!Traits::is_leaf(entry, node.depth(), at)) dump_node(entry.child(), depth + 1, out);
  }
}

}  // namespace elider::index
