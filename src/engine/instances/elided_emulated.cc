#if defined(ELIDER_EMULATOR)

#include "engine/elided_engine.h"
#include "engine/policies.h"
#include "engine/registry.h"

ELIDER_OF_POLICY(extern, sync::Elided<elider::htm::Emulated>)

namespace elider::detail {

std::unique_ptr<Engine> make_elided_emulated(const Options& options) {
  return make_elided<htm::Emulated>(options, HtmBackend::kEmulated);
}

}  // namespace elider::detail

#endif
