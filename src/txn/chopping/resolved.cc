#include "txn/chopping/resolved.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace elider::chopping {

std::string_view name_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead: return "read";
    case AccessKind::kWrite: return "write";
    case AccessKind::kAdd: return "add";
    case AccessKind::kInsert: return "insert";
    case AccessKind::kRemove: return "remove";
    case AccessKind::kScan: return "scan";
  }
  return "?";
}

bool parse(std::string_view name, AccessKind* kind) {
  for (const AccessKind each : kAccessKinds)
    if (name == name_of(each)) return *kind = each, true;
  return false;
}

Table Table::of(const Schema& schema) {
  Table table{schema.name, {}};
  for (const Column& column : schema.columns) {
    if (column.group >= table.groups.size()) table.groups.resize(column.group + 1);
    table.groups[column.group].push_back(column.name);
  }
  return table;
}

namespace {

bool changes_presence(const ResolvedAccess& access) { return access.kind == AccessKind::kInsert || access.kind == AccessKind::kRemove; }

// Returns true if the order of two operations of the same call may matter.
bool touch_the_same(const ResolvedOperation& one, const ResolvedOperation& other) {
  for (const ResolvedAccess& a : one.accesses)
    for (const ResolvedAccess& b : other.accesses) {
      if (a.table != b.table || (only_reads(a.kind) && only_reads(b.kind))) continue;
      if (a.kind == AccessKind::kAdd && b.kind == AccessKind::kAdd) continue;
      if (a.fresh && b.fresh) continue;
      if (changes_presence(a) || changes_presence(b) || (a.columns & b.columns) != 0) return true;
    }
  return false;
}

struct TableUnits {
  std::map<std::string, uint64_t> unit_of, column_of;  // by the name of a column, one bit each
  uint64_t all_units = 0, all_columns = 0;
};

class Resolver {
 public:
  Resolver(const Declaration& declaration, const Choices& choices, Resolved& resolved)
      : declaration_(declaration), choices_(choices), resolved_(resolved) {}

  Status run() {
    for (uint32_t t = 0; t < declaration_.tables.size(); ++t)
      if (Status status = add_table(t); !status.ok()) return status;
    std::set<std::string> names;
    for (const Procedure& procedure : declaration_.procedures)
      for (const Operation& operation : procedure.operations)
        for (const Access& access : operation.accesses)
          if (!access.token.empty()) tokens_.insert(access.token);
    for (uint32_t p = 0; p < declaration_.procedures.size(); ++p) {
      const Procedure& procedure = declaration_.procedures[p];
      if (procedure.name.empty()) return refused("a procedure is unnamed");
      if (!names.insert(procedure.name).second) return refused("procedure '" + procedure.name + "' is declared twice");
      if (Status status = add_procedure(p); !status.ok()) return status;
    }
    return {};
  }

 private:
  static Status refused(std::string words) { return Status::invalid_argument(std::move(words)); }
  Status refused(uint32_t p, uint32_t o, const std::string& words) const {
    const Procedure& procedure = declaration_.procedures[p];
    return refused("procedure '" + procedure.name + "', operation '" + procedure.operations[o].name + "': " + words);
  }

  Status add_table(uint32_t t) {
    const Table& table = declaration_.tables[t];
    if (table.name.empty()) return refused("a table is unnamed");
    if (!table_of_.emplace(table.name, t).second) return refused("table '" + table.name + "' is declared twice");
    TableUnits units;
    if (table.groups.size() > kColumnsMax)
      return refused("table '" + table.name + "' has more than " + std::to_string(kColumnsMax) + " column groups");
    uint32_t group = 0, column = 0;
    for (const auto& columns : table.groups) {
      for (const std::string& name : columns) {
        if (column == kColumnsMax) return refused("table '" + table.name + "' has more than " + std::to_string(kColumnsMax) + " columns");
        const uint32_t unit = choices_.granularity == Granularity::kTable   ? 0
                              : choices_.granularity == Granularity::kGroup ? group
                                                                            : column;
        if (!units.unit_of.emplace(name, uint64_t{1} << unit).second)
          return refused("table '" + table.name + "': column '" + name + "' is declared twice");
        units.column_of.emplace(name, uint64_t{1} << column);
        units.all_units |= uint64_t{1} << unit;
        units.all_columns |= uint64_t{1} << column++;
      }
      ++group;
    }
    if (column == 0) units.all_units = units.all_columns = 1;  // the table has one column, which cannot be named
    units_.push_back(std::move(units));
    return {};
  }

