#include "tools/chopping/report.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elider::tools {

namespace {

using chopping::Conflict;
using chopping::CycleStep;
using chopping::Deferral;
using chopping::Granularity;
using chopping::Merge;
using chopping::Operation;
using chopping::OperationId;
using chopping::Piece;

constexpr const char* kGranularities[] = {"table", "column group", "column"};
constexpr const char* kWhys[] = {"cycle", "between", "rollback"};

class Writer {
 public:
  explicit Writer(const ChoppingReport& report) : declaration_(report.declaration), choices_(report.choices), plan_(report.plan) {}

  std::string text() {
    heading();
    for (uint32_t p = 0; p < plan_.procedures.size(); ++p) procedure(p);
    deferrals();
    merges();
    return std::move(out_);
  }

  // -- names

  const std::string& procedure_name(uint32_t p) const { return declaration_.procedures[p].name; }
  const Operation& operation(OperationId id) const { return declaration_.procedures[id.procedure].operations[id.operation]; }
  std::string place(OperationId id) const { return procedure_name(id.procedure) + "." + operation(id).name; }
  std::string names(uint32_t p, const std::vector<uint32_t>& operations) const {
    std::vector<std::string> all;
    for (const uint32_t o : operations) all.push_back(operation({p, o}).name);
    return fmt::format("{}", fmt::join(all, ", "));
  }
  static std::string call(bool other) { return other ? "'" : ""; }

  const Conflict* conflict_at(const CycleStep& step) const {
    const auto found = std::find_if(plan_.conflicts.begin(), plan_.conflicts.end(), [&](const Conflict& c) {
      return (c.from == step.from && c.to == step.to) || (c.from == step.to && c.to == step.from);
    });
    return found == plan_.conflicts.end() ? nullptr : &*found;
  }

 private:
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }

  void heading() {
    std::vector<std::string> snapshot, off;
    for (uint32_t p = 0; p < plan_.procedures.size(); ++p)
      if (plan_.procedures[p].on_snapshot) snapshot.push_back(procedure_name(p));
    if (!choices_.snapshots) off.push_back("snapshots");
    if (!choices_.adding) off.push_back("adding");
    if (!choices_.tokens) off.push_back("tokens");
    if (!choices_.deferring) off.push_back("deferring");
    if (!choices_.reordering) off.push_back("reordering");
    print("{} procedures, {} tables; the unit of conflict is a {}{}\n", declaration_.procedures.size(), declaration_.tables.size(),
          kGranularities[static_cast<size_t>(choices_.granularity)], off.empty() ? "" : fmt::format("; without {}", fmt::join(off, ", ")));
    if (!snapshot.empty()) print("read a snapshot and never conflict: {}\n", fmt::join(snapshot, ", "));
    if (!plan_.static_tables.empty()) print("tables without inserts and removals: {}\n", fmt::join(plan_.static_tables, ", "));
  }

  void procedure(uint32_t p) {
    const auto& planned = plan_.procedures[p];
    if (planned.on_snapshot) return;
    const size_t operations = declaration_.procedures[p].operations.size();
    print("\n{}: {} {} of {} operation{}\n", procedure_name(p), planned.pieces.size(), planned.pieces.size() == 1 ? "piece" : "pieces",
          operations, operations == 1 ? "" : "s");
    for (size_t i = 0; i < planned.pieces.size(); ++i) {
      const Piece& piece = planned.pieces[i];
      std::vector<std::string> marks;
      if (piece.conflicting) marks.push_back("conflicts");
      if (std::any_of(piece.operations.begin(), piece.operations.end(), [&](uint32_t o) { return operation({p, o}).may_roll_back; }))
        marks.push_back("may roll back");
      if (piece.deferred) marks.push_back("deferred");
      if (!piece.writes) marks.push_back("reads only");
      print("  {:>2} {} {}{}\n", i + 1, piece.conflicting ? '*' : ' ', names(p, piece.operations),
            marks.empty() ? "" : fmt::format("  ({})", fmt::join(marks, ", ")));
    }
  }

