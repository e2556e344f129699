// Stored procedures: named, with typed parameters, called with all arguments at once (DBX's
// one-shot requests, section 6), so that a server can run them without knowing them.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "elider/touches.h"
#include "elider/transaction.h"

namespace elider {

enum class ValueType : uint8_t { kInt64, kUInt64, kDouble, kText };
using Value = std::variant<int64_t, uint64_t, double, std::string>;  // in the order of ValueType
std::string_view name_of(ValueType type);

struct Parameter {
  std::string name;
  ValueType type;
};

struct Procedure {
  std::string name;
  std::vector<Parameter> parameters;
  // Runs once an attempt: it must not change anything but the transaction and `reply`, which is
  // cleared before each attempt.
  std::function<Status(Transaction& txn, std::span<const Value> arguments, std::vector<Value>& reply)> body;
  bool read_only = false;  // run on the newest snapshot
  // What a call with these arguments will look at, for Database::call_group. May be missing.
  std::function<void(Touches& touches, std::span<const Value> arguments)> touch = {};
};

// One of many calls (Database::call_group).
struct ProcedureCall {
  std::string_view name;
  std::span<const Value> arguments;
  std::vector<Value>* reply = nullptr;  // as Database::call()'s
};

}  // namespace elider
