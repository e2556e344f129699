// Checks the compiler's language version and settings, and reports a problem in one sentence,
// before the compiler reaches code that it cannot compile.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "elider needs C++20: compile with -std=c++20 or later"
#include <elider/needs C++20>  // does not exist, so the compiler stops here instead of after a hundred more errors
#endif
#if !defined(__cpp_exceptions)
#error "elider needs exceptions, because functions of the caller may throw: compile without -fno-exceptions"
#include <elider/needs exceptions>
#endif
