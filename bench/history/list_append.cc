// The workload list-append: a list is one row with room for 32 elements and their count, in a cell
// of two rows (workload.h). A secondary index orders the lists by key and by whether their count is
// odd, so every append moves the list's index entry.
#include <algorithm>
#include <array>

#include "bench/history/hot_keys.h"
#include "bench/history/workload.h"

namespace elider::bench {
namespace {

constexpr uint32_t kCapacity = kWritesPerKey;

struct ListRow {
  uint64_t tag = 0;  // key * 2 + (count is odd); the index is ordered by this column
  uint64_t count = 0;
  int64_t elements[kCapacity] = {};

  void append(int64_t key, int64_t value) {
    elements[count++] = value;
    tag = static_cast<uint64_t>(key) * 2 + (count & 1);
  }
};

class ListAppend : public Workload {
  static constexpr int64_t kScanSpanMax = 8;
  enum AppendVariant : Variant { kUpdate, kUpdateView, kPut, kMove, kReinsert, kAppendVariants };
  enum ReadVariant : Variant { kGets, kMultiGet, kReadVariants };

 public:
  explicit ListAppend(const HistoryOptions& options) : options_(options), keys_(options.keys) {}

  Schema schema() const override { return described().schema(); }
  Status create(Database& db) override { return create_table(db, described(), "by_tag", &table_, &by_tag_); }

  Status resume(Database& db, int64_t* values) override {
    int64_t last = -1;
    std::string wrong;
    Status status = for_each_row(db, by_tag_, [&](Key row_key, const View<ListRow>& view) {
      const int64_t key = static_cast<int64_t>(row_key / 2);
      if (view->count > kCapacity || view->tag != static_cast<uint64_t>(key) * 2 + (view->count & 1) || key == last) {
        wrong = "list " + std::to_string(key) + " in this state";
        return false;
      }
      for (uint64_t i = 0; i < view->count; ++i) *values = std::max(*values, value_number(view->elements[i]));
      last = key;
      return true;
    });
    keys_.begin_at(last + 1);
    return resumed(std::move(status), wrong);
  }

  void plan(Random& random, int64_t value, Plan* plan) override {
    plan_on_hot_keys(options_, kReadVariants, kAppendVariants, kScanSpanMax, keys_, random, value, plan);
  }

  void touch(const Plan& plan, Touches& touches) const override { touch_cells(plan, table_, touches); }
  Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) override {
    for (const PlannedOperation& operation : plan.operations) {
      yields.maybe();
      Status status;
      if (operation.kind == PlannedOperation::Kind::kScan) status = scan(txn, operation, attempt);
      else if (operation.kind == PlannedOperation::Kind::kRead) status = read(txn, operation, attempt);
      else status = append(txn, operation, yields, attempt);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  using Elements = std::vector<int64_t>;

  SchemaOf<ListRow> described() const {
    return SchemaOf<ListRow>("lists")
        .key_index(options_.index)
        .column("tag", &ListRow::tag)
        .column("count", &ListRow::count)
        .column("elements", &ListRow::elements)
        .index("by_tag", {"tag"}, [](const ListRow& row) { return row.tag; });
  }

  static void add_elements(const ListRow& row, Elements* elements) {
    elements->insert(elements->end(), row.elements, row.elements + std::min<uint64_t>(row.count, kCapacity));
  }

  Status read(Transaction& txn, const PlannedOperation& operation, Attempt* attempt) const {
    Cell<ListRow> cell;
    if (Status status = read_cell(txn, table_, operation.key, operation.variant == kMultiGet, &cell); !status.ok()) return status;
    Elements elements;
    for (const View<ListRow>& half : cell.half) {
      if (half) add_elements(*half, &elements);
    }
    attempt->did.read_list(operation.key, elements);
    return {};
  }

  Status append(Transaction& txn, const PlannedOperation& operation, Yields& yields, Attempt* attempt) const {
    Cell<ListRow> cell;
    if (Status status = read_cell(txn, table_, operation.key, yields.random().below(2) == 0, &cell); !status.ok()) return status;
    yields.maybe();
    Status status;
    const int place = cell.place();
    if (place < 0) {
      ListRow row;
      row.append(operation.key, operation.value);
      status = txn.insert(table_, cell_row(operation.key, static_cast<int>(operation.value % 2)), row);
    } else {
      if (cell.half[place]->count >= kCapacity)
        return Status::invalid_argument("list " + std::to_string(operation.key) + " has more elements than were appended");
      status = append_to(txn, operation, cell.half[place], place);
    }
    if (status.ok()) attempt->did.append(operation.key, operation.value);
    return status;
  }

  Status append_to(Transaction& txn, const PlannedOperation& operation, const View<ListRow>& view, int place) const {
    const Key row_key = cell_row(operation.key, place);
    ListRow row = *view;
    row.append(operation.key, operation.value);
    const auto change = [&](ListRow& image) { image.append(operation.key, operation.value); };
    switch (operation.variant) {
      case kUpdate: return txn.update(table_, row_key, Columns<ListRow>(), change);
      case kUpdateView: return txn.update(table_, view, Columns<ListRow>(), change);
      case kPut: return txn.put(table_, row_key, row);
      default: break;
    }
    if (Status status = txn.remove(table_, row_key); !status.ok()) return status;
    return txn.insert(table_, operation.variant == kMove ? cell_row(operation.key, 1 - place) : row_key, row);
  }

  Status scan(Transaction& txn, const PlannedOperation& operation, Attempt* attempt) const {
    std::array<Elements, 2 * kScanSpanMax> lists;
    // Key k has the rows 2k and 2k+1, and the tags 2k and 2k+1.
    const KeyRange range{cell_row(operation.key, 0), cell_row(operation.last_key, 1)};
    const auto visit = [&](Key row_key, const View<ListRow>& view) {
      const int64_t key = static_cast<int64_t>(row_key / 2);
      // A row from outside the range is recorded as an element that the list cannot contain.
      if (key >= operation.key && key <= operation.last_key) add_elements(*view, &lists[static_cast<size_t>(key - operation.key)]);
      else lists[0].push_back(-1 - key);
      return true;
    };
    if (Status status = scan_in_its_way(txn, operation, table_, range, by_tag_, range, visit); !status.ok()) return status;
    for (int64_t key = operation.key; key <= operation.last_key; ++key) {
      attempt->did.read_list(key, lists[static_cast<size_t>(key - operation.key)]);
    }
    return {};
  }

  const HistoryOptions& options_;
  HotKeys keys_;
  Table<ListRow> table_;
  Index<ListRow> by_tag_;
};

}  // namespace

std::unique_ptr<Workload> make_list_append(const HistoryOptions& options) { return std::make_unique<ListAppend>(options); }

}  // namespace elider::bench
