#include "base/asymmetric_fence.h"

#include <mutex>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/check.h"

namespace elider {

namespace {

#if defined(__linux__)
long membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0); }

bool register_process() {
  const long commands = membarrier(MEMBARRIER_CMD_QUERY);
  if (commands < 0 || (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return false;
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}
#else
bool register_process() { return false; }
#endif

}  // namespace

void prepare_asymmetric_fence() {
  static std::once_flag once;
  std::call_once(once, [] { detail::light_fence_is_free.store(!kThreadSanitizer && register_process(), std::memory_order_release); });
}

void heavy_fence() {
#if ELIDER_TSAN
  detail::fence_word.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__linux__)
  if (detail::light_fence_is_free.load(std::memory_order_acquire)) {
    ELIDER_CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0, "membarrier() succeeds after the process was registered");
  }
#endif
#endif
}

}  // namespace elider
