#include "engine/elided_engine.h"
#include "engine/registry.h"

namespace elider::detail {

std::unique_ptr<Engine> make_elided_none(const Options& options) {
  return make_elided<htm::None>(options, HtmBackend::kNone);
}

}  // namespace elider::detail
