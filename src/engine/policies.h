// What depends on the sync policy alone is compiled once a policy, in policies/NAME.cc, whatever
// protocols run on it: the engine's base, and read-only transactions on snapshots, which all
// protocols share. An engine's file (instances/) says so of its policies, and CMakeLists.txt has
// them for it.
// Thread safety: declarations.
#pragma once

#include "engine/engine_base.h"
#include "txn/snapshot_transaction.h"

// linkage: extern, or nothing, where it is compiled.
#define ELIDER_OF_POLICY(linkage, policy)                                               \
  linkage template class elider::detail::EngineBase<elider::policy>;                    \
  linkage template class elider::txn::SnapshotTransaction<elider::policy>;              \
  linkage template class elider::txn::Reads<elider::policy, elider::txn::SnapshotTransaction<elider::policy>>;