  void deferrals() {
    if (plan_.deferrals.empty()) return;
    print("\nDeferred\n");
    for (const Deferral& deferral : plan_.deferrals) {
      std::vector<std::string> readers;
      for (const OperationId& id : deferral.subscribers) readers.push_back(place(id));
      print("  {}, awaited by {}: {}\n", place(deferral.publisher),
            readers.empty() ? "no operation" : fmt::format("{}", fmt::join(readers, ", ")),
            deferral.granted ? "yes" : "no, " + deferral.why_not);
      if (deferral.granted) continue;
      for (const CycleStep& step : deferral.path) print("      {}\n", describe(step));
    }
  }

  void merges() {
    if (plan_.merges.empty()) return;
    print("\nMerged (a ' marks another call of the same procedure)\n");
    for (const Merge& merge : plan_.merges) {
      print("  {}: {} | {}", procedure_name(merge.procedure), names(merge.procedure, merge.first), names(merge.procedure, merge.second));
      if (merge.why == Merge::Why::kBetween)
        print(", which must run between them\n");
      else if (merge.why == Merge::Why::kRollback)
        print(", because the procedure may roll back until then\n");
      else
        print(", for this cycle:\n");
      std::vector<std::string> advice;
      for (const CycleStep& step : merge.cycle) {
        print("      {}\n", describe(step));
        const Conflict* conflict = step.sibling ? nullptr : conflict_at(step);
        if (conflict != nullptr && !conflict->advice.empty() && std::find(advice.begin(), advice.end(), conflict->advice) == advice.end())
          advice.push_back(conflict->advice);
      }
      for (size_t i = 0; i < advice.size(); ++i) print("      {} {}\n", i == 0 ? "to avoid it:" : "or:", advice[i]);
      if (advice.empty() && merge.why == Merge::Why::kCycle) print("      the merge cannot be avoided by changing the declaration\n");
    }
  }

  std::string describe(const CycleStep& step) const {
    const std::string from = place(step.from) + call(step.other_call_from), to = place(step.to) + call(step.other_call_to);
    if (step.sibling) return fmt::format("{} -- {}: one call", from, to);
    const Conflict* conflict = conflict_at(step);
    if (conflict == nullptr) return fmt::format("{} ~~ {}: conflict", from, to);
    const bool forward = conflict->from == step.from;
    const std::string &left = forward ? conflict->from_does : conflict->to_does, &right = forward ? conflict->to_does : conflict->from_does;
    return fmt::format("{} ~~ {}: table {}, {}", from, to, conflict->table,
                       left == right ? "both " + left : fmt::format("{} against {}", left, right));
  }

  const chopping::Declaration& declaration_;
  const chopping::Choices& choices_;
  const chopping::Plan& plan_;
  std::string out_;
};

Json to_json(const Writer& names, const CycleStep& step) {
  Json json = {{"from", names.place(step.from)}, {"to", names.place(step.to)}, {"edge", step.sibling ? "S" : "C"}};
  if (step.other_call_from) json["from_other_call"] = true;
  if (step.other_call_to) json["to_other_call"] = true;
  return json;
}

Json list(const Writer& names, uint32_t p, const std::vector<uint32_t>& operations) {
  Json json = Json::array();
  for (const uint32_t o : operations) json.push_back(names.operation({p, o}).name);
  return json;
}

// Draws two calls of each procedure. Each call has a frame, in which its pieces are boxes.
class Drawing {
 public:
  explicit Drawing(const ChoppingReport& report) : plan_(report.plan), names_(report) {}

  std::string dot() {
    out_ = "graph chopping {\n  node [shape=box, fontname=\"sans-serif\"];\n  fontname=\"sans-serif\";\n";
    for (uint32_t p = 0; p < plan_.procedures.size(); ++p)
      for (int call = 0; call < 2 && !plan_.procedures[p].on_snapshot; ++call) frame(p, call);
    for (const Conflict& conflict : plan_.conflicts) edges(conflict.from, conflict.to, "color=red");
    for (const Deferral& deferral : plan_.deferrals)
      for (const OperationId& subscriber : deferral.subscribers)
        if (deferral.granted) edges(deferral.publisher, subscriber, "style=dashed");
    return out_ + "}\n";
  }

