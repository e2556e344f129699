// OwnProcess runs a benchmark in a separate process, so that the benchmark's files can be removed
// whether it ends normally, is interrupted, or crashes in a library.
//
//   OwnProcess process;             // from now on, interrupts are blocked
//   auto files = make_files();      // destroyed before `process`, which unblocks interrupts
//   int code = process.run([&] { return measure(files); });
//
// A process that already has other threads must not use OwnProcess, because fork() copies only the
// calling thread.
// Thread safety: one thread uses it.
#pragma once

#include <csignal>
#include <functional>

#include <sys/types.h>

namespace elider::bench {

class OwnProcess {
 public:
  OwnProcess();
  // Unblocks interrupts. If one is pending, it ends this process now.
  ~OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  // Runs body() in a child process and returns the child's exit code. If the child does not exit
  // normally, returns kExitFailed and prints the reason to standard error. By default, SIGINT,
  // SIGTERM and SIGHUP kill the child at once, unless this process ignores them. With kIsPassedOn,
  // the first SIGINT is only forwarded to the child, so that body() can end early by itself
  // (InterruptWatch, with Second::kIsNotedToo). If this process ends first, the child is killed.
  enum class FirstInterrupt { kEndsIt, kIsPassedOn };
  int run(const std::function<int()>& body, FirstInterrupt first = FirstInterrupt::kEndsIt);

 private:
  int wait_for(pid_t process, FirstInterrupt first);

  sigset_t interrupts_;  // SIGINT, SIGTERM and SIGHUP, without those that this process ignores
  sigset_t mask_before_;
};

}  // namespace elider::bench
