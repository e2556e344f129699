// Iterators over tables and indexes, and the ranges that they read.
#include <algorithm>
#include <variant>

#include "elider/table_scan.h"
#include "python/src/tables.h"

namespace elider::python {

namespace {

// Changes a prefix to the first byte string after all those that begin with it. Returns false if
// such a byte string does not exist.
bool after_prefix(std::string* prefix) {
  while (!prefix->empty() && prefix->back() == '\xff') prefix->pop_back();
  if (prefix->empty()) return false;
  prefix->back() = static_cast<char>(prefix->back() + 1);
  return true;
}

}  // namespace

RowValue row_value(nb::handle value, std::vector<nb::object>* owners) {
  PyObject* const object = value.ptr();
  if (value.is_none()) return {};
  if (PyBool_Check(object)) return RowValue(object == Py_True);
  if (PyFloat_Check(object)) return RowValue(PyFloat_AsDouble(object));
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* const utf8 = PyUnicode_AsUTF8AndSize(object, &size);
    if (utf8 == nullptr) PyErr_Clear(), raise(Code::kInvalidArgument, "the text " + shown(value) + " cannot be represented in UTF-8");
    owners->push_back(nb::borrow(value));
    return RowValue(std::string_view(utf8, static_cast<size_t>(size)));
  }
  std::string_view bytes;
  nb::object owner = nb::borrow(value);
  if (bytes_of(value, &bytes, &owner)) return owners->push_back(owner), RowValue(Bytes(bytes));
  if (PyIndex_Check(object)) {
    nb::object number = steal(PyNumber_Index(object));
    int overflow = 0;
    const long long word = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow == 0) return RowValue(static_cast<int64_t>(word));
    const uint64_t big = overflow > 0 ? PyLong_AsUnsignedLongLong(number.ptr()) : ~uint64_t{0};
    if (overflow < 0 || (big == ~uint64_t{0} && PyErr_Occurred())) PyErr_Clear(), raise(Code::kInvalidArgument, "the number " +
        shown(value) + " is out of range");
    return RowValue(big);
  }
  const std::string type = type_text(value);
  try {
    if (type == "UUID") return RowValue(to_uuid(value));
    if (type == "Decimal") {
      const auto text = nb::cast<std::string>(nb::module_::import_("elider._values").attr("decimal_text")(value));
      const Result<Decimal> decimal = Decimal::parse(text);
      check(decimal.status());
      return RowValue(*decimal);
    }
    if (type.find("date") != std::string::npos ||
        type == "Timestamp") return RowValue(Timestamp(std::chrono::microseconds(to_micros(value))));
  } catch (nb::python_error& error) {
    raise(Code::kInvalidArgument, "the value " + shown(value) + " cannot be used: " + error.what());
  }
  raise(Code::kInvalidArgument, "values of the type " + type + " cannot be stored in a column");
}

uint64_t limit_of(nb::handle limit) {
  if (limit.is_none()) return kNoLimit;
  const long long number = PyIndex_Check(limit.ptr()) ? PyLong_AsLongLong(limit.ptr()) : -1;
  if (number < 0) PyErr_Clear(), raise(Code::kInvalidArgument, "limit must be a number of rows, 0 or more, not " + shown(limit));
  return static_cast<uint64_t>(number);
}

