#include "tools/rows/open.h"

#include <fmt/format.h>

#include "tools/common/suggestion.h"
#include "tools/data/progress_line.h"

namespace elider::tools {

Result<Database> open_for_rows(const Place& place, Access access) {
  ProgressLine line;
  Options options;
  options.data_folders = place.folders();
  options.create_if_missing = access == Access::kCreate;
  options.durability = access == Access::kRead ? Durability::kNone : Durability::kAsync;
  options.leave_out_indexes = true;
  options.recovery_progress = line.tell();
  return Database::open(options);
}

Result<TableFields> find_fields(const Database& db, const std::string& table) {
  const Result<TableRef> found = db.table(table);
  if (found.ok()) return TableFields::of(*found);
  if (found.status().code() != Code::kNotFound) return found.status();
  std::vector<std::string> names;
  for (const TableRef& other : db.tables()) names.push_back(other.schema().name);
  const std::string similar = suggestion(table, names);
  return Status(Code::kNotFound, fmt::format("table '{}' does not exist{}", shown(table),
                                             !similar.empty() ? similar
                                             : names.empty()  ? "; the database does not have tables"
                                                              : "; the tables are " + listed(names)));
}

Status refuse_internal_table(const std::string& table) {
  if (!table.starts_with("elider_")) return {};
  return Status::invalid_argument(
      fmt::format("table '{}': names that begin with 'elider_' are reserved for the tables of elider itself, which can only be read",
                  shown(table)));
}

}  // namespace elider::tools
