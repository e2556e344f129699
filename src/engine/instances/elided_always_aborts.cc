#include "engine/elided_engine.h"
#include "engine/policies.h"
#include "engine/registry.h"

ELIDER_OF_POLICY(extern, sync::Elided<elider::htm::AlwaysAborts>)

namespace elider::detail {

std::unique_ptr<Engine> make_elided_always_aborts(const Options& options) {
  return make_elided<htm::AlwaysAborts>(options, HtmBackend::kAlwaysAborts);
}

}  // namespace elider::detail
