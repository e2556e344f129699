// The names of option values.
#include "elider/options.h"
#include "elider/schema.h"

namespace elider {

std::string_view name_of(SyncPolicy sync) {
  switch (sync) {
    case SyncPolicy::kAutomatic: return "automatic";
    case SyncPolicy::kOptimistic: return "optimistic";
    case SyncPolicy::kLatched: return "latched";
    case SyncPolicy::kSingleThreaded: return "single-threaded";
    case SyncPolicy::kElided: return "elided";
  }
  return "?";
}

std::string_view name_of(HtmBackend htm) {
  switch (htm) {
    case HtmBackend::kAutomatic: return "automatic";
    case HtmBackend::kRtm: return "rtm";
    case HtmBackend::kNone: return "none";
    case HtmBackend::kAlwaysAborts: return "always-aborts";
    case HtmBackend::kEmulated: return "emulated";
  }
  return "?";
}

std::string_view name_of(Protocol protocol) {
  for (const auto& [known, name] : kProtocols)
    if (known == protocol) return name;
  return "?";
}

std::string_view name_of(RowType type) {
  constexpr std::string_view kNames[kRowTypes] = {"bool",   "int8",  "int16",  "int32",     "int64", "uint8", "uint16",  "uint32", "uint64",
                                                  "float",  "double", "timestamp", "text",  "bytes", "uuid",   "decimal", "json"};
  const auto i = static_cast<size_t>(type);
  return i < kRowTypes ? kNames[i] : "unknown";
}

std::string_view name_of(KeyIndex kind) {
  switch (kind) {
    case KeyIndex::kOrdered: return "btree";
    case KeyIndex::kHashed: return "hash";
    case KeyIndex::kRadix: return "art";
  }
  return "?";
}

bool parse(std::string_view name, KeyIndex* kind) {
  for (KeyIndex known : kKeyIndexes)
    if (name_of(known) == name) {
      *kind = known;
      return true;
    }
  return false;
}

std::string_view name_of(Durability durability) {
  switch (durability) {
    case Durability::kDefault: return "default";
    case Durability::kNone: return "none";
    case Durability::kAsync: return "async";
    case Durability::kGroup: return "group";
  }
  return "?";
}

bool parse(std::string_view name, Durability* durability) {
  for (Durability known : {Durability::kDefault, Durability::kNone, Durability::kAsync, Durability::kGroup})
    if (name_of(known) == name) {
      *durability = known;
      return true;
    }
  return false;
}

std::string_view name_of(LogFailure failure) { return failure == LogFailure::kReadOnly ? "read-only" : "stop"; }

bool parse(std::string_view name, LogFailure* failure) {
  *failure = name == "stop" ? LogFailure::kStop : LogFailure::kReadOnly;
  return name == name_of(*failure);
}

bool parse(std::string_view name, SyncPolicy* sync) {
  for (SyncPolicy known :
       {SyncPolicy::kAutomatic, SyncPolicy::kOptimistic, SyncPolicy::kLatched, SyncPolicy::kSingleThreaded, SyncPolicy::kElided})
    if (name_of(known) == name) {
      *sync = known;
      return true;
    }
  return false;
}

bool parse(std::string_view name, Protocol* protocol) {
  for (const auto& [known, its_name] : kProtocols)
    if (its_name == name) {
      *protocol = known;
      return true;
    }
  return false;
}

bool parse(std::string_view name, HtmBackend* htm) {
  for (HtmBackend known :
       {HtmBackend::kAutomatic, HtmBackend::kRtm, HtmBackend::kNone, HtmBackend::kAlwaysAborts, HtmBackend::kEmulated})
    if (name_of(known) == name) {
      *htm = known;
      return true;
    }
  return false;
}

}  // namespace elider
