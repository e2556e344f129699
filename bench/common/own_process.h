// OwnProcess runs a benchmark in a separate process. So the benchmark's files are removed whether
// it ends normally, is interrupted, or crashes in a library.
//
//   OwnProcess process;             // from now on interrupts are held back
//   auto files = make_files();      // destroyed before `process`, which delivers the interrupts
//   int code = process.run([&] { return measure(files); });
//
// A process that already has other threads must not use it, because fork() copies only the calling
// thread.
// Thread safety: one thread.
#pragma once

#include <csignal>
#include <functional>

#include <sys/types.h>

namespace elider::bench {

class OwnProcess {
 public:
  OwnProcess();
  // Delivers an interrupt that arrived meanwhile, which ends this process now.
  ~OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  // Runs body() in the new process and returns its exit code. If the process did not exit normally,
  // returns kExitFailed and prints the reason to standard error. By default SIGINT, SIGTERM and
  // SIGHUP end the process at once, unless this process ignores them. With kIsPassedOn, the first
  // SIGINT is only forwarded, so that body() can end early by itself (InterruptWatch, with
  // Second::kIsNotedToo). The new process is killed if this process ends first.
  enum class FirstInterrupt { kEndsIt, kIsPassedOn };
  int run(const std::function<int()>& body, FirstInterrupt first = FirstInterrupt::kEndsIt);

 private:
  int wait_for(pid_t process, FirstInterrupt first);

  sigset_t interrupts_;  // the signals that this process does not ignore
  sigset_t mask_before_;
};

}  // namespace elider::bench
