// Command, Option, Program: the command line of a program. A program has commands, a command has
// options, and what it runs.
//
//   Command ycsb = bench.add("ycsb", "Short transactions on one table");
//   ycsb.option("--threads", options->threads, "Worker threads").in(1, 256).shows_default();
//   ycsb.runs([options] { ... });
//
// Parsing checks each option by itself; what it runs checks the rest first (refuse_option). A
// mistake is one line that names the option or the word, and what may have been meant. The parser
// itself (CLI11) is seen by command.cc alone: it takes seconds to compile.
// Thread safety: main's thread alone.
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

// What a command's main returns.
inline constexpr int kExitFailed = 1;         // it ran and failed: a check did not hold, a file is wrong
inline constexpr int kExitUsage = 2;          // it was asked for nonsense, and nothing was run
inline constexpr int kExitUnsupported = 3;    // this machine cannot run it (bench htm without hardware transactions)
inline constexpr int kExitInterrupted = 130;  // it was interrupted and has reported what it had; as a shell says of SIGINT

// What main returns; 0 until it is set.
void set_exit_code(int code);
int exit_code();

// At a process's end: brings what was printed to where it goes. `code`; or, with words, kExitFailed
// where that was refused and `code` says nothing worse.
int flush_output(int code);

// Ends the command before it runs: the program prints "<option>: <why>" and returns kExitUsage.
// Only from what a command runs, or from what takes an option's text. It throws.
[[noreturn]] void refuse_option(const std::string& option, const std::string& why);

// One option of a command, of the form "--name", "-n,--name", or "NAME" for
// what is told by its place.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& type(const char* name);  // in --help, for its value
  Option& shows_default();         // in --help: what its variable holds now
  Option& required();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);
  Option& between_commas();  // several values in one word
  Option& one_at_a_time();   // several values, each with the option before it
  Option& one_of(std::vector<std::string> words);
  Option& existing_file();
  // `why` says what is wrong with a text, or nothing.
  Option& checked(std::function<std::string(const std::string& text)> why);
  // A number of this range. A refusal says which of the two did not hold: that the text
  // is a number, or the range.
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

  // A command below this one, which then needs one.
  Command add(const char* name, const std::string& words);

  // The value goes into a variable that lives as long as the program.
  Option option(const char* name, uint32_t& value, const std::string& words);
  Option option(const char* name, int& value, const std::string& words);
  Option option(const char* name, uint64_t& value, const std::string& words);
  Option option(const char* name, double& value, const std::string& words);
  Option option(const char* name, std::string& value, const std::string& words);
  Option option(const char* name, std::vector<uint32_t>& values, const std::string& words);
  Option option(const char* name, std::vector<std::string>& values, const std::string& words);
  // take(text) makes what it can of it, or refuses it (refuse_option).
  Option option(const char* name, std::function<void(const std::string& text)> take, const std::string& words);
  Option flag(const char* name, bool& value, const std::string& words);
  Option flag(const char* name, std::function<void()> given, const std::string& words);
  Option named(const char* name) const;  // one that it has

  void footer(const std::string& words);  // below the options in --help
  void runs(std::function<void()> body);

 private:
  CLI::App* app_;
};

class Program {
 public:
  // `name` is what the user types, of several words where another program starts
  // this one ("elider bench").
  Program(const std::string& name, const std::string& about, const std::string& version = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command& root() { return root_; }
  void examples(const std::string& words);  // at the end of --help; called last

  // Runs what the arguments say, without the program's name, and returns what main returns.
  // Without any it prints the help.
  int run(const std::vector<std::string>& arguments);
  // What is wrong with them, or ""; where nothing is they are run.
  std::string refusal(const std::vector<std::string>& arguments);

 private:
  std::string unknown_word(const std::vector<std::string>& arguments) const;

  std::unique_ptr<CLI::App> app_;
  Command root_;
};

}  // namespace elider::tools
