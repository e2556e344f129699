// What depends on the sync policy alone is compiled once for each policy, in policies/NAME.cc: the
// engine's base, read-only transactions on snapshots, the reclamation of rows and the lookups of
// groups. All protocols share it. The file of an engine names its policies with
// ELIDER_USES_POLICY; its registration tells CMake which files they need.
// Thread safety: declarations.
#pragma once

#include "engine/engine_base.h"
#include "index/policies.h"
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

// Used in a file that compiles an engine of the policy.
#define ELIDER_USES_POLICY(policy)         \
  ELIDER_INDEXES_OF_POLICY(extern, policy) \
  ELIDER_OF_POLICY(extern, policy)
// Used in the file that compiles the parts that the engines of the policy share.
#define ELIDER_COMPILES_POLICY(policy)     \
  ELIDER_INDEXES_OF_POLICY(extern, policy) \
  ELIDER_OF_POLICY(, policy)
