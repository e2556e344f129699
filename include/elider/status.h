// Status and Result: the return types of every elider call that can fail.
//
// A Status says what happened (code), why (cause) and where (table and key). For invalid input, its
// message names the input. A failed call does not throw and does not print.
// Thread safety: a Status is a value; different threads may use different copies.
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

// The values are stable, because they appear in statistics and in bindings.
enum class Code : uint8_t {
  kOk = 0,
  kNotFound = 1,         // the key, table, index or procedure does not exist
  kDuplicateKey = 2,     // the inserted key exists, or a unique index already contains the row's value
  kConflict = 3,         // another transaction won; a retry can succeed
  kInvalidArgument = 4,  // the call is wrong; the message names the input
  kSchemaMismatch = 5,   // a table of this name exists with a different schema
  kMemoryLimit = 6,      // Options::memory_limit_bytes is reached; the transaction is rolled back
  kDeadline = 7,         // a deadline, a lock timeout or the maximum number of attempts was reached after conflicts
  kRolledBack = 8,       // the procedure requested a rollback (Status::rollback())
  kProcedureThrew = 9,   // the procedure threw; the message contains what()
  kUnsupported = 10,     // not supported by this table, build or machine, such as a key scan of a hashed table
  kFinished = 11,        // the transaction has already committed or rolled back
  kIoError = 12,         // a file cannot be opened, read, written or synced; the message names it
  // Either a file is damaged, and the message names the file and the offset. Or a chopped procedure
  // failed after some of its pieces had committed, and the database has stopped.
  kCorrupt = 13,
};
inline constexpr int kCodeCount = 14;

// Why a transaction could not commit. Statistics count aborts by cause.
enum class Cause : uint8_t {
  kNone = 0,
  kReadChanged = 1,    // a row that the transaction read has a newer version
  kReadLocked = 2,     // a row that the transaction read is being written
  kWriteChanged = 3,   // a row that the transaction read and then wrote has a newer version
  kWriteLocked = 4,    // a row that the transaction writes stayed locked by another one
  kPhantom = 5,        // a range or an absent key that the transaction read has changed
  kRowRemoved = 6,     // a row that the transaction writes was removed by another one
  kMemoryLimit = 7,
  kDeadline = 8,
  kUser = 9,           // the procedure returned an error or requested a rollback
  kException = 10,     // the procedure threw
  kClaimed = 11,       // another transaction has claimed a row that this one accesses, or aborted this one to use a row that it had claimed
};
inline constexpr int kCauseCount = 12;
// Returns true if the cause is a conflict with another transaction.
constexpr bool is_conflict(Cause cause) {
  return (cause >= Cause::kReadChanged && cause <= Cause::kRowRemoved) || cause == Cause::kClaimed;
}

std::string_view name_of(Code code);    // "ok", "not found", ...
std::string_view name_of(Cause cause);  // "read changed", ...

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status rollback() { return Status(Code::kRolledBack, Cause::kUser); }
  // A rollback with a reason, which becomes the message.
  static Status rollback(std::string reason) { return Status(Code::kRolledBack, Cause::kUser, Status(), std::move(reason)); }
  // The message must name the invalid input.
  static Status invalid_argument(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

  Status(Code code, Cause cause) : head_{code, cause} {}
  Status(Code code, std::string message) : head_{code, Cause::kNone, false, true}, detail_{.text = new Text(0, std::move(message))} {}
  // Copies the table and the key from `at`.
  Status(Code code, Cause cause, const Status& at, std::string message)
      : head_{code, cause, at.has_key(), true, at.head_.table_name_id},
        detail_{.text = new Text(at.key(), std::move(message), at.key_bytes(), at.key_form())} {}
  // `table_name_id` is a result of intern_name().
  Status(Code code, Cause cause, uint32_t table_name_id, uint64_t key)
      : head_{code, cause, true, false, table_name_id}, detail_{.key = key} {}
  // Copies a byte key, which is an encoded tuple if `tuple` is true. If the process runs out of
  // memory, the status does not contain the key.
  Status(Code code, Cause cause, uint32_t table_name_id, std::string_view key_bytes, bool tuple = false) noexcept;

  Status(const Status& other) noexcept : head_(other.head_), detail_(other.detail_) {
    if (head_.has_text) [[unlikely]] detail_.text->owners.fetch_add(1, std::memory_order_relaxed);  // `other` keeps the text alive
  }
  // A moved-from Status loses only its message and its byte key. It keeps its code, cause, table
  // and number key, so that a failure never turns into success.
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
  // True if a retry of the same transaction with the same input can succeed.
  bool retryable() const { return head_.code == Code::kConflict; }
  bool not_found() const { return head_.code == Code::kNotFound; }
  bool has_key() const { return head_.has_key; }
  uint64_t key() const { return head_.has_text ? detail_.text->key : detail_.key; }  // 0 if the key is not a number
  // key_bytes() returns the complete byte key, which is valid as long as the status.
  bool has_key_bytes() const { return key_form() != KeyForm::kNumber; }
  std::string_view key_bytes() const { return has_key_bytes() ? std::string_view(detail_.text->key_bytes) : std::string_view(); }
  std::string_view table() const;  // empty if the status does not concern a table; valid until the process ends
  // Returns, for example, "conflict: read changed (table 'accounts', key 42)". The message contains
  // only the beginning of a long byte key.
  std::string message() const;

 private:
  // A Status has only 16 bytes, because every operation returns one. A message, together with the
  // key, is therefore allocated separately.
  enum class KeyForm : uint8_t { kNumber, kBytes, kTuple };
  struct Text {
    Text(uint64_t its_key, std::string its_words, std::string_view its_key_bytes = {}, KeyForm its_key_form = KeyForm::kNumber)
        : key(its_key), words(std::move(its_words)), key_bytes(its_key_bytes), key_form(its_key_form) {}
    std::atomic<uint32_t> owners{1};
    const uint64_t key;
    const std::string words;
    const std::string key_bytes;
    const KeyForm key_form;
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
  KeyForm key_form() const { return head_.has_text ? detail_.text->key_form : KeyForm::kNumber; }
  void release_text() noexcept;
  void give_words_away() noexcept {
    if (has_key_bytes()) head_.has_key = false;
    detail_ = {.key = detail_.text->key};
    head_.has_text = false;
  }

  Head head_;
  Detail detail_{.key = 0};
};
static_assert(sizeof(Status) == 16);

namespace detail {
// Prints `accessed` and the status's message, and aborts the process.
[[noreturn, gnu::cold]] void no_value(const char* accessed, const Status& status) noexcept;
}  // namespace detail

// A value, or a Status that says why the value is missing. Accessing the value of a failed Result
// prints the status's message and aborts the process, in all builds.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return status_.ok(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  bool not_found() const { return status_.not_found(); }

  // Call these only if ok().
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

// A process-wide table of names, so that a Status can store the name of a table as a four-byte id.
// Thread-safe.
uint32_t intern_name(std::string_view name);
std::string_view interned_name(uint32_t id);

}  // namespace elider
