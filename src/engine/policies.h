// What depends on the sync policy alone is compiled once a policy, in policies/NAME.cc, whatever
// protocols run on it: the engine's base, read-only transactions on snapshots, the reclaiming of
// rows and the lookups of groups, which all protocols share. An engine's file (instances/) says so
// of its policies, and CMakeLists.txt has them for it.
// Thread safety: declarations.
#pragma once

#include "engine/engine_base.h"
#include "txn/reclaim.h"
#include "txn/snapshot_transaction.h"
#include "txn/touched_rows.h"

// linkage: extern, or nothing, where it is compiled.
#define ELIDER_OF_POLICY(linkage, policy)                                                                                         \
  linkage template class elider::detail::EngineBase<elider::policy>;                                                              \
  linkage template class elider::txn::SnapshotTransaction<elider::policy>;                                                        \
  linkage template class elider::txn::Reads<elider::policy, elider::txn::SnapshotTransaction<elider::policy>>;                    \
  linkage template void elider::txn::TouchedRows::find<elider::policy>(uint64_t, std::span<const elider::detail::Touch>);      \
  linkage template void elider::txn::retire_row<elider::policy>(elider::Worker&, elider::txn::Table<elider::policy>&,             \
                                                                elider::storage::Row*, elider::detail::KeyRef, uint64_t);         \
  linkage template void elider::txn::unlink_row_now<elider::policy>(elider::Worker&, elider::txn::Table<elider::policy>&,         \
                                                                    elider::storage::Row*, elider::detail::KeyRef, uint64_t);     \
  linkage template void elider::txn::retire_entry<elider::policy>(elider::Worker&, elider::txn::Table<elider::policy>&,           \
                                                                  elider::storage::Row*, elider::detail::KeyRef, uint32_t, uint64_t);
