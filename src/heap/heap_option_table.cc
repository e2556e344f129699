#include "elider/heap_option_table.h"

#include <initializer_list>
#include <variant>

#include "base/option_entry.h"
#include "heap/format.h"

namespace elider {

namespace {

using option_entry::bytes;
using option_entry::choice;
using option_entry::flag;
using option_entry::number;

using Member = std::variant<uint32_t HeapOptions::*, uint64_t HeapOptions::*, bool HeapOptions::*, HeapIsolation HeapOptions::*,
                            HeapMedium HeapOptions::*, HeapDurability HeapOptions::*, HeapWait HeapOptions::*, HtmBackend HeapOptions::*>;

constexpr option_entry::Entry<Member> kHeapOptionEntries[] = {
    {choice("isolation", "serializable, snapshot", "Isolation level"), &HeapOptions::isolation},
    {choice("medium", "file, dax, delay",
            "Where the heap is stored: a file, persistent memory (dax), or a mapped file with simulated delays for studies (delay)"),
     &HeapOptions::medium},
    {choice("durability", "wait, later",
            "Whether a transaction returns after it is durable (wait) or before (later)"),
     &HeapOptions::durability},
    {choice("wait", "pruned, total, own",
            "What a transaction waits for before it returns: itself and the transactions that it may have read from (pruned), "
            "also all earlier and concurrent ones (total, as in SPHT), or only itself (own, as in Pisces). total and own are for "
            "comparison, and own requires the software backend"),
     &HeapOptions::wait},
    {choice("backend", "automatic, rtm, none, emulated",
            "Backend that executes update transactions; automatic and none use software"),
     &HeapOptions::backend},
    {flag("suspended_reads",
          "Suspend the tracking of reads while a hardware transaction waits (backend rtm, where the processor can); turned off only for "
          "studies"),
     &HeapOptions::suspended_reads},
    {bytes("capacity_bytes", heap::kBytesMin, heap::kBytesMax,
           "Maximum size of the heap, rounded up to 64K; address space is reserved for it"),
     &HeapOptions::capacity_bytes},
    {bytes("log_bytes", heap::kLogBytesMin, heap::kLogBytesMax, "Size of the redo log of each slot; applies to new files"),
     &HeapOptions::log_bytes},
    {number("threads_max", "slots", 1, heap::kThreadsMax,
            "Maximum number of concurrent transactions; applies to new files"),
     &HeapOptions::threads_max},
    {{.name = "markers",
      .type = OptionInfo::Type::kNumber,
      .unit = "transactions",
      .min = heap::kMarkersMin,
      .max = heap::kMarkersMax,
      .power_of_two = true,
      .words = "Maximum number of transactions that wait for replay; applies to new files"},
     &HeapOptions::markers},
    {number("flush_ns", "ns", 0, option_entry::kMillion, "Simulated time to flush a cache line (medium delay)"), &HeapOptions::flush_ns},
    {flag("background_replay",
          "Replay the log in a background thread when it is half full; otherwise transactions replay it when it is full"),
     &HeapOptions::background_replay},
};

constexpr auto kHeapTable = option_entry::infos_of(kHeapOptionEntries);

struct HeapMemberAt {
  template <class T>
  T& operator()(HeapOptions& options, T HeapOptions::*member) const {
    return options.*member;
  }
  template <class T>
  const T& operator()(const HeapOptions& options, T HeapOptions::*member) const {
    return options.*member;
  }
};

template <class Kind>
bool parse_one_of(std::string_view name, std::initializer_list<Kind> all, Kind* kind) {
  for (const Kind known : all)
    if (name_of(known) == name) return *kind = known, true;
  return false;
}

}  // namespace

bool parse(std::string_view name, HeapIsolation* isolation) {
  return parse_one_of(name, {HeapIsolation::kSerializable, HeapIsolation::kSnapshot}, isolation);
}
bool parse(std::string_view name, HeapMedium* medium) {
  return parse_one_of(name, {HeapMedium::kFile, HeapMedium::kDax, HeapMedium::kDelay}, medium);
}
bool parse(std::string_view name, HeapDurability* durability) {
  return parse_one_of(name, {HeapDurability::kWait, HeapDurability::kLater}, durability);
}
bool parse(std::string_view name, HeapWait* wait) {
  return parse_one_of(name, {HeapWait::kPruned, HeapWait::kTotal, HeapWait::kOwn}, wait);
}

std::span<const OptionInfo> heap_option_table() { return kHeapTable; }

Status set_option(HeapOptions& options, std::string_view name, std::string_view text) {
  return option_entry::set("HeapOptions", kHeapOptionEntries, HeapMemberAt{}, options, name, text);
}

std::string option_text(const HeapOptions& options, std::string_view name) {
  return option_entry::text(kHeapOptionEntries, HeapMemberAt{}, options, name);
}

Status check_options(const HeapOptions& options) {
  if (Status status = option_entry::check("HeapOptions", kHeapOptionEntries, HeapMemberAt{}, options); !status.ok()) return status;
  if (options.wait == HeapWait::kOwn && options.backend != HtmBackend::kAutomatic && options.backend != HtmBackend::kNone)
    return Status::invalid_argument("HeapOptions::wait is 'own', which requires backend 'none' or 'automatic'; HeapOptions::backend is '" +
                                    std::string(name_of(options.backend)) + "'");
  return {};
}

}  // namespace elider
