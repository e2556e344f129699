// Command, Option, Program: a program's command line. A program has commands; a command has options
// and a function that runs it.
//
//   Command ycsb = bench.add("ycsb", "Short transactions on one table");
//   ycsb.option("--threads", options->threads, "Worker threads").in(1, 256).shows_default();
//   ycsb.runs([options] { ... });
//
// Parsing checks each option separately; the command's function checks combinations
// (refuse_option). A mistake in the arguments is reported in one line, which names the option or
// word and, if possible, suggests a correction. Only command.cc includes the parser (CLI11), which
// takes seconds to compile.
// Thread safety: only the main thread may use these classes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}

namespace elider::tools {

// The exit codes of commands.
inline constexpr int kExitFailed = 1;         // the command ran, but a check failed or a file is wrong
inline constexpr int kExitUsage = 2;          // an option is invalid, and the command did not run
inline constexpr int kExitUnsupported = 3;    // this machine cannot run the command (elider-lab htm without hardware transactions)
inline constexpr int kExitInterrupted = 130;  // the command was interrupted and reported its results; shells use this code for SIGINT

// Set and return the exit code of main(), which is 0 by default.
void set_exit_code(int code);
int exit_code();

// Flushes the output before main() returns. If this fails, prints an error, and returns kExitFailed
// if `code` is 0. Otherwise returns `code`.
int flush_output(int code);

// Ends the command before it runs: the program prints "<option>: <why>" and returns kExitUsage.
// This function throws, so only a command's function, or a function that takes an option's text,
// may call it.
[[noreturn]] void refuse_option(const std::string& option, const std::string& why);

// An option of a command: "--name", "-n,--name", or "NAME" for a positional argument.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& type(const char* name);  // the name of the value in --help
  Option& shows_default();         // prints the variable's current value in --help
  Option& required();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);
  Option& between_commas();  // several values in one argument, separated by commas
  Option& one_at_a_time();   // the option may be repeated, each time with one value
  Option& one_of(std::vector<std::string> words);
  Option& existing_file();
  // Checks the value with why(text), which returns a description of the error, or an empty string.
  Option& checked(std::function<std::string(const std::string& text)> why);
  // Requires a number in this range. The error says whether the text is malformed or out of range.
  template <std::integral T>
  Option& in(T min, T max) { return in_whole(static_cast<uint64_t>(min), static_cast<uint64_t>(max)); }
  template <std::integral T, std::integral U>
  Option& in(T min, U max) { return in_whole(static_cast<uint64_t>(min), static_cast<uint64_t>(max)); }
  Option& in(double min, double max);

  bool given() const;

 private:
  friend class Command;
  Option& in_whole(uint64_t min, uint64_t max);

  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  // Adds a subcommand. This command then always requires a subcommand.
  Command add(const char* name, const std::string& words);

  // The variable that receives the value must outlive the Program.
  Option option(const char* name, uint32_t& value, const std::string& words);
  Option option(const char* name, int& value, const std::string& words);
  Option option(const char* name, uint64_t& value, const std::string& words);
  Option option(const char* name, double& value, const std::string& words);
  Option option(const char* name, std::string& value, const std::string& words);
  Option option(const char* name, std::vector<uint32_t>& values, const std::string& words);
  Option option(const char* name, std::vector<std::string>& values, const std::string& words);
  // Calls take(text), which uses the text or rejects it (refuse_option).
  Option option(const char* name, std::function<void(const std::string& text)> take, const std::string& words);
  Option flag(const char* name, bool& value, const std::string& words);
  Option flag(const char* name, std::function<void()> given, const std::string& words);
  Option named(const char* name) const;  // returns an existing option

  void footer(const std::string& words);  // below the options in --help
  void runs(std::function<void()> body);

 private:
  CLI::App* app_;
};

class Program {
 public:
  // `name` is the name that the user types. It has several words if another program starts this one
  // ("elider bench").
  Program(const std::string& name, const std::string& about, const std::string& version = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command& root() { return root_; }
  void examples(const std::string& words);  // printed at the end of --help; call it last

  // Runs the command that the arguments name, and returns main's exit code. `arguments` do not
  // include the program's name. Prints the help if they are empty.
  int run(const std::vector<std::string>& arguments);
  // Like run(), but returns the parser's error message, or "" if parsing succeeded.
  std::string refusal(const std::vector<std::string>& arguments);

 private:
  std::string unknown_word(const std::vector<std::string>& arguments) const;

  std::unique_ptr<CLI::App> app_;
  Command root_;
};

}  // namespace elider::tools
