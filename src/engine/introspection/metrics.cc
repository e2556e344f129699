#include "elider/metrics.h"

#include <array>
#include <vector>

#include "engine/introspection/json_text.h"

namespace elider {

namespace {

using Kind = MetricInfo::Kind;
using Of = MetricInfo::Of;

// A metric, and the function that returns its value for the i-th procedure, table, site or
// conflicted key. For a metric of the database as a whole, `i` is 0.
struct Entry {
  MetricInfo info;
  uint64_t (*number)(const Statistics&, size_t i) = nullptr;
  std::span<const uint64_t> (*by_cause)(const Statistics&, size_t i) = nullptr;
  std::string_view (*text)(const Statistics&, size_t i) = nullptr;
};

using Number = uint64_t (*)(const Statistics&, size_t);

constexpr Entry counter(std::string_view name, std::string_view words, Number number, Of of = Of::kDatabase, std::string_view unit = {}) {
  return {{.name = name, .kind = Kind::kCounter, .of = of, .unit = unit, .words = words}, number};
}
constexpr Entry gauge(std::string_view name, std::string_view unit, std::string_view words, Number number, Of of = Of::kDatabase) {
  return {{.name = name, .kind = Kind::kGauge, .of = of, .unit = unit, .words = words}, number};
}
constexpr Entry causes(std::string_view words, Of of, std::span<const uint64_t> (*by_cause)(const Statistics&, size_t)) {
  return {{.name = "aborts", .kind = Kind::kCounter, .of = of, .by_cause = true, .words = words}, nullptr, by_cause};
}
constexpr Entry text(std::string_view name, std::string_view words, bool when_set, std::string_view (*text)(const Statistics&, size_t)) {
  return {{.name = name, .kind = Kind::kText, .when_set = when_set, .words = words}, nullptr, nullptr, text};
}

using S = const Statistics&;

// Returns the i-th conflicted key, where the conflicted keys of all tables are numbered
// consecutively, table by table.
struct KeyOfTable {
  const Statistics::Table& table;
  const Statistics::ConflictedKey& its;
};
KeyOfTable conflicted_key(S s, size_t i) {
  size_t table = 0;
  for (; i >= s.tables[table].conflicted_keys.size(); ++table) i -= s.tables[table].conflicted_keys.size();
  return {s.tables[table], s.tables[table].conflicted_keys[i]};
}
size_t conflicted_keys(S s) {
  size_t sum = 0;
  for (const Statistics::Table& table : s.tables) sum += table.conflicted_keys.size();
  return sum;
}

constexpr Entry kEntries[] = {
    counter("commits", "Committed transactions", [](S s, size_t) { return s.commits; }),
    counter("read_only_commits", "Committed read-only transactions; also included in commits",
            [](S s, size_t) { return s.read_only_commits; }),
    counter("conflicts", "Attempts that ended because of a conflict with another transaction",
            [](S s, size_t) { return s.conflicts_total(); }),
    causes("Attempts that did not commit, by cause", Of::kDatabase,
           [](S s, size_t) { return std::span<const uint64_t>(s.aborts); }),

    counter("commits", "Committed transactions of the procedure", [](S s, size_t i) { return s.procedures[i].commits; }, Of::kProcedure),
    counter("region_commits", "Commits with writes that ran as one hardware transaction",
            [](S s, size_t i) { return s.procedures[i].region_commits; }, Of::kProcedure),
    counter("lock_bit_commits", "Commits that set the lock bits of their rows in a hardware transaction and wrote the rows after it",
            [](S s, size_t i) { return s.procedures[i].lock_bit_commits; }, Of::kProcedure),
    counter("locked_commits", "Commits that took their locks one by one although hardware transactions are available",
            [](S s, size_t i) { return s.procedures[i].locked_commits; }, Of::kProcedure),
    causes("Attempts of the procedure that did not commit, by cause", Of::kProcedure,
           [](S s, size_t i) { return std::span<const uint64_t>(s.procedures[i].aborts); }),

    gauge("rows", {}, "Present rows", [](S s, size_t i) { return s.tables[i].rows; }, Of::kTable),
    gauge("row_bytes", "bytes", "Memory of the table's rows, including large column groups",
          [](S s, size_t i) { return s.tables[i].row_bytes; }, Of::kTable),
    gauge("version_bytes", "bytes", "Memory of the table's old versions",
          [](S s, size_t i) { return s.tables[i].version_bytes; }, Of::kTable),
    gauge("index_bytes", "bytes", "Memory of the table's key index and secondary indexes",
          [](S s, size_t i) { return s.tables[i].index_bytes; }, Of::kTable),
    counter("commits", "Commits that wrote to the table", [](S s, size_t i) { return s.tables[i].commits; }, Of::kTable),
    causes("Attempts that failed at a row or range of the table, by cause", Of::kTable,
           [](S s, size_t i) { return std::span<const uint64_t>(s.tables[i].aborts); }),

    causes("Conflicts at the key, by cause; a lower bound, because only some keys are tracked", Of::kConflictedKey,
           [](S s, size_t i) { return std::span<const uint64_t>(conflicted_key(s, i).its.aborts); }),

    gauge("memory.rows", "bytes", "Memory in use by rows", [](S s, size_t) { return s.memory.rows; }),
    gauge("memory.versions", "bytes", "Memory in use by old versions", [](S s, size_t) { return s.memory.versions; }),
    gauge("memory.blocks", "bytes", "Memory in use by large column groups", [](S s, size_t) { return s.memory.blocks; }),
    gauge("memory.indexes", "bytes", "Memory in use by indexes", [](S s, size_t) { return s.memory.indexes; }),
    gauge("memory.free", "bytes", "Memory kept for reuse", [](S s, size_t) { return s.memory.free; }),
    gauge("memory.reserved", "bytes", "Memory allocated from the system", [](S s, size_t) { return s.memory.reserved; }),

    counter("attempts", "Hardware transactions started", [](S s, size_t i) { return s.elision[i].attempts(); }, Of::kSite),
    counter("commits", "Runs that succeeded as a hardware transaction", [](S s, size_t i) { return s.elision[i].commits; }, Of::kSite),
    counter("in_vain", "Runs whose hardware transaction could not do the work, because a row was locked or had changed",
            [](S s, size_t i) { return s.elision[i].in_vain; }, Of::kSite),
    counter("fallbacks", "Runs that tried hardware transactions and then took their lock",
            [](S s, size_t i) { return s.elision[i].fallbacks; }, Of::kSite),
    counter("direct", "Runs that took their lock without trying a hardware transaction",
            [](S s, size_t i) { return s.elision[i].direct; }, Of::kSite),
    causes("Aborted hardware transactions, by cause", Of::kSite,
           [](S s, size_t i) { return std::span<const uint64_t>(s.elision[i].aborts); }),

    gauge("versions_alive", {}, "Old versions that are kept for snapshots or wait to be reclaimed",
          [](S s, size_t) { return s.versions_alive; }),
    counter("lookups_of_rows", "Single lookups while the cache of recently used rows is on; counted only with parts.counted_lookups",
            [](S s, size_t) { return s.lookups.of_rows; }),
    counter("lookups_rows_kept", "Single lookups that found their row in this cache; counted only with parts.counted_lookups",
            [](S s, size_t) { return s.lookups.rows_kept; }),
    counter("lookups_of_trees", "Single lookups and insertions in B+-trees; counted only with parts.counted_lookups",
            [](S s, size_t) { return s.lookups.of_trees; }),
    counter("lookups_leaves_kept",
            "Lookups and insertions in the leaf that the transaction used last; counted only with parts.counted_lookups",
            [](S s, size_t) { return s.lookups.leaves_kept; }),
    gauge("retired_objects", {}, "Objects that wait for a grace period", [](S s, size_t) { return s.retired_objects; }),
    gauge("snapshot", {}, "Current snapshot number", [](S s, size_t) { return s.snapshot; }),
    gauge("durable_snapshot", {}, "All commits up to this number are on the disk; 0 without a data folder",
          [](S s, size_t) { return s.durable_snapshot; }),
    counter("log_bytes", "Bytes written to the log", [](S s, size_t) { return s.log_bytes; }, Of::kDatabase, "bytes"),
    counter("log_frames", "Groups of commits written to the log, each with one write and one sync",
            [](S s, size_t) { return s.log_frames; }),
    counter("log_records", "Commits and new tables written to the log", [](S s, size_t) { return s.log_records; }),
    counter("log_syncs", "Syncs of files and folders", [](S s, size_t) { return s.log_syncs; }),
    counter("log_room_waits", "Commits that waited because the log buffer was full",
            [](S s, size_t) { return s.log_room_waits; }),
    gauge("durable_lag_us", "us", "Time from a commit until it is on the disk, for the oldest commit of the last group",
          [](S s, size_t) { return s.durable_lag_us; }),
    counter("durable_lag_sum_us", "Sum of durable_lag_us over all groups",
            [](S s, size_t) { return s.durable_lag_sum_us; }, Of::kDatabase, "us"),
    gauge("durable_lag_max_us", "us", "Maximum of durable_lag_us over all groups", [](S s, size_t) { return s.durable_lag_max_us; }),
    text("log_failure", "Error that stopped the log; present only after a failure", true,
         [](S s, size_t) { return std::string_view(s.log_failure); }),

    counter("checkpoints.taken", "Checkpoints taken", [](S s, size_t) { return s.checkpoints.taken; }),
    counter("checkpoints.failed", "Checkpoints that failed", [](S s, size_t) { return s.checkpoints.failed; }),
    gauge("checkpoints.snapshot", {}, "The last checkpoint contains all commits up to this number",
          [](S s, size_t) { return s.checkpoints.snapshot; }),
    gauge("checkpoints.time_s", "s", "Time of the last checkpoint, since 1970", [](S s, size_t) { return s.checkpoints.time_s; }),
    gauge("checkpoints.rows", {}, "Rows of the last checkpoint", [](S s, size_t) { return s.checkpoints.rows; }),
    gauge("checkpoints.bytes", "bytes", "Size of the last checkpoint", [](S s, size_t) { return s.checkpoints.bytes; }),
    gauge("checkpoints.duration_us", "us", "Duration of the last checkpoint", [](S s, size_t) { return s.checkpoints.duration_us; }),
    gauge("checkpoints.running", {}, "1 while a checkpoint is running, otherwise 0",
          [](S s, size_t) { return uint64_t{s.checkpoints.running}; }),
    text("checkpoints.failure", "Error of the last checkpoint; empty if it succeeded", false,
         [](S s, size_t) { return std::string_view(s.checkpoints.failure); }),
    gauge("epoch", {}, "Epoch of memory reclamation", [](S s, size_t) { return s.epoch; }),
    gauge("workers", {}, "Workers in use, out of workers_max", [](S s, size_t) { return uint64_t{s.workers}; }),
    counter("turn_waits", "Transactions that waited for a turn (threads_at_once)",
            [](S s, size_t) { return s.turn_waits; }),
    gauge("longest_active_us", "us", "Age of the oldest running transaction", [](S s, size_t) { return s.longest_active_us; }),
};

constexpr auto kInfos = [] {
  std::array<MetricInfo, std::size(kEntries)> infos;
  for (size_t i = 0; i < infos.size(); ++i) infos[i] = kEntries[i].info;
  return infos;
}();

size_t count_of(const Statistics& s, Of of) {
  switch (of) {
    case Of::kProcedure: return s.procedures.size();
    case Of::kTable: return s.tables.size();
    case Of::kSite: return s.elision.size();
    case Of::kConflictedKey: return conflicted_keys(s);
    case Of::kDatabase: break;
  }
  return 1;
}

std::string_view element_of(const Statistics& s, Of of, size_t i) {
  switch (of) {
    case Of::kProcedure: return s.procedures[i].name;
    case Of::kTable: return s.tables[i].name;
    case Of::kSite: return s.elision[i].site;
    case Of::kConflictedKey:
    case Of::kDatabase: break;
  }
  return {};
}

std::string_view cause_name(Of of, size_t cause) {
  return of == Of::kSite ? region_cause_name(cause) : name_of(static_cast<Cause>(cause));
}

// -- JSON -----------------------------------------------------------------------------------------

using detail::quoted;

class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  std::string& name(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    out_ += quoted(name);
    return out_ += ':';
  }

