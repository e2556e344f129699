// Commands: what the command line is made of. Each add_... declares one subcommand with its options
// and its callback; cli/main.cc calls them all. A callback runs the command and leaves the process's
// exit code: 0 it worked, 1 it ran and failed (a check did not hold, a file is wrong), 2 it was asked
// for nonsense and nothing was run, 3 this machine cannot run it (bench htm without hardware transactions), 130 it was
// interrupted and has reported what it had.
// Thread safety: called by main alone.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace elider::bench {

void add_tpcc(CLI::App& bench);           // bench/tpcc
void add_ycsb(CLI::App& bench);           // bench/ycsb
void add_compare(CLI::App& bench);        // bench/compare
void add_elision(CLI::App& bench);        // bench/elision
void add_htm(CLI::App& bench);            // bench/htm
void add_durability(CLI::App& bench);     // bench/durability
void add_neighbours(CLI::App& bench);     // bench/neighbours
void add_history(CLI::App& bench);        // bench/history
void add_check_history(CLI::App& app);    // bench/history
void add_hardware(CLI::App& app);         // bench/hardware
void add_plot(CLI::App& app);             // bench/plot

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnsupported = 3;
inline constexpr int kExitInterrupted = 130;  // as a shell says of a process that SIGINT ended

// What main returns; 0 until it is set.
void set_exit_code(int code);
int exit_code();

// At a process's end: brings what was printed to where it goes. `code`; or, with words, kExitFailed where that was refused and
// `code` says nothing worse.
int flush_output(int code);

// Ends the command before it runs: main prints "<option>: <why>" and returns kExitUsage. Only from a
// subcommand's callback (it throws what the option parser throws for its own errors).
[[noreturn]] void refuse_option(const std::string& option, const std::string& why);

}  // namespace elider::bench
