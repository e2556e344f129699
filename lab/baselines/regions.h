// Two baselines for comparison with small hardware transactions, for one backend. The first runs
// whole transactions as hardware transactions. The second holds a spinlock during commits.
#pragma once

#include "engine/registration.h"
#include "lab/baselines/spinlock.h"
#include "lab/baselines/whole_transaction.h"
#include "sync/elided.h"
#include "txn/occ/occ.h"

namespace elider::detail {
template <class Sync>
using WholeOcc = txn::WholeTransaction<txn::Occ<Sync>>;
}  // namespace elider::detail

// Defines the engine `name` on `backend` of the namespace htm. Options name this backend kBackend.
#define ELIDER_REGION_BASELINES(name, backend, kBackend)                                                            \
  ELIDER_USES_POLICY(sync::Elided<elider::htm::backend>)                                                            \
  ELIDER_ENGINE(name,                                                                                               \
                combination_of<sync::Elided<htm::backend>, WholeOcc, SyncPolicy::kElided, HtmBackend::kBackend>(),  \
                combination_of<sync::Elided<htm::backend>, txn::Spinlock, SyncPolicy::kElided, HtmBackend::kBackend>())
