// Story: what the sessions of a run did and learned, and whether a recovered state is consistent
// with it.
//
// It does not rely on the log. A state is allowed if there is a number of transactions of each
// session, namely what their rows in `progress` count, such that
//   - everything that was acknowledged before the crash is among them;
//   - they are a prefix of the commit order, according to the snapshot numbers in the history;
//   - they are a prefix of every order that clients can see. If a transaction had ended before one
//     of them began, or wrote a row before one of them did, it is also among them;
//   - the state is exactly what they wrote.
// Thread safety: note() by each session's thread. The caller holds a lock for acknowledge() and
// report(). The other functions may be called after the sessions have ended.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/crash/world.h"

namespace elider::crash {

struct Effect {
  uint64_t place = 0;
  uint64_t version = 0;  // of the row: rises with each writer
  bool present = true;
  std::string row;
};
struct Addition {
  uint64_t place = 0;
  int64_t sum = 0;
  uint64_t count = 0;
};
struct Deed {
  uint64_t begin = 0, end = 0;  // by the clients' common clock
  uint64_t number = 0;          // its snapshot number
  std::vector<Effect> effects;
  std::vector<Addition> additions;
};

class Story {
 public:
  explicit Story(uint32_t sessions) : deeds_(sessions) {}
  uint32_t sessions() const { return static_cast<uint32_t>(deeds_.size()); }
  const std::vector<Deed>& deeds(uint32_t session) const { return deeds_[session]; }

  void note(uint32_t session, Deed deed) { deeds_[session].push_back(std::move(deed)); }
  // After this many calls of the file system, the first `count` transactions of a session are known
  // to be durable.
  void acknowledge(size_t calls, uint32_t session, uint64_t count) { acknowledged_.push_back({calls, session, count}); }
  // After this many calls, all commits with numbers up to `durable` are known to be durable.
  void report(size_t calls, uint64_t durable) { reports_.push_back({calls, durable}); }

  uint64_t last_end() const {
    uint64_t last = 0;
    for (const auto& of_session : deeds_)
      for (const Deed& deed : of_session) last = std::max(last, deed.end);
    return last;
  }
  // Forgets the transactions that `state` does not contain. The others are durable from the
  // beginning. For a run that continues from `state`.
  void continue_from(const State& state) {
    acknowledged_.clear();
    reports_.clear();
    for (uint32_t s = 0; s < sessions(); ++s) {
      deeds_[s].resize(count_in(state, s));
      acknowledged_.push_back({0, s, deeds_[s].size()});
    }
  }

  // A process that was killed after this many calls left `state` to its successor. Forgets the
  // transactions that `state` does not contain. Of the others, only those that were acknowledged by
  // then are durable from the beginning. For a run that continues from `state`.
  void continue_from_killed(const State& state, size_t calls) {
    const auto came_later = [&](const auto& what) { return what.calls > calls; };
    std::erase_if(acknowledged_, came_later);
    std::erase_if(reports_, came_later);
    for (Acknowledged& known : acknowledged_) known.calls = 0;
    for (Report& report : reports_) report.calls = 0;
    for (uint32_t s = 0; s < sessions(); ++s) deeds_[s].resize(count_in(state, s));
  }

  // Two crash points with the same number make the same demands on a state.
  uint64_t demands_at(size_t calls) const {
    const auto known = [&](const auto& what) { return what.calls <= calls; };
    return static_cast<uint64_t>(std::count_if(acknowledged_.begin(), acknowledged_.end(), known) +
                                 std::count_if(reports_.begin(), reports_.end(), known));
  }
  // `state` was recovered after a crash that followed this many calls. Returns an empty text, or
  // why the state is not allowed.
  std::string judge(const State& state, size_t calls) const {
    std::vector<uint64_t> counts(sessions());
    for (uint32_t s = 0; s < sessions(); ++s) {
      counts[s] = count_in(state, s);
      if (counts[s] > deeds_[s].size())
        return "session " + std::to_string(s) + " has " + std::to_string(counts[s]) + " transactions, but it made " +
               std::to_string(deeds_[s].size());
    }
    for (const Acknowledged& known : acknowledged_)
      if (known.calls <= calls && counts[known.session] < known.count)
        return "session " + std::to_string(known.session) + " has " + std::to_string(counts[known.session]) + " transactions; " +
               std::to_string(known.count) + " were acknowledged";
    if (std::string wrong = judge_order(counts, calls); !wrong.empty()) return wrong;
    State expected;
    if (std::string wrong = build(counts, &expected); !wrong.empty()) return wrong;
    return difference(expected, state);
  }
  // The number of transactions of all sessions in the state.
  uint64_t transactions_in(const State& state) const {
    uint64_t sum = 0;
    for (uint32_t s = 0; s < sessions(); ++s) sum += count_in(state, s);
    return sum;
  }