AnyRange range_of(const Table& table, nb::handle prefix, nb::handle start, nb::handle stop) {
  EngineKey from, to, begins;
  if (table.keys.numbers()) {
    if (!prefix.is_none()) raise(Code::kInvalidArgument, "table '" + table.name +
        "': keys are numbers, so a prefix is not possible. Use start and stop", {.table = table.name});
    KeyRange range;
    if (!start.is_none()) table.keys.encode(start, &from), range.first = from.number;
    if (!stop.is_none()) {
      table.keys.encode(stop, &to);
      if (to.number == 0) return KeyRange{1, 0};
      range.last = to.number - 1;
    }
    return range;
  }
  std::string first, end;
  bool has_end = false;
  if (!prefix.is_none()) {
    table.keys.encode_prefix(prefix, &begins);
    first = end = begins.bytes.to_string();
    has_end = after_prefix(&end);
  }
  if (!start.is_none()) {
    table.keys.encode_prefix(start, &from);
    first = std::max(first, from.bytes.to_string());
  }
  if (!stop.is_none()) {
    table.keys.encode_prefix(stop, &to);
    std::string last = to.bytes.to_string();
    end = has_end ? std::min(end, last) : last;
    has_end = true;
  }
  return has_end ? ByteRange::until(Bytes(std::string_view(first)), Bytes(std::string_view(end)))
      : ByteRange::from(Bytes(std::string_view(first)));
}

ColumnRange range_of(const Index& index, nb::handle prefix, nb::handle start, nb::handle stop) {
  const auto columns = [&](nb::handle values) {
    std::vector<nb::object> owners;
    std::vector<RowValue> row_values;
    const nb::object tuple = PyTuple_Check(values.ptr()) ? nb::borrow(values) : nb::object(nb::make_tuple(nb::borrow(values)));
    for (nb::handle value : tuple) row_values.push_back(row_value(value, &owners));
    Result<ColumnRange> range = index_prefix(index.ref, std::span<const RowValue>(row_values));
    check(range.status(), {.table = index.table->name, .index = index.name});
    return *std::move(range);
  };
  ColumnRange range = prefix.is_none() ? ColumnRange() : columns(prefix);
  // An entry that begins with some columns comes after these columns alone.
  if (!start.is_none()) range = range.after(ColumnPosition{OwnedBytes(columns(start).entries().fields())});
  if (!stop.is_none()) range = range.before(ColumnPosition{OwnedBytes(columns(stop).entries().fields())});
  return range;
}

namespace {

// Iterates over rows page by page: in a transaction, or in a snapshot that the iterator holds.
class Items : public Child {
 public:
  using Scan = std::variant<RawTableScan, RawIndexScan>;
  Items(nb::object table_object, Table* table, nb::object txn_object, Txn* txn, Scan scan, char kind)
      : Child(table->core), table_object_(std::move(table_object)), table_(table), txn_object_(std::move(txn_object)), txn_(txn),
        scan_(std::move(scan)), kind_(kind) {
    if (txn_ != nullptr) return;
    Result<HeldSnapshot> held = core->db.hold_snapshot();
    check(held.status());
    held_ = *std::move(held);
  }
  ~Items() override { end(); }
  void end() noexcept override {
    if (core->forked()) new HeldSnapshot(std::move(held_));
    else held_ = HeldSnapshot();
  }

  nb::object next() {
    const InUse in_use(*core);
    if (fetching_) raise(Code::kInvalidArgument, "the iterator is in use by another thread");
    if (at_ == count_ && !fetch()) throw nb::stop_iteration();
    const RawView& view = page_[at_++];
    if (kind_ == 'v') return table_->rows.decode(view);
    nb::object key = table_->keys.numbers() ? table_->keys.decode(view.key()) : table_->keys.decode(view.key_bytes());
    if (kind_ == 'k') return key;
    return nb::make_tuple(key, table_->rows.decode(view));
  }

 private:
  bool fetch() {
    if (done_) return false;
    check_open(*core);
    page_.resize(page_.empty() ? 16 : std::min<size_t>(page_.size() * 4, 1024));
    at_ = count_ = 0;
    const auto read = [&](Transaction& txn) -> Status {
      Result<size_t> rows = std::visit([&](auto& scan) { return scan.next(txn, page_); }, scan_);
      if (rows.ok()) count_ = *rows;
      return rows.status();
    };
    Status status;
    if (txn_ != nullptr) {
      txn_->check(read(txn_->use(*table_)), {.table = table_->name});
    } else {
      if (!held_) raise(Code::kFinished, "the iterator has ended");
      fetching_ = true;
      {
        const Unlocked unlocked(*core);
        status = core->db.run_read_only(read, {.snapshot = &held_});
      }
      fetching_ = false;
      check(status, {.table = table_->name});
    }
    if (count_ == 0) {
      done_ = true;
      end();
    }
    return count_ != 0;
  }

