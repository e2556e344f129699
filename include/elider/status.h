// Status and Result: what every fallible call of elider returns.
//
// A Status says what happened (code), why (cause), where (table and key) and, for bad input, in
// words which input was wrong. It is not an exception and not a log line: nothing is printed.
// Thread safety: a Status is a value; distinct copies may be used by distinct threads.
#pragma once

#include "elider/language.h"

#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace elider {

// The order and the values are stable: they appear in statistics and in bindings.
enum class Code : uint8_t {
  kOk = 0,
  kNotFound = 1,         // no row with this key, no table or procedure with this name
  kDuplicateKey = 2,     // insert of a key that is there; or of a value a unique index holds
  kConflict = 3,         // another transaction won; running the procedure again can help
  kInvalidArgument = 4,  // the call is wrong; the message names the input
  kSchemaMismatch = 5,   // a table of this name exists with another schema
  kMemoryLimit = 6,      // Options::memory_limit_bytes is reached; the transaction is undone
  kDeadline = 7,         // RunPolicy's deadline or last attempt, or a lock's, passed while in conflict
  kRolledBack = 8,       // the procedure asked for it (Status::rollback())
  kProcedureThrew = 9,   // the procedure threw; the message holds what()
  kUnsupported = 10,     // this table, build or machine cannot do it (a range scan of a hashed table)
  kFinished = 11,        // the transaction has already committed or rolled back
  kIoError = 12,         // a file could not be opened, read, written or synced; the message names it
  kCorrupt = 13,         // a file holds what it must not; the message names it and the offset. Or a
                         // call of a chopped procedure is incomplete, and the database has stopped
};
inline constexpr int kCodeCount = 14;

// Why a transaction could not commit. Statistics count aborts by it.
enum class Cause : uint8_t {
  kNone = 0,
  kReadChanged = 1,    // a row it had read has a newer version
  kReadLocked = 2,     // a row it had read is being written
  kWriteChanged = 3,   // a row it had read and then wrote has a newer version
  kWriteLocked = 4,    // a row it writes stayed locked by another transaction
  kPhantom = 5,        // a range, or an absent key, it had read has changed
  kRowRemoved = 6,     // a row it writes was unlinked meanwhile
  kMemoryLimit = 7,
  kDeadline = 8,
  kUser = 9,           // the procedure returned an error or asked for a rollback
  kException = 10,     // the procedure threw
  kClaimed = 11,       // a row it touches is claimed by another transaction, which has not ended; or that one has ended it
};
inline constexpr int kCauseCount = 12;
// Whether another transaction won.
constexpr bool is_conflict(Cause cause) {
  return (cause >= Cause::kReadChanged && cause <= Cause::kRowRemoved) || cause == Cause::kClaimed;
}

std::string_view name_of(Code code);    // "ok", "not found", ...
std::string_view name_of(Cause cause);  // "read changed", ...

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status rollback() { return Status(Code::kRolledBack, Cause::kUser); }
  // With the reason in words, for message().
  static Status rollback(std::string reason) { return Status(Code::kRolledBack, Cause::kUser, Status(), std::move(reason)); }
  // A message in words; it must name the input that is wrong.
  static Status invalid_argument(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

  Status(Code code, Cause cause) : head_{code, cause} {}
  Status(Code code, std::string message) : head_{code, Cause::kNone, false, true}, detail_{.text = new Text(0, std::move(message))} {}
  // With the cause, the table and the key of another status.
  Status(Code code, Cause cause, const Status& at, std::string message)
      : head_{code, cause, at.has_key(), true, at.head_.table_name_id}, detail_{.text = new Text(at.key(), std::move(message))} {}
  // `table_name_id` is what intern_name() gave for the table.
  Status(Code code, Cause cause, uint32_t table_name_id, uint64_t key)
      : head_{code, cause, true, false, table_name_id}, detail_{.key = key} {}

  Status(const Status& other) noexcept : head_(other.head_), detail_(other.detail_) {
    if (head_.has_text) [[unlikely]] detail_.text->owners.fetch_add(1, std::memory_order_relaxed);  // the copied one holds it
  }
  // The other one keeps its code, cause, table and key, and loses the words of its message: a
  // failure never turns into success.
  Status(Status&& other) noexcept : head_(other.head_), detail_(other.detail_) {
    if (head_.has_text) [[unlikely]] other.give_words_away();
  }
  Status& operator=(Status other) noexcept {
    std::swap(head_, other.head_);
    std::swap(detail_, other.detail_);
    return *this;
  }
  ~Status() { if (head_.has_text) [[unlikely]] release_text(); }

  bool ok() const { return head_.code == Code::kOk; }
  explicit operator bool() const { return ok(); }
  Code code() const { return head_.code; }
  Cause cause() const { return head_.cause; }
  // True if running the same transaction again can succeed without a change of its input.
  bool retryable() const { return head_.code == Code::kConflict; }
  bool not_found() const { return head_.code == Code::kNotFound; }
  bool has_key() const { return head_.has_key; }
  uint64_t key() const { return head_.has_text ? detail_.text->key : detail_.key; }
  std::string_view table() const;  // empty if it concerns no table; valid for the process's life
  // "conflict: read changed (table 'accounts', key 42)"
  std::string message() const;

 private:
  // Two words, for every operation returns one: the words of a message, and a key
  // beside them, are elsewhere.
  struct Text {
    Text(uint64_t its_key, std::string its_words) : key(its_key), words(std::move(its_words)) {}
    std::atomic<uint32_t> owners{1};
    const uint64_t key;
    const std::string words;
  };
  struct Head {
    Code code = Code::kOk;
    Cause cause = Cause::kNone;
    bool has_key = false;
    bool has_text = false;
    uint32_t table_name_id = 0;  // 0: none
  };
  union Detail {
    uint64_t key;
    Text* text;  // if has_text
  };
  void release_text() noexcept;
  void give_words_away() noexcept {
    detail_ = {.key = detail_.text->key};
    head_.has_text = false;
  }

  Head head_;
  Detail detail_{.key = 0};
};
static_assert(sizeof(Status) == 16);

namespace detail {
// A value was asked for that is not there: prints what was accessed, and the
// status's message, and aborts.
[[noreturn, gnu::cold]] void no_value(const char* accessed, const Status& status) noexcept;
}  // namespace detail

// A value or the Status that says why there is none. To ask for the value where there is none is a
// mistake of the program: it aborts, in all builds, with the status's message.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return status_.ok(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  bool not_found() const { return status_.not_found(); }

  // Only if ok().
  T& value() & { return must_be("value()"), value_; }
  const T& value() const& { return must_be("value()"), value_; }
  T&& value() && { return must_be("value()"), std::move(value_); }
  T& operator*() & { return must_be("*"), value_; }
  const T& operator*() const& { return must_be("*"), value_; }
  T&& operator*() && { return must_be("*"), std::move(value_); }
  T* operator->() { return must_be("->"), &value_; }
  const T* operator->() const { return must_be("->"), &value_; }

 private:
  void must_be(const char* accessed) const {
    if (!status_.ok()) [[unlikely]] detail::no_value(accessed, status_);
  }

  Status status_;
  T value_{};
};

// Process-wide names, so that a Status carries a table in four bytes. Thread-safe.
uint32_t intern_name(std::string_view name);
std::string_view interned_name(uint32_t id);

}  // namespace elider
