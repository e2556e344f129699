#include "elider/status.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace elider {
namespace {

TEST(Status, MessageNamesCodeCauseTableAndKey) {
  const Status status(Code::kConflict, Cause::kReadChanged, intern_name("accounts"), 42);
  EXPECT_EQ(status.message(), "conflict: read changed (table 'accounts', key 42)");
  EXPECT_EQ(status.table(), "accounts");
  EXPECT_TRUE(status.retryable());
  EXPECT_FALSE(status.ok());
}

TEST(Status, MessageWithoutATableSaysNoneOfIt) {
  EXPECT_EQ(Status().message(), "ok");
  EXPECT_EQ(Status::invalid_argument("workers_max is 0").message(), "invalid argument: workers_max is 0");
  EXPECT_EQ(Status::rollback().message(), "rolled back: user");
  EXPECT_EQ(Status(Code::kMemoryLimit, Cause::kMemoryLimit).message(), "memory limit");
  EXPECT_EQ(Status(Code::kNotFound, Cause::kNone, intern_name("t"), 7).message(), "not found (table 't', key 7)");
  EXPECT_EQ(Status(Code::kConflict, Cause::kPhantom, 0, 7).message(), "conflict: phantom (key 7)");
}

TEST(Status, CopiesShareTheirWords) {
  Status first = Status::invalid_argument("a message that is too long for a string to hold in place");
  Status second = first;
  Status third = std::move(first);
  second = third;
  third = Status();
  EXPECT_EQ(second.message(), "invalid argument: a message that is too long for a string to hold in place");
  EXPECT_TRUE(third.ok());
}

TEST(Status, AFailureThatIsMovedFromStaysAFailure) {
  Status plain(Code::kConflict, Cause::kPhantom, intern_name("t"), 7);
  EXPECT_EQ(Status(std::move(plain)).message(), plain.message());  // NOLINT: what is left is what is tested
  Status worded(Code::kIoError, Cause::kNone, plain, "no words of it stay");
  EXPECT_EQ(Status(std::move(worded)).message(), "file error: no words of it stay (table 't', key 7)");
  EXPECT_EQ(worded.message(), "file error (table 't', key 7)");
  Result<int> result(Status::invalid_argument("wrong"));
  EXPECT_EQ(Result<int>(std::move(result)).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(result.ok());
}

TEST(Status, EveryCodeAndCauseHasItsOwnName) {
  std::set<std::string_view> codes, causes;
  for (int i = 0; i < kCodeCount; ++i) codes.insert(name_of(static_cast<Code>(i)));
  for (int i = 0; i < kCauseCount; ++i) causes.insert(name_of(static_cast<Cause>(i)));
  EXPECT_EQ(codes.size(), static_cast<size_t>(kCodeCount));
  EXPECT_EQ(causes.size(), static_cast<size_t>(kCauseCount));
  EXPECT_FALSE(codes.contains("unknown code"));
  EXPECT_FALSE(causes.contains("unknown cause"));
}

TEST(InternName, SameNameSameNumberFromAllThreads) {
  std::vector<std::thread> threads;
  std::vector<std::vector<uint32_t>> ids(4, std::vector<uint32_t>(200));
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) ids[t][i] = intern_name("name " + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < 4; ++t) EXPECT_EQ(ids[t], ids[0]);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(interned_name(ids[0][i]), "name " + std::to_string(i));
  EXPECT_EQ(intern_name(""), 0u);
  EXPECT_EQ(interned_name(0), "");
}

}  // namespace
}  // namespace elider
