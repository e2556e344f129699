#include "engine/elided_engine.h"
#include "engine/policies.h"
#include "engine/registry.h"

ELIDER_OF_POLICY(extern, sync::Elided<elider::htm::None>)

namespace elider::detail {

std::unique_ptr<Engine> make_elided_none(const Options& options) {
  return make_elided<htm::None>(options, HtmBackend::kNone);
}

}  // namespace elider::detail
