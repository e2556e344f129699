// Runs the model of the snapshot protocol exhaustively. The protocol's order of steps never
// violates a condition, and every other order that is tried does. (A model that cannot fail proves
// nothing.)
#include "tests/exhaustive/snapshot_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
namespace elider::models {
namespace {

enum class WriterStep : uint8_t { kRead, kLock, kSnapshot, kSlots, kValidate, kWrite };

struct Version {
  uint8_t writer = 0;  // process + 1; 0: the initial one
  uint8_t number = 0;
  uint8_t kept = 0;
};

struct RecordState {
  uint8_t locker = 0;  // process + 1; 0: free
  uint8_t count = 0;
  Version versions[kWritersMax + 1] = {};
};

enum Outcome : uint8_t { kRunning, kCommitted, kAborted };

struct ProcessState {
  uint8_t phase = 0;     // place in the list of steps
  uint8_t record = 0;    // next record, or slot, of this phase
  uint8_t number = 0;    // n of a writer, rs of a reader
  uint8_t keeps = 0;
  uint8_t outcome = kRunning;
  uint8_t began = 0;
  uint8_t ended_before = 0;  // bit p: process p had committed when this one began
  uint8_t seen[kRecords] = {};  // place of the version read, + 1
};

constexpr uint8_t kSlotEmpty = 0, kSlotStarting = 1, kSlotPublished = 2;  // published: kSlotPublished + rs

// All bytes are part of the state, because it is compared and hashed as bytes.
struct State {
  uint8_t snapshot = 1;
  uint8_t bumps = 0;
  uint8_t slots[kReadersMax] = {};
  RecordState records[kRecords] = {};
  ProcessState processes[kWritersMax + kReadersMax] = {};
};
static_assert(std::has_unique_object_representations_v<State>);

struct StateHash {
  size_t operator()(const State& state) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&state);
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < sizeof(State); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
  }
};
struct StateEqual {
  bool operator()(const State& a, const State& b) const { return std::memcmp(&a, &b, sizeof(State)) == 0; }
};

class Search {
 public:
  explicit Search(const Model& model)
      : model_(model), writers_(static_cast<int>(model.writers.size())), processes_(writers_ + model.readers) {
    using enum WriterStep;
    switch (model.flaw) {
      case Flaw::kSnapshotBeforeLocks: steps_ = {kRead, kSnapshot, kLock, kSlots, kValidate, kWrite}; break;
      case Flaw::kSlotsBeforeSnapshot: steps_ = {kRead, kLock, kSlots, kSnapshot, kValidate, kWrite}; break;
      case Flaw::kValidateBeforeSnapshot: steps_ = {kRead, kLock, kValidate, kSnapshot, kSlots, kWrite}; break;
      default: steps_ = {kRead, kLock, kSnapshot, kSlots, kValidate, kWrite};
    }
  }

  ModelResult run() {
    State state;
    for (RecordState& record : state.records) record.count = 1;
    explore(state);
    result_.states = visited_.size();
    return result_;
  }

 private:
  // Depth first; `path_` names the steps, for the message.
  void explore(const State& state) {
    if (!result_.violation.empty() || !visited_.insert(state).second) return;
    bool stuck = true;
    for (int process = 0; process <= processes_; ++process) {
      State next = state;
      if (!step(next, process)) continue;
      stuck = false;
      path_.push_back(static_cast<uint8_t>(process));
      if (!wrong_.empty()) report(wrong_);
      else explore(next);
      path_.pop_back();
      if (!result_.violation.empty()) return;
    }
    if (!stuck) return;
    ++result_.ends;
    for (int process = 0; process < processes_; ++process) {
      if (state.processes[process].outcome == kRunning) return report("a process is stuck");
    }
    check_end(state);
  }

  void report(const std::string& what) {
    result_.violation = what + "; steps:";
    for (uint8_t process : path_) result_.violation += " " + name(process);
  }

