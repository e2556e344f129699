// What the headers ask of a compiler, said in a sentence before anything
// that it would not understand.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "elider needs C++20: compile with -std=c++20 or later"
#include <elider/needs C++20>  // which is nowhere: so the compilation ends here, and not after a hundred more complaints
#endif
#if !defined(__cpp_exceptions)
#error "elider needs exceptions, for the caller's functions may throw: compile without -fno-exceptions"
#include <elider/needs exceptions>
#endif
