// The workload rw-register: a register is stored in a cell (workload.h), with its value in a
// separate column group. There are three kinds of keys, by key modulo 4:
//   0     written blindly, by a put into row 2k or by a write of the value's column; never moved
//   1, 2  updated, moved, removed and inserted again
//   3     counters: changed only by add(1), which does not read. The transaction then reads its own
//         result, so that the history can tell Elle which value was replaced and which was written
#include <algorithm>
#include <array>

#include "bench/history/hot_keys.h"
#include "bench/history/workload.h"

namespace elider::bench {
namespace {

struct RegisterRow {
  uint64_t key = 0;
  int64_t value = 0;
};

bool is_blind(int64_t key) { return key % 4 == 0; }
bool is_counter(int64_t key) { return key % 4 == 3; }

class RwRegister : public Workload {
  static constexpr int64_t kScanSpanMax = 8;
  enum WriteVariant : Variant { kUpdate, kUpdateView, kWriteColumns, kPut, kMove, kReinsert, kWriteVariants };
  enum ReadVariant : Variant { kGets, kMultiGet, kValueColumn, kReadVariants };

 public:
  explicit RwRegister(const HistoryOptions& options) : options_(options), keys_(options.keys) {}

  Schema schema() const override { return described().schema(); }
  Status create(Database& db) override {
    Status status = create_table(db, described(), "by_key", &table_, &by_key_);
    if (status.ok()) value_column_ = table_.columns(&RegisterRow::value);
    return status;
  }

  Status resume(Database& db, int64_t* values) override {
    int64_t last = -1;
    std::string wrong;
    Status status = for_each_row(db, by_key_, [&](Key row_key, const View<RegisterRow>& view) {
      const int64_t key = static_cast<int64_t>(row_key / 2);
      if (view->key != static_cast<uint64_t>(key) || key == last || (is_counter(key) && view->value > int64_t{kWritesPerKey})) {
        wrong = "register " + std::to_string(key) + " in this state";
        return false;
      }
      *values = std::max(*values, value_number(view->value));
      last = key;
      return true;
    });
    keys_.begin_at(last + 1);
    return resumed(std::move(status), wrong);
  }

  void plan(Random& random, int64_t value, Plan* plan) override {
    plan_on_hot_keys(options_, kReadVariants, kWriteVariants, kScanSpanMax, keys_, random, value, plan);
  }

  void invocation(const Plan& plan, MicroOps* operations) const override {
    for (const PlannedOperation& operation : plan.operations) {
      const int64_t last = operation.kind == PlannedOperation::Kind::kScan ? operation.last_key : operation.key;
      if (operation.kind == PlannedOperation::Kind::kWrite && !is_counter(operation.key)) {
        operations->write(operation.key, operation.value);
        continue;
      }
      for (int64_t key = operation.key; key <= last; ++key) operations->read_unknown(key);
    }
  }

  void touch(const Plan& plan, Touches& touches) const override { touch_cells(plan, table_, touches); }
  Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) override {
    for (const PlannedOperation& operation : plan.operations) {
      yields.maybe();
      Status status;
      if (operation.kind == PlannedOperation::Kind::kScan) status = scan(txn, operation, attempt);
      else if (operation.kind == PlannedOperation::Kind::kRead) status = read(txn, operation, attempt);
      else if (is_counter(operation.key)) status = count(txn, operation, attempt);
      else status = is_blind(operation.key) ? write_blindly(txn, operation) : write(txn, operation, yields);
      if (!status.ok()) return status;
      if (operation.kind == PlannedOperation::Kind::kWrite && !is_counter(operation.key))
        attempt->did.write(operation.key, operation.value);
    }
    return {};
  }

 private:
  SchemaOf<RegisterRow> described() const {
    return SchemaOf<RegisterRow>("registers")
        .key_index(options_.index)
        .column("key", &RegisterRow::key)
        .column("value", &RegisterRow::value)
        .group({"value"})
        .index("by_key", {"key"}, [](const RegisterRow& row) { return row.key; });
  }

  // Records a read of the register. If the register is in both of its rows, also reports a
  // complaint.
  static void give(const Cell<RegisterRow>& cell, int64_t key, Attempt* attempt) {
    const int place = cell.place();
    if (cell.half[0] && cell.half[1]) attempt->complaint = "register " + std::to_string(key) + " was in both of its rows";
    attempt->did.read_value(key, place < 0 ? std::nullopt : std::optional(cell.half[place]->value));
  }

