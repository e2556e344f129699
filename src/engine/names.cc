// Names of options, and statistics as JSON.
#include "elider/options.h"
#include "elider/statistics.h"
#include "engine/json_text.h"

namespace elider {

std::string_view name_of(SyncPolicy sync) {
  switch (sync) {
    case SyncPolicy::kAutomatic: return "automatic";
    case SyncPolicy::kOptimistic: return "optimistic";
    case SyncPolicy::kLatched: return "latched";
    case SyncPolicy::kSingleThreaded: return "single-threaded";
    case SyncPolicy::kElided: return "elided";
  }
  return "?";
}

std::string_view name_of(HtmBackend htm) {
  switch (htm) {
    case HtmBackend::kAutomatic: return "automatic";
    case HtmBackend::kRtm: return "rtm";
    case HtmBackend::kNone: return "none";
    case HtmBackend::kAlwaysAborts: return "always-aborts";
    case HtmBackend::kEmulated: return "emulated";
  }
  return "?";
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kOcc: return "occ";
    case Protocol::kWholeTransaction: return "whole-transaction";
    case Protocol::kSpinlock: return "spinlock";
  }
  return "?";
}

std::string_view name_of(Durability durability) {
  switch (durability) {
    case Durability::kDefault: return "default";
    case Durability::kNone: return "none";
    case Durability::kAsync: return "async";
    case Durability::kGroup: return "group";
  }
  return "?";
}

std::string_view name_of(LogIo io) {
  switch (io) {
    case LogIo::kAutomatic: return "automatic";
    case LogIo::kSystemCalls: return "system-calls";
    case LogIo::kIoUring: return "io_uring";
  }
  return "?";
}

bool parse(std::string_view name, Durability* durability) {
  for (Durability known : {Durability::kDefault, Durability::kNone, Durability::kAsync, Durability::kGroup})
    if (name_of(known) == name) {
      *durability = known;
      return true;
    }
  return false;
}

bool parse(std::string_view name, LogIo* io) {
  for (LogIo known : {LogIo::kAutomatic, LogIo::kSystemCalls, LogIo::kIoUring})
    if (name_of(known) == name) {
      *io = known;
      return true;
    }
  return false;
}

bool parse(std::string_view name, SyncPolicy* sync) {
  for (SyncPolicy known :
       {SyncPolicy::kAutomatic, SyncPolicy::kOptimistic, SyncPolicy::kLatched, SyncPolicy::kSingleThreaded, SyncPolicy::kElided})
    if (name_of(known) == name) {
      *sync = known;
      return true;
    }
  return false;
}

bool parse(std::string_view name, Protocol* protocol) {
  for (Protocol known : {Protocol::kOcc, Protocol::kWholeTransaction, Protocol::kSpinlock})
    if (name_of(known) == name) {
      *protocol = known;
      return true;
    }
  return false;
}

bool parse(std::string_view name, HtmBackend* htm) {
  for (HtmBackend known :
       {HtmBackend::kAutomatic, HtmBackend::kRtm, HtmBackend::kNone, HtmBackend::kAlwaysAborts, HtmBackend::kEmulated})
    if (name_of(known) == name) {
      *htm = known;
      return true;
    }
  return false;
}

namespace {

using detail::quoted;

void add_number(std::string& out, std::string_view name, uint64_t value) {
  if (out.back() != '{') out += ',';
  out += quoted(name);
  out += ':';
  out += std::to_string(value);
}

std::string aborts_json(const std::array<uint64_t, kCauseCount>& aborts) {
  std::string out = "{";
  for (int c = 0; c < kCauseCount; ++c)
    if (aborts[static_cast<size_t>(c)] != 0) add_number(out, name_of(static_cast<Cause>(c)), aborts[static_cast<size_t>(c)]);
  return out + "}";
}

}  // namespace

std::string Statistics::to_json() const {
  std::string out = "{";
  add_number(out, "commits", commits);
  add_number(out, "read_only_commits", read_only_commits);
  add_number(out, "conflicts", conflicts_total());
  out += ",\"aborts\":" + aborts_json(aborts) + ",\"procedures\":[";
  for (size_t i = 0; i < procedures.size(); ++i) {
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    out += quoted(procedures[i].name) + ",\"commits\":" + std::to_string(procedures[i].commits) +
           ",\"aborts\":" + aborts_json(procedures[i].aborts) + "}";
  }
  out += "],\"tables\":[";
  for (size_t i = 0; i < tables.size(); ++i) {
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    out += quoted(tables[i].name) + ",\"rows\":" + std::to_string(tables[i].rows) +
           ",\"row_bytes\":" + std::to_string(tables[i].row_bytes) + ",\"commits\":" + std::to_string(tables[i].commits) +
           ",\"aborts\":" + aborts_json(tables[i].aborts) + "}";
  }
  out += "],\"memory\":{";
  add_number(out, "rows", memory.rows);
  add_number(out, "versions", memory.versions);
  add_number(out, "blocks", memory.blocks);
  add_number(out, "indexes", memory.indexes);
  add_number(out, "free", memory.free);
  add_number(out, "reserved", memory.reserved);
  out += "}";
  if (!elision.empty()) {
    out += ",\"elision\":[";
    for (size_t i = 0; i < elision.size(); ++i) {
      const Elision& site = elision[i];
      out += i == 0 ? "{\"site\":" : ",{\"site\":";
      out += quoted(site.site) + ",\"table\":" + quoted(site.table) + ",\"attempts\":" + std::to_string(site.attempts()) +
             ",\"commits\":" + std::to_string(site.commits) + ",\"in_vain\":" + std::to_string(site.in_vain) +
             ",\"fallbacks\":" + std::to_string(site.fallbacks) +
             ",\"direct\":" + std::to_string(site.direct) + ",\"aborts\":{";
      for (size_t c = 0; c < kRegionCauseCount; ++c)
        if (site.aborts[c] != 0) add_number(out, region_cause_name(c), site.aborts[c]);
      out += "}}";
    }
    out += "]";
  }
  add_number(out, "versions_alive", versions_alive);
  add_number(out, "retired_objects", retired_objects);
  add_number(out, "snapshot", snapshot);
  add_number(out, "durable_snapshot", durable_snapshot);
  add_number(out, "log_bytes", log_bytes);
  add_number(out, "log_frames", log_frames);
  add_number(out, "log_records", log_records);
  add_number(out, "log_syncs", log_syncs);
  add_number(out, "log_room_waits", log_room_waits);
  add_number(out, "durable_lag_us", durable_lag_us);
  add_number(out, "durable_lag_sum_us", durable_lag_sum_us);
  add_number(out, "durable_lag_max_us", durable_lag_max_us);
  if (!log_io.empty()) out += ",\"log_io\":" + quoted(log_io);
  if (!log_failure.empty()) out += ",\"log_failure\":" + quoted(log_failure);
  out += ",\"checkpoints\":{";
  add_number(out, "taken", checkpoints.taken);
  add_number(out, "failed", checkpoints.failed);
  add_number(out, "snapshot", checkpoints.snapshot);
  add_number(out, "time_s", checkpoints.time_s);
  add_number(out, "rows", checkpoints.rows);
  add_number(out, "bytes", checkpoints.bytes);
  add_number(out, "duration_us", checkpoints.duration_us);
  add_number(out, "running", checkpoints.running ? 1 : 0);
  out += ",\"failure\":" + quoted(checkpoints.failure) + "}";
  add_number(out, "epoch", epoch);
  add_number(out, "workers", workers);
  add_number(out, "longest_active_us", longest_active_us);
  return out + "}";
}

}  // namespace elider
