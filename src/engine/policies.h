// Code that depends only on the sync policy is compiled once per policy, in policies/NAME.cc:
// tables, read-only transactions on snapshots, and the lookups of groups. All protocols share this
// code. An engine's file names its policies with ELIDER_USES_POLICY. The engine's registration
// tells CMake which policy files the engine needs.
// Thread safety: this header contains only declarations.
#pragma once

#include "index/policies.h"
#include "txn/make_table.h"
#include "txn/snapshot_transaction.h"
#include "txn/touched_rows.h"

// `linkage` is `extern` in files that use the code, and empty in the file that compiles the code.
#define ELIDER_OF_POLICY(linkage, policy)                                                                                         \
  linkage template class elider::txn::SnapshotTransaction<elider::policy>;                                                        \
  linkage template class elider::txn::Reads<elider::policy, elider::txn::SnapshotTransaction<elider::policy>>;                    \
  linkage template std::unique_ptr<elider::txn::AnyTable> elider::txn::make_table<elider::policy>(                                 \
      const elider::Schema&, uint32_t, const elider::txn::Store&, uint32_t);                                                      \
  linkage template void elider::txn::TouchedRows::find<elider::policy>(uint64_t, std::span<const elider::detail::Touch>);

// Used in each file that compiles an engine of this policy.
#define ELIDER_USES_POLICY(policy)         \
  ELIDER_INDEXES_OF_POLICY(extern, policy) \
  ELIDER_OF_POLICY(extern, policy)
// Used in the file that compiles the code which all engines of this policy share.
#define ELIDER_COMPILES_POLICY(policy)     \
  ELIDER_INDEXES_OF_POLICY(extern, policy) \
  ELIDER_OF_POLICY(, policy)
