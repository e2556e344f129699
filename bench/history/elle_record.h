// ElleSession keeps the requests and results of one thread's transactions in memory until the run
// ends. write_elle() writes all sessions as one history in Elle's JSON-lines format
// (docs/history.md).
//
// The indexes of all events come from one counter. An invocation gets its index before the
// transaction begins, and a completion after the transaction has ended. Therefore, if a completion
// precedes an invocation in the file, the completed transaction really ended before the other one
// began.
// Thread safety: a session belongs to its thread; write_elle() runs when the threads have ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elider/status.h"

namespace elider::bench {

// Elle's micro-operations, each encoded as a sequence of words: the kind, the key, and then the
// values that the kind requires. The encoding is compact, because a run holds millions of
// micro-operations.
class MicroOps {
 public:
  enum class Kind : int64_t { kAppend, kWrite, kReadList, kReadValue, kReadNull };

  void append(int64_t key, int64_t value) { put({static_cast<int64_t>(Kind::kAppend), key, value}); }
  void write(int64_t key, int64_t value) { put({static_cast<int64_t>(Kind::kWrite), key, value}); }
  void read_list(int64_t key, std::span<const int64_t> values);
  void read_value(int64_t key, std::optional<int64_t> value);
  // Records a read whose result is not known yet, for an invocation. It is written as null.
  void read_unknown(int64_t key) { put({static_cast<int64_t>(Kind::kReadNull), key}); }
  void add(const MicroOps& others) { words_.insert(words_.end(), others.words_.begin(), others.words_.end()); }
  void clear() { words_.clear(); }
  void reserve(size_t words) { words_.reserve(words); }
  std::span<const int64_t> words() const { return words_; }

 private:
  void put(std::initializer_list<int64_t> words) { words_.insert(words_.end(), words); }
  std::vector<int64_t> words_;
};

// `[["append",1,2],["r",1,[2]]]`
std::string json_of(std::span<const int64_t> words);

// The position of a committed transaction in the commit order (elider/history.h).
struct CommitRank {
  uint64_t snapshot = 0;
  uint64_t order = 0;
  bool read_only = false;
  bool known = false;
};

enum class EventType : uint8_t { kInvoke, kOk, kFail, kInfo };

class ElleSession {
 public:
  void record(uint64_t index, uint64_t time_ns, EventType type, const MicroOps& operations, const CommitRank& rank = {});

  struct Event {
    uint64_t index = 0;
    uint64_t time_ns = 0;
    uint64_t words_begin = 0;
    uint32_t words_count = 0;
    EventType type = EventType::kInvoke;
    CommitRank rank;
  };
  const std::vector<Event>& events() const { return events_; }
  std::span<const int64_t> words(const Event& event) const { return std::span(words_).subspan(event.words_begin, event.words_count); }

 private:
  std::vector<Event> events_;
  std::vector<int64_t> words_;
};

// Writes the history to the file `path`. If `with_ranks` is true, also writes a file with the
// suffix .ranks, a JSON object that maps the index of each committed transaction's completion to
// the transaction's position in the engine's commit order. Fails with kInvalidArgument if a file
// cannot be written.
Status write_elle(const std::string& path, const std::vector<std::unique_ptr<ElleSession>>& sessions, bool with_ranks = true);

}  // namespace elider::bench
