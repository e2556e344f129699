#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "elider/option_table.h"
#include "python/src/tables.h"

namespace elider::python {

namespace {

RowType row_type_of(const std::string& name) {
  std::string names;
  for (size_t i = 0; i < kRowTypes; ++i) {
    if (name_of(static_cast<RowType>(i)) == name) return static_cast<RowType>(i);
    names += (i == 0 ? "" : ", ") + std::string(name_of(static_cast<RowType>(i)));
  }
  raise(Code::kInvalidArgument, "columns cannot have the type '" + name + "'. The types are " + names);
}

// (name, type, nullable, scale, default), where None means that there is not a default.
struct DescribedColumn {
  explicit DescribedColumn(nb::handle item)
      : name(nb::cast<std::string>(item[0])), type(row_type_of(nb::cast<std::string>(item[1]))) {
    options.nullable = nb::cast<bool>(item[2]);
    options.scale = nb::cast<uint8_t>(item[3]);
    nb::object value = item[4];
    if (type == RowType::kJson && !value.is_none()) value = nb::module_::import_("elider._values").attr("to_json")(value);
    owners.push_back(value);
    options.default_value = row_value(value, &owners);
  }
  std::string name;
  RowType type;
  RowColumnOptions options;
  std::vector<nb::object> owners;
};

// (name, [(column, descending)], unique, ranked)
SecondaryIndex index_of(nb::handle item) {
  std::vector<IndexColumn> columns;
  for (nb::handle column : nb::object(item[1])) {
    IndexColumn its(nb::cast<std::string>(column[0]));
    its.descending = nb::cast<bool>(column[1]);
    columns.push_back(its);
  }
  const auto name = nb::cast<std::string>(item[0]);
  const bool unique = nb::cast<bool>(item[2]);
  return nb::cast<bool>(item[3]) ? SecondaryIndex::ranked_of_columns(name, columns, unique) : SecondaryIndex::of_columns(name, columns,
      unique);
}

std::shared_ptr<Core> open(nb::handle path, nb::dict options) {
  Options chosen;
  auto core = std::make_shared<Core>();
  if (!path.is_none()) {
    core->path = nb::cast<std::string>(path);
    chosen.data_folders = {core->path};
  }
  chosen.threads_at_once = 4096;
  for (auto [key, value] : options) {
    const auto name = nb::cast<std::string>(key);
    if (name == "upgrade" || name == "leave_out_indexes") {
      (name == "upgrade" ? chosen.upgrade : chosen.leave_out_indexes) = nb::cast<bool>(value);
      continue;
    }
    std::string words;
    if (PyBool_Check(value.ptr())) words = value.ptr() == Py_True ? "true" : "false";
    else words = nb::cast<std::string>(nb::str(value));
    if (find_option(name) == nullptr) {
      std::string names;
      for (const OptionInfo& option : option_table()) names += (names.empty() ? "" : ", ") + std::string(option.name);
      raise(Code::kInvalidArgument, "an option of this name does not exist: '" + name + "'. The options are " + names);
    }
    check(set_option(chosen, name, words));
    if (name == "threads_at_once") core->keeps_lock = chosen.threads_at_once == 4096;
  }
  core->group = chosen.durability == Durability::kGroup;
  core->generation = process_generation();
  Status status;
  {
    const nb::gil_scoped_release released;
    Result<Database> opened = Database::open(chosen);
    status = opened.status();
    if (status.ok()) core->db = *std::move(opened);
  }
  if (!status.ok()) core->open = false;
  check(status);
  return core;
}

void close(Core& core) {
  if (!core.open || core.forked()) return void(core.open = false);
  if (core.running > 0 || core.unlocked.load() > 0)
    raise(Code::kInvalidArgument, "the database cannot be closed while a transaction or another call uses it");
  core.open = false;
  for (;;) {
    Child* child = nullptr;
    {
      const std::lock_guard lock(core.mutex);
      if (core.children.empty()) break;
      child = *core.children.begin();
      core.children.erase(child);
    }
    child->end();
  }
  Status status;
  {
    const nb::gil_scoped_release released;
    status = core.db.wait_durable();
    core.db = Database();
  }
  check(status);
}

void create_table(Core& core, const std::string& name, const std::string& key_form, nb::handle key_fields, nb::handle columns,
                  nb::handle indexes, nb::handle key_index) {
  check_outside(core, "table()");
  Schema schema;
  if (columns.is_none()) {
    schema.name = name;
    schema.sized_rows = true;
    schema.row_bytes = kRowBytesMax;
  } else {
    RowSchema rows(name);
    for (nb::handle column : columns) {
      const DescribedColumn its(column);
      rows.column(its.name, its.type, its.options);
    }
    Result<Schema> described = rows.table_schema();
    check(described.status(), {.table = name});
    schema = *std::move(described);
    for (nb::handle index : indexes) schema.indexes.push_back(index_of(index));
  }
  if (key_form != "int") {
    schema.key_kind = KeyKind::kBytes;
    schema.key_index = KeyIndex::kRadix;
    schema.key_fields = key_fields_of(key_fields);
  }
  if (!key_index.is_none() && !parse(nb::cast<std::string>(key_index), &schema.key_index))
    raise(Code::kInvalidArgument, "table '" + name + "': key_index must be \"btree\", \"hash\" or \"art\", not " + shown(key_index));
  Status status;
  {
    const Unlocked unlocked(core);
    status = core.db.create_table(schema).status();
  }
  check(status, {.table = name});
}

// Describes a table as (key form, key fields, columns or None, indexes, key index).
nb::object describe(Core& core, const std::string& name) {
  check_open(core);
  const Result<TableRef> table = core.db.table(name);
  check(table.status(), {.table = name});
  const Schema& schema = table->schema();
  nb::object columns = nb::none();
  if (table->described()) {
    nb::list list;
    const Result<RowSchema> rows = RowSchema::of(schema);
    check(rows.status(), {.table = name});
    // The description that the table has now; the schema's is that of the opening.
    const RowSchema& now = CurrentRowSchema(detail::row_schema_of(*table->base())).row_schema();
    for (size_t i = 0; i < now.columns(); ++i) {
      const RowColumn& column = now.column(i);
      if (!column.dropped) list.append(nb::make_tuple(column.name, std::string(name_of(column.type)), column.nullable, column.scale));
    }
    columns = list;
  } else if (!schema.sized_rows || !schema.columns.empty()) {
    columns = nb::str("struct");
  }
  nb::list indexes;
  for (const SecondaryIndex& index : schema.indexes) {
    nb::list names;
    for (size_t i = 0; i < index.columns.size(); ++i) names.append(nb::make_tuple(index.columns[i], index.is_descending(i)));
    indexes.append(nb::make_tuple(index.name, names, index.unique, index.ranked));
  }
  const char* const form = !table->byte_keys() ? "int" : table->tuple_keys() ? "tuple" : "bytes";
  return nb::make_tuple(form, described(schema.key_fields), columns, indexes, std::string(name_of(schema.key_index)));
}

template <class F>
void change(Core& core, const char* what, const Place& place, F&& call) {
  check_outside(core, what);
  Status status;
  {
    const Unlocked unlocked(core);
    status = call();
  }
  check(status, place);
}

void create_index(Core& core, const std::string& table, nb::handle description, nb::object progress) {
  check_outside(core, "create_index()");
  const SecondaryIndex index = index_of(description);
  CreateIndexOptions options;
  std::exception_ptr thrown;
  options.progress = [&](uint64_t visited, uint64_t all) {
    const nb::gil_scoped_acquire acquired;
    try {
      check_signals();
      if (!progress.is_none()) progress(visited, all);
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  };
  Status status;
  {
    const RunsHere here(core);  // so that the progress function cannot use the database
    const Unlocked unlocked(core);
    status = core.db.create_index(table, index, options);
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
  check(status, {.table = table, .index = index.name});
}

RunPolicy policy_of(uint32_t attempts, nb::handle timeout, nb::handle durability) {
  RunPolicy policy;
  policy.attempts_max = attempts;
  if (!timeout.is_none()) {
    const double seconds = nb::cast<double>(timeout);
    if (!(seconds > 0 && seconds < 1e9)) raise(Code::kInvalidArgument, "timeout must be a positive number of seconds, not " +
        shown(timeout));
    policy.deadline_us = static_cast<uint64_t>(seconds * 1e6) + 1;
  }
  policy.durability = durability_of(durability);
  return policy;
}

// Calls function(txn, *arguments, **names) as a procedure, and returns its result and the number of
// its commit.
std::pair<nb::object, SnapshotNumber> call(const std::shared_ptr<Core>& core, nb::handle function, nb::handle arguments, nb::handle names,
                                           bool read_only, const RunPolicy& policy) {
  Txn* const txn = new Txn(core);
  nb::object txn_object = nb::cast(txn, nb::rv_policy::take_ownership);
  const auto count = static_cast<size_t>(PyTuple_Size(arguments.ptr()));
  nb::object all = steal(PyTuple_New(static_cast<Py_ssize_t>(count + 1)));
  PyTuple_SetItem(all.ptr(), 0, txn_object.inc_ref().ptr());
  for (size_t i = 0; i < count; ++i) {
    nb::handle item = PyTuple_GetItem(arguments.ptr(), static_cast<Py_ssize_t>(i));
    PyTuple_SetItem(all.ptr(), static_cast<Py_ssize_t>(i + 1), item.inc_ref().ptr());
  }
  nb::object result;
  struct Ended {
    Txn* txn;
    ~Ended() { txn->ended(); }
  };
  const SnapshotNumber number = run(*core, read_only ? "run_read_only()" : "run()", read_only, policy,
      [&](Transaction& transaction) -> Status {
    result.reset();  // what the attempt before has returned
    txn->attempt(&transaction);
    const Ended ended{txn};
    PyObject* const returned = PyObject_Call(function.ptr(), all.ptr(), names.ptr());
    if (returned == nullptr) {
      nb::python_error error;
      if (!txn->failed().ok()) return txn->failed();  // the attempt has met a conflict, whatever became of its exception
      throw error;
    }
    result = nb::steal(returned);
    if (returned != Py_None && type_text(result) == "coroutine") {
      result.attr("close")();
      throw nb::type_error("a procedure must not be a coroutine function: it could not be repeated after a conflict");
    }
    return txn->failed();
  });
  return {std::move(result), number};
}

// Tells a file descriptor about commits that are on the disk, without Python's lock.
class Durable : public Child {
 public:
  struct Shared {
    std::mutex mutex;
    std::vector<std::pair<uint64_t, Status>> told;
    int descriptor = -1;
    ~Shared() {
      if (descriptor >= 0) ::close(descriptor);
    }
  };
  explicit Durable(std::shared_ptr<Core> its_core) : Child(std::move(its_core)), shared_(std::make_shared<Shared>()) {
    shared_->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (shared_->descriptor < 0) raise(Code::kIoError, "eventfd() failed");
  }
  void end() noexcept override {}
  int descriptor() const { return shared_->descriptor; }
  void watch(SnapshotNumber number, uint64_t ticket) {
    check_open(*core);
    const Unlocked unlocked(*core);
    core->db.when_durable(number, [shared = shared_, ticket](const Status& status) {
      const std::lock_guard lock(shared->mutex);
      shared->told.emplace_back(ticket, status);
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(shared->descriptor, &one, sizeof one);
    });
  }
  // Returns [(ticket, None or the exception)].
  nb::list take() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t bytes = ::read(shared_->descriptor, &count, sizeof count);
    std::vector<std::pair<uint64_t, Status>> told;
    {
      const std::lock_guard lock(shared_->mutex);
      told.swap(shared_->told);
    }
    nb::list list;
    for (const auto& [ticket, status] : told) {
      nb::object error = nb::none();
      try {
        check(status);
      } catch (nb::python_error& raised) {
        error = nb::borrow(raised.value());
      }
      list.append(nb::make_tuple(ticket, error));
    }
    return list;
  }

 private:
  std::shared_ptr<Shared> shared_;
};

class Snapshot : public Child {
 public:
  explicit Snapshot(std::shared_ptr<Core> its_core) : Child(std::move(its_core)) {
    Result<HeldSnapshot> snapshot = core->db.hold_snapshot();
    check(snapshot.status());
    held = *std::move(snapshot);
  }
  ~Snapshot() override { end(); }
  void end() noexcept override {
    if (core->forked()) new HeldSnapshot(std::move(held));
    else held = HeldSnapshot();
  }
  HeldSnapshot held;
};

}  // namespace

void bind_database(nb::module_& module) {
  nb::class_<Snapshot>(module, "Snapshot")
      .def("begin", [](Snapshot& self) {
        check_open(*self.core);
        if (!self.held) raise(Code::kFinished, "the snapshot has been released");
        Txn* const txn = new Txn(self.core);
        nb::object object = nb::cast(txn, nb::rv_policy::take_ownership);
        txn->begin(true, &self.held);
        return object;
      })
      .def("release", [](Snapshot& self) { self.end(); })
      .def_prop_ro("number", [](Snapshot& self) { return self.held ? self.held.number() : 0; });
  nb::class_<Durable>(module, "Durable")
      .def("fileno", &Durable::descriptor)
      .def("watch", &Durable::watch)
      .def("take", &Durable::take);
  nb::class_<Core>(module, "Core", nb::is_weak_referenceable())
      .def("close", &close)
      .def_prop_ro("path", [](Core& self) { return self.path; })
      .def_prop_ro("is_open", [](Core& self) { return self.open && !self.forked(); })
      .def_prop_ro("waits_for_disk", [](Core& self) { return self.group; })
      .def("create_table", &create_table, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none())
      .def("describe", &describe)
      .def("tables", [](Core& self) {
        check_open(self);
        nb::list names;
        for (const TableRef& table : self.db.tables())
          if (!table.schema().name.starts_with("elider_")) names.append(table.schema().name);
        return names;
      })
      .def("drop_table", [](Core& self, const std::string& name) {
        change(self, "drop_table()", {.table = name}, [&] { return self.db.drop_table(name); });
      })
      .def("rename_table", [](Core& self, const std::string& name, const std::string& to) {
        change(self, "rename_table()", {.table = name}, [&] { return self.db.rename_table(name, to); });
      })
      .def("add_column", [](Core& self, const std::string& table, nb::handle column) {
        const DescribedColumn its(column);
        change(self, "add_column()", {.table = table, .column = its.name}, [&] { return self.db.add_column(table, its.name, its.type,
            its.options); });
      })
      .def("rename_column", [](Core& self, const std::string& table, const std::string& name, const std::string& to) {
        change(self, "rename_column()", {.table = table, .column = name}, [&] { return self.db.rename_column(table, name, to); });
      })
      .def("drop_column", [](Core& self, const std::string& table, const std::string& name) {
        change(self, "drop_column()", {.table = table, .column = name}, [&] { return self.db.drop_column(table, name); });
      })
      .def("create_index", &create_index, nb::arg(), nb::arg(), nb::arg().none())
      .def("drop_index", [](Core& self, const std::string& table, const std::string& name) {
        change(self, "drop_index()", {.table = table, .index = name}, [&] { return self.db.drop_index(table, name); });
      })
      .def("checkpoint", [](Core& self) { change(self, "checkpoint()", {}, [&] { return self.db.checkpoint(); }); })
      .def("backup", [](Core& self, const std::string& folder) { change(self, "backup()", {}, [&] { return self.db.backup(folder); }); })
      .def("verify", [](Core& self) { change(self, "verify()", {}, [&] { return self.db.verify(); }); })
      .def("wait_durable", [](Core& self) {
        check_open(self);
        Status status;
        {
          const Unlocked unlocked(self);
          status = self.db.wait_durable();
        }
        check(status);
      })
      .def("statistics", [](Core& self) {
        check_open(self);
        return self.db.statistics().to_json();
      })
      .def("begin", [](nb::handle self, bool read_only) {
        Txn* const txn = new Txn(nb::cast<std::shared_ptr<Core>>(self));
        nb::object object = nb::cast(txn, nb::rv_policy::take_ownership);
        txn->begin(read_only);
        return object;
      })
      .def("call",
           [](nb::handle self, nb::handle function, nb::handle arguments, nb::handle names, bool read_only, uint32_t attempts,
              nb::object timeout, nb::object durability) {
             return call(nb::cast<std::shared_ptr<Core>>(self), function, arguments, names, read_only, policy_of(attempts, timeout,
                 durability)).first;
           },
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def("call_async",
           [](nb::handle self, nb::handle function, nb::handle arguments, nb::handle names, bool read_only) {
             const auto core = nb::cast<std::shared_ptr<Core>>(self);
             RunPolicy policy;
             if (core->group) policy.durability = Durability::kAsync;
             auto [result, number] = call(core, function, arguments, names, read_only, policy);
             return nb::make_tuple(result, number);
           })
      .def("durable", [](nb::handle self) {
        const auto core = nb::cast<std::shared_ptr<Core>>(self);
        check_open(*core);
        return new Durable(core);
      }, nb::rv_policy::take_ownership)
      .def("snapshot", [](nb::handle self) {
        const auto core = nb::cast<std::shared_ptr<Core>>(self);
        check_open(*core);
        return new Snapshot(core);
      }, nb::rv_policy::take_ownership);
  module.def("open", &open, nb::arg().none(), nb::arg());
}

}  // namespace elider::python
