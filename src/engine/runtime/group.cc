#include "engine/runtime/group.h"

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/thread_ends.h"

namespace elider::detail {
namespace {

constexpr std::string_view kTouchFunction = "the touch function";

}  // namespace

void Group::add(const GroupCalls& calls, size_t call, const GroupPolicy& policy, uint32_t attempt) {
  Member& member = members_.emplace_back(call);
  member.attempt = attempt;
  member.touches_begin = member.touches_end = touches_.all().size();
  member.partitions_begin = member.partitions_end = touches_.partitions().size();
  if (!calls.resolved.empty() && calls.resolved[call].procedure == nullptr) [[unlikely]] {
    member.status = (*calls.refusal)(call);
    return;
  }
  touches_.begin_call(policy.read_only, policy.procedure_id);
  try {
    calls.touch(call, touches_);
  } catch (const std::exception& error) {
    member.status = threw(error.what(), kTouchFunction);
  } catch (...) {
    if (thread_ends()) throw;
    member.status = threw(nullptr, kTouchFunction);
  }
  member.touches_end = touches_.all().size();
  member.partitions_end = touches_.all_partitions() ? member.partitions_begin : touches_.partitions().size();
  member.procedure_id = touches_.procedure_id();
  member.read_only = touches_.is_read_only();
  if (member.procedure_id >= txn::kProceduresMax) member.status = txn::refuse_procedure_id(member.procedure_id);
}

void GroupRun::ended(const GroupCalls& calls, size_t call, Status status) {
  if (status.ok())
    committed_ = true;
  else if (call < first_failed_)
    failure_ = status, first_failed_ = call;
  if (!calls.outcomes.empty()) calls.outcomes[call] = std::move(status);
}

void GroupRun::finish_group(const GroupCalls& calls, const GroupPolicy& policy) {
  for (Group::Member& member : group_.members()) {
    if (!member.status.retryable() || member.tried_to_its_end) [[likely]] {
      ended(calls, member.call, std::move(member.status));
      continue;
    }
    txn::tell_conflict(policy, member.status);
    try {
      next_round_.push_back({member.call, member.procedure_id, member.status});
    } catch (const std::bad_alloc&) {  // the call cannot be queued for another attempt
      ended(calls, member.call, Status(Code::kMemoryLimit, Cause::kMemoryLimit));
    }
  }
}

}  // namespace elider::detail
