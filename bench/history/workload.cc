#include "bench/history/workload.h"

#include <sched.h>

namespace elider::bench {

void Yields::maybe() {
  if (percent_ != 0 && random_.below(100) < percent_) sched_yield();
}

void Workload::invocation(const Plan& plan, MicroOps* operations) const {
  for (const PlannedOperation& operation : plan.operations) {
    if (operation.kind == PlannedOperation::Kind::kWrite) {
      operations->append(operation.key, operation.value);
      continue;
    }
    const int64_t last = operation.kind == PlannedOperation::Kind::kScan ? operation.last_key : operation.key;
    for (int64_t key = operation.key; key <= last; ++key) operations->read_unknown(key);
  }
}

std::unique_ptr<Workload> make_workload(const HistoryOptions& options) {
  if (options.workload == "list-append") return make_list_append(options);
  if (options.workload == "scan") return make_list_scan(options);
  if (options.workload == "rw-register") return make_rw_register(options);
  if (options.workload == "claims") return make_claims(options);
  if (options.workload == "bank") return make_bank(options);
  if (options.workload == "posts") return make_posts(options);
  if (options.workload == "procedures") return make_procedures(options);
  return nullptr;
}

}  // namespace elider::bench
