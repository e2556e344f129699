// The part of EngineBase that checks all invariants.
#pragma once

#include <new>

#include "base/thread_ends.h"
#include "engine/engine_base.h"
#include "engine/verify.h"

namespace elider::detail {

template <class Sync>
Status EngineBase<Sync>::verify() {
  EngineWorker* worker = pool_->take();
  if (worker == nullptr) return refuse_worker();
  worker->base.enter();
  Status status;
  try {
    for (txn::AnyTable* const table : catalog_.tables())
      if (status.ok()) status = verify_table(*table);
  } catch (const std::bad_alloc&) {
    status = Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  } catch (const std::exception& error) {  // thrown by a key function
    status = Status(Code::kProcedureThrew, std::string("a key function threw: ") + error.what());
  } catch (...) {
    if (thread_ends()) {
      worker->base.leave();
      pool_->give_back(worker);
      throw;
    }
    status = Status(Code::kProcedureThrew, "a key function threw an exception that is not a std::exception");
  }
  worker->base.leave();
  pool_->give_back(worker);
  return status;
}

}  // namespace elider::detail