  std::string name(int process) const {
    if (process < writers_) return "W" + std::to_string(process);
    return process < processes_ ? "R" + std::to_string(process - writers_) : "timer";
  }

  // Returns false if the process has ended or waits.
  bool step(State& state, int process) {
    if (process == processes_) {
      if (state.bumps == model_.timer_bumps) return false;
      ++state.bumps;
      ++state.snapshot;
      return true;
    }
    ProcessState& self = state.processes[process];
    if (self.outcome != kRunning) return false;
    if (self.began == 0) begin(state, process);
    return process < writers_ ? writer_step(state, process) : reader_step(state, process);
  }

  void begin(State& state, int process) {
    ProcessState& self = state.processes[process];
    self.began = 1;
    for (int other = 0; other < processes_; ++other) {
      if (state.processes[other].outcome == kCommitted) self.ended_before |= static_cast<uint8_t>(1u << other);
    }
  }

  // Advances within a phase that has one step per record (or slot). Skips those that are not in
  // `members`.
  static bool next_member(ProcessState& self, uint8_t members, int count) {
    while (self.record < count && !(members >> self.record & 1)) ++self.record;
    if (self.record < count) return true;
    self.record = 0;
    ++self.phase;
    return false;
  }

  bool writer_step(State& state, int process) {
    ProcessState& self = state.processes[process];
    const Script& script = model_.writers[static_cast<size_t>(process)];
    // Phases without members do not have a step.
    while (self.phase < steps_.size()) {
      switch (steps_[self.phase]) {
        case WriterStep::kRead:
          if (!next_member(self, script.reads, kRecords)) continue;
          if (state.records[self.record].locker != 0) return false;
          self.seen[self.record] = state.records[self.record].count;
          ++self.record;
          return true;
        case WriterStep::kLock:
          if (!next_member(self, script.writes, kRecords)) continue;
          if (state.records[self.record].locker != 0) return false;
          state.records[self.record].locker = static_cast<uint8_t>(process + 1);
          ++self.record;
          return true;
        case WriterStep::kSnapshot:
          self.number = static_cast<uint8_t>(state.snapshot + (model_.flaw == Flaw::kNumberOneLate ? 1 : 0));
          ++self.phase;
          return true;
        case WriterStep::kSlots:
          if (!next_member(self, 0xff, model_.readers)) continue;
          look_at_slot(state, self);
          return true;
        case WriterStep::kValidate:
          if (!next_member(self, script.reads, kRecords)) continue;
          validate(state, process);
          return true;
        case WriterStep::kWrite:
          if (!next_member(self, script.writes, kRecords)) continue;
          write(state, process);
          return true;
      }
    }
    return false;
  }

  void look_at_slot(const State& state, ProcessState& self) const {
    const uint8_t slot = state.slots[self.record];
    // If the slot is read before S, n does not exist yet, and S itself is compared.
    const uint8_t number = model_.flaw == Flaw::kSlotsBeforeSnapshot ? state.snapshot : self.number;
    if (slot == kSlotStarting || (slot >= kSlotPublished && slot - kSlotPublished < number)) self.keeps = 1;
    ++self.record;
  }

  void validate(State& state, int process) const {
    ProcessState& self = state.processes[process];
    const RecordState& record = state.records[self.record];
    const bool foreign_lock = record.locker != 0 && record.locker != process + 1;
    if (record.count == self.seen[self.record] && !foreign_lock) {
      ++self.record;
      return;
    }
    self = ProcessState{};
    self.outcome = kAborted;
    for (RecordState& locked : state.records) {
      if (locked.locker == process + 1) locked.locker = 0;
    }
  }

  void write(State& state, int process) const {
    ProcessState& self = state.processes[process];
    RecordState& record = state.records[self.record];
    record.versions[record.count - 1].kept = self.keeps;
    record.versions[record.count++] = {static_cast<uint8_t>(process + 1), self.number, 0};
    record.locker = 0;
    ++self.record;
    const uint8_t rest = static_cast<uint8_t>(model_.writers[static_cast<size_t>(process)].writes >> self.record);
    if (rest == 0) self.outcome = kCommitted;
  }

