// The command `elider-lab index`.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "lab/commands.h"
#include "bench/common/options.h"
#include "bench/common/report.h"
#include "lab/index/index.h"
#include "lab/index/lock_free.h"

namespace elider::bench {

namespace {

struct ChosenIndexes {
  IndexStudyOptions study;
  HtmBackend htm = HtmBackend::kAutomatic;
  Protocol protocol = Protocol::kOcc;
  std::string indexes = "btree,hash,art", keys = "dense,sparse,random16,urls,emails", mix = "50/50";
  std::string json_file;
};

// Parses names that are separated by commas.
template <class Value>
std::vector<Value> values_of(const char* option, const std::string& names) {
  std::vector<Value> values;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    Value value;
    if (!parse(name, &value)) refuse_option(option, fmt::format("'{}' is unknown", name));
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

void resolve(ChosenIndexes& chosen) {
  std::string ours;
  for (size_t begin = 0; begin <= chosen.indexes.size();) {
    const size_t end = std::min(chosen.indexes.find(',', begin), chosen.indexes.size());
    const std::string name = chosen.indexes.substr(begin, end - begin);
    if (name == kLockFree)
      chosen.study.lock_free = true;
    else
      ours += (ours.empty() ? "" : ",") + name;
    begin = end + 1;
  }
  if (chosen.study.lock_free)
    if (auto table = make_lock_free_table(1); !table.ok()) refuse_option("--index", table.status().message());
  if (!ours.empty() || !chosen.study.lock_free) chosen.study.indexes = values_of<KeyIndex>("--index", ours);
  chosen.study.shapes = values_of<KeyShape>("--keys", chosen.keys);
  unsigned lookups = 0, inserts = 0, puts = 0;
  char rest = 0;
  const bool grows = std::sscanf(chosen.mix.c_str(), "%u/%u/%u%c", &lookups, &inserts, &puts, &rest) == 3;
  if (!grows && std::sscanf(chosen.mix.c_str(), "%u/%u%c", &lookups, &puts, &rest) != 2)
    refuse_option("--mix", fmt::format("'{}' is not a list of percentages, such as 50/50 or 50/25/25", chosen.mix));
  if (!grows) inserts = 0;
  if (lookups > 100 || inserts > 100 || puts > 100 || lookups + inserts + puts != 100)
    refuse_option("--mix", fmt::format("the percentages '{}' do not add up to 100", chosen.mix));
  if (grows && inserts < 2)
    refuse_option("--mix", fmt::format("'{}': the second of three percentages, that of inserts, must be at least 2", chosen.mix));
  chosen.study.lookups_pct = chosen.study.lookups_beside_changes_pct = lookups;
  chosen.study.growing_lookups_pct = lookups;
  chosen.study.growing_inserts_pct = inserts;
  check_sync_options(chosen.study.sync, chosen.htm, chosen.protocol, chosen.study.threads);
  if (chosen.study.records < chosen.study.threads) refuse_option("--records", "must be at least the number of threads");
  chosen.study.htm = chosen.htm == HtmBackend::kAutomatic ? HtmBackend::kNone : chosen.htm;
}

Status study(const ChosenIndexes& chosen) {
  auto figures = run_index_study(chosen.study);
  if (!figures.ok()) return figures.status();
  if (chosen.json_file != "-") {
    const bool grew = chosen.study.growing_inserts_pct > 0;
    fmt::print("  {:>9} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}{}\n", "keys", "index", "inserts/s", "lookups/s",
               "together/s", "puts/s", "mixed/s", "scanned/s", "bytes per key", grew ? "  growing/s" : "");
    for (const IndexFigure& figure : *figures)
      fmt::print("  {:>9} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12.1f}{}\n", name_of(figure.shape), figure.index,
                 short_number(figure.inserts_per_s), short_number(figure.lookups_per_s), short_number(figure.together_per_s),
                 short_number(figure.puts_per_s), short_number(figure.mixed_per_s),
                 figure.scanned_per_s > 0 ? short_number(figure.scanned_per_s) : "-", figure.bytes_a_key,
                 grew ? fmt::format(" {:>10}", short_number(figure.growing_per_s)) : "");
  }
  if (chosen.json_file.empty()) return {};
  Json document = {{"benchmark", "index"}, {"runs", Json::array()}};
  for (const IndexFigure& figure : *figures)
    document["runs"].push_back({{"keys", std::string(name_of(figure.shape))},
                                {"index", figure.index},
                                {"key_bytes", figure.key_bytes},
                                {"inserts_per_s", figure.inserts_per_s},
                                {"lookups_per_s", figure.lookups_per_s},
                                {"together_per_s", figure.together_per_s},
                                {"puts_per_s", figure.puts_per_s},
                                {"mixed_per_s", figure.mixed_per_s},
                                {"growing_per_s", figure.growing_per_s},
                                {"scanned_per_s", figure.scanned_per_s},
                                {"bytes_a_key", figure.bytes_a_key}});
  document["configuration"] = {{"records", chosen.study.records},
                               {"threads", chosen.study.threads},
                               {"seconds", chosen.study.seconds},
                               {"seed", chosen.study.seed},
                               {"mix", chosen.mix},
                               {"sync", std::string(elider::name_of(chosen.study.sync))}};
  add_environment(document["configuration"]);
  return write_json(chosen.json_file, document);
}

}  // namespace

void add_index(Command bench) {
  auto chosen = std::make_shared<ChosenIndexes>();
  Command command = bench.add("index", "Measure each kind of index by itself, without transactions");
  command
      .option("--index", chosen->indexes,
              "Kinds of index, separated by commas; lock-free is liburcu's hash table, which supports only numbers as keys")
      .type("KINDS")
      .shows_default();
  command.option("--keys", chosen->keys, "Kinds of keys, separated by commas").type("KINDS").shows_default();
  command.option("--records", chosen->study.records, "Keys inserted").in(uint64_t{1}, uint64_t{1} << 32).shows_default();
  command.option("--threads", chosen->study.threads, "Threads (1 to 256)").in(1u, 256u).shows_default();
  command.option("--seconds", chosen->study.seconds, "Measured seconds for each figure except inserts (0.01 to 3600)")
      .in(0.01, 3600.0)
      .shows_default();
  command
      .option("--mix", chosen->mix,
              "Percentages lookups/others for puts/s and mixed/s; three percentages, lookups/inserts/puts, also measure growing/s")
      .shows_default();
  command.option("--scan-length", chosen->study.scan_length, "Entries per scan").in(uint64_t{1}, uint64_t{1} << 32).shows_default();
  command.option("--seed", chosen->study.seed, "Seed of the keys").shows_default();
  add_sync_options(command, chosen->study.sync, chosen->htm, chosen->protocol);
  command.option("--json", chosen->json_file, "Also write the results as JSON to this file (- for standard output, instead of the table)")
      .type("FILE");
  command.footer(
      "Keys: dense is 0, 1, 2, ...; sparse is random numbers; random16 is 16 random bytes; urls and emails are generated\n"
      "with plausible lengths. All keys are inserted in random order. Indexes that do not support the keys are left out.\n"
      "together: batches of 64 lookups whose cache misses overlap. puts: lookups mixed with puts; a put inserts its key if the\n"
      "key does not exist. mixed: lookups, mixed with removals of keys that are then inserted again. growing: lookups, puts,\n"
      "and inserts that double the number of keys. bytes per key: the size of the index, including its own copy of the keys."
      "\n\n  elider-lab index --keys sparse --mix 50/25/25\n");
  command.runs([chosen] {
    resolve(*chosen);
    if (Status status = study(*chosen); !status.ok()) {
      fmt::print(stderr, "elider-lab index: {}\n", status.message());
      set_exit_code(kExitFailed);
    }
  });
}

}  // namespace elider::bench
