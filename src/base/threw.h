// threw(): converts an exception that a procedure threw to a Status. Thread safety: may be called
// from any thread.
#pragma once

#include <string_view>

#include "elider/status.h"

namespace elider {

// Returns kProcedureThrew with a message. `what` is the exception's text, or nullptr if it is not a
// std::exception; `who` names the function that threw. If memory for the message cannot be
// allocated, the status has only a code and a cause.
Status threw(const char* what, std::string_view who = "the procedure") noexcept;

}  // namespace elider
