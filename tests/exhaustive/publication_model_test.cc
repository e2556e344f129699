// A model of publications (src/txn/chopping/publications.h) in atomic steps, and an exhaustive
// search of all their interleavings. It is not the engine. It proves the order of steps, and shows
// that leaving out any step breaks it.
//
// There are two publishers; a subscriber; another call, which meets publishers' cores, and after it
// a subscriber of the same client; and a reader of a snapshot. A core's commit, a subscriber's
// commit, and writing one publisher's deferred part are one step each, because rows' locks make
// them atomic.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/exhaustive/search_all.h"

namespace elider::models::publications {
namespace {

enum class Flaw {
  kNone,
  kPublishBesideSubscribers,  // 3 of a publisher is left out
  kLookBeforeEntering,        // a subscriber looks for publications before it says that it is under way, and not after it
  kCloseEarly,                // 6 of a publisher
  kPassPublisher,             // 3 of a subscriber
  kAnswerEarly,               // a call that has seen a core does not wait
  kListLate,                  // a publisher lists itself once its core has its number
  kLookBeforeNumber,          // a subscriber reads the list before it reads its number
};

constexpr int kPublishers = 2, kSubscribers = 2;
constexpr uint8_t kUnset = 0xff;

struct Publisher {
  uint8_t at = 0, number = kUnset, core = kUnset, listed = kUnset, scanned = 0, applied = 0;
};
struct Subscriber {
  uint8_t at = 0, under_way = 0, number = kUnset, scanned = 0, ended = 0;
  std::array<uint8_t, kPublishers> sees{}, must_see{};
};
struct State {
  uint8_t s = 1, cores = 0, open = 0;
  std::array<Publisher, kPublishers> publishers;
  std::array<Subscriber, kSubscribers> subscribers;
  struct {
    uint8_t at = 0, scanned = 0;
    std::array<uint8_t, kPublishers> sees{}, waits{};
  } other;  // it meets cores; subscribers[1] begins after it
  struct {
    uint8_t at = 0, number = 0, scanned = 0;
  } reader;
};

class Model {
 public:
  explicit Model(Flaw flaw) : flaw_(flaw) {}

  // False: it waits, or has ended.
  bool step(State& state, int process) const {
    if (process < kPublishers) return publish(state, state.publishers[static_cast<size_t>(process)], process);
    if (process == kPublishers) return subscribe(state, state.subscribers[0]);
    if (process == kPublishers + 1) return state.other.at == 4 ? subscribe(state, state.subscribers[1]) : meet_cores(state);
    return read(state);
  }

  // Checks the final state for a cycle among what each transaction has seen and what must precede
  // what. `strictly`: real time counts as well.
  static std::string wrong(const State& state, bool strictly) {
    if (!ended(state)) return "";
    // P0, P1, the subscribers, the other, the reader.
    constexpr size_t kNodes = kPublishers + kSubscribers + 2, kOther = kPublishers + kSubscribers, kReader = kOther + 1;
    std::array<std::array<bool, kNodes>, kNodes> before{};
    const auto order = [&](size_t one, size_t two, bool first) { first ? before[one][two] = true : before[two][one] = true; };
    order(0, 1, state.publishers[0].core < state.publishers[1].core);
    for (size_t p = 0; p < kPublishers; ++p) {
      for (size_t s = 0; s < kSubscribers; ++s) {
        if (state.subscribers[s].sees[p] == 2) return "a subscriber has seen half of a publisher";
        order(p, kPublishers + s, state.subscribers[s].sees[p] != 0);
        if (strictly && state.subscribers[s].must_see[p] != 0) before[p][kPublishers + s] = true;
      }
      order(p, kOther, state.other.sees[p] != 0);
      order(p, kReader, state.publishers[p].number <= state.reader.number);
    }
    for (size_t s = 0; s < kSubscribers; ++s) order(kPublishers + s, kReader, state.subscribers[s].number <= state.reader.number);
    before[kOther][kPublishers + 1] = strictly;
    for (size_t k = 0; k < kNodes; ++k)
      for (size_t i = 0; i < kNodes; ++i)
        for (size_t j = 0; j < kNodes; ++j) before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
    for (size_t i = 0; i < kNodes; ++i)
      if (before[i][i]) return "no serial order explains what they have seen" + words(state);
    return "";
  }

 private:
  static std::string words(const State& state) {
    std::string w;
    const auto say = [&](const char* what, int value) { w += std::string(", ") + what + " " + std::to_string(value); };
    for (const Publisher& p : state.publishers) say("publisher of number", p.number), say("core", p.core);
    for (const Subscriber& s : state.subscribers) say("subscriber of number", s.number), say("sees", s.sees[0]), say("and", s.sees[1]);
    for (const Subscriber& s : state.subscribers) say("must see", s.must_see[0]), say("and", s.must_see[1]);
    say("the other sees", state.other.sees[0]), say("and", state.other.sees[1]), say("reader of number", state.reader.number);
    return w;
  }
  static bool ended(const State& state) {
    return state.publishers[0].at == 8 && state.publishers[1].at == 8 && state.subscribers[0].ended && state.subscribers[1].ended &&
           state.reader.at == 2;
  }

