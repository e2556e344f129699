// The command `elider bench history`.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "tools/common/interrupt.h"
#include "bench/common/options.h"
#include "bench/history/history_run.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

constexpr uint64_t kTransactionsDefault = 10000;

struct HistoryCommand {
  HistoryOptions options;
  bool scans_chosen = false;

  void check() {
    check_sync_options(options.sync, options.htm, options.protocol, options.threads);
    check_data_options(options.data);
    if (options.workload == "bank" && options.keys < 2) refuse_option("--keys", "must be at least 2 for the workload bank");
    if (options.seconds == 0 && options.transactions == 0) options.transactions = kTransactionsDefault;
    if (options.client_alone && !options.history_file.empty())
      refuse_option("--client-alone", "cannot be combined with --history, whose file the engine writes");
    if (options.zoned && options.workload != "scan") refuse_option("--zoned", "requires --workload scan");
    const bool random_procedures = options.workload == "procedures";
    if (options.deferring && options.workload != "posts" && !random_procedures)
      refuse_option("--deferring", "requires --workload posts or procedures");
    if (options.answers_at_once && !options.deferring) refuse_option("--answers-at-once", "requires --deferring");
    if (options.data.resume && random_procedures)
      refuse_option("--resume", "is not supported by the workload procedures, whose tables depend on --seed");
    check_writable("--out", options.out);
    check_writable("--history", options.history_file);
    // These workloads exist to test range scans, so they scan more often by default.
    if (!scans_chosen && (options.workload == "scan" || options.workload == "claims")) options.scan_percent = 40;
    if (!scans_chosen && options.workload == "bank") options.scan_percent = 30;
  }

  void run() {
    check();
    const auto summary = run_history(options);
    if (!summary.ok()) {
      std::cerr << summary.status().message() << "\n";
      return set_exit_code(kExitFailed);
    }
    if (!summary->resumed.empty()) std::cout << fmt::format("resumed: {}\n", summary->resumed);
    if (!summary->about.empty()) std::cout << summary->about << "\n";
    const std::string ranks = options.client_alone ? "" : fmt::format(" and {}.ranks", options.out);
    std::cout << fmt::format("{}: {} committed, {} failed, {} unknown in {:.1f} s; wrote {}{}\n", options.workload, summary->committed,
                             summary->failed, summary->unknown, summary->seconds, options.out, ranks);
    if (interrupted()) std::cout << "INTERRUPTED: the history contains only the transactions that ran before\n";
    if (summary->unknown != 0) std::cerr << "a transaction ended with an unexpected status: " << summary->first_unknown << "\n";
    if (summary->complaints != 0) {
      std::cerr << fmt::format("broken invariants seen by committed transactions: {}; the first: {}\n", summary->complaints,
                               summary->first_complaint);
    }
    set_exit_code(summary->unknown == 0 && summary->complaints == 0 ? 0 : kExitFailed);
  }
};

void add_options(Command sub, HistoryCommand& command) {
  HistoryOptions& options = command.options;
  sub.option("--workload", options.workload, "list-append, rw-register, bank, scan, claims, posts or procedures [list-append]")
      .one_of({"list-append", "rw-register", "bank", "scan", "claims", "posts", "procedures"});
  sub.option("--out", options.out, "File for the history, in Elle's JSON-lines format; the commit order is written to FILE.ranks")
      .required()
      .type("FILE");
  sub.option("--history", options.history_file, "Also write the engine's own history, for elider check-history").type("FILE");
  sub.flag("--client-alone", options.client_alone,
           "Record only in the clients, so that the database runs without a sink, as in production; excludes FILE.ranks and --history");
  sub.option("--threads", options.threads, "Client threads; each is a process in the history [4]").in(1, 256);
  sub.option("--keys", options.keys, "Keys in use at a time; for bank: accounts, at least 2 [8]").in(1, 10000);
  sub.option("--seconds", options.seconds, "Stop after this time [unlimited]").checked(check_seconds);
  sub.option("--transactions", options.transactions, "Stop after this many transactions, including failed ones [10000 without --seconds]")
      .checked(check_whole_number)
      .checked(check_positive);
  sub.option("--seed", options.seed, "Seed of the inputs; the interleaving is not reproducible [1]").checked(check_whole_number);
  add_index_option(sub, command.options.index, "hash, btree or art [btree]");
  add_sync_options(sub, options.sync, options.htm, options.protocol);
  add_data_options(sub, options.data);
  sub.option("--operations", options.operations, "Maximum operations per transaction [4]").in(1, 64);
  sub.option("--read-only-share", options.read_only_percent, "Percentage of read-only transactions, which read a snapshot [20]").in(0, 100);
  sub.flag("--held-snapshots", options.held_snapshots,
           "Use a snapshot that the client holds and advances from time to time; the history is serializable, but not strictly "
           "(check-history --serializable)");
  sub.option("--scan-share", options.scan_percent, "Percentage of operations that scan (bank: that audit) [10; scan, claims 40, bank 30]")
      .in(0, 100);
  sub.option("--rollback-share", options.rollback_percent, "Percentage of updating transactions that roll back [2]").in(0, 100);
  sub.option("--yield", options.yield_percent, "Percentage of operations before which the thread yields its processor [20]").in(0, 100);
  sub.option("--group", options.group,
             "Transactions that a client submits at once (Database::run_group); each of them is a separate process in the history [off]")
      .in(1u, GroupPolicy::kSizeMax);
  sub.flag("--zoned", options.zoned,
           "With --workload scan: the table is zoned, and read-only transactions scan all its rows with two threads");
  sub.flag(
      "--deferring", options.deferring,
      "With --workload posts: calls defer their posts, and other calls look for them; with procedures: some operations are deferred");
  sub.flag("--answers-at-once", options.answers_at_once,
           "With --deferring: a call does not wait for what an earlier call deferred; the history is serializable, but not strictly "
           "(check-history --serializable)");
  sub.option("--declarations", options.declarations,
             "With --workload procedures: number of groups of random procedures, each with its own six tables [50]")
      .in(1, 170);
  sub.option("--block-threshold", options.block_threshold_bytes, "Column groups of at least this many bytes are stored as blocks [2048]");
}

}  // namespace

void add_history(Command bench) {
  auto command = std::make_shared<HistoryCommand>();
  Command sub = bench.add("history", "Run a contended workload and write its history for serializability checkers");
  add_options(sub, *command);
  sub.footer(
      "Workloads: list-append and scan append to lists (in scan, each element is a row, so readers scan ranges that\n"
      "others insert into); claims claims slots of a unique index; rw-register writes registers; bank transfers\n"
      "between accounts and audits their sum; posts calls chopped procedures (--protocol chopped); procedures calls\n"
      "random chopped procedures, which depend on --seed, in --declarations groups, one group after the other.\n"
      "A key is retired after 32 writes and replaced by a fresh one. With --resume, the recovered rows are checked, and\n"
      "the run continues with new keys and values. The history then contains only this run, and a checker can check\n"
      "all of it (keep --workload and --index). The history stays in memory until the end: about 1 KB per transaction.\n"
      "Check it with: adya check -c strict-serializable [-m rw-register] FILE");
  sub.runs([command, sub] {
    command->scans_chosen = sub.named("--scan-share").given();
    command->run();
  });
}

}  // namespace elider::bench