  Status add_procedure(uint32_t p) {
    const Procedure& procedure = declaration_.procedures[p];
    if (procedure.operations.empty()) return refused("procedure '" + procedure.name + "' does not have any operations");
    std::map<std::string, uint32_t> places;
    for (uint32_t o = 0; o < procedure.operations.size(); ++o)
      if (!places.emplace(procedure.operations[o].name, o).second || procedure.operations[o].name.empty())
        return refused(p, o, "its name is empty, or another operation has it");
    ResolvedProcedure& made = resolved_.procedures.emplace_back();
    made.reads_only = true;
    for (uint32_t o = 0; o < procedure.operations.size(); ++o) {
      const Operation& operation = procedure.operations[o];
      ResolvedOperation& resolved =
          made.operations.emplace_back(ResolvedOperation{{p, o}, {}, {}, operation.may_roll_back, operation.deferred, false});
      for (const std::string& name : operation.after) {
        const auto found = places.find(name);
        if (found == places.end()) return refused(p, o, "it needs '" + name + "', which is not an operation of its procedure");
        if (found->second >= o) return refused(p, o, "it needs '" + name + "', which is not declared before it");
        resolved.needs.push_back(found->second);
      }
      for (const Access& access : operation.accesses) {
        ResolvedAccess result;
        if (Status status = find(p, o, access, &result); !status.ok()) return status;
        resolved.writes |= !only_reads(access.kind);
        resolved.accesses.push_back(std::move(result));
      }
      made.reads_only = made.reads_only && !resolved.writes;
      if (operation.deferred)
        if (Status status = check_deferred(p, o, resolved); !status.ok()) return status;
    }
    for (uint32_t o = 0; o < made.operations.size(); ++o)
      if (Status status = order_tokens(p, o, made); !status.ok()) return status;
    hand_on_last(made);
    if (Status status = close(p, made); !status.ok()) return status;
    keep_own_order(made);
    return close(p, made);
  }

  Status find(uint32_t p, uint32_t o, const Access& access, ResolvedAccess* result) const {
    const auto table = table_of_.find(access.table);
    if (table == table_of_.end()) return refused(p, o, "table '" + access.table + "' does not exist");
    const TableUnits& units = units_[table->second];
    *result = {access.kind,
               table->second,
               access.columns.empty() ? units.all_units : 0,
               access.columns.empty() ? units.all_columns : 0,
               access.fresh,
               kNone,
               access.partition};
    for (const std::string& name : access.columns) {
      const auto unit = units.unit_of.find(name);
      if (unit == units.unit_of.end()) return refused(p, o, "table '" + access.table + "' does not have a column '" + name + "'");
      result->units |= unit->second;
      result->columns |= units.column_of.at(name);
    }
    if (!access.columns.empty() && (access.kind == AccessKind::kInsert || access.kind == AccessKind::kRemove))
      return refused(
          p, o, std::string(name_of(access.kind)) + " of table '" + access.table + "' names columns, but always affects the whole row");
    if (access.kind == AccessKind::kInsert && !access.fresh && tokens_.contains(access.table))
      return refused(
          p, o,
          "it inserts into table '" + access.table + "', whose rows are tokens; they must be fresh, or a token could be claimed twice");
    if (access.fresh && access.kind != AccessKind::kInsert)
      return refused(p, o, "a " + std::string(name_of(access.kind)) + " is marked fresh; only inserts can be");
    if (access.token.empty()) return {};
    const auto token = table_of_.find(access.token);
    if (token == table_of_.end()) return refused(p, o, "its token: table '" + access.token + "' does not exist");
    result->token = token->second;
    return {};
  }

  Status check_deferred(uint32_t p, uint32_t o, const ResolvedOperation& operation) const {
    for (const ResolvedAccess& access : operation.accesses)
      if (access.kind != AccessKind::kAdd && !(access.kind == AccessKind::kInsert && access.fresh))
        return refused(p, o,
                       "it is deferred, so it may only add or insert fresh rows, but it has a " + std::string(name_of(access.kind)) +
                           " of table '" + declaration_.tables[access.table].name + "'");
    if (operation.may_roll_back) return refused(p, o, "it is deferred, so it must not roll back");
    return {};
  }

