// threw(): the status of a procedure that threw. Thread safety: all.
#pragma once

#include <string_view>

#include "elider/status.h"

namespace elider {

// kProcedureThrew, with its words; nullptr: it was no std::exception. Without memory for words it
// goes without them.
Status threw(const char* what, std::string_view who = "the procedure") noexcept;

}  // namespace elider
