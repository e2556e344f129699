#include "elider/status.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>

#include "base/key_text.h"
#include "base/utf8.h"
#include "elider/tuple.h"

namespace elider {

namespace {

// Names are never destroyed, because a Status may outlive its database.
struct Names {
  std::mutex mutex;               // a leaf lock
  std::deque<std::string> by_id;  // a deque, because growth does not move strings
  std::map<std::string_view, uint32_t> ids;
};

Names& names() {
  static Names* const instance = new Names;
  return *instance;
}

}  // namespace

uint32_t intern_name(std::string_view name) {
  if (name.empty()) return 0;
  Names& all = names();
  std::lock_guard lock(all.mutex);
  const auto it = all.ids.find(name);
  if (it != all.ids.end()) return it->second;
  all.by_id.emplace_back(name);
  const auto id = static_cast<uint32_t>(all.by_id.size());  // from 1, because 0 means unnamed
  all.ids.emplace(all.by_id.back(), id);
  return id;
}

std::string_view interned_name(uint32_t id) {
  Names& all = names();
  std::lock_guard lock(all.mutex);
  return id == 0 || id > all.by_id.size() ? std::string_view() : std::string_view(all.by_id[id - 1]);
}

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kNotFound: return "not found";
    case Code::kDuplicateKey: return "duplicate key";
    case Code::kConflict: return "conflict";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kSchemaMismatch: return "schema mismatch";
    case Code::kMemoryLimit: return "memory limit";
    case Code::kDeadline: return "deadline";
    case Code::kRolledBack: return "rolled back";
    case Code::kProcedureThrew: return "procedure threw";
    case Code::kUnsupported: return "unsupported";
    case Code::kFinished: return "finished";
    case Code::kIoError: return "file error";
    case Code::kCorrupt: return "corrupt";
  }
  return "unknown code";
}

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::kNone: return "none";
    case Cause::kReadChanged: return "read changed";
    case Cause::kReadLocked: return "read locked";
    case Cause::kWriteChanged: return "write changed";
    case Cause::kWriteLocked: return "write locked";
    case Cause::kPhantom: return "phantom";
    case Cause::kRowRemoved: return "row removed";
    case Cause::kMemoryLimit: return "memory limit";
    case Cause::kDeadline: return "deadline";
    case Cause::kUser: return "user";
    case Cause::kException: return "exception";
    case Cause::kClaimed: return "claimed";
  }
  return "unknown cause";
}

namespace detail {

namespace {
[[noreturn]] void stop(const std::string& words) noexcept {
  std::fprintf(stderr, "elider: %s\n", words.c_str());
  std::abort();
}
}  // namespace

void no_value(const char* accessed, const Status& status) noexcept {
  stop(std::string(accessed) + " of a Result that has failed: " + status.message());
}
void wrong_view(bool empty) noexcept {
  stop(empty ? "a View that shows no row was used: the row does not exist, or nothing was read into the View"
             : "a View was used after its transaction or its scan's visitor had ended; copy the data that is needed later");
}

}  // namespace detail

std::string_view Status::table() const { return interned_name(head_.table_name_id); }

// acq_rel: the last owner, which deletes the text, must see all accesses of the other owners.
void Status::release_text() noexcept {
  if (detail_.text->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete detail_.text;
}

Status::Status(Code code, Cause cause, uint32_t table_name_id, std::string_view key_bytes, bool tuple) noexcept
    : head_{code, cause, false, false, table_name_id} {
  try {
    detail_ = {.text = new Text(0, {}, key_bytes, tuple ? KeyForm::kTuple : KeyForm::kBytes)};
    head_.has_key = head_.has_text = true;
  } catch (const std::bad_alloc&) {
  }
}

std::string quoted_key(std::string_view bytes) {
  constexpr size_t kShown = 64;
  if (bytes.size() <= kShown) return '"' + printable(bytes) + '"';
  return '"' + printable(bytes.substr(0, kShown)) + "...\" of " + std::to_string(bytes.size()) + " bytes";
}

std::string Status::message() const {
  std::string words(name_of(code()));
  // If the cause has the same name as the code, the message contains the name only once.
  if (cause() != Cause::kNone && name_of(cause()) != words) {
    words += ": ";
    words += name_of(cause());
  }
  if (head_.has_text && !detail_.text->words.empty()) {
    words += ": ";
    words += detail_.text->words;
  }
  const std::string_view table_name = table();
  if (table_name.empty() && !has_key()) return words;
  words += " (";
  if (!table_name.empty()) {
    words += "table '";
    words += table_name;
    words += '\'';
  }
  if (has_key()) {
    if (!table_name.empty()) words += ", ";
    words += "key ";
    switch (key_form()) {
      case KeyForm::kNumber: words += std::to_string(key()); break;
      case KeyForm::kBytes: words += quoted_key(key_bytes()); break;
      case KeyForm::kTuple: words += tuple_to_text(std::as_bytes(std::span(key_bytes()))); break;
    }
  }
  words += ')';
  return words;
}

}  // namespace elider
