// ELIDER_TRY, ELIDER_ASSIGN: hand a failure on to the caller, where a chain of `if (!s.ok())
// return s` would say no more.
//
//   auto transfer = [&](elider::Transaction& txn) -> elider::Status {
//     // A Result: a failure is returned, else the value is `from`.
//     ELIDER_ASSIGN(auto from, txn.get(accounts, 1));
//     // A Status or a Result: a failure is returned, and a value dropped.
//     ELIDER_TRY(txn.update(accounts, from, cents, take));
//     return txn.update(accounts, 2, cents, give);
//   };
//
// For functions that return Status or Result<T>. Thread safety: none is needed.
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
// With names of their own, so that one may stand in a lambda that is another's argument.
#define ELIDER_TRY_AS(status, ...)                                                                                        \
  do {                                                                                                                    \
    if (::elider::Status status = ::elider::detail::status_of(__VA_ARGS__); !status.ok()) [[unlikely]] return status; \
  } while (false)
#define ELIDER_ASSIGN_AS(result, declaration, ...)         \
  auto result = (__VA_ARGS__);                             \
  if (!result.ok()) [[unlikely]] return result.status();   \
  declaration = std::move(result).value()

// Returns the status of the expression, a Status or a Result, from this function unless it is ok.
#define ELIDER_TRY(...) ELIDER_TRY_AS(ELIDER_JOIN(elider_status_, __COUNTER__), __VA_ARGS__)
// Likewise of a Result; else `declaration`, such as `auto row` or `row`, is set to its value. Two
// statements: braces around it where it depends on an `if` or a loop.
#define ELIDER_ASSIGN(declaration, ...) ELIDER_ASSIGN_AS(ELIDER_JOIN(elider_result_, __COUNTER__), declaration, __VA_ARGS__)
