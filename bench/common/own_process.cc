#include "bench/common/own_process.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/commands.h"

namespace elider::bench {

OwnProcess::OwnProcess() {
  ::sigemptyset(&interrupts_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::sigaddset(&interrupts_, signal);
  }
  // If SIGCHLD is ignored, the kernel does not report how a child ended.
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t held = interrupts_;
  ::sigaddset(&held, SIGCHLD);  // wait_for() waits for it along with the interrupts
  ::sigprocmask(SIG_BLOCK, &held, &mask_before_);
}

OwnProcess::~OwnProcess() { ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr); }

int OwnProcess::run(const std::function<int()>& body, FirstInterrupt first) {
  std::fflush(nullptr);  // otherwise both processes would write the buffered output
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    fmt::print(stderr, "elider: cannot create a process: {}\n", std::strerror(errno));
    return kExitFailed;
  }
  if (process > 0) return wait_for(process, first);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(kExitFailed);  // the parent ended before prctl() was called
  std::exit(flush_output(body()));
}

int OwnProcess::wait_for(pid_t process, FirstInterrupt first) {
  sigset_t awaited = interrupts_;
  ::sigaddset(&awaited, SIGCHLD);
  int ended = 0;
  int interrupt = 0;
  for (;;) {
    int signal = 0;
    ::sigwait(&awaited, &signal);
    if (signal == SIGINT && first == FirstInterrupt::kIsPassedOn) {
      first = FirstInterrupt::kEndsIt;
      fmt::print(stderr, "\nelider: interrupted: reporting the results up to now; press Ctrl-C again to end at once\n");
      ::kill(process, SIGINT);
    } else if (signal != SIGCHLD) {
      interrupt = signal;
      ::kill(process, SIGKILL);
      while (::waitpid(process, &ended, 0) < 0 && errno == EINTR) continue;
      break;
    }
    if (::waitpid(process, &ended, WNOHANG) == process) break;
  }
  // A terminal sends an interrupt to both processes, and the child may have ended first.
  if (interrupt == 0 && WIFSIGNALED(ended) && ::sigismember(&interrupts_, WTERMSIG(ended)) == 1) interrupt = WTERMSIG(ended);
  if (interrupt != 0) {
    ::raise(interrupt);  // blocked until the destructor runs
    return kExitFailed;
  }
  if (WIFEXITED(ended)) return WEXITSTATUS(ended);
  fmt::print(stderr, "elider: the benchmark was killed by signal {} ({})\n", WTERMSIG(ended), ::strsignal(WTERMSIG(ended)));
  return kExitFailed;
}

}  // namespace elider::bench
