#include "elider/laboratory.h"

#include <memory>

namespace elider {

namespace {
const LaboratoryOptions kDefaults;
}  // namespace

const LaboratoryOptions& laboratory_of(const Options& options) {
  return options.laboratory != nullptr ? *options.laboratory : kDefaults;
}

LaboratoryOptions& change_laboratory(Options& options) {
  if (options.laboratory == nullptr || options.laboratory.use_count() > 1)
    options.laboratory = std::make_shared<LaboratoryOptions>(laboratory_of(options));
  return *options.laboratory;
}

}  // namespace elider
