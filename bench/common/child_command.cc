#include "bench/common/child_command.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/ticks.h"

namespace elider::bench {

namespace {

constexpr size_t kOutputKept = 4u << 20;
constexpr size_t kLastWords = 300;
constexpr int kLookEveryMs = 20;

// Blocks interrupts while the command runs. An interrupt that arrives is delivered after the
// command and all its processes have ended.
class HeldInterrupts {
 public:
  HeldInterrupts() {
    ::sigemptyset(&interrupts_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&interrupts_, signal);
    ::pthread_sigmask(SIG_BLOCK, &interrupts_, &before_);
  }
  ~HeldInterrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
  bool any() const {
    sigset_t pending;
    ::sigpending(&pending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      if (::sigismember(&pending, signal) == 1) return true;
    return false;
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t interrupts_, before_;
};

struct Descriptor {
  explicit Descriptor(int its_number) : number(its_number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void close() {
    if (number >= 0) ::close(number);
    number = -1;
  }
  int number;
};

// Starts the command in a shell. Returns 0 or an errno.
int start(const std::string& command, const std::string& variable, const sigset_t& mask, int output, pid_t* process) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  std::string shell = "sh", flag = "-c", script = command, added = variable;
  char* const arguments[] = {shell.data(), flag.data(), script.data(), nullptr};
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  if (!added.empty()) environment.push_back(added.data());
  environment.push_back(nullptr);
  const int error = ::posix_spawn(process, "/bin/sh", &files, &attributes, arguments, environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

// Reads the output that is available now. Returns false at the end of the pipe, when no process has
// the pipe open for writing.
bool read_available(int from, std::string* output) {
  char block[65536];
  for (;;) {
    const ssize_t count = ::read(from, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 && errno == EAGAIN;
    output->append(block, static_cast<size_t>(count));
    if (output->size() > 2 * kOutputKept) output->erase(0, output->size() - kOutputKept);
  }
}

bool has_ended(pid_t process) {
  siginfo_t info{};
  // WNOWAIT leaves the process a zombie, so that the system cannot reuse its process group ID.
  return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == process;
}

std::string last_words(const std::string& output) {
  const size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "; it did not write any output";
  const size_t begin = end >= kLastWords ? end - kLastWords + 1 : 0;
  return fmt::format("; its last output: {}", output.substr(begin, end + 1 - begin));
}

}  // namespace

Status run_command(const std::string& command, const CommandOptions& options, std::string* output, int* exit_code) {
  output->clear();
  const auto not_run = [&](int error) { return Status(Code::kIoError, fmt::format("cannot run '{}': {}", command, std::strerror(error))); };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return not_run(errno);
  Descriptor from(ends[0]), to(ends[1]);
  ::fcntl(from.number, F_SETFL, O_NONBLOCK);
  ::signal(SIGCHLD, SIG_DFL);  // if SIGCHLD is ignored, the system discards the exit status
  const HeldInterrupts interrupts;
  pid_t process = 0;
  if (const int error = start(command, options.variable, interrupts.before(), to.number, &process); error != 0) return not_run(error);
  to.close();
  const uint64_t begin_ns = steady_ns();
  bool late = false, interrupted = false, open = true;
  while (!has_ended(process) && !late && !interrupted) {
    pollfd readable{open ? from.number : -1, POLLIN, 0};
    ::poll(&readable, 1, kLookEveryMs);
    if (open) open = read_available(from.number, output);
    late = static_cast<double>(steady_ns() - begin_ns) > options.seconds_max * 1e9;
    interrupted = interrupts.any();
  }
  ::kill(-process, SIGKILL);
  int ended = 0;
  while (::waitpid(process, &ended, 0) < 0 && errno == EINTR) continue;
  if (open) read_available(from.number, output);
  if (interrupted) return Status(Code::kIoError, fmt::format("'{}' was interrupted", command));
  if (late)
    return Status(Code::kDeadline,
                  fmt::format("'{}' did not end within {:g} s and was killed{}", command, options.seconds_max, last_words(*output)));
  if (WIFSIGNALED(ended))
    return Status(Code::kIoError, fmt::format("'{}' was killed by signal {} ({}){}", command, WTERMSIG(ended), ::strsignal(WTERMSIG(ended)),
                                              last_words(*output)));
  if (exit_code != nullptr) *exit_code = WEXITSTATUS(ended);
  if (WEXITSTATUS(ended) != 0)
    return Status(Code::kIoError, fmt::format("'{}' ended with exit code {}{}", command, WEXITSTATUS(ended), last_words(*output)));
  return {};
}

}  // namespace elider::bench
