// BTree: checks every invariant, and prints the tree. Included by the instantiations only. No other
// thread may change the tree meanwhile.
#pragma once

#include <ostream>
#include <sstream>
#include <string>

#include "base/key_text.h"
#include "index/btree/btree.h"

namespace elider::index {

inline std::ostream& operator<<(std::ostream& out, const SecondaryKey& key) { return out << key.value << '/' << key.primary; }

inline std::ostream& operator<<(std::ostream& out, const ByteKey& key) {
  return out << quoted_key(elider::detail::bytes_of(ref_of(key)).text());
}

template <class Key>
Status btree_damage(const BTreeNode* node, const Key& first, const std::string& words) {
  std::ostringstream message;
  message << "B+-tree: the " << (node->level() == 0 ? "leaf" : "inner node of level " + std::to_string(node->level()))
          << " that covers keys from " << first << ' ' << words;
  return Status(Code::kInvalidArgument, message.str());
}

template <sync::Policy Sync, class KeyType>
Status BTree<Sync, KeyType>::verify() const {
  Census census;
  const Node* const root = root_node();
  if (Status status = verify_node(root, root->level(), Bounds(), census); !status.ok()) return status;
  if (census.entries != size())
    return btree_damage(root, Traits::kMin,
                        "holds " + std::to_string(census.entries) + " entries; " + std::to_string(size()) + " were counted");
  if (census.bytes != static_cast<size_t>(counts_.bytes()))
    return btree_damage(root, Traits::kMin,
                        "has " + std::to_string(census.bytes) + " bytes of nodes; " + std::to_string(counts_.bytes()) + " were counted");
  return {};
}

// Returns what is wrong with the keys of a node, or an empty text. key_at(i) returns key i.
template <class Key, class Bounds, class KeyAt>
std::string damage_of_keys(unsigned count, const Bounds& bounds, const KeyAt& key_at) {
  for (unsigned i = 0; i < count; ++i) {
    if (!bounds.covers(key_at(i))) return "has a key outside its range, at " + std::to_string(i);
    if (i > 0 && !KeyTraits<Key>::less(key_at(i - 1), key_at(i))) return "has keys out of order, at " + std::to_string(i);
  }
  return {};
}

template <sync::Policy Sync, class KeyType>
Status BTree<Sync, KeyType>::verify_node(const Node* node, unsigned level, const Bounds& bounds, Census& census) const {
  const Key& first = bounds.first;
  if (node->level() != level) return btree_damage(node, first, "should be on level " + std::to_string(level));
  const uint64_t word = node->word.read();
  if (sync::VersionWord::locked(word)) return btree_damage(node, first, "is locked");
  if (sync::VersionWord::obsolete(word)) return btree_damage(node, first, "is linked but obsolete");
  if (node != &first_leaf_) census.bytes += bytes_of(node);
  const unsigned count = node->count();
  if (count > (level == 0 ? Leaf::kEntries : Inner::kKeys)) return btree_damage(node, first, "counts " + std::to_string(count) + " keys");
  if (level == 0) return verify_leaf(*static_cast<const Leaf*>(node), bounds, census);

  const Inner* const inner = static_cast<const Inner*>(node);
  const std::string damage = damage_of_keys<Key>(count, bounds, [&](unsigned i) { return inner->key(i); });
  if (!damage.empty()) return btree_damage(node, first, damage);
  if constexpr (Traits::kOwnSeparators) {
    if (const char* const words = inner->damage(rows_); words != nullptr) return btree_damage(node, first, words);
    for (unsigned i = 0; i < count; ++i) census.bytes += bytes_of(inner->key(i).bytes);
  }
  for (unsigned i = 0; i <= count; ++i) {
    const Node* const child = inner->child(i);
    if (!child) return btree_damage(node, first, "lacks a child at " + std::to_string(i));
    Bounds of_child = bounds;
    of_child.narrow(*inner, i, count);
    if (Status status = verify_node(child, level - 1, of_child, census); !status.ok()) return status;
  }
  return {};
}

template <sync::Policy Sync, class KeyType>
Status BTree<Sync, KeyType>::verify_leaf(const Leaf& leaf, const Bounds& bounds, Census& census) const {
  const unsigned count = leaf.count();
  for (unsigned i = 0; i < count; ++i)
    if (leaf.handle(i) == kNoHandle) return btree_damage(&leaf, bounds.first, "lacks a handle at " + std::to_string(i));
  const std::string damage = damage_of_keys<Key>(count, bounds, [&](unsigned i) { return leaf.key(i, rows_); });
  if (!damage.empty()) return btree_damage(&leaf, bounds.first, damage);
  if constexpr (Traits::kOwnSeparators)
    if (const char* const words = leaf.damage(rows_); words != nullptr) return btree_damage(&leaf, bounds.first, words);
  if (count == 0 && &leaf != root_node()) return btree_damage(&leaf, bounds.first, "is empty");
  census.entries += count;
  return {};
}

template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::dump(std::ostream& out) const {
  out << "B+-tree (" << Sync::kName << "), height " << height() << ", " << size() << " entries\n";
  dump_node(root_node(), 0, out);
}

template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::dump_node(const Node* node, unsigned depth, std::ostream& out) const {
  out << std::string(2 * depth, ' ') << (node->level() == 0 ? "leaf" : "inner") << " word " << node->word.read() << ':';
  const unsigned count = node->count();
  if (node->level() == 0) {
    const Leaf* const leaf = static_cast<const Leaf*>(node);
    for (unsigned i = 0; i < count; ++i) out << ' ' << leaf->key(i, rows_) << "->" << leaf->handle(i);
    out << '\n';
    return;
  }
  const Inner* const inner = static_cast<const Inner*>(node);
  for (unsigned i = 0; i < count; ++i) out << ' ' << inner->key(i);
  out << '\n';
  for (unsigned i = 0; i <= count; ++i) dump_node(inner->child(i), depth + 1, out);
}

}  // namespace elider::index