  Status read(Transaction& txn, const PlannedOperation& operation, Attempt* attempt) const {
    Cell<RegisterRow> cell;
    Status status;
    if (operation.variant == kValueColumn) {
      status = find(txn, table_, cell_row(operation.key, 0), &cell.half[0], value_column_);
      if (status.ok()) status = find(txn, table_, cell_row(operation.key, 1), &cell.half[1], value_column_);
    } else {
      status = read_cell(txn, table_, operation.key, operation.variant == kMultiGet, &cell);
    }
    if (status.ok()) give(cell, operation.key, attempt);
    return status;
  }

  Status count(Transaction& txn, const PlannedOperation& operation, Attempt* attempt) const {
    const Key row_key = cell_row(operation.key, 0);
    Status status = txn.add(table_, row_key, &RegisterRow::value, 1);
    if (status.not_found()) status = txn.insert(table_, row_key, {static_cast<uint64_t>(operation.key), 1});
    if (!status.ok()) return status;
    auto own = txn.get(table_, row_key, value_column_);
    if (!own.ok()) return own.status();
    const int64_t now = (*own)->value;
    attempt->did.read_value(operation.key, now == 1 ? std::nullopt : std::optional(now - 1));
    attempt->did.write(operation.key, now);
    return {};
  }

  Status write_blindly(Transaction& txn, const PlannedOperation& operation) const {
    const RegisterRow row{static_cast<uint64_t>(operation.key), operation.value};
    const Key row_key = cell_row(operation.key, 0);
    if (operation.variant != kWriteColumns) return txn.put(table_, row_key, row);
    Status status = txn.write(table_, row_key, value_column_, row);
    return status.not_found() ? txn.insert(table_, row_key, row) : status;
  }

  Status write(Transaction& txn, const PlannedOperation& operation, Yields& yields) const {
    Cell<RegisterRow> cell;
    if (Status status = read_cell(txn, table_, operation.key, yields.random().below(2) == 0, &cell); !status.ok()) return status;
    yields.maybe();
    const RegisterRow row{static_cast<uint64_t>(operation.key), operation.value};
    const int place = cell.place();
    if (place < 0) return txn.insert(table_, cell_row(operation.key, static_cast<int>(operation.value % 2)), row);
    const Key row_key = cell_row(operation.key, place);
    const auto change = [&](RegisterRow& image) { image.value = operation.value; };
    switch (operation.variant) {
      case kUpdate: return txn.update(table_, row_key, value_column_, change);
      case kUpdateView: return txn.update(table_, cell.half[place], value_column_, change);
      case kWriteColumns: return txn.write(table_, row_key, value_column_, row);
      case kPut: return txn.put(table_, row_key, row);
      default: break;
    }
    if (Status status = txn.remove(table_, row_key); !status.ok()) return status;
    return txn.insert(table_, operation.variant == kMove ? cell_row(operation.key, 1 - place) : row_key, row);
  }

  Status scan(Transaction& txn, const PlannedOperation& operation, Attempt* attempt) const {
    std::array<std::optional<int64_t>, 2 * kScanSpanMax> values;
    const KeyRange rows{cell_row(operation.key, 0), cell_row(operation.last_key, 1)};
    const KeyRange keys{static_cast<uint64_t>(operation.key), static_cast<uint64_t>(operation.last_key)};
    const auto visit = [&](Key row_key, const View<RegisterRow>& view) {
      const int64_t key = static_cast<int64_t>(row_key / 2);
      if (key < operation.key || key > operation.last_key || view->key != static_cast<uint64_t>(key)) {
        attempt->complaint = "a scan of registers " + std::to_string(operation.key) + " to " + std::to_string(operation.last_key) +
                             " returned " + std::to_string(key);
        return true;
      }
      auto& value = values[static_cast<size_t>(key - operation.key)];
      if (value) attempt->complaint = "a scan returned register " + std::to_string(key) + " twice";
      value = view->value;
      return true;
    };
    if (Status status = scan_in_its_way(txn, operation, table_, rows, by_key_, keys, visit); !status.ok()) return status;
    for (int64_t key = operation.key; key <= operation.last_key; ++key) {
      attempt->did.read_value(key, values[static_cast<size_t>(key - operation.key)]);
    }
    return {};
  }

  const HistoryOptions& options_;
  HotKeys keys_;
  Table<RegisterRow> table_;
  Columns<RegisterRow> value_column_;
  Index<RegisterRow> by_key_;
};

}  // namespace

std::unique_ptr<Workload> make_rw_register(const HistoryOptions& options) { return std::make_unique<RwRegister>(options); }

}  // namespace elider::bench
