#include "engine/catalog/installed_procedures.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace elider {

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::kInt64: return "int64";
    case ValueType::kUInt64: return "uint64";
    case ValueType::kDouble: return "double";
    case ValueType::kText: return "text";
  }
  return "?";
}

detail::ProcedureName Procedures::add_any(detail::ProcedureDefinition procedure) {
  static std::atomic<uint64_t> last_identity{0};
  procedure.identity = last_identity.fetch_add(1) + 1;
  const detail::ProcedureName name{procedure.identity, intern_name(procedure.name)};
  all_.push_back(std::move(procedure));
  return name;
}

namespace detail {

Status InstalledProcedure::check(std::span<const Value> arguments) const {
  const auto refuse = [this](std::string why) { return Status::invalid_argument("procedure '" + its.name + "': " + std::move(why)); };
  if (!its.takes_values && its.make_arguments == nullptr)
    return refuse("its parameters and results are not described, so it can be called only through its handle");
  for (size_t i = 0; i < its.parameters.size(); ++i) {
    const Parameter& parameter = its.parameters[i];
    if (i >= arguments.size()) return refuse("argument '" + parameter.name + "' is missing");
    const auto given = static_cast<ValueType>(arguments[i].index());
    if (given != parameter.type)
      return refuse("argument '" + parameter.name + "' is of type " + std::string(name_of(given)) + ", not " +
                    std::string(name_of(parameter.type)));
  }
  if (arguments.size() > its.parameters.size())
    return refuse("the number of arguments is " + std::to_string(arguments.size()) + ", but must be " +
                  std::to_string(its.parameters.size()));
  return {};
}

const InstalledProcedure* InstalledProcedures::find(std::string_view name) const {
  const Slots* const slots = slots_.load(std::memory_order_acquire);
  if (slots == nullptr) return nullptr;
  for (size_t i = std::hash<std::string_view>()(name);; ++i) {
    const InstalledProcedure* const there = slots->by_name[i & slots->mask].load(std::memory_order_acquire);
    if (there == nullptr || there->its.name == name) return there;
  }
}

// The stores use release, so that a thread that finds the procedure sees its complete contents.
void InstalledProcedures::insert(Slots& slots, const InstalledProcedure& procedure) {
  const auto put = [&](std::vector<Slot>& into, size_t i) {
    while (into[i & slots.mask].load(std::memory_order_relaxed) != nullptr) ++i;  // only this thread writes
    into[i & slots.mask].store(&procedure, std::memory_order_release);
  };
  put(slots.by_identity, hash(procedure.its.identity));
  put(slots.by_name, std::hash<std::string_view>()(procedure.its.name));
}

void InstalledProcedures::add(std::vector<std::unique_ptr<const InstalledProcedure>> procedures) {
  all_.reserve(all_.size() + procedures.size());
  const size_t size = std::bit_ceil(std::max<size_t>(16, 2 * (all_.size() + procedures.size())));
  if (all_slots_.empty() || all_slots_.back()->mask + 1 < size) {
    all_slots_.reserve(all_slots_.size() + 1);
    auto larger = std::make_unique<Slots>(size);
    for (const auto& procedure : all_) insert(*larger, *procedure);
    all_slots_.push_back(std::move(larger));
  }
  for (auto& procedure : procedures) {
    insert(*all_slots_.back(), *procedure);
    all_.push_back(std::move(procedure));
  }
  slots_.store(all_slots_.back().get(), std::memory_order_release);
}

}  // namespace detail
}  // namespace elider
