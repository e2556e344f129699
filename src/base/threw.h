// threw(): returns the status of a procedure that threw. Thread safety: may be called from any
// thread.
#pragma once

#include <string_view>

#include "elider/status.h"

namespace elider {

// Returns kProcedureThrew with the exception's text. The text is nullptr if the exception was not a
// std::exception. If memory for the message cannot be allocated, the status lacks a message.
Status threw(const char* what, std::string_view who = "the procedure") noexcept;

}  // namespace elider