 private:
  static std::string node(uint32_t p, int call, size_t piece) { return fmt::format("p{}_{}_{}", p, call, piece); }
  size_t piece_of(OperationId id) const {
    const auto& pieces = plan_.procedures[id.procedure].pieces;
    return static_cast<size_t>(std::find_if(pieces.begin(), pieces.end(),
                                            [&](const Piece& piece) {
                                              return std::find(piece.operations.begin(), piece.operations.end(), id.operation) !=
                                                     piece.operations.end();
                                            }) -
                               pieces.begin());
  }
  static std::string quoted(const std::string& text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return "\"" + result + "\"";
  }
  void frame(uint32_t p, int call) {
    const auto& pieces = plan_.procedures[p].pieces;
    out_ += fmt::format("  subgraph cluster_{}_{} {{\n    label={};\n", p, call, quoted(names_.procedure_name(p) + (call ? "'" : "")));
    for (size_t i = 0; i < pieces.size(); ++i)
      out_ += fmt::format("    {} [label={}{}];\n", node(p, call, i), quoted(names_.names(p, pieces[i].operations)),
                          pieces[i].conflicting ? ", style=rounded, penwidth=2" : "");
    for (size_t i = 0; i + 1 < pieces.size(); ++i) out_ += fmt::format("    {} -- {};\n", node(p, call, i), node(p, call, i + 1));
    out_ += "  }\n";
  }
  // Adds the edges that two conflicting operations cause between the pieces of all drawn calls.
  // Each pair of pieces gets only one edge.
  void edges(OperationId from, OperationId to, const char* style) {
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 2; ++b) {
        if (from.procedure == to.procedure && a == b) continue;
        std::string one = node(from.procedure, a, piece_of(from)), other = node(to.procedure, b, piece_of(to));
        if (other < one) std::swap(one, other);
        if (drawn_.insert(one + other).second) out_ += fmt::format("  {} -- {} [{}];\n", one, other, style);
      }
  }

  const chopping::Plan& plan_;
  Writer names_;
  std::string out_;
  std::set<std::string> drawn_;
};

}  // namespace

std::string ChoppingReport::text() const { return Writer(*this).text(); }
std::string ChoppingReport::dot() const { return Drawing(*this).dot(); }

Json ChoppingReport::json() const {
  const Writer names(*this);
  Json procedures = Json::array(), conflicts = Json::array(), merges = Json::array(), deferrals = Json::array();
  for (uint32_t p = 0; p < plan.procedures.size(); ++p) {
    Json pieces = Json::array();
    for (const Piece& piece : plan.procedures[p].pieces)
      pieces.push_back({{"operations", list(names, p, piece.operations)},
                        {"conflicting", piece.conflicting},
                        {"writes", piece.writes},
                        {"deferred", piece.deferred}});
    procedures.push_back(
        {{"name", names.procedure_name(p)}, {"on_snapshot", plan.procedures[p].on_snapshot}, {"pieces", std::move(pieces)}});
  }
  for (const Conflict& conflict : plan.conflicts)
    conflicts.push_back({{"from", names.place(conflict.from)},
                         {"to", names.place(conflict.to)},
                         {"table", conflict.table},
                         {"from_does", conflict.from_does},
                         {"to_does", conflict.to_does},
                         {"advice", conflict.advice}});
  for (const Merge& merge : plan.merges) {
    Json json = {{"procedure", names.procedure_name(merge.procedure)},
                 {"why", kWhys[static_cast<size_t>(merge.why)]},
                 {"first", list(names, merge.procedure, merge.first)},
                 {"second", list(names, merge.procedure, merge.second)}};
    for (const CycleStep& step : merge.cycle) json["cycle"].push_back(to_json(names, step));
    merges.push_back(std::move(json));
  }
  for (const Deferral& deferral : plan.deferrals) {
    Json json = {{"publisher", names.place(deferral.publisher)}, {"subscribers", Json::array()}, {"granted", deferral.granted}};
    for (const OperationId& id : deferral.subscribers) json["subscribers"].push_back(names.place(id));
    if (!deferral.granted) json["why_not"] = deferral.why_not;
    for (const CycleStep& step : deferral.path)
      if (!deferral.granted) json["path"].push_back(to_json(names, step));
    deferrals.push_back(std::move(json));
  }
  return {{"granularity", kGranularities[static_cast<size_t>(choices.granularity)]},
          {"procedures", std::move(procedures)},
          {"conflicts", std::move(conflicts)},
          {"merges", std::move(merges)},
          {"deferrals", std::move(deferrals)},
          {"static_tables", plan.static_tables}};
}

}  // namespace elider::tools
