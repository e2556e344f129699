#if defined(ELIDER_EMULATOR)

#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "htm/emulated.h"
#include "txn/chopping/chopped.h"

ELIDER_OF_POLICY(extern, sync::Optimistic)

namespace elider::detail {

template <class Sync>
using ChoppedEmulated = txn::ChoppedProtocol<Sync, htm::Emulated>;

std::unique_ptr<Engine> make_chopped_emulated(const Options& options) {
  return std::make_unique<EngineOf<sync::Optimistic, ChoppedEmulated>>(options, SyncPolicy::kElided, HtmBackend::kEmulated);
}

}  // namespace elider::detail

#endif