 private:
  struct Acknowledged {
    size_t calls;
    uint32_t session;
    uint64_t count;
  };
  struct Report {
    size_t calls;
    uint64_t durable;
  };

  static uint64_t count_in(const State& state, uint32_t session) {
    const auto row = state.find(place_of(TableId::kProgress, session));
    return row == state.end() ? 0 : row_of<Progress>(row->second).count;
  }

  std::string judge_order(const std::vector<uint64_t>& counts, size_t calls) const {
    uint64_t last_number = 0, last_begin = 0;  // of those that are there
    for (uint32_t s = 0; s < sessions(); ++s)
      for (uint64_t i = 0; i < counts[s]; ++i) {
        last_number = std::max(last_number, deeds_[s][i].number);
        last_begin = std::max(last_begin, deeds_[s][i].begin);
      }
    for (const Report& report : reports_)
      if (report.calls <= calls) last_number = std::max(last_number, report.durable);
    for (uint32_t s = 0; s < sessions(); ++s) {
      if (counts[s] == deeds_[s].size()) continue;
      const Deed& missing = deeds_[s][counts[s]];
      const std::string named = "transaction " + std::to_string(counts[s]) + " of session " + std::to_string(s) + " is missing, ";
      if (missing.number <= last_number)
        return named + "whose number is " + std::to_string(missing.number) + "; number " + std::to_string(last_number) +
               " is there or was said to be durable";
      if (missing.end < last_begin) return named + "which ended before one that is there began";
    }
    return "";
  }

  std::string build(const std::vector<uint64_t>& counts, State* expected) const {
    struct Writers {
      const Effect* newest = nullptr;   // of those that are there
      uint64_t oldest_missing = ~uint64_t{0};
    };
    std::map<uint64_t, Writers> places;
    for (uint32_t s = 0; s < sessions(); ++s)
      for (uint64_t i = 0; i < deeds_[s].size(); ++i)
        for (const Effect& effect : deeds_[s][i].effects) {
          Writers& writers = places[effect.place];
          if (i >= counts[s]) writers.oldest_missing = std::min(writers.oldest_missing, effect.version);
          else if (writers.newest == nullptr || writers.newest->version < effect.version) writers.newest = &effect;
        }
    for (const auto& [place, writers] : places) {
      if (writers.newest == nullptr) continue;
      if (writers.oldest_missing < writers.newest->version)
        return describe(place) + " was written by a transaction that is there after one that is missing";
      if (writers.newest->present) (*expected)[place] = writers.newest->row;
    }
    for (uint32_t s = 0; s < sessions(); ++s)
      for (uint64_t i = 0; i < counts[s]; ++i)
        for (const Addition& addition : deeds_[s][i].additions) {
          if (!expected->contains(addition.place)) return describe(addition.place) + " was added to before it was made";
          Hot row = row_of<Hot>((*expected)[addition.place]);
          row.sum += addition.sum;
          row.count += addition.count;
          (*expected)[addition.place] = bytes_of(row);
        }
    return "";
  }

  std::vector<std::vector<Deed>> deeds_;  // by session
  std::vector<Acknowledged> acknowledged_;
  std::vector<Report> reports_;
};

}  // namespace elider::crash
