#include "engine/elided_engine.h"
#include "engine/registry.h"

namespace elider::detail {

std::unique_ptr<Engine> make_elided_always_aborts(const Options& options) {
  return make_elided<htm::AlwaysAborts>(options, HtmBackend::kAlwaysAborts);
}

}  // namespace elider::detail
