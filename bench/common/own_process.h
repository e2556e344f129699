// OwnProcess: runs a benchmark in a process of its own, so that its files go however it ends: by
// itself, by an interrupt, or because a library under it crashed.
//
//   OwnProcess process;             // from now on interrupts wait
//   auto files = make_files();      // ... until these, made after it, have gone
//   int code = process.run([&] { return measure(files); });
//
// Not for a process that has threads already: fork() takes along the one that calls it alone.
// Thread safety: one thread.
#pragma once

#include <csignal>
#include <functional>

#include <sys/types.h>

namespace elider::bench {

class OwnProcess {
 public:
  OwnProcess();
  // An interrupt that came in between ends this process now, as it would have then.
  ~OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  // Runs body() there and returns its exit code; kExitFailed where the process ended otherwise,
  // which standard error says. SIGINT, SIGTERM and SIGHUP, unless this process ignores them, end it
  // at once; with kIsPassedOn the first SIGINT is only sent on, for body() to end early by itself
  // (InterruptWatch, with Second::kIsNotedToo). It does not outlive this one.
  enum class FirstInterrupt { kEndsIt, kIsPassedOn };
  int run(const std::function<int()>& body, FirstInterrupt first = FirstInterrupt::kEndsIt);

 private:
  int wait_for(pid_t process, FirstInterrupt first);

  sigset_t interrupts_;  // those that are not ignored
  sigset_t mask_before_;
};

}  // namespace elider::bench
