// Names of options, and statistics as JSON.
#include <cstdio>

#include "elider/options.h"
#include "elider/statistics.h"

namespace elider {

std::string_view name_of(SyncPolicy sync) {
  switch (sync) {
    case SyncPolicy::kAutomatic: return "automatic";
    case SyncPolicy::kOptimistic: return "optimistic";
    case SyncPolicy::kLatched: return "latched";
    case SyncPolicy::kSingleThreaded: return "single-threaded";
  }
  return "?";
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kOcc: return "occ";
  }
  return "?";
}

bool parse(std::string_view name, SyncPolicy* sync) {
  for (SyncPolicy known : {SyncPolicy::kAutomatic, SyncPolicy::kOptimistic, SyncPolicy::kLatched, SyncPolicy::kSingleThreaded})
    if (name_of(known) == name) {
      *sync = known;
      return true;
    }
  return false;
}

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

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
  out += ",\"aborts\":" + aborts_json(aborts) + ",\"procedures\":[";
  for (size_t i = 0; i < procedures.size(); ++i) {
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    out += quoted(procedures[i].name) + ",\"commits\":" + std::to_string(procedures[i].commits) + ",\"aborts\":" + aborts_json(procedures[i].aborts) + "}";
  }
  out += "],\"tables\":[";
  for (size_t i = 0; i < tables.size(); ++i) {
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    out += quoted(tables[i].name) + ",\"rows\":" + std::to_string(tables[i].rows) + ",\"row_bytes\":" + std::to_string(tables[i].row_bytes) +
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
  add_number(out, "versions_alive", versions_alive);
  add_number(out, "retired_objects", retired_objects);
  add_number(out, "snapshot", snapshot);
  add_number(out, "durable_snapshot", durable_snapshot);
  add_number(out, "log_bytes", log_bytes);
  add_number(out, "log_frames", log_frames);
  add_number(out, "epoch", epoch);
  add_number(out, "workers", workers);
  add_number(out, "longest_active_us", longest_active_us);
  return out + "}";
}

}  // namespace elider
