#include "base/threw.h"

#include <new>
#include <string>

namespace elider {

Status threw(const char* what, std::string_view who) noexcept {
  try {
    if (what == nullptr) return Status(Code::kProcedureThrew, std::string(who) + " threw an exception that is not a std::exception");
    return Status(Code::kProcedureThrew, std::string(who) + " threw: " + what);
  } catch (const std::bad_alloc&) {
    return Status(Code::kProcedureThrew, Cause::kException);
  }
}

}  // namespace elider
