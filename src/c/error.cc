// Errors of the C interface, and the conversion of exceptions and statuses to them.
#include <cstdlib>

#include "c/handles.h"

using elider::Code;
using elider::Status;

static_assert(int{ELIDER_CORRUPT} == int{static_cast<uint8_t>(Code::kCorrupt)} && elider::kCodeCount == ELIDER_CORRUPT + 1);
static_assert(int{ELIDER_CAUSE_CLAIMED} == int{static_cast<uint8_t>(elider::Cause::kClaimed)} &&
              elider::kCauseCount == ELIDER_CAUSE_CLAIMED + 1);

namespace elider::c {

elider_code report(elider_error* error, Status&& status) noexcept {
  const auto code = static_cast<elider_code>(status.code());
  if (error != nullptr) {
    error->status = std::move(status);
    error->has_message = false;
    error->table.clear();
    try {
      error->table = error->status.table();
    } catch (const std::bad_alloc&) {  // the name of the table is missing
    }
  }
  return code;
}

Status refuse_null(const char* what) { return Status::invalid_argument(std::string(what) + " is a null pointer"); }

Status caught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {Code::kMemoryLimit, Cause::kMemoryLimit};
  } catch (const std::exception& exception) {
    return threw(exception.what(), "a callback or the library");
  } catch (...) {
    if (thread_ends()) throw;
    return threw(nullptr, "a callback or the library");
  }
}

Status copy_text(std::string_view text, char** copy) {
  char* const memory = static_cast<char*>(std::malloc(text.size() + 1));
  if (memory == nullptr) throw std::bad_alloc();
  if (!text.empty()) std::memcpy(memory, text.data(), text.size());
  memory[text.size()] = '\0';
  *copy = memory;
  return {};
}

}  // namespace elider::c

Status elider_transaction::status_of(elider_code code) const {
  if (code == ELIDER_OK) return {};
  if (!last.ok() && static_cast<elider_code>(last.code()) == code) return last;
  if (code == ELIDER_ROLLED_BACK) return Status::rollback();
  if (code < ELIDER_OK || static_cast<int>(code) >= elider::kCodeCount)
    return Status::invalid_argument("the callback returned " + std::to_string(static_cast<int>(code)) + ", which is not an elider_code");
  return {static_cast<Code>(code), elider::Cause::kUser};
}

extern "C" {

const char* elider_code_name(elider_code code) {
  if (code == ELIDER_STOP) return "stop";
  return elider::name_of(static_cast<Code>(code)).data();  // a literal, which ends with a zero
}

elider_error* elider_error_new(void) { return new (std::nothrow) elider_error; }
void elider_error_free(elider_error* error) { delete error; }
elider_code elider_error_code(const elider_error* error) {
  return error == nullptr ? ELIDER_OK : static_cast<elider_code>(error->status.code());
}
elider_cause elider_error_cause(const elider_error* error) {
  return error == nullptr ? ELIDER_CAUSE_NONE : static_cast<elider_cause>(error->status.cause());
}
bool elider_error_retryable(const elider_error* error) { return error != nullptr && error->status.retryable(); }
const char* elider_error_table(const elider_error* error) { return error == nullptr ? "" : error->table.c_str(); }
bool elider_error_key(const elider_error* error, const void** data, size_t* size, uint64_t* number) {
  if (error == nullptr || !error->status.has_key()) return false;
  const bool bytes = error->status.has_key_bytes();
  if (data != nullptr) *data = bytes ? error->status.key_bytes().data() : nullptr;
  if (size != nullptr) *size = bytes ? error->status.key_bytes().size() : 0;
  if (number != nullptr) *number = bytes ? 0 : error->status.key();
  return true;
}
const char* elider_error_message(elider_error* error) {
  if (error == nullptr) return "";
  if (!error->has_message) {
    try {
      error->message = error->status.message();
      error->has_message = true;
    } catch (const std::bad_alloc&) {
      return elider_code_name(static_cast<elider_code>(error->status.code()));
    }
  }
  return error->message.c_str();
}

void elider_free(void* memory) { std::free(memory); }

}  // extern "C"
