#include "base/status_words.h"

#include <gtest/gtest.h>

namespace elider {
namespace {

TEST(StatusWords, AreTheMessageWithoutTheCode) {
  EXPECT_EQ(words_of(Status(Code::kIoError, "cannot write 'x'")), "cannot write 'x'");
  EXPECT_EQ(words_of(Status(Code::kMemoryLimit, Cause::kMemoryLimit)), "memory limit") << "the cause replaces a message";
  EXPECT_EQ(words_of(Status(Code::kNotFound, Cause::kNone, intern_name("t"), 7)), "not found (table 't', key 7)");
}

TEST(StatusWords, OfARewordedStatusNameTheCodeOnce) {
  const Status full(Code::kIoError, "cannot write 'x'");
  EXPECT_EQ(reworded(Code::kIoError, "", full, "; it can only be read").message(), "file error: cannot write 'x'; it can only be read");
  EXPECT_EQ(reworded(Code::kIoError, "'y': ", full).message(), "file error: 'y': cannot write 'x'");
  EXPECT_EQ(reworded(Code::kCorrupt, "'y': ", full).message(), "corrupt: 'y': file error: cannot write 'x'") << "two codes";
}

}  // namespace
}  // namespace elider
