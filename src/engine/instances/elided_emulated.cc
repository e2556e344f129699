#if defined(ELIDER_EMULATOR)

#include "engine/elided_engine.h"
#include "engine/registry.h"

namespace elider::detail {

std::unique_ptr<Engine> make_elided_emulated(const Options& options) {
  return make_elided<htm::Emulated>(options, HtmBackend::kEmulated);
}

}  // namespace elider::detail

#endif
