// BTree: checks every invariant, and prints the tree. Included by the instantiations only. No other
// thread may change the tree meanwhile.
#pragma once

#include <ostream>
#include <sstream>
#include <string>

#include "index/btree/btree.h"

namespace elider::index {

inline std::ostream& operator<<(std::ostream& out, const SecondaryKey& key) { return out << key.value << '/' << key.primary; }

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
  if (Status status = verify_node(root, root->level(), Traits::kMin, Traits::kMax, census); !status.ok()) return status;
  if (census.entries != size())
    return btree_damage(root, Traits::kMin,
                        "holds " + std::to_string(census.entries) + " entries; " + std::to_string(size()) + " were counted");
  if (census.bytes != static_cast<size_t>(counts_.bytes()))
    return btree_damage(root, Traits::kMin,
                        "has " + std::to_string(census.bytes) + " bytes of nodes; " + std::to_string(counts_.bytes()) + " were counted");
  return {};
}

template <sync::Policy Sync, class KeyType>
Status BTree<Sync, KeyType>::verify_node(const Node* node, unsigned level, const Key& first, const Key& last, Census& census) const {
  if (node->level() != level) return btree_damage(node, first, "should be on level " + std::to_string(level));
  const uint64_t word = node->word.read();
  if (sync::VersionWord::locked(word)) return btree_damage(node, first, "is locked");
  if (sync::VersionWord::obsolete(word)) return btree_damage(node, first, "is linked but obsolete");
  if (node != &first_leaf_) census.bytes += bytes_of(node);
  const unsigned count = node->count();
  if (count > (level == 0 ? Leaf::kEntries : Inner::kKeys)) return btree_damage(node, first, "counts " + std::to_string(count) + " keys");

  const auto key_at = [&](unsigned i) {
    return level == 0 ? static_cast<const Leaf*>(node)->key(i) : static_cast<const Inner*>(node)->key(i);
  };
  for (unsigned i = 0; i < count; ++i) {
    const Key key = key_at(i);
    if (Traits::less(key, first) || Traits::less(last, key))
      return btree_damage(node, first, "has a key outside its range, at " + std::to_string(i));
    if (i > 0 && !Traits::less(key_at(i - 1), key)) return btree_damage(node, first, "has keys out of order, at " + std::to_string(i));
  }
  if (level == 0) {
    census.entries += count;
    if (count == 0 && node != root_node()) return btree_damage(node, first, "is empty");
    for (unsigned i = 0; i < count; ++i)
      if (static_cast<const Leaf*>(node)->handle(i) == kNoHandle)
        return btree_damage(node, first, "lacks a handle at " + std::to_string(i));
    return {};
  }
  const Inner* const inner = static_cast<const Inner*>(node);
  for (unsigned i = 0; i <= count; ++i) {
    const Node* const child = inner->child(i);
    if (!child) return btree_damage(node, first, "lacks a child at " + std::to_string(i));
    const Key child_first = i == 0 ? first : inner->key(i - 1);
    const Key child_last = i == count ? last : key_before(inner->key(i));
    if (Status status = verify_node(child, level - 1, child_first, child_last, census); !status.ok()) return status;
  }
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
    for (unsigned i = 0; i < count; ++i) out << ' ' << leaf->key(i) << "->" << leaf->handle(i);
    out << '\n';
    return;
  }
  const Inner* const inner = static_cast<const Inner*>(node);
  for (unsigned i = 0; i < count; ++i) out << ' ' << inner->key(i);
  out << '\n';
  for (unsigned i = 0; i <= count; ++i) dump_node(inner->child(i), depth + 1, out);
}

}  // namespace elider::index
