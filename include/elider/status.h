// Status and Result: what every fallible call of elider returns.
//
// A Status says what happened (code), why (cause), where (table and key) and, for bad input, in
// words which input was wrong. It is not an exception and not a log line: nothing is printed.
// Thread safety: a Status is a value; distinct copies may be used by distinct threads.
#pragma once

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
  kDeadline = 7,         // RunPolicy's deadline or its last attempt passed while in conflict
  kRolledBack = 8,       // the procedure asked for it (Status::rollback())
  kProcedureThrew = 9,   // the procedure threw; the message holds what()
  kUnsupported = 10,     // this table or engine cannot do it (a range scan of a hashed table)
  kFinished = 11,        // the transaction has already committed or rolled back
  kIoError = 12,         // a file could not be opened, read, written or synced; the message names it
  kCorrupt = 13,         // a file holds what it must not; the message names it and the offset
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
};
inline constexpr int kCauseCount = 11;

std::string_view name_of(Code code);    // "ok", "not found", ...
std::string_view name_of(Cause cause);  // "read changed", ...

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status rollback() { return Status(Code::kRolledBack, Cause::kUser); }
  // A message in words; it must name the input that is wrong.
  static Status invalid_argument(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

  Status(Code code, Cause cause) : code_(code), cause_(cause) {}
  Status(Code code, std::string message) : code_(code), text_(new Text(std::move(message))) {}
  // With the cause, the table and the key of another status.
  Status(Code code, Cause cause, const Status& at, std::string message)
      : code_(code),
        cause_(cause),
        has_key_(at.has_key_),
        table_name_id_(at.table_name_id_),
        key_(at.key_),
        text_(new Text(std::move(message))) {}
  // `table_name_id` is what intern_name() gave for the table.
  Status(Code code, Cause cause, uint32_t table_name_id, uint64_t key)
      : code_(code), cause_(cause), has_key_(true), table_name_id_(table_name_id), key_(key) {}

  Status(const Status& other) noexcept { copy(other); if (text_) text_->owners.fetch_add(1, std::memory_order_relaxed); }
  Status(Status&& other) noexcept { copy(other); other.text_ = nullptr; }
  Status& operator=(Status other) noexcept { release(); copy(other); other.text_ = nullptr; return *this; }
  ~Status() { release(); }

  bool ok() const { return code_ == Code::kOk; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  Cause cause() const { return cause_; }
  // True if running the same transaction again can succeed without a change of its input.
  bool retryable() const { return code_ == Code::kConflict; }
  bool not_found() const { return code_ == Code::kNotFound; }
  bool has_key() const { return has_key_; }
  uint64_t key() const { return key_; }
  std::string_view table() const;  // empty if it concerns no table; valid for the process's life
  // "conflict: read changed (table 'accounts', key 42)"
  std::string message() const;

 private:
  struct Text {
    explicit Text(std::string words) : text(std::move(words)) {}
    std::atomic<uint32_t> owners{1};
    std::string text;
  };
  void copy(const Status& other) noexcept {
    code_ = other.code_; cause_ = other.cause_; has_key_ = other.has_key_;
    table_name_id_ = other.table_name_id_; key_ = other.key_; text_ = other.text_;
  }
  void release() noexcept {
    if (text_ && text_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete text_;
  }

  Code code_ = Code::kOk;
  Cause cause_ = Cause::kNone;
  bool has_key_ = false;
  uint32_t table_name_id_ = 0;  // 0: none
  uint64_t key_ = 0;
  Text* text_ = nullptr;
};

// A value or the Status that says why there is none.
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
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  Status status_;
  T value_{};
};

// Process-wide names, so that a Status carries a table in four bytes. Thread-safe.
uint32_t intern_name(std::string_view name);
std::string_view interned_name(uint32_t id);

}  // namespace elider
