// The options, help and exit code of `elider bench ycsb`.
#include <memory>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/ycsb/value.h"
#include "bench/ycsb/ycsb.h"

namespace elider::bench {

namespace {

constexpr uint64_t kYcsbRecordsMax = uint64_t{1} << 32;

constexpr const char* kYcsbHelp =
    "Workloads: a 50% read, 50% update; b 95/5; c 100% read; d 95% read of the latest, 5% insert;\n"
    "e 95% scan of 1 to 100 rows, 5% insert (needs --index btree or art); f 50% read, 50% read-modify-write.\n"
    "a, b, c, e and f are zipfian. Without --workload: --mix R/W, uniform, R% reads and W% read-modify-writes.\n"
    "An update writes the whole value. After the run, every value is checked, and the counters must add up to\n"
    "the number of read-modify-writes: a lost update is a failure (exit code 1).\n"
    "\n"
    "  elider bench ycsb --records 10000000 --mix 80/20 --distribution uniform --threads 2 --json out.json\n"
    "  elider bench ycsb --workload e --index btree\n"
    "  elider bench ycsb --operations 16 --batch\n"
    "  elider bench ycsb --records 10000000 --group 32\n"
    "  elider bench ycsb --key-bytes 16 --index hash\n"
    "  elider bench ycsb --key-kind url --workload e\n";

void run(YcsbOptions& options) {
  check_common_options(options.common);
  resolve(options);
  auto outcome = run_ycsb(options);
  if (!outcome.ok()) {
    fmt::print(stderr, "elider bench ycsb: {}\n", outcome.status().message());
    return set_exit_code(kExitFailed);
  }
  if (Status status = publish(options.common, outcome->report); !status.ok()) {
    fmt::print(stderr, "elider bench ycsb: {}\n", status.message());
    return set_exit_code(kExitFailed);
  }
  if (outcome->ok) return;
  fmt::print(stderr, "elider bench ycsb: {}\n",
             outcome->report.result.failure.empty() ? "the final values are wrong" : outcome->report.result.failure);
  set_exit_code(kExitFailed);
}

}  // namespace

void add_ycsb(Command bench) {
  auto options = std::make_shared<YcsbOptions>();
  Command command = bench.add("ycsb", "Short transactions on one table of fixed-size values");
  command.footer(kYcsbHelp);
  command.option("--records", options->records, "Records loaded")
      .in(uint64_t{1}, kYcsbRecordsMax)
      .shows_default();
  command.option("--value-bytes", options->value_bytes, "Size of a value in bytes").in(kValueBytesMin, kRowBytesMax).shows_default();
  const Option workload = command.option("--workload", options->workload, "a, b, c, d, e or f").type("LETTER");
  command.option("--mix", options->mix, "Percentages of reads/read-modify-writes").shows_default().excludes(workload);
  command.option("--distribution", options->distribution_name, "Distribution of keys: uniform, zipfian, latest [the workload's own]")
      .type("NAME");
  command.option("--theta", options->theta, "Skew of zipfian and latest, between 0 and 1 exclusive").shows_default();
  command.flag("--clustered", options->clustered, "Zipfian: the most frequent keys are adjacent, not scattered");
  command.option("--operations", options->operations, "Operations per transaction (1 to 16)").in(1u, kOperationsMax).shows_default();
  command.flag("--inline-rows", options->inline_rows,
               "Store rows in their hash buckets (SchemaOf::inline_rows); requires --index hash");
  command.flag("--batch", options->batch, "Read all keys of a transaction with one multi_get, so that cache misses overlap");
  add_group_option(command, options->common);
  command.flag("--snapshot-reads", options->snapshot_reads, "Run read-only transactions on the newest snapshot");
  add_index_option(command, options->key_index, "hash, btree or art; hash or art with byte keys [hash; art with byte keys]",
                   &options->index_chosen);
  command.option("--key-kind", options->key_kind, "number, bytes, tuple, uuid or url; all but number are byte keys [number]").type("KIND");
  command.option("--key-bytes", options->key_bytes, "Size of the keys of --key-kind bytes, which it implies [16]")
      .in(KeyFormat::kBytesMin, KeyFormat::kBytesMax);
  command
      .option(
          "--key-order",
          [options](const std::string& name) {
    if (name != "hashed" && name != "sequential") refuse_option("--key-order", fmt::format("'{}' is not one of sequential, hashed", name));
    options->hashed_keys = name == "hashed";
          },
          "sequential: record n has key n; hashed: keys are scattered [sequential]")
      .type("ORDER");
  command.flag("--skip-check", options->skip_check, "Do not check the values at the end");
  add_common_options(command, options->common);
  command.runs([options] { run(*options); });
}

}  // namespace elider::bench
