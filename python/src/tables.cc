#include "python/src/tables.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

namespace elider::python {

namespace {

// Applies body(Transaction&) in the target's transaction, or in one of its own.
template <class F>
void apply(Target target, const char* what, bool read_only, nb::handle key, F&& body) {
  const Place place{.table = target.table.name, .key = key};
  if (target.txn != nullptr) target.txn->check(body(target.txn->use(target.table)), place);
  else run(*target.table.core, what, read_only, {}, body, place);
}

// Reads a row. Returns an invalid object if the key does not exist.
nb::object read(Target target, const char* what, nb::handle key) {
  const InUse in_use(*target.table.core);
  EngineKey engine_key;
  target.table.keys.encode(key, &engine_key);
  nb::object row;
  apply(target, what, true, key, [&](Transaction& txn) -> Status {
    row.reset();
    RawView view;
    const Status status =
        with_key(target.table, engine_key, [&](auto key) { return txn.get(target.table.ref, key, ColumnsRef(), &view); });
    if (status.not_found()) return {};
    if (status.ok()) row = target.table.rows.decode(view);
    return status;
  });
  return row;
}

[[noreturn]] void missing(Target target, nb::handle key) {
  raise(Code::kNotFound, "table '" + target.table.name + "' lacks the key " + shown(key), {.table = target.table.name, .key = key});
}

nb::object get_item(Target target, nb::handle key) {
  nb::object row = read(target, "table[key]", key);
  if (!row.is_valid()) [[unlikely]] missing(target, key);
  return row;
}

nb::object get(Target target, nb::handle key, nb::object fallback) {
  nb::object row = read(target, "get()", key);
  return row.is_valid() ? row : fallback;
}

bool contains(Target target, nb::handle key) {
  EngineKey engine_key;
  target.table.keys.encode(key, &engine_key);
  bool found = false;
  apply(target, "key in table", true, key, [&](Transaction& txn) -> Status {
    RawView view;
    Status status = with_key(target.table, engine_key, [&](auto key) { return txn.get(target.table.ref, key, ColumnsRef(), &view); });
    found = status.ok();
    return status.not_found() ? Status() : status;
  });
  return found;
}

void write(Target target, const char* what, nb::handle key, nb::handle row, bool replaces) {
  const InUse in_use(*target.table.core);
  EngineKey engine_key;
  target.table.keys.encode(key, &engine_key);
  RowCodec::Encoded encoded(target.table.rows);
  target.table.rows.encode(row, key, replaces, &encoded);
  const Bytes bytes(encoded.bytes);
  apply(target, what, false, key, [&](Transaction& txn) -> Status {
    const Table& table = target.table;
    if (table.keys.numbers()) return replaces ? txn.put(table.by_number(), engine_key.number, bytes) : txn.insert(table.by_number(),
        engine_key.number, bytes);
    return replaces ? txn.put(table.by_bytes(), engine_key.bytes, bytes) : txn.insert(table.by_bytes(), engine_key.bytes, bytes);
  });
}

void remove(Target target, const char* what, nb::handle key) {
  EngineKey engine_key;
  target.table.keys.encode(key, &engine_key);
  bool found = true;
  apply(target, what, false, key, [&](Transaction& txn) -> Status {
    Status status = with_key(target.table, engine_key, [&](auto key) { return txn.remove(target.table.ref, key); });
    found = !status.not_found();
    return found ? status : Status();
  });
  if (!found) missing(target, key);
}

void update(Target target, nb::handle key, nb::kwargs columns) {
  const InUse in_use(*target.table.core);
  EngineKey engine_key;
  target.table.keys.encode(key, &engine_key);
  bool found = true;
  apply(target, "update()", false, key, [&](Transaction& txn) -> Status {
    const Table& table = target.table;
    RawView view;
    Status status = with_key(table, engine_key, [&](auto key) { return txn.get(table.ref, key, ColumnsRef(), &view); });
    found = !status.not_found();
    if (!status.ok()) return found ? status : Status();
    RowCodec::Encoded encoded(target.table.rows);
    target.table.rows.change(view, columns, key, &encoded);
    const Bytes bytes(encoded.bytes);
    return table.keys.numbers() ? txn.put(table.by_number(), engine_key.number, bytes) : txn.put(table.by_bytes(), engine_key.bytes, bytes);
  });
  if (!found) missing(target, key);
}

nb::list multi_get(Target target, nb::handle keys, nb::object fallback) {
  const InUse in_use(*target.table.core);
  Table& table = target.table;
  std::vector<Key> numbers;
  std::vector<std::string> owned;
  std::vector<Bytes> bytes;
  for (nb::handle key : keys) {
    EngineKey engine_key;
    table.keys.encode(key, &engine_key);
    if (table.keys.numbers()) numbers.push_back(engine_key.number);
    else owned.push_back(engine_key.bytes.to_string());
  }
  for (const std::string& key : owned) bytes.emplace_back(std::string_view(key));
  const size_t count = table.keys.numbers() ? numbers.size() : bytes.size();
  std::vector<RawView> views(count);
  nb::list rows;
  apply(target, "multi_get()", true, {}, [&](Transaction& txn) -> Status {
    rows = nb::list();
    if (count == 0) return {};
    Status status = table.keys.numbers() ? txn.multi_get(table.ref, numbers.data(), count, ColumnsRef(), views.data())
                                         : txn.multi_get(table.ref, bytes.data(), count, ColumnsRef(), views.data());
    if (!status.ok()) return status;
    for (const RawView& view : views) rows.append(view ? table.rows.decode(view) : fallback);
    return {};
  });
  return rows;
}

// Inserts or replaces the (key, row) pairs of an iterable or of a dict, all in one transaction.
size_t write_many(Target target, const char* what, nb::handle pairs, bool replace) {
  const InUse in_use(*target.table.core);
  Table& table = target.table;
  nb::object items = PyDict_Check(pairs.ptr()) ? nb::object(pairs.attr("items")()) : nb::borrow(pairs);
  Batch batch;
  for (nb::handle pair : items) {
    if (!PyTuple_Check(pair.ptr()) || PyTuple_Size(pair.ptr()) != 2)
      raise(Code::kInvalidArgument, "table '" + table.name + "': " + what + " takes pairs (key, row), not " + shown(pair),
          {.table = table.name});
    const nb::handle key = PyTuple_GetItem(pair.ptr(), 0);
    EngineKey engine_key;
    table.keys.encode(key, &engine_key);
    RowCodec::Encoded row(table.rows);
    table.rows.encode(PyTuple_GetItem(pair.ptr(), 1), key, replace, &row);
    if (table.keys.numbers()) batch.add(engine_key.number, row.bytes);
    else batch.add(engine_key.bytes, row.bytes);
  }
  if (batch.size() == 0) return 0;
  if (target.txn != nullptr) {
    target.txn->check(batch.write(target.txn->use(table), table, replace), {.table = table.name});
  } else {
    const auto body = [&](Transaction& txn) { return batch.write(txn, table, replace); };
    run_unlocked(*table.core, what, false, {}, body);
  }
  return batch.size();
}

size_t length(Target target) {
  Table& table = target.table;
  if (target.txn == nullptr) {
    check_open(*table.core);
    for (const Statistics::Table& each : table.core->db.statistics().tables)
      if (each.name == table.name) return each.rows;
    raise(Code::kNotFound, "table '" + table.name + "' does not exist any longer", {.table = table.name});
  }
  size_t rows = 0;
  Transaction& txn = target.txn->use(table);
  if (table.ref.schema().key_index == KeyIndex::kHashed) {
    target.txn->check(table.keys.numbers() ? txn.scan_rows(table.ref, RowScanOptions(), [&](Key, RawView, unsigned) { return ++rows, true;
        })
                                           : txn.scan_rows(table.ref, RowScanOptions(), [&](Bytes, RawView, unsigned) { return ++rows,
                                               true; }));
  } else {
    target.txn->check(table.keys.numbers() ? txn.scan(table.ref, KeyRange(), ScanOptions(), [&](Key, RawView) { return ++rows, true; })
                                           : txn.scan(table.ref, ByteRange(), ScanOptions(), [&](Bytes, RawView) { return ++rows, true; }));
  }
  return rows;
}

Target target_of(Table& table) { return {table, nullptr}; }
Target target_of(TableView& view) { return {*view.table, view.txn}; }
nb::object table_of(nb::handle self, Table&) { return nb::borrow(self); }
nb::object table_of(nb::handle, TableView& view) { return view.table_object; }
nb::object txn_of(Table&) { return nb::object(); }
nb::object txn_of(TableView& view) { return view.txn_object; }

// The methods that a table and a table in a transaction have.
template <class T>
void bind_operations(nb::class_<T>& type) {
  type.def("__getitem__", [](T& self, nb::handle key) { return get_item(target_of(self), key); })
      .def("__setitem__", [](T& self, nb::handle key, nb::handle row) { write(target_of(self), "table[key] = row", key, row, true); },
           nb::arg("key"), nb::arg("row").none())
      .def("__delitem__", [](T& self, nb::handle key) { remove(target_of(self), "del table[key]", key); })
      .def("__contains__", [](T& self, nb::handle key) { return contains(target_of(self), key); })
      .def("__len__", [](T& self) { return length(target_of(self)); })
      .def("__bool__", [](T&) { return true; })
      .def("get", [](T& self, nb::handle key, nb::object fallback) { return get(target_of(self), key, std::move(fallback)); },
           nb::arg("key"), nb::arg("default") = nb::none())
      .def("multi_get", [](T& self, nb::handle keys, nb::object fallback) { return multi_get(target_of(self), keys, std::move(fallback)); },
           nb::arg("keys"), nb::arg("default") = nb::none())
      .def("insert", [](T& self, nb::handle key, nb::handle row) { write(target_of(self), "insert()", key, row, false); },
           nb::arg("key"), nb::arg("row").none())
      .def("put", [](T& self, nb::handle key, nb::handle row) { write(target_of(self), "put()", key, row, true); },
           nb::arg("key"), nb::arg("row").none())
      .def("update", [](T& self, nb::handle key, nb::kwargs columns) { update(target_of(self), key, std::move(columns)); })
      .def("remove", [](T& self, nb::handle key) { remove(target_of(self), "remove()", key); })
      .def("insert_many", [](T& self, nb::handle pairs) { return write_many(target_of(self), "insert_many()", pairs, false); })
      .def("put_many", [](T& self, nb::handle pairs) { return write_many(target_of(self), "put_many()", pairs, true); });
  for (const auto& [name, kind] : {std::pair("items", 'i'), std::pair("keys", 'k'), std::pair("values", 'v')})
    type.def(name,
             [kind = kind](nb::handle self, nb::object prefix, nb::object start, nb::object stop, bool reverse, nb::object limit) {
               T& its = nb::cast<T&>(self);
               return make_items(table_of(self, its), txn_of(its), nb::object(), kind, prefix, start, stop, reverse, limit);
             },
             nb::kw_only(), nb::arg("prefix") = nb::none(), nb::arg("start") = nb::none(), nb::arg("stop") = nb::none(),
             nb::arg("reverse") = false, nb::arg("limit") = nb::none());
  type.def("__iter__", [](nb::handle self) {
    T& its = nb::cast<T&>(self);
    const nb::object none = nb::none();
    return make_items(table_of(self, its), txn_of(its), nb::object(), 'k', none, none, none, false, none);
  });
}

Target target_of(Txn& txn, Table& table) {
  txn.use(table);
  return {table, &txn};
}

TableView view_of(nb::handle txn, nb::handle table) {
  Table* its_table = nullptr;
  if (!nb::try_cast<Table*>(table, its_table) || its_table == nullptr)
    raise(Code::kInvalidArgument, "txn[table] takes a table of the database, not " + shown(table));
  Txn& its_txn = nb::cast<Txn&>(txn);
  its_txn.use(*its_table);
  return {nb::borrow(table), nb::borrow(txn), its_table, &its_txn};
}

// What the index operations are applied to: `txn` is a transaction or None.
template <class F>
void apply_index(Index& index, nb::handle txn, const char* what, F&& body) {
  Txn* its = txn.is_none() ? nullptr : nb::cast<Txn*>(txn);
  const Place place{.table = index.table->name, .index = index.name};
  if (its != nullptr) its->check(body(its->use(*index.table)), place);
  else run(*index.table->core, what, true, {}, body, place);
}

uint64_t count(Index& index, nb::handle prefix, nb::handle start, nb::handle stop, nb::handle txn) {
  const InUse in_use(*index.table->core);
  const ColumnRange range = range_of(index, prefix, start, stop);
  uint64_t rows = 0;
  apply_index(index, txn, "count()", [&](Transaction& txn) -> Status {
    Result<uint64_t> counted = txn.count(index.ref, range);
    if (counted.ok()) rows = *counted;
    return counted.status();
  });
  return rows;
}

uint64_t rank(Index& index, nb::handle key, nb::handle txn) {
  EngineKey engine_key;
  index.table->keys.encode(key, &engine_key);
  uint64_t rank = 0;
  bool found = true;
  apply_index(index, txn, "rank()", [&](Transaction& txn) -> Status {
    return with_key(*index.table, engine_key, [&](auto key) -> Status {
      Result<uint64_t> its = txn.rank(index.ref, key);
      found = !its.not_found();
      if (its.ok()) rank = *its;
      return found ? its.status() : Status();
    });
  });
  if (!found) missing({*index.table, nullptr}, key);
  return rank;
}

}  // namespace

void bind_tables(nb::module_& module) {
  const nb::object alias = nb::module_::import_("types").attr("GenericAlias");
  const auto generic = [&](nb::handle type) {
    type.attr("__class_getitem__") = nb::module_::import_("builtins").attr("classmethod")(alias);
  };
  nb::class_<Table> table(module, "Table", nb::is_weak_referenceable());
  table.def("__init__",
            [](Table* self, std::shared_ptr<Core> core, const std::string& name, const std::string& key_form, nb::handle key_fields,
               nb::object row_type, std::vector<std::string> fields) {
              check_open(*core);
              Result<TableRef> ref = core->db.table(name);
              check(ref.status());
              new (self) Table(core, *ref, name, KeyCodec(name, key_form, key_fields_of(key_fields)), std::move(row_type),
                  std::move(fields));
            });
  bind_operations(table);
  table.def_prop_ro("name", [](Table& self) { return self.name; })
      .def("_index", [](nb::handle self, const std::string& name) {
        Table& its = nb::cast<Table&>(self);
        check_open(*its.core);
        Result<IndexRef> ref = its.core->db.index(its.ref, name);
        check(ref.status(), {.table = its.name, .index = name});
        return Index{nb::borrow(self), &its, *ref, name};
      });
  nb::class_<TableView> view(module, "TableView");
  bind_operations(view);
  view.def_prop_ro("table", [](TableView& self) { return self.table_object; });
  generic(table);
  generic(view);

  nb::class_<Index> index(module, "Index");
  generic(index);
  index.def_prop_ro("name", [](Index& self) { return self.name; })
      .def_prop_ro("table", [](Index& self) { return self.table_object; })
      .def("count", &count, nb::kw_only(), nb::arg("prefix") = nb::none(), nb::arg("start") = nb::none(), nb::arg("stop") = nb::none(),
           nb::arg("txn") = nb::none())
      .def("rank", &rank, nb::arg("key"), nb::kw_only(), nb::arg("txn") = nb::none());
  for (const auto& [name, kind] : {std::pair("items", 'i'), std::pair("keys", 'k'), std::pair("values", 'v')})
    index.def(name,
              [kind = kind](nb::handle self, nb::object prefix, nb::object start, nb::object stop, bool reverse, nb::object limit,
                  nb::object txn) {
                Index& its = nb::cast<Index&>(self);
                return make_items(its.table_object, txn.is_none() ? nb::object() : txn, nb::borrow(self), kind, prefix, start, stop,
                    reverse, limit);
              },
              nb::kw_only(), nb::arg("prefix") = nb::none(), nb::arg("start") = nb::none(), nb::arg("stop") = nb::none(),
              nb::arg("reverse") = false, nb::arg("limit") = nb::none(), nb::arg("txn") = nb::none());

  nb::class_<Txn>(module, "Transaction")
      .def("__getitem__", [](nb::handle self, nb::handle table) { return view_of(self, table); })
      .def("get", [](Txn& self, Table& table, nb::handle key, nb::object fallback) { return get(target_of(self, table), key,
          std::move(fallback)); },
           nb::arg("table"), nb::arg("key"), nb::arg("default") = nb::none())
      .def("read", [](Txn& self, Table& table, nb::handle key) { return get_item(target_of(self, table), key); })
      .def("contains", [](Txn& self, Table& table, nb::handle key) { return contains(target_of(self, table), key); })
      .def("insert", [](Txn& self, Table& table, nb::handle key, nb::handle row) { write(target_of(self, table), "insert()", key, row,
          false); },
           nb::arg("table"), nb::arg("key"), nb::arg("row").none())
      .def("put", [](Txn& self, Table& table, nb::handle key, nb::handle row) { write(target_of(self, table), "put()", key, row, true); },
           nb::arg("table"), nb::arg("key"), nb::arg("row").none())
      .def("update", [](Txn& self, Table& table, nb::handle key, nb::kwargs columns) { update(target_of(self, table), key,
          std::move(columns)); })
      .def("remove", [](Txn& self, Table& table, nb::handle key) { remove(target_of(self, table), "remove()", key); })
      .def_prop_ro("is_open", [](Txn& self) { return self.is_open(); })
      .def_prop_ro("attempt", [](Txn& self) { return self.use().attempt(); })
      .def_prop_ro("read_only", [](Txn& self) { return self.use().read_only(); })
      .def("commit", [](Txn& self, nb::object durability) { return self.commit(durability_of(durability)); }, nb::kw_only(),
           nb::arg("durability") = nb::none())
      .def("rollback", &Txn::rollback)
      .def("_begin_again", &Txn::begin_again)
      .def("_failed", [](Txn& self) { return !self.failed().ok(); })
      .def("_is_of", [](Txn& self, uintptr_t core) { return self.is_open() && reinterpret_cast<uintptr_t>(self.core.get()) == core; })
      .def("_enter", [](nb::handle self) {
        ++nb::cast<Txn&>(self).core->blocks;
        return block_variable().attr("set")(self);
      })
      .def("_exit", [](Txn& self, nb::object token) {
        --self.core->blocks;
        block_variable().attr("reset")(token);
      });
}

}  // namespace elider::python