  // Orders operations on tokens: a row that belongs to a token is inserted no later than the token,
  // and accessed no earlier than the token is removed. Returns kInvalidArgument if the procedure
  // does not insert or remove the token.
  Status order_tokens(uint32_t p, uint32_t o, ResolvedProcedure& made) const {
    for (const ResolvedAccess& access : made.operations[o].accesses) {
      if (access.token == kNone) continue;
      const bool inserts = access.kind == AccessKind::kInsert;
      const AccessKind wanted = inserts ? AccessKind::kInsert : AccessKind::kRemove;
      const auto handles = [&](const ResolvedOperation& operation) {
        return std::any_of(operation.accesses.begin(), operation.accesses.end(),
                           [&](const ResolvedAccess& a) { return a.kind == wanted && a.table == access.token; });
      };
      uint32_t found = kNone;
      if (inserts) {
        for (uint32_t i = o; i < made.operations.size() && found == kNone; ++i)
          if (handles(made.operations[i])) found = i;
      } else {
        for (uint32_t i = 0; i <= o; ++i)
          if (handles(made.operations[i])) found = i;
      }
      const std::string& token = declaration_.tables[access.token].name;
      if (found == kNone)
        return refused(p, o,
                       inserts ? "neither this operation nor a later one inserts its token into table '" + token + "'"
                               : "neither this operation nor an earlier one removes its token from table '" + token + "'");
      if (found == o) continue;
      if (inserts)
        made.operations[found].needs.push_back(o);
      else
        made.operations[o].needs.push_back(found);
    }
    return {};
  }

  // If two operations of a call access the same columns, makes them run in the declared order,
  // unless their needs require another order.
  static void keep_own_order(ResolvedProcedure& made) {
    for (uint32_t o = 1; o < made.operations.size(); ++o)
      for (uint32_t before = 0; before < o; ++before)
        if (!made.needed[before][o] && touch_the_same(made.operations[before], made.operations[o]))
          made.operations[o].needs.push_back(before);
  }

  // If an operation inserts a token, makes it run after all earlier operations that use rows
  // belonging to tokens from the same table.
  void hand_on_last(ResolvedProcedure& made) const {
    for (uint32_t o = 1; o < made.operations.size(); ++o)
      for (const ResolvedAccess& access : made.operations[o].accesses) {
        if (access.kind != AccessKind::kInsert || !tokens_.contains(declaration_.tables[access.table].name)) continue;
        for (uint32_t before = 0; before < o; ++before) {
          const auto& earlier = made.operations[before].accesses;
          if (std::any_of(earlier.begin(), earlier.end(), [&](const ResolvedAccess& a) { return a.token == access.table; }))
            made.operations[o].needs.push_back(before);
        }
      }
  }

  Status close(uint32_t p, ResolvedProcedure& made) const {
    const size_t count = made.operations.size();
    made.needed.assign(count, std::vector<bool>(count));
    for (uint32_t o = 0; o < count; ++o)
      for (const uint32_t need : made.operations[o].needs) made.needed[o][need] = true;
    for (uint32_t k = 0; k < count; ++k)
      for (uint32_t i = 0; i < count; ++i)
        if (made.needed[i][k])
          for (uint32_t j = 0; j < count; ++j)
            if (made.needed[k][j]) made.needed[i][j] = true;
    for (uint32_t o = 0; o < count; ++o)
      if (made.needed[o][o]) return refused(p, o, "it needs its own result, directly or through other operations");
    return {};
  }