  bool reader_step(State& state, int process) {
    ProcessState& self = state.processes[process];
    uint8_t& slot = state.slots[process - writers_];
    switch (self.phase) {
      case 0:
        if (model_.flaw != Flaw::kReaderNotStarting) slot = kSlotStarting;
        break;
      case 1: self.number = state.snapshot++; break;
      case 2: slot = static_cast<uint8_t>(kSlotPublished + self.number); break;
      case 3:
        // The second reader goes the other way round.
        return read(state, self, (process - writers_) % 2 == 0 ? self.record : kRecords - 1 - self.record);
      default:
        slot = kSlotEmpty;
        self.outcome = kCommitted;
        return true;
    }
    ++self.phase;
    return true;
  }

  bool read(const State& state, ProcessState& self, int index) {
    const RecordState& record = state.records[index];
    if (record.locker != 0 && model_.flaw != Flaw::kReaderIgnoresLocks) return false;
    int place = record.count - 1;
    while (place >= 0 && record.versions[place].number > self.number) --place;
    const bool newest = place == record.count - 1;
    if (place < 0 || (!newest && !record.versions[place].kept)) wrong_ = "a reader needs a version that was not kept";
    self.seen[index] = static_cast<uint8_t>(place + 1);
    if (++self.record == kRecords) {
      self.record = 0;
      ++self.phase;
    }
    return true;
  }

  // Every dependency agrees with (number, readers last), and all of them together do not form a
  // cycle.
  void check_end(const State& state) {
    std::array<uint8_t, kWritersMax + kReadersMax> before{};  // bit p: p must precede
    const auto must_precede = [&](int from, int to, const char* why) {
      if (from == to || from < 0 || to < 0) return;
      before[static_cast<size_t>(to)] |= static_cast<uint8_t>(1u << from);
      const ProcessState &a = state.processes[from], &b = state.processes[to];
      const bool in_order = a.number < b.number || (a.number == b.number && (to >= writers_ || from < writers_));
      if (!in_order && result_.violation.empty()) {
        report(name(from) + " must precede " + name(to) + " (" + why + ") but its number is " + std::to_string(a.number) + ", not before " +
               std::to_string(b.number));
      }
    };
    for (int index = 0; index < kRecords; ++index) {
      const RecordState& record = state.records[index];
      const auto writer = [&](int place) { return record.versions[place].writer - 1; };
      for (int place = 1; place < record.count; ++place) must_precede(writer(place - 1), writer(place), "ww");
      for (int process = 0; process < processes_; ++process) {
        const ProcessState& self = state.processes[process];
        if (self.outcome != kCommitted || self.seen[index] == 0) continue;
        const int seen = self.seen[index] - 1;
        must_precede(writer(seen), process, "wr");
        if (seen + 1 < record.count) must_precede(process, writer(seen + 1), "rw");
      }
    }
    for (int process = 0; process < processes_; ++process) {
      if (state.processes[process].outcome != kCommitted) continue;
      for (int other = 0; other < processes_; ++other) {
        if (state.processes[process].ended_before >> other & 1) must_precede(other, process, "real time");
      }
    }
    check_acyclic(before);
  }

  void check_acyclic(std::array<uint8_t, kWritersMax + kReadersMax> before) {
    uint8_t placed = 0;
    for (int round = 0; round < processes_; ++round) {
      for (int process = 0; process < processes_; ++process) {
        if ((before[static_cast<size_t>(process)] & ~placed) == 0) placed |= static_cast<uint8_t>(1u << process);
      }
    }
    if (placed != (1u << processes_) - 1 && result_.violation.empty()) report("the transactions depend on each other in a cycle");
  }

