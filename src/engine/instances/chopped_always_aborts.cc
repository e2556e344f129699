#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "htm/backend.h"
#include "txn/chopping/chopped.h"

ELIDER_OF_POLICY(extern, sync::Optimistic)

namespace elider::detail {

template <class Sync>
using ChoppedAlwaysAborts = txn::ChoppedProtocol<Sync, htm::AlwaysAborts>;

std::unique_ptr<Engine> make_chopped_always_aborts(const Options& options) {
  return std::make_unique<EngineOf<sync::Optimistic, ChoppedAlwaysAborts>>(options, SyncPolicy::kElided, HtmBackend::kAlwaysAborts);
}

}  // namespace elider::detail
