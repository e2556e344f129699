// Registers two baselines for one backend of hardware transactions. They are compared with
// transactions that consist of small hardware transactions. WholeTransaction runs each whole
// transaction as one hardware transaction. Spinlock holds a spinlock during commits and reads of
// rows.
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

// Defines the engine `name` on the backend `htm::backend`, which is HtmBackend::kBackend in
// Options.
#define ELIDER_REGION_BASELINES(name, backend, kBackend)                                                            \
  ELIDER_USES_POLICY(sync::Elided<elider::htm::backend>)                                                            \
  ELIDER_ENGINE(name,                                                                                               \
                combination_of<sync::Elided<htm::backend>, WholeOcc, SyncPolicy::kElided, HtmBackend::kBackend>(),  \
                combination_of<sync::Elided<htm::backend>, txn::Spinlock, SyncPolicy::kElided, HtmBackend::kBackend>())