  nb::object table_object_;
  Table* table_;
  nb::object txn_object_;
  Txn* txn_;
  Scan scan_;
  HeldSnapshot held_;
  std::vector<RawView> page_;
  size_t at_ = 0, count_ = 0;
  char kind_;
  bool done_ = false, fetching_ = false;
};

// Reads a whole hashed table, whose rows are not ordered, at once.
nb::object all_of_hashed(Table& table, Txn* txn, char kind, uint64_t limit) {
  Batch batch;
  const auto body = [&](Transaction& txn) -> Status {
    batch.clear();
    const auto keep = [&](auto key, const RawView& view, unsigned) {
      if (batch.size() >= limit) return false;
      batch.add(key, {view.bytes(), view.size()});
      return true;
    };
    if (table.keys.numbers()) return txn.scan_rows(table.ref, RowScanOptions(), [&](Key key, RawView view,
        unsigned thread) { return keep(key, view, thread); });
    return txn.scan_rows(table.ref, RowScanOptions(), [&](Bytes key, RawView view, unsigned thread) { return keep(key, view, thread); });
  };
  if (txn != nullptr) txn->check(body(txn->use(table)), {.table = table.name});
  else run_unlocked(*table.core, "items()", true, {}, body);
  nb::list list;
  for (size_t i = 0; i < batch.size(); ++i) {
    nb::object row = kind == 'k' ? nb::object() : table.rows.decode(batch.row(i).span());
    if (kind == 'v') {
      list.append(row);
      continue;
    }
    nb::object key = table.keys.numbers() ? table.keys.decode(batch.numbers[i]) : table.keys.decode(batch.key(i));
    if (kind == 'k') list.append(key);
    else list.append(nb::make_tuple(key, row));
  }
  return list.attr("__iter__")();
}

}  // namespace

nb::object make_items(nb::object table_object, nb::object txn_object, nb::object index_object, char kind, nb::handle prefix,
    nb::handle start,
                      nb::handle stop, bool reverse, nb::handle limit) {
  Table* const table = nb::cast<Table*>(table_object);
  Txn* const txn = txn_object.is_valid() ? nb::cast<Txn*>(txn_object) : nullptr;
  if (txn != nullptr) txn->use(*table);
  else check_outside(*table->core, "items()");
  const InUse in_use(*table->core);
  ScanOptions options;
  options.limit = limit_of(limit);
  options.reverse = reverse;
  if (index_object.is_valid()) {
    const Index& index = nb::cast<Index&>(index_object);
    return nb::cast(new Items(table_object, table, txn_object, txn, RawIndexScan(index.ref, range_of(index, prefix, start, stop), options),
        kind),
                    nb::rv_policy::take_ownership);
  }
  if (table->ref.schema().key_index == KeyIndex::kHashed) {
    if (!prefix.is_none() || !start.is_none() || !stop.is_none() || reverse)
      raise(Code::kUnsupported, "table '" + table->name + "' is a hash table, so its rows are not ordered: only whole scans are possible",
          {.table = table->name});
    return all_of_hashed(*table, txn, kind, options.limit);
  }
  AnyRange range = range_of(*table, prefix, start, stop);
  RawTableScan scan = std::visit([&](auto& its) { return RawTableScan(table->ref, its, options); }, range);
  return nb::cast(new Items(table_object, table, txn_object, txn, std::move(scan), kind), nb::rv_policy::take_ownership);
}

void bind_scans(nb::module_& module) {
  nb::class_<Items>(module, "Items")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &Items::next);
}

}  // namespace elider::python
