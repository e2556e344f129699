// Compares TPC-C under Durability::kAsync with another system's TPC-C, which also writes a log. The
// user's command runs the other system, and the two systems take turns.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

#include <fmt/format.h>

#include "bench/common/child_command.h"
#include "bench/durability/logged_tpcc.h"

namespace elider::bench {

// Matches the number in "agg_throughput: 64838.8 ops/sec".
const char* const kPeerPattern = R"(([0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?) *(txns?|ops|transactions)/s)";

namespace {

constexpr size_t kLineBytesMax = 1024;  // longer lines are cut: std::regex needs stack and time in proportion to their length

}  // namespace

Result<double> throughput_in(const std::string& output, const std::string& pattern) {
  const std::regex wanted(pattern);  // valid, because the command line has checked it
  for (size_t begin = 0, end; begin < output.size(); begin = end + 1) {
    end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, std::min(end - begin, kLineBytesMax));
    std::smatch found;
    if (!std::regex_search(line, found, wanted)) continue;
    const std::string text = found[found.size() > 1 && found[1].matched ? 1 : 0];
    char* rest = nullptr;
    const double number = std::strtod(text.c_str(), &rest);
    if (rest == text.c_str() || *rest != '\0' || !std::isfinite(number) || number <= 0)
      return Status::invalid_argument(fmt::format("'{}', which --peer-pattern found, is not a throughput", text));
    return number;
  }
  return Status::invalid_argument(fmt::format("the command's output does not match --peer-pattern '{}'", pattern));
}

Status measure_peer(const DurabilityOptions& options, DurabilityRows* rows) {
  const uint32_t threads = options.common.threads;
  DurabilityRow row;
  row.part = "peer";
  row.work = fmt::format("TPC-C, async, {} thread{}, compared with the peer and its log", threads, threads == 1 ? "" : "s");
  row.unit = "x";
  row.at_least = options.peer_at_least;
  std::vector<double> ours, peers;
  for (uint32_t round = 0; round < options.repeat; ++round) {
    show_step(options, fmt::format("TPC-C and a peer, round {} of {}: the peer", round + 1, options.repeat));
    const RunFolder folder(options, "peer");
    std::string output;
    const CommandOptions how{options.peer_seconds_max, "ELIDER_PEER_FOLDER=" + folder.path()};
    if (Status status = run_command(options.peer_command, how, &output); !status.ok())
      return Status(status.code(), "--peer-command: " + status.message());
    const auto peer = throughput_in(output, options.peer_pattern);
    if (!peer.ok()) return Status(peer.status().code(), "--peer-command: " + peer.status().message());
    show_step(options, fmt::format("TPC-C and a peer, round {} of {}: elider", round + 1, options.repeat));
    auto outcome = run_tpcc(options, threads, Kept::kLogged);
    if (!outcome.ok()) return outcome.status();
    ours.push_back(outcome->report.result.throughput());
    peers.push_back(*peer);
    row.runs.push_back(ours.back() / peers.back());
    row.figures["log"].push_back(to_json(options.common, outcome->report)["log"]);
  }
  row.figures["elider_txns_per_s"] = ours;
  row.figures["peer_txns_per_s"] = peers;
  row.figures["peer_command"] = options.peer_command;
  row.figures["peer_pattern"] = options.peer_pattern;
  row.details.push_back(fmt::format("{} txn/s; the peer {}: {}", short_number(spread_of(ours).median),
                                    short_number(spread_of(peers).median), options.peer_command));
  rows->push_back(std::move(row));
  return {};
}

}  // namespace elider::bench
