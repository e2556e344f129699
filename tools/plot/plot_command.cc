// The command `elider plot`: finds and runs a Python script, which plots benchmark results with
// matplotlib. The script is in this program's folder, in its installation, or in the source tree.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/common/own_folder.h"

extern char** environ;

namespace elider::tools {

namespace {

constexpr const char* kScript = "elider_plot.py";

constexpr const char* kHelp =
    "Plots throughput (by thread count if it differs between runs), latencies, aborts and memory. For\n"
    "bench compare, it plots the stores side by side. Runs with equal settings are plotted as one, with\n"
    "their spread. Each benchmark has its own panels. Needs python3-matplotlib (Debian).\n"
    "\n"
    "  elider plot t1.json t2.json -o speed.png\n"
    "  elider plot compare.json -o compare.svg --title 'Four stores'\n";

struct PlotOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::string title;
};

// Returns the script's path, or "" if it is not found.
std::string find_script() {
  std::vector<std::filesystem::path> folders;
  if (const auto folder = own_folder(); !folder.empty()) {
    folders.push_back(folder);
    folders.push_back(folder.parent_path() / "share" / "elider");
  }
#ifdef ELIDER_SOURCE_DIR
  folders.push_back(std::filesystem::path(ELIDER_SOURCE_DIR) / "tools" / "plot");
#endif
  std::error_code ignored;
  for (const auto& folder : folders)
    if (std::filesystem::exists(folder / kScript, ignored)) return (folder / kScript).string();
  return {};
}

// Runs `arguments` as a program. Returns its exit code, or -1 with errno set.
int run_program(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers.data(), environ); error != 0) {
    errno = error;
    return -1;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
}

void run(const PlotOptions& options) {
  const std::string extension = std::filesystem::path(options.output).extension().string();
  if (extension != ".png" && extension != ".svg") refuse_option("-o", fmt::format("'{}' does not end in .png or .svg", options.output));
  const std::string script = find_script();
  if (script.empty()) {
    fmt::print(stderr, "elider plot: cannot find {} in this program's folder or in ../share/elider\n", kScript);
    return set_exit_code(kExitFailed);
  }
  std::vector<std::string> arguments{"python3", script, "--output", options.output, "--title", options.title, "--"};
  arguments.insert(arguments.end(), options.inputs.begin(), options.inputs.end());
  const int code = run_program(std::move(arguments));
  if (code < 0) fmt::print(stderr, "elider plot: cannot run python3 ({}): install python3 and python3-matplotlib\n", std::strerror(errno));
  if (code != 0) set_exit_code(code < 0 ? kExitFailed : code);
}

}  // namespace

void add_plot(Command app) {
  auto options = std::make_shared<PlotOptions>();
  Command command = app.add("plot", "Plot the JSON results of benchmarks, as PNG or SVG");
  command.footer(kHelp);
  command.option("files", options->inputs, "Files written with --json").required().type("FILE.json").existing_file();
  command.option("-o,--output", options->output, "The output file, .png or .svg").required().type("FILE");
  command.option("--title", options->title, "The title of the plot");
  command.runs([options] { run(*options); });
}

}  // namespace elider::tools