  const Model& model_;
  const int writers_, processes_;
  std::vector<WriterStep> steps_;
  std::unordered_set<State, StateHash, StateEqual> visited_;
  std::vector<uint8_t> path_;
  std::string wrong_;
  ModelResult result_;
};

// All ways to read and write two records, except those that write nothing.
std::vector<Script> all_scripts() {
  std::vector<Script> scripts;
  for (uint8_t reads = 0; reads < 4; ++reads) {
    for (uint8_t writes = 1; writes < 4; ++writes) scripts.push_back({reads, writes});
  }
  return scripts;
}

// Returns the first violation of any pair of writers with this flaw.
std::string violation_of_pairs(Flaw flaw, int readers, int timer_bumps, uint64_t* states) {
  const auto scripts = all_scripts();
  for (size_t a = 0; a < scripts.size(); ++a) {
    for (size_t b = a; b < scripts.size(); ++b) {
      const ModelResult result =
          search({.writers = {scripts[a], scripts[b]}, .readers = readers, .timer_bumps = timer_bumps, .flaw = flaw});
      *states += result.states;
      if (!result.violation.empty()) return result.violation;
      EXPECT_GT(result.ends, 1u);
    }
  }
  return "";
}

TEST(SnapshotModel, two_writers_and_a_reader_have_no_violation) {
  uint64_t states = 0;
  EXPECT_EQ(violation_of_pairs(Flaw::kNone, 1, 1, &states), "");
  RecordProperty("states", std::to_string(states));
  EXPECT_GT(states, 100'000u);
}

TEST(SnapshotModel, two_writers_and_two_readers_have_no_violation) {
  uint64_t states = 0;
  EXPECT_EQ(violation_of_pairs(Flaw::kNone, 2, 0, &states), "");
  RecordProperty("states", std::to_string(states));
}

TEST(SnapshotModel, three_writers_and_a_reader_have_no_violation) {
  const auto scripts = all_scripts();
  // Under a sanitizer, a seventh of the triples is enough.
  const char* scale = std::getenv("ELIDER_TEST_SCALE");
  const size_t stride = scale != nullptr && std::strtod(scale, nullptr) < 1 ? 7 : 1;
  uint64_t states = 0, triples = 0;
  for (size_t a = 0; a < scripts.size(); ++a) {
    for (size_t b = a; b < scripts.size(); ++b) {
      for (size_t c = b; c < scripts.size(); ++c) {
        if (++triples % stride != 0) continue;
        const ModelResult result = search({.writers = {scripts[a], scripts[b], scripts[c]}, .readers = 1, .timer_bumps = 0});
        ASSERT_EQ(result.violation, "");
        states += result.states;
      }
    }
  }
  RecordProperty("states", std::to_string(states));
}

class SnapshotModelFlaw : public ::testing::TestWithParam<std::pair<const char*, Flaw>> {};

TEST_P(SnapshotModelFlaw, is_found) {
  uint64_t states = 0;
  const std::string violation = violation_of_pairs(GetParam().second, 1, 1, &states);
  EXPECT_NE(violation, "") << GetParam().first << " does not cause a violation in " << states << " states";
  RecordProperty("violation", violation);
}

INSTANTIATE_TEST_SUITE_P(Orders, SnapshotModelFlaw,
                         ::testing::Values(std::pair("snapshot_before_locks", Flaw::kSnapshotBeforeLocks),
                                           std::pair("slots_before_snapshot", Flaw::kSlotsBeforeSnapshot),
                                           std::pair("validate_before_snapshot", Flaw::kValidateBeforeSnapshot),
                                           std::pair("reader_not_starting", Flaw::kReaderNotStarting),
                                           std::pair("reader_ignores_locks", Flaw::kReaderIgnoresLocks),
                                           std::pair("number_one_late", Flaw::kNumberOneLate)),
                         [](const auto& info) { return info.param.first; });

}  // namespace

ModelResult search(const Model& model) { return Search(model).run(); }

}  // namespace elider::models