  bool publish(State& state, Publisher& me, int process) const {
    switch (me.at) {
      case 0:  // it lists itself at the number that it has read
        if (flaw_ != Flaw::kListLate) me.listed = state.s;
        break;
      case 1:  // under the locks of its core, which the other one also needs
        if (state.publishers[static_cast<size_t>(1 - process)].at == 2) return false;
        me.number = state.s;
        break;
      case 2:
        if (flaw_ == Flaw::kListLate) me.listed = me.number;
        me.core = state.cores++;
        break;
      case 3:
        ++state.open;
        break;
      case 4:  // looks at one subscriber after the other
        if (flaw_ != Flaw::kPublishBesideSubscribers) {
          if (state.subscribers[me.scanned].under_way) return false;
          if (++me.scanned < kSubscribers) return true;
        }
        me.scanned = 0;
        break;
      case 5:
        if (++me.applied < 2) return true;  // two rows
        break;
      case 6:
        me.listed = kUnset;
        break;
      case 7:
        if (flaw_ != Flaw::kCloseEarly && state.publishers[static_cast<size_t>(1 - process)].listed != kUnset) return false;
        --state.open;
        break;
      default: return false;
    }
    ++me.at;
    return true;
  }

  bool subscribe(State& state, Subscriber& me) const {
    const bool looks_first = flaw_ == Flaw::kLookBeforeNumber;
    switch (me.at) {
      case 0:
        for (size_t p = 0; p < kPublishers; ++p) me.must_see[p] = state.publishers[p].at == 8;
        ++me.at;
        [[fallthrough]];
      case 1:
        if (state.open != 0) return false;
        me.under_way = flaw_ != Flaw::kLookBeforeEntering;
        break;
      case 2:
        if (flaw_ != Flaw::kLookBeforeEntering && state.open != 0) return leave(me);
        me.under_way = 1;
        break;
      case 3:  // of each publisher a row, and then the other
      case 4:
        for (size_t p = 0; p < kPublishers; ++p) {
          const uint8_t row = state.publishers[p].applied > (me.at == 3 ? 0 : 1);
          me.sees[p] = me.at == 3 ? row : me.sees[p] == row ? row : 2;
        }
        break;
      case 5:
        if (!looks_first) me.number = state.s;
        break;
      case 6:
        if (flaw_ != Flaw::kPassPublisher) {
          const Publisher& publisher = state.publishers[me.scanned];
          if (publisher.listed != kUnset && publisher.listed < (looks_first ? state.s : me.number)) return leave(me);
          if (++me.scanned < kPublishers) return true;
        }
        break;
      case 7:
        if (looks_first) me.number = state.s;
        break;
      case 8:
        me.under_way = 0;
        me.ended = 1;
        break;
      default: return false;
    }
    ++me.at;
    return true;
  }
  static bool leave(Subscriber& me) {
    me.under_way = me.scanned = 0;
    me.sees = {};
    me.at = 1;
    return true;
  }

  bool meet_cores(State& state) const {
    auto& me = state.other;
    switch (me.at) {
      case 0:
        for (size_t p = 0; p < kPublishers; ++p) me.sees[p] = state.publishers[p].core != kUnset;
        break;
      case 1:  // the publishers that are listed now
        for (size_t p = 0; p < kPublishers; ++p) me.waits[p] = state.publishers[p].listed != kUnset;
        break;
      case 2:
        if (flaw_ == Flaw::kAnswerEarly) break;
        for (size_t p = 0; p < kPublishers; ++p)
          if (me.waits[p] && state.publishers[p].listed != kUnset) return false;
        break;
      case 3: break;
      default: return false;
    }
    ++me.at;
    return true;
  }

  // It waits for calls of its number and below, as a reader does (storage/snapshots.h).
  bool read(State& state) const {
    auto& me = state.reader;
    if (me.at == 0) {
      me.number = state.s++;
    } else if (me.at == 1) {
      const Publisher& publisher = state.publishers[me.scanned];
      if (publisher.listed != kUnset && publisher.listed <= me.number) return false;
      if (++me.scanned < kPublishers) return true;
    } else {
      return false;
    }
    ++me.at;
    return true;
  }

  const Flaw flaw_;
};

SearchResult search(Flaw flaw, bool strictly = true) {
  const Model model(flaw);
  return search_all(
      State{}, kPublishers + 3, [&](State& state, int process) { return model.step(state, process); },
      [&](const State& state) { return Model::wrong(state, strictly); });
}

TEST(PublicationModel, EveryInterleavingIsSerializable) {
  const SearchResult result = search(Flaw::kNone);
  EXPECT_EQ(result.violation, "");
  EXPECT_GT(result.states, 100'000u);
  std::printf("%llu states of publications\n", static_cast<unsigned long long>(result.states));
}

TEST(PublicationModel, EachStepIsNeeded) {
  for (const Flaw flaw : {Flaw::kPublishBesideSubscribers, Flaw::kLookBeforeEntering, Flaw::kCloseEarly, Flaw::kPassPublisher,
                          Flaw::kAnswerEarly, Flaw::kListLate, Flaw::kLookBeforeNumber})
    EXPECT_NE(search(flaw).violation, "") << static_cast<int>(flaw);
}

// InstallOptions::answers_at_once leaves out the wait that strictness needs, and no other.
TEST(PublicationModel, WhoAnswersAtOnceIsSerializable) {
  const SearchResult result = search(Flaw::kAnswerEarly, false);
  EXPECT_EQ(result.violation, "");
  EXPECT_GT(result.states, 100'000u);
}

TEST(PublicationModel, TheOtherStepsAreNeededForThatToo) {
  for (const Flaw flaw : {Flaw::kPublishBesideSubscribers, Flaw::kLookBeforeEntering, Flaw::kCloseEarly, Flaw::kPassPublisher,
                          Flaw::kListLate, Flaw::kLookBeforeNumber})
    EXPECT_NE(search(flaw, false).violation, "") << static_cast<int>(flaw);
}

}  // namespace
}  // namespace elider::models::publications