 private:
  std::string& out_;
};

void add_value(JsonObject& object, std::string_view name, const Entry& entry, const Statistics& s, size_t i) {
  if (entry.info.by_cause) {
    std::string& out = object.name(name);
    JsonObject aborts(out);
    const std::span<const uint64_t> counts = entry.by_cause(s, i);
    for (size_t cause = 0; cause < counts.size(); ++cause)
      if (counts[cause] != 0) aborts.name(cause_name(entry.info.of, cause)) += std::to_string(counts[cause]);
  } else if (entry.info.kind == Kind::kText) {
    if (const std::string_view words = entry.text(s, i); !words.empty() || !entry.info.when_set) object.name(name) += quoted(words);
  } else {
    object.name(name) += std::to_string(entry.number(s, i));
  }
}

const char* list_of(Of of) {
  switch (of) {
    case Of::kProcedure: return "procedures";
    case Of::kTable: return "tables";
    case Of::kSite: return "elision";
    case Of::kConflictedKey: return "conflicted_keys";
    case Of::kDatabase: break;
  }
  return "";
}

// Writes the members that identify the i-th element, such as its name.
void add_names(JsonObject& element, const Statistics& s, Of of, size_t i) {
  if (of == Of::kConflictedKey) {
    const KeyOfTable one = conflicted_key(s, i);
    element.name("table") += quoted(one.table.name);
    element.name("key") += std::to_string(one.its.key);
    return;
  }
  element.name(of == Of::kSite ? "site" : "name") += quoted(element_of(s, of, i));
  if (of == Of::kSite) element.name("table") += quoted(s.elision[i].table);
}

// Writes a list with one object for each procedure, table, site or conflicted key. An object
// contains the values of `entries`.
void add_list(JsonObject& object, std::span<const Entry> entries, const Statistics& s) {
  const Of of = entries.front().info.of;
  if ((of == Of::kSite || of == Of::kConflictedKey) && count_of(s, of) == 0) return;
  const char* const list = list_of(of);
  std::string& out = object.name(list);
  out += '[';
  for (size_t i = 0; i < count_of(s, of); ++i) {
    if (i != 0) out += ',';
    JsonObject element(out);
    add_names(element, s, of, i);
    for (const Entry& entry : entries) add_value(element, entry.info.name, entry, s, i);
  }
  out += ']';
}

// Returns "memory" for the metric "memory.rows", and "" for a name without a dot.
std::string_view group_of(const MetricInfo& info) {
  const size_t dot = info.name.find('.');
  return dot == std::string_view::npos ? std::string_view() : info.name.substr(0, dot);
}

}  // namespace

