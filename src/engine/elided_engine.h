// The engines under Elided, with the protocols that its regions are measured with: one
// instance of Occ serves them all.
#pragma once

#include <memory>

#include "engine/engine_of.h"
#include "sync/elided.h"
#include "txn/baseline/spinlock.h"
#include "txn/baseline/whole_transaction.h"
#include "txn/occ/occ.h"

namespace elider::detail {

template <class Sync>
using WholeOcc = txn::WholeTransaction<txn::Occ<Sync>>;

// Of the protocol that the options name.
template <htm::Backend B>
std::unique_ptr<Engine> make_elided(const Options& options, HtmBackend htm) {
  using Sync = sync::Elided<B>;
  if (options.protocol == Protocol::kWholeTransaction) return std::make_unique<EngineOf<Sync, WholeOcc>>(options, SyncPolicy::kElided, htm);
  if (options.protocol == Protocol::kSpinlock) return std::make_unique<EngineOf<Sync, txn::Spinlock>>(options, SyncPolicy::kElided, htm);
  return std::make_unique<EngineOf<Sync, txn::Occ>>(options, SyncPolicy::kElided, htm);
}

}  // namespace elider::detail