  const Declaration& declaration_;
  const Choices& choices_;
  Resolved& resolved_;
  std::map<std::string, uint32_t> table_of_;
  std::vector<TableUnits> units_;
  std::set<std::string> tokens_;  // the tables whose rows are tokens
};

bool meet(const ResolvedAccess& a, const ResolvedAccess& b, const Choices& choices) {
  if (a.table != b.table) return false;
  if (a.partition != b.partition && a.partition.starts_with('=') && b.partition.starts_with('=')) return false;
  if (choices.tokens && a.token != kNone && a.token == b.token) return false;
  if (only_reads(a.kind) && only_reads(b.kind)) return false;
  if (a.kind == AccessKind::kInsert && b.kind == AccessKind::kInsert) return !(a.fresh && b.fresh);
  if (changes_presence(a) || changes_presence(b)) return true;
  if (a.kind == AccessKind::kAdd && b.kind == AccessKind::kAdd && choices.adding) return false;
  return (a.units & b.units) != 0;
}

std::string names_of(const Table& table, uint64_t columns) {
  std::string names;
  uint32_t at = 0;
  for (const auto& group : table.groups)
    for (const std::string& name : group)
      if (columns >> at++ & 1) names += (names.empty() ? "" : ", ") + name;
  return names;
}

// Returns advice on how to avoid the conflicts of two operations, or an empty string. Advice is
// given only if it would remove all of their conflicts.
std::string advice_of(const Declaration& declaration, const ResolvedOperation& one, const ResolvedOperation& other,
                      const Choices& choices) {
  std::vector<Meeting> meetings;
  for (const ResolvedAccess& a : one.accesses)
    for (const ResolvedAccess& b : other.accesses)
      if (meet(a, b, choices)) meetings.push_back({&a, &b});
  const auto all = [&](const auto& test) {
    return std::all_of(meetings.begin(), meetings.end(), [&](const Meeting& m) { return test(*m.one, *m.other); });
  };
  const auto place = [&](const ResolvedOperation& operation) {
    const Procedure& procedure = declaration.procedures[operation.id.procedure];
    return procedure.name + "." + procedure.operations[operation.id.operation].name;
  };
  const auto inserts = [](const ResolvedAccess& a) { return a.kind == AccessKind::kInsert; };
  if (all([&](const auto& a, const auto& b) { return inserts(a) && inserts(b); }))
    return "declare the keys fresh, if no two calls insert the same key";
  if (all([&](const auto& a, const auto& b) { return changes_presence(a) || changes_presence(b); }))
    return "name a token, if each call first claims a row of another table that leads to these rows";
  const uint32_t its_table = meetings.front().one->table;
  if (choices.granularity == Granularity::kGroup && all([&](const auto& a, const auto& b) {
        return a.table == its_table && !changes_presence(a) && !changes_presence(b) && (a.columns & b.columns) == 0;
      })) {
    const ResolvedAccess &a = *meetings.front().one, &b = *meetings.front().other;
    const Table& table = declaration.tables[a.table];
    return "put " + names_of(table, a.columns) + " and " + names_of(table, b.columns) + " of table '" + table.name +
           "' into different column groups";
  }
  const auto may_be_deferred = [](const ResolvedOperation& operation) {
    return !operation.deferred && std::all_of(operation.accesses.begin(), operation.accesses.end(), [](const ResolvedAccess& access) {
      return access.kind == AccessKind::kAdd || (access.kind == AccessKind::kInsert && access.fresh);
    });
  };
  if (one.id.procedure != other.id.procedure)
    for (const ResolvedOperation* adds : {&one, &other})
      if (may_be_deferred(*adds))
        return "defer " + place(*adds) + ", if its effect may be seen later and the two procedures do not conflict elsewhere";
  // If an operation also reads a column that it writes, it does more than an addition.
  const auto could_add = [](const ResolvedOperation& operation, const ResolvedAccess& its) {
    if (its.kind == AccessKind::kAdd) return true;
    return its.kind == AccessKind::kWrite &&
           std::none_of(operation.accesses.begin(), operation.accesses.end(), [&](const ResolvedAccess& access) {
             return only_reads(access.kind) && access.table == its.table && (access.columns & its.columns) != 0;
           });
  };
  if (choices.adding && all([&](const auto& a, const auto& b) { return could_add(one, a) && could_add(other, b); }))
    return "declare add instead of write, if " + place(one) + (one.id == other.id ? " only adds" : " and " + place(other) + " only add");
  return "";
}

}  // namespace

Status resolve(const Declaration& declaration, const Choices& choices, Resolved* resolved) {
  *resolved = {};
  return Resolver(declaration, choices, *resolved).run();
}

Meeting meeting_of(const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices) {
  for (const ResolvedAccess& a : one.accesses)
    for (const ResolvedAccess& b : other.accesses)
      if (meet(a, b, choices)) return {&a, &b};
  return {};
}

Conflict describe(const Declaration& declaration, const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices) {
  const Meeting meeting = meeting_of(one, other, choices);
  const ResolvedAccess &a = *meeting.one, &b = *meeting.other;
  const Table& table = declaration.tables[a.table];
  const auto words = [&](const ResolvedAccess& access) {
    const bool rows = access.kind == AccessKind::kInsert || access.kind == AccessKind::kRemove;
    const std::string columns = names_of(table, access.columns);
    return std::string(name_of(access.kind)) + (rows ? " a row" : columns.empty() ? "" : " " + columns);
  };
  return {one.id, other.id, table.name, words(a), words(b), advice_of(declaration, one, other, choices)};
}

}  // namespace elider::chopping
