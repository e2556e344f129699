// Single regions, for studies (try_region.h).
#include "lab/studies/try_region.h"

#include <string>

#include "elider/hardware.h"
#include "htm/backend.h"
#include "htm/detect.h"
#include "htm/emulated.h"
#include "htm/rtm.h"

#if defined(ELIDER_EMULATOR)
#include "htm/emulator.h"
#endif

namespace elider {

namespace {

// Begins and ends the region in the same stack frame.
template <htm::Backend B>
uint32_t attempt(FunctionRef<void()> body) {
  const unsigned status = B::begin();
  if (status != htm::kStarted) return status;
  body();
  B::commit();
  return kRegionCommitted;
}

}  // namespace

Status find_regions(HtmBackend* htm) {
  const std::string none = "hardware transactions are not available: ";
  if (*htm == HtmBackend::kAutomatic) *htm = hardware().automatic_htm;
  switch (*htm) {
    case HtmBackend::kAutomatic:
    case HtmBackend::kNone: return Status(Code::kUnsupported, none + hardware().reason);
    case HtmBackend::kAlwaysAborts: return {};
    case HtmBackend::kRtm:
      if (htm::rtm_instructions_exist()) return {};
      return Status(Code::kUnsupported, none + hardware().reason);
    case HtmBackend::kEmulated:
#if defined(ELIDER_EMULATOR)
      return {};
#else
      return Status(Code::kUnsupported, none + "this build does not include the emulator");
#endif
  }
  return Status::invalid_argument("find_regions: unknown backend");
}

uint32_t try_region(HtmBackend htm, FunctionRef<void()> body) {
  switch (htm) {
#if ELIDER_HAVE_RTM
    case HtmBackend::kRtm: return attempt<htm::Rtm>(body);
#endif
#if defined(ELIDER_EMULATOR)
    case HtmBackend::kEmulated: return attempt<htm::Emulated>(body);
#endif
    default: return attempt<htm::AlwaysAborts>(body);
  }
}

size_t region_cause_of(uint32_t status) { return static_cast<size_t>(htm::decode(status)); }

Status configure_emulator([[maybe_unused]] std::string_view options) {
#if defined(ELIDER_EMULATOR)
  emulator::configure_from_text(std::string(options).c_str());
  return {};
#else
  return Status(Code::kUnsupported, "this build does not include the emulator");
#endif
}

Result<EmulatedRegions> emulated_regions() {
#if defined(ELIDER_EMULATOR)
  const emulator::Counters counters = emulator::thread_counters();
  return EmulatedRegions{counters.committed, counters.lines_read, counters.lines_written};
#else
  return Status(Code::kUnsupported, "this build does not include the emulator");
#endif
}

}  // namespace elider
