// What the C++20 memory model allows a few threads to see. It checks the consistency axioms of its
// repaired form RC11 (Lahav, Vafeiadis, Kang, Hur and Dreyer, 2017), with C++20's release
// sequences. It tries every choice of the store that each load reads from, and every order of the
// stores to each location. It is exhaustive for straight-line programs of about 14 events whose
// outcome is given: each load says what it reads. With the standard mapping, processors are at
// least as strong as RC11, so what it forbids does not happen on any of them.
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace elider::test {

enum class Order : uint8_t { kRelaxed, kAcquire, kRelease, kAcqRel, kSeqCst };
enum class Act : uint8_t { kLoad, kStore, kUpdate, kFence };  // kUpdate: an atomic read-modify-write

struct Event {
  Act act;
  Order order;
  int location = -1;
  int read = 0;      // the value that a load or update sees
  int written = 0;
  int thread = -1;   // -1: of the initial state
};

inline Event load(int location, int value, Order order) { return {Act::kLoad, order, location, value}; }
inline Event store(int location, int value, Order order) { return {Act::kStore, order, location, 0, value}; }
inline Event update(int location, int from, int to, Order order) { return {Act::kUpdate, order, location, from, to}; }
inline Event fence(Order order) { return {Act::kFence, order}; }

// A relation on up to 32 events. Row i contains the events that i is related to.
class Relation {
 public:
  explicit Relation(size_t size) : rows_(size) {}
  void set(size_t a, size_t b) { rows_[a] |= 1u << b; }
  bool has(size_t a, size_t b) const { return rows_[a] >> b & 1; }
  friend Relation operator|(Relation a, const Relation& b) {
    for (size_t i = 0; i < a.rows_.size(); ++i) a.rows_[i] |= b.rows_[i];
    return a;
  }
  // a;b: from a's beginnings to b's ends.
  friend Relation operator*(const Relation& a, const Relation& b) {
    Relation result(a.rows_.size());
    for (size_t i = 0; i < a.rows_.size(); ++i)
      for (size_t j = 0; j < a.rows_.size(); ++j)
        if (a.has(i, j)) result.rows_[i] |= b.rows_[j];
    return result;
  }
  Relation closure() const {
    Relation result = *this;
    for (size_t k = 0; k < rows_.size(); ++k)
      for (size_t i = 0; i < rows_.size(); ++i)
        if (result.has(i, k)) result.rows_[i] |= result.rows_[k];
    return result;
  }
  Relation optional() const {
    Relation result = *this;
    for (size_t i = 0; i < rows_.size(); ++i) result.set(i, i);
    return result;
  }
  template <class Keep>
  Relation only(Keep&& keep) const {
    Relation result(rows_.size());
    for (size_t i = 0; i < rows_.size(); ++i)
      for (size_t j = 0; j < rows_.size(); ++j)
        if (has(i, j) && keep(i, j)) result.set(i, j);
    return result;
  }
  bool reflexive_somewhere() const {
    for (size_t i = 0; i < rows_.size(); ++i)
      if (has(i, i)) return true;
    return false;
  }
  bool cyclic() const { return closure().reflexive_somewhere(); }

 private:
  std::vector<uint32_t> rows_;
};

class Litmus {
 public:
  explicit Litmus(const std::vector<std::vector<Event>>& threads) {
    int locations = 0;
    for (const auto& thread : threads)
      for (const Event& event : thread) locations = std::max(locations, event.location + 1);
    for (int l = 0; l < locations; ++l) events_.push_back({Act::kStore, Order::kRelaxed, l});
    for (size_t t = 0; t < threads.size(); ++t)
      for (Event event : threads[t]) {
        event.thread = static_cast<int>(t);
        events_.push_back(event);
      }
    writes_of_.resize(static_cast<size_t>(locations));
    for (size_t e = 0; e < events_.size(); ++e)
      if (writes(e)) writes_of_[static_cast<size_t>(events_[e].location)].push_back(e);
  }

  // Whether the outcome that the loads specify is possible.
  bool allowed() {
    from_.assign(events_.size(), 0);
    return choose_sources(0);
  }
  size_t executions() const { return executions_; }  // that allowed() has looked at

 private:
  bool writes(size_t e) const { return events_[e].act == Act::kStore || events_[e].act == Act::kUpdate; }
  bool reads(size_t e) const { return events_[e].act == Act::kLoad || events_[e].act == Act::kUpdate; }
  bool fences(size_t e) const { return events_[e].act == Act::kFence; }
  bool seq_cst(size_t e) const { return events_[e].order == Order::kSeqCst; }
  bool acquires(size_t e) const {
    return seq_cst(e) || events_[e].order == Order::kAcquire || events_[e].order == Order::kAcqRel;
  }
  bool releases(size_t e) const {
    return seq_cst(e) || events_[e].order == Order::kRelease || events_[e].order == Order::kAcqRel;
  }

  bool choose_sources(size_t e) {
    if (e == events_.size()) return choose_order(0);
    if (!reads(e)) return choose_sources(e + 1);
    for (size_t w : writes_of_[static_cast<size_t>(events_[e].location)]) {
      if (w == e || events_[w].written != events_[e].read) continue;
      from_[e] = w;
      if (choose_sources(e + 1)) return true;
    }
    return false;
  }
  bool choose_order(size_t location) {
    if (location == writes_of_.size()) return consistent();
    std::vector<size_t>& order = writes_of_[location];
    std::sort(order.begin() + 1, order.end());  // the initial state stays first
    do {
      if (choose_order(location + 1)) return true;
    } while (std::next_permutation(order.begin() + 1, order.end()));
    return false;
  }

  bool consistent() {
    ++executions_;
    const size_t n = events_.size();
    const auto same_place = [&](size_t a, size_t b) { return events_[a].location == events_[b].location && !fences(a); };
    Relation sb(n), rf(n), mo(n), rb(n);
    for (size_t a = 0; a < n; ++a)
      for (size_t b = a + 1; b < n; ++b)
        if (events_[b].thread >= 0 && (events_[a].thread < 0 || events_[a].thread == events_[b].thread)) sb.set(a, b);
    for (size_t e = 0; e < n; ++e)
      if (reads(e)) rf.set(from_[e], e);
    for (const auto& order : writes_of_)
      for (size_t i = 0; i < order.size(); ++i)
        for (size_t j = i + 1; j < order.size(); ++j) mo.set(order[i], order[j]);
    for (size_t e = 0; e < n; ++e)
      for (size_t w = 0; reads(e) && w < n; ++w)
        if (w != e && mo.has(from_[e], w)) rb.set(e, w);

    const Relation hb = (sb | synchronizes(sb, rf)).closure();
    const Relation eco = (rf | mo | rb).closure();
    if (hb.reflexive_somewhere() || (hb * eco).reflexive_somewhere()) return false;             // coherence
    if ((rb * mo).only([](size_t a, size_t b) { return a == b; }).reflexive_somewhere()) return false;  // atomicity
    if ((sb | rf).cyclic()) return false;                                                       // nothing out of thin air

    const Relation sb_elsewhere = sb.only([&](size_t a, size_t b) { return !same_place(a, b); });
    const Relation scb = sb | sb_elsewhere * hb * sb_elsewhere | hb.only(same_place) | mo | rb;
    const auto is_sc_fence = [&](size_t e) { return fences(e) && seq_cst(e); };
    const Relation hb_or_same = hb.optional();
    // The steps from an access or fence of seq_cst to the ends of scb.
    Relation before(n), after(n);
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) {
        if ((a == b && seq_cst(a)) || (is_sc_fence(a) && hb_or_same.has(a, b))) before.set(a, b);
        if ((a == b && seq_cst(a)) || (is_sc_fence(b) && hb_or_same.has(a, b))) after.set(a, b);
      }
    const Relation between_fences =
        (hb | hb * eco * hb).only([&](size_t a, size_t b) { return is_sc_fence(a) && is_sc_fence(b); });
    return !(before * scb * after | between_fences).cyclic();
  }

  // Edges from a release store, or a store after a release fence, to an acquire load, or a load
  // before an acquire fence.
  Relation synchronizes(const Relation& sb, const Relation& rf) const {
    const size_t n = events_.size();
    const Relation chain = rf.only([&](size_t, size_t b) { return events_[b].act == Act::kUpdate; }).closure().optional();
    Relation release(n), acquire(n);
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) {
        if (releases(a) && writes(b) && (a == b || (fences(a) && sb.has(a, b)))) release.set(a, b);
        if (acquires(b) && reads(a) && (a == b || (fences(b) && sb.has(a, b)))) acquire.set(a, b);
      }
    return release * chain * rf * acquire;
  }

  std::vector<Event> events_;
  std::vector<std::vector<size_t>> writes_of_;  // of a location, in its order
  std::vector<size_t> from_;                    // the store that a load reads from
  size_t executions_ = 0;
};

}  // namespace elider::test
