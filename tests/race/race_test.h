// RaceTest: forces races with test points. A Background runs a body in a thread and is joined at
// the end.
//
// The tests skip in builds without test points, where no race can be forced.
// Thread safety: a Background is used by the thread that made it.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_points.h"
#include "tests/support/database_test.h"

namespace elider::test {

// The steps of a commit, in order: before it locks what it writes, before it reads the snapshot
// number, before it looks at the readers, before it validates, before it writes, after it has
// written (and released) the first row of several, after it released its locks.
inline constexpr std::array<const char*, 7> kCommitPoints{"occ.commit.before_lock",   "occ.commit.after_lock",
                                                          "occ.commit.after_snapshot", "occ.commit.after_slots",
                                                          "occ.commit.before_write",  "occ.commit.written_one",
                                                          "occ.commit.after_release"};
inline constexpr size_t kValidated = 4;  // from this point on, reads have been validated

class Background {
 public:
  explicit Background(std::function<void()> body) : thread_(std::move(body)) {}
  ~Background() { join(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

class RaceTest : public DatabaseTest {
 protected:
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
    DatabaseTest::SetUp();
  }
  void TearDown() override {
    TestPoints::clear();
    if (TestPoints::enabled()) DatabaseTest::TearDown();
  }
  // Until a thread has come to the point, or `done`: under a mutant it does not wait there.
  static void until_reached(const char* point, const std::atomic<bool>& done) {
    while (TestPoints::reached(point) == 0 && !done) std::this_thread::yield();
  }
  // Runs one attempt without a retry, and returns the outcome of its commit.
  template <class Body>
  Status once(Body&& body) {
    return db_.run(std::forward<Body>(body), RunPolicy{.attempts_max = 1});
  }
};

// Combinations that run the calls of chopped procedures in pieces. The key index does not matter,
// so one is enough.
inline std::vector<Combination> combinations_in_pieces() {
  std::vector<Combination> chosen = combinations(false, true);
  std::erase_if(chosen, [](const Combination& combination) {
    return combination.protocol != Protocol::kChopped || combination.key_index != KeyIndex::kOrdered;
  });
  return chosen;
}

}  // namespace elider::test
