#include "bench/ycsb/workload.h"

#include <cctype>
#include <cstdio>

#include <fmt/format.h>

#include "bench/common/commands.h"

namespace elider::bench {

namespace {

struct Standard {
  char letter;
  Shares shares;  // read, update, read-modify-write, insert, scan
  Distribution distribution;
};
constexpr Standard kStandards[] = {
    {'a', {50, 50, 0, 0, 0}, Distribution::kZipfian}, {'b', {95, 5, 0, 0, 0}, Distribution::kZipfian},
    {'c', {100, 0, 0, 0, 0}, Distribution::kZipfian}, {'d', {95, 0, 0, 5, 0}, Distribution::kLatest},
    {'e', {0, 0, 0, 5, 95}, Distribution::kZipfian},  {'f', {50, 0, 50, 0, 0}, Distribution::kZipfian},
};

Shares shares_of_mix(const std::string& mix) {
  double reads = 0;
  double writes = 0;
  int used = 0;
  const bool parsed = std::sscanf(mix.c_str(), "%lf/%lf%n", &reads, &writes, &used) == 2 && static_cast<size_t>(used) == mix.size();
  if (!parsed || !(reads >= 0 && writes >= 0 && reads + writes > 99.999 && reads + writes < 100.001))
    refuse_option("--mix", fmt::format("'{}' is not two percentages that add up to 100, such as 80/20 (reads/read-modify-writes)", mix));
  return {reads, 0, writes, 0, 0};
}

const Standard& standard(const std::string& name) {
  for (const Standard& each : kStandards)
    if (name.size() == 1 && std::tolower(static_cast<unsigned char>(name[0])) == each.letter) return each;
  refuse_option("--workload", fmt::format("'{}' is not one of a, b, c, d, e, f", name));
}

Distribution distribution_of(const std::string& name) {
  for (Distribution each : {Distribution::kUniform, Distribution::kZipfian, Distribution::kLatest})
    if (name == name_of(each)) return each;
  refuse_option("--distribution", fmt::format("'{}' is not one of uniform, zipfian, latest", name));
}

KeyForm key_form_of(const YcsbOptions& options) {
  if (options.key_kind.empty()) return options.key_bytes == 0 ? KeyForm::kNumber : KeyForm::kBytes;
  for (const KeyForm form : {KeyForm::kNumber, KeyForm::kBytes, KeyForm::kTuple, KeyForm::kUuid, KeyForm::kUrl})
    if (options.key_kind == name_of(form)) {
      if (options.key_bytes != 0 && form != KeyForm::kBytes)
        refuse_option("--key-bytes", fmt::format("requires --key-kind bytes, not {}", options.key_kind));
      return form;
    }
  refuse_option("--key-kind", fmt::format("'{}' is not one of number, bytes, tuple, uuid, url", options.key_kind));
}

}  // namespace

const char* name_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kRead: return "read";
    case OperationKind::kUpdate: return "update";
    case OperationKind::kReadModifyWrite: return "read-modify-write";
    case OperationKind::kInsert: return "insert";
    case OperationKind::kScan: return "scan";
  }
  return "unknown";
}

const char* name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::kUniform: return "uniform";
    case Distribution::kZipfian: return "zipfian";
    case Distribution::kLatest: return "latest";
  }
  return "unknown";
}

std::string title_of(const YcsbOptions& options) {
  return options.workload.empty() ? "mix " + options.mix : "workload " + options.workload;
}

namespace {

constexpr uint32_t kKeyBytesUnlessChosen = 16;

void resolve_keys(YcsbOptions& options) {
  options.key_form = key_form_of(options);
  options.key_format = KeyFormat(options.key_form, options.key_bytes == 0 ? kKeyBytesUnlessChosen : options.key_bytes);
  if (options.key_form == KeyForm::kNumber) return;
  if (!options.index_chosen) options.key_index = KeyIndex::kRadix;
  if (options.inline_rows)
    refuse_option("--inline-rows", fmt::format("requires number keys, not --key-kind {}", name_of(options.key_form)));
}

}  // namespace

void resolve(YcsbOptions& options) {
  resolve_keys(options);
  if (options.workload.empty()) {
    options.shares = shares_of_mix(options.mix);
    options.distribution = Distribution::kUniform;
  } else {
    const Standard& chosen = standard(options.workload);
    options.workload = chosen.letter;
    options.shares = chosen.shares;
    options.distribution = chosen.distribution;
  }
  if (!options.distribution_name.empty()) options.distribution = distribution_of(options.distribution_name);
  const bool scans = has(options, OperationKind::kScan);
  if (scans && !is_ordered(options.key_index))
    refuse_option("--workload",
                  fmt::format("{} scans key ranges, which a hash table does not support; use --index {}", options.workload,
                              options.key_form == KeyForm::kNumber ? "btree" : "art"));
  if (scans && !options.key_format.sorted())
    refuse_option("--key-kind", fmt::format("workload {} scans in the order of records, which keys of kind {} do not have",
                                            options.workload, name_of(options.key_form)));
  if (scans && options.batch) refuse_option("--batch", fmt::format("reads rows by key, but workload {} scans", options.workload));
  if (!(options.theta > 0 && options.theta < 1))
    refuse_option("--theta", fmt::format("must be above 0 and below 1, not {}", options.theta));
}

}  // namespace elider::bench
