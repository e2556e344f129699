// The member functions of Database and Engine that change and drop tables. All engines share them.
#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/name_list.h"
#include "base/status_words.h"
#include "base/utf8.h"
#include "elider/row_schema.h"
#include "engine/engine.h"
#include "storage/table.h"

namespace elider {

namespace detail {

// A chopped procedure must be able to run its later pieces when the first one has committed. So a
// table that it declares cannot be dropped. Procedures that are installed after begin_drop() do not
// find the table.
Status Engine::drop(std::string_view name, uint64_t wait_us) {
  const Result<TableBase*> table = begin_drop(name);
  if (!table.ok()) return table.status();
  const std::string what = "table '" + std::string(name) + "' cannot be dropped";
  if (Status status = without_procedures(**table, what, [] { return Status(); }); !status.ok()) {
    (*table)->set_usable(true);
    return status;
  }
  return end_drop(**table, wait_us);
}

Status Engine::without_procedures(const TableBase& table, const std::string& what, FunctionRef<Status()> f) {
  const std::lock_guard lock(install_mutex_);
  const std::string procedure = execution_made_ == nullptr ? "" : txn::procedure_that_uses(*execution_made_, table.id());
  if (procedure.empty()) return f();
  return Status::invalid_argument(what + ": procedure '" + procedure + "', which runs in pieces, declares the table");
}

namespace {

Status check_changeable(std::string_view name) {
  if (!is_reserved_name(name)) return {};
  return Status::invalid_argument("table '" + std::string(name) + "' belongs to the database itself, and cannot be changed");
}

// Returns the row columns with the position of the live column of this name.
Result<size_t> find_column(const Schema& schema, std::string_view name) {
  for (size_t i = 0; i < schema.row_columns.size(); ++i)
    if (!schema.row_columns[i].dropped && schema.row_columns[i].name == name) return i;
  if (schema.row_columns.empty())
    return Status::invalid_argument("table '" + schema.name +
                                    "': columns can be changed only in a table of described rows (elider/described.h)");
  NameList columns;
  for (const RowColumn& column : schema.row_columns)
    if (!column.dropped) columns.add(column.name);
  return Status(Code::kNotFound, "table '" + schema.name + "' does not have a column named '" + printable(name.substr(0, 64)) +
                                     "'; the columns are " + columns.words());
}

}  // namespace

}  // namespace detail

Status Database::drop_table(std::string_view name, uint64_t wait_us) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  if (Status status = detail::check_changeable(name); !status.ok()) return status;
  try {
    return engine_->drop(name, wait_us);
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

Status Database::rename_table(std::string_view name, std::string_view new_name) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  if (Status status = detail::check_changeable(name); !status.ok()) return status;
  if (detail::is_reserved_name(new_name)) return detail::refuse_reserved_name(new_name);
  if (new_name.empty()) return Status::invalid_argument("a table needs a name");
  return engine_->change_table(name, [&](const Schema& now) -> Result<Schema> {
    Schema changed = now;
    changed.name = new_name;
    if (now.name == new_name) return Status::invalid_argument("table '" + now.name + "' already has this name");
    if (Status status = storage::check_names(changed); !status.ok()) return status;
    return changed;
  });
}

Status Database::add_column(std::string_view table, std::string_view name, RowType type, const RowColumnOptions& options) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  RowSchema alone{std::string(table)};
  alone.column(std::string(name), type, options);
  if (!alone.status().ok()) return alone.status();
  return engine_->change_table(table, [&](const Schema& now) { return storage::with_column(now, alone.column(0)); });
}

Status Database::rename_column(std::string_view table, std::string_view name, std::string_view new_name) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  return engine_->change_table(table, [&](const Schema& now) -> Result<Schema> {
    const Result<size_t> position = detail::find_column(now, name);
    if (!position.ok()) return position.status();
    Schema changed = now;
    changed.row_columns[*position].name = new_name;
    for (SecondaryIndex& index : changed.indexes)
      std::replace(index.columns.begin(), index.columns.end(), std::string(name), std::string(new_name));
    if (detail::find_column(now, new_name).ok())
      return Status::invalid_argument("table '" + now.name + "' already has a column named '" + printable(new_name) + "'");
    const Result<RowSchema> described = RowSchema::of(changed);
    return described.ok() ? Result<Schema>(std::move(changed)) : Status::invalid_argument(words_of(described.status()));
  });
}

Status Database::drop_column(std::string_view table, std::string_view name) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  return engine_->change_table(table, [&](const Schema& now) -> Result<Schema> {
    const Result<size_t> position = detail::find_column(now, name);
    if (!position.ok()) return position.status();
    for (const SecondaryIndex& index : now.indexes)
      if (std::find(index.columns.begin(), index.columns.end(), name) != index.columns.end())
        return Status::invalid_argument("table '" + now.name + "': column '" + printable(name) + "' cannot be dropped, because index '" +
                                        index.name + "' reads it; drop the index first (Database::drop_index)");
    Schema changed = now;
    RowColumn& column = changed.row_columns[*position];
    column.dropped = true;
    column.default_bytes.reset();
    size_t left = 0;
    for (const RowColumn& each : changed.row_columns) left += each.dropped ? 0 : 1;
    if (left == 0)
      return Status::invalid_argument("table '" + now.name + "': column '" + column.name + "' is the last one; drop the table instead");
    return changed;
  });
}

Status Database::create_index(std::string_view table, const SecondaryIndex& index, const CreateIndexOptions& options) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  if (Status status = detail::check_changeable(table); !status.ok()) return status;
  return engine_->create_index(table, index, options);
}

Status Database::drop_index(std::string_view table, std::string_view name) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  if (Status status = detail::check_changeable(table); !status.ok()) return status;
  return engine_->drop_index(table, name);
}

}  // namespace elider
