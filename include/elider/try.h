// ELIDER_TRY and ELIDER_ASSIGN return a failure to the caller, instead of `if (!s.ok()) return s`.
//
//   auto transfer = [&](elider::Transaction& txn) -> elider::Status {
//     // Returns the Result's failure, or sets `from` to its value.
//     ELIDER_ASSIGN(auto from, txn.get(accounts, 1));
//     // Returns the failure of a Status or a Result, and discards a Result's value.
//     ELIDER_TRY(txn.update(accounts, from, cents, take));
//     return txn.update(accounts, 2, cents, give);
//   };
//
// Use them in functions that return Status or Result<T>.
#pragma once

#include <utility>

#include "elider/status.h"

namespace elider::detail {
inline Status status_of(Status status) { return status; }
template <class T>
Status status_of(const Result<T>& result) { return result.status(); }
}  // namespace elider::detail

#define ELIDER_JOIN_AT_LAST(a, b) a##b
#define ELIDER_JOIN(a, b) ELIDER_JOIN_AT_LAST(a, b)
// The variables have unique names, so that a lambda in an argument can use the macros as well.
#define ELIDER_TRY_AS(status, ...)                                                                                        \
  do {                                                                                                                    \
    if (::elider::Status status = ::elider::detail::status_of(__VA_ARGS__); !status.ok()) [[unlikely]] return status; \
  } while (false)
#define ELIDER_ASSIGN_AS(result, declaration, ...)         \
  auto result = (__VA_ARGS__);                             \
  if (!result.ok()) [[unlikely]] return result.status();   \
  declaration = std::move(result).value()

// Returns the status of the expression (a Status or a Result) from this function unless it is ok.
#define ELIDER_TRY(...) ELIDER_TRY_AS(ELIDER_JOIN(elider_status_, __COUNTER__), __VA_ARGS__)
// Returns the status of the expression (a Result) unless it is ok. Otherwise it sets `declaration`,
// such as `auto row` or `row`, to the value. The macro expands to several statements, so put braces
// around it in an `if` or a loop.
#define ELIDER_ASSIGN(declaration, ...) ELIDER_ASSIGN_AS(ELIDER_JOIN(elider_result_, __COUNTER__), declaration, __VA_ARGS__)