std::span<const MetricInfo> metric_table() { return kInfos; }

void for_each_metric(const Statistics& statistics, FunctionRef<void(const Metric&)> visit) {
  for (size_t e = 0; e < std::size(kEntries); ++e) {
    const Entry& entry = kEntries[e];
    const MetricInfo& info = kInfos[e];
    for (size_t i = 0; i < count_of(statistics, info.of); ++i) {
      Metric metric{info, element_of(statistics, info.of, i), {}, {}, 0, {}};
      if (info.of == Of::kSite) metric.table = statistics.elision[i].table;
      if (info.of == Of::kConflictedKey) {
        metric.table = conflicted_key(statistics, i).table.name;
        metric.key = conflicted_key(statistics, i).its.key;
      }
      if (info.by_cause) {
        const std::span<const uint64_t> counts = entry.by_cause(statistics, i);
        for (size_t cause = 0; cause < counts.size(); ++cause) {
          if (counts[cause] == 0) continue;
          metric.cause = cause_name(info.of, cause);
          metric.number = counts[cause];
          visit(metric);
        }
        continue;
      }
      if (info.kind == Kind::kText) metric.text = entry.text(statistics, i);
      else metric.number = entry.number(statistics, i);
      if (info.kind != Kind::kText || !metric.text.empty() || !info.when_set) visit(metric);
    }
  }
}

std::string Statistics::to_json() const {
  std::string out;
  {
    JsonObject object(out);
    const std::span<const Entry> entries(kEntries);
    for (size_t e = 0; e < entries.size();) {
      // The entries up to `end` are written together, because they belong to the same kind of
      // element and the same group.
      const MetricInfo& first = entries[e].info;
      size_t end = e + 1;
      while (end < entries.size() && entries[end].info.of == first.of && group_of(entries[end].info) == group_of(first)) ++end;
      const std::span<const Entry> together = entries.subspan(e, end - e);
      e = end;
      if (first.of != Of::kDatabase) {
        add_list(object, together, *this);
      } else if (const std::string_view group = group_of(first); !group.empty()) {
        JsonObject inner(object.name(group));
        for (const Entry& entry : together) add_value(inner, entry.info.name.substr(group.size() + 1), entry, *this, 0);
      } else {
        for (const Entry& entry : together) add_value(object, entry.info.name, entry, *this, 0);
      }
    }
  }
  return out;
}

}  // namespace elider
