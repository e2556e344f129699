// VictimThreads: the threads of crash_victim that work, and the checkpoints beside them: one
// before the first transaction, one after each so many that have ended, one after the last.
// The thread that opened the database takes them, so that who counts a thread's calls finds
// those of a checkpoint right after those of opening. It tells what came of each; a failed
// one is no end of the run.
// Thread safety: run() by one thread; one_ended() by those that it starts.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/crash/victim.h"

namespace elider::crash {

class VictimThreads {
 public:
  VictimThreads(Database& db, const VictimOptions& options) : db_(db), options_(options) {}

  // work(i) in thread i; returns when all have.
  template <class Work>
  void run(const Work& work) {
    take();
    std::vector<std::thread> threads;
    working_ = options_.threads;
    for (uint32_t i = 0; i < options_.threads; ++i)
      threads.emplace_back([&, i] {
        work(i);
        std::lock_guard lock(mutex_);
        --working_;
        changed_.notify_one();
      });
    if (options_.checkpoints != 0) take_while_they_work();
    for (std::thread& thread : threads) thread.join();
    take();
  }

  // A transaction has: a thread says so after each.
  void one_ended() {
    std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_one();
  }

 private:
  void take_while_they_work() {
    for (uint64_t next = options_.checkpoints;; next += options_.checkpoints) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return working_ == 0 || ended_ >= next; });
        if (working_ == 0) return;
      }
      take();
    }
  }

  void take() {
    if (options_.checkpoints == 0) return;
    const Status status = db_.checkpoint();
    std::string words = status.message();
    for (char& letter : words)
      if (letter == '"' || letter == '\\') letter = '\'';
    tell(fmt::format("{{\"t\":\"checkpoint\",\"code\":\"{}\",\"words\":\"{}\"}}\n", name_of(status.code()), words));
  }

  Database& db_;
  const VictimOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t working_ = 0;  // both guarded by mutex_
  uint64_t ended_ = 0;
};

}  // namespace elider::crash
