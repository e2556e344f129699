// What tests say about a Status: that it is ok, or of which code, with the
// whole message on failure.
//
// Works on Status and on any Result. Thread safety: that of gtest's assertions.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "elider/status.h"

namespace elider::test {

inline const Status& status_of(const Status& status) { return status; }
template <class T>
const Status& status_of(const Result<T>& result) {
  return result.status();
}

template <class T>
testing::AssertionResult is_ok(const T& outcome) {
  const Status& status = status_of(outcome);
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "status: " << status.message();
}

template <class T>
testing::AssertionResult is_code(Code code, const T& outcome) {
  const Status& status = status_of(outcome);
  if (status.code() == code) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected '" << name_of(code) << "', got: " << (status.ok() ? "ok" : status.message());
}

// Bad input is refused in words: the message has `word`, which names the input.
template <class T>
testing::AssertionResult is_refused(Code code, const std::string& word, const T& outcome) {
  if (testing::AssertionResult right = is_code(code, outcome); !right) return right;
  const std::string message = status_of(outcome).message();
  if (message.find(word) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the message does not name '" << word << "': " << message;
}

}  // namespace elider::test

#define EXPECT_OK(outcome) EXPECT_TRUE(::elider::test::is_ok(outcome))
#define ASSERT_OK(outcome) ASSERT_TRUE(::elider::test::is_ok(outcome))
#define EXPECT_CODE(code, outcome) EXPECT_TRUE(::elider::test::is_code(code, outcome))
#define ASSERT_CODE(code, outcome) ASSERT_TRUE(::elider::test::is_code(code, outcome))
#define EXPECT_REFUSED(code, word, outcome) EXPECT_TRUE(::elider::test::is_refused(code, word, outcome))
