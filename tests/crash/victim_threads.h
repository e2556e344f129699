// VictimThreads: the working threads of crash_victim, and the checkpoints during their work: one
// before the first transaction, one after each given number of transactions, and one after the
// last. The thread that opened the database takes them. So if the calls of a thread are counted,
// the calls of a checkpoint directly follow those of opening. The thread reports the result of each
// checkpoint. A failed checkpoint does not end the run.
// Thread safety: run() by one thread; one_ended() by the threads that it starts.
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

  // Runs work(i) in thread i. Returns when all threads have ended.
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

  // A thread calls this after each transaction.
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
