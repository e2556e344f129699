// The workload scan is like list-append, but each element is a row of its own. A list is the range
// of keys (k, position), and a range scan reads it. Every append inserts a row into a range that
// other transactions have scanned, so this workload tests phantom protection. If the table is not
// ordered, a list is read through the secondary index, or row by row until a row is absent.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/history/hot_keys.h"
#include "bench/history/workload.h"

namespace elider::bench {
namespace {

struct ElementRow {
  uint64_t list = 0;
  int64_t value = 0;
};

Key element_key(int64_t list, uint64_t position) { return static_cast<Key>(list) * kWritesPerKey + position; }

class ListScan : public Workload {
  static constexpr int64_t kScanSpanMax = 4;
  enum ReadVariant : Variant { kByIndex, kByIndexReverse, kRowByRow, kForward, kReverse, kReadVariants };

 public:
  explicit ListScan(const HistoryOptions& options) : options_(options), keys_(options.keys) {}

  Schema schema() const override { return described().schema(); }
  Status create(Database& db) override { return create_table(db, described(), "by_list", &table_, &by_list_); }

  Status resume(Database& db, int64_t* values) override {
    int64_t last = -1;
    uint64_t position = 0;  // position of the previous element
    std::string wrong;
    Status status = for_each_row(db, by_list_, [&](Key row_key, const View<ElementRow>& view) {
      const int64_t list = static_cast<int64_t>(row_key / kWritesPerKey);
      position = list == last ? position + 1 : 0;
      if (view->list != static_cast<uint64_t>(list) || row_key != element_key(list, position)) {
        wrong = "list " + std::to_string(list) + " in this state";
        return false;
      }
      *values = std::max(*values, value_number(view->value));
      last = list;
      return true;
    });
    keys_.begin_at(last + 1);
    return resumed(std::move(status), wrong);
  }

  void plan(Random& random, int64_t value, Plan* plan) override {
    const uint64_t count = random.between(1, options_.operations);
    for (uint64_t i = 0; i < count; ++i) {
      PlannedOperation operation;
      // The last two read variants require an ordered table.
      operation.variant = static_cast<Variant>(random.below(is_ordered(options_.index) ? kReadVariants : kForward));
      if (random.below(100) < options_.scan_percent) {
        operation.kind = PlannedOperation::Kind::kScan;
        if (operation.variant == kRowByRow) operation.variant = kByIndex;
        keys_.draw_range(random, kScanSpanMax, &operation.key, &operation.last_key);
      } else if (plan->read_only || random.below(2) == 0) {
        operation.key = operation.last_key = keys_.to_read(random);
      } else {
        operation.kind = PlannedOperation::Kind::kWrite;
        operation.key = operation.last_key = keys_.to_write(random);
        operation.value = value++;
      }
      plan->operations.push_back(operation);
    }
  }

  Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) override {
    std::vector<std::vector<int64_t>> lists;
    for (const PlannedOperation& operation : plan.operations) {
      yields.maybe();
      lists.assign(static_cast<size_t>(operation.last_key - operation.key) + 1, {});
      if (Status status = read_lists(txn, operation, yields, &lists); !status.ok()) return status;
      if (operation.kind != PlannedOperation::Kind::kWrite) {
        for (size_t i = 0; i < lists.size(); ++i) attempt->did.read_list(operation.key + static_cast<int64_t>(i), lists[i]);
        continue;
      }
      yields.maybe();
      if (Status status = append(txn, operation, lists[0], yields); !status.ok()) return status;
      attempt->did.append(operation.key, operation.value);
    }
    return {};
  }

 private:
  SchemaOf<ElementRow> described() const {
    return SchemaOf<ElementRow>("elements")
        .zoned(options_.zoned ? 2 : 0)  // 0: the table is not zoned
        .key_index(options_.index)
        .column("list", &ElementRow::list)
        .column("value", &ElementRow::value)
        .index("by_list", {"list"}, [](const ElementRow& row) { return row.list; });
  }

  Status append(Transaction& txn, const PlannedOperation& operation, const std::vector<int64_t>& list, Yields& yields) const {
    if (list.size() >= kWritesPerKey)
      return Status::invalid_argument("list " + std::to_string(operation.key) + " has more elements than were appended");
    // Sometimes removes the last element and inserts it again, which changes rows but not the list.
    if (!list.empty() && yields.random().below(8) == 0) {
      const Key last = element_key(operation.key, list.size() - 1);
      if (Status status = txn.remove(table_, last); !status.ok()) return status;
      if (Status status = txn.insert(table_, last, {static_cast<uint64_t>(operation.key), list.back()}); !status.ok()) return status;
    }
    return txn.insert(table_, element_key(operation.key, list.size()), {static_cast<uint64_t>(operation.key), operation.value});
  }

  Status read_lists(Transaction& txn, const PlannedOperation& operation, Yields& yields, std::vector<std::vector<int64_t>>* lists) const {
    if (options_.zoned && txn.read_only()) return read_all(txn, operation, lists);
    if (operation.variant == kRowByRow) return read_row_by_row(txn, operation.key, &lists->front());
    const bool by_index = operation.variant == kByIndex || operation.variant == kByIndexReverse;
    const ScanOptions options{.reverse = operation.variant == kReverse || operation.variant == kByIndexReverse};
    const auto visit = [&](Key row_key, const View<ElementRow>& view) {
      const int64_t list = static_cast<int64_t>(row_key / kWritesPerKey);
      // A row from outside the range is recorded as an element that the list cannot contain.
      if (list >= operation.key && list <= operation.last_key) (*lists)[static_cast<size_t>(list - operation.key)].push_back(view->value);
      else lists->front().push_back(-1 - list);
      return true;
    };
    const KeyRange keys{element_key(operation.key, 0), element_key(operation.last_key, kWritesPerKey - 1)};
    const KeyRange values{static_cast<uint64_t>(operation.key), static_cast<uint64_t>(operation.last_key)};
    Status status = by_index ? scan_by_list(txn, values, options.reverse, yields, visit) : txn.scan(table_, keys, options, visit);
    if (options.reverse) {
      for (auto& list : *lists) std::reverse(list.begin(), list.end());
    }
    return status;
  }

  // Scans the range at once or page by page. A page may end between two rows of the same list,
  // which have the same index value.
  template <class Visit>
  Status scan_by_list(Transaction& txn, IndexRange rest, bool reverse, Yields& yields, Visit&& visit) const {
    const uint64_t page = yields.random().below(2) == 0 ? kNoLimit : yields.random().between(1, 8);
    for (;;) {
      uint64_t visited = 0;
      IndexPosition last;
      Status status = txn.scan(by_list_, rest, {.limit = page, .reverse = reverse}, [&](IndexPosition at, const View<ElementRow>& view) {
        ++visited;
        last = at;
        return visit(at.key, view);
      });
      if (!status.ok() || visited < page) return status;
      rest = reverse ? rest.before(last) : rest.after(last);
      yields.maybe();
    }
  }

  // Reads all rows of the table, but returns only those of the requested lists.
  Status read_all(Transaction& txn, const PlannedOperation& operation, std::vector<std::vector<int64_t>>* lists) const {
    constexpr unsigned kThreads = 2;
    std::vector<std::pair<Key, int64_t>> found[kThreads];
    const Key first = element_key(operation.key, 0), last = element_key(operation.last_key, kWritesPerKey - 1);
    Status status = txn.scan_rows(table_, {.threads = kThreads}, [&](Key key, const View<ElementRow>& view, unsigned thread) {
      if (key >= first && key <= last) found[thread].emplace_back(key, view->value);
    });
    for (unsigned thread = 1; thread < kThreads; ++thread) found[0].insert(found[0].end(), found[thread].begin(), found[thread].end());
    std::sort(found[0].begin(), found[0].end());
    for (const auto& [key, value] : found[0])
      (*lists)[static_cast<size_t>(key / kWritesPerKey) - static_cast<size_t>(operation.key)].push_back(value);
    return status;
  }

  Status read_row_by_row(Transaction& txn, int64_t list, std::vector<int64_t>* elements) const {
    for (uint64_t position = 0; position < kWritesPerKey; ++position) {
      View<ElementRow> view;
      if (Status status = find(txn, table_, element_key(list, position), &view); !status.ok()) return status;
      if (!view) break;
      elements->push_back(view->value);
    }
    return {};
  }

  const HistoryOptions& options_;
  HotKeys keys_;
  Table<ElementRow> table_;
  Index<ElementRow> by_list_;
};

}  // namespace

std::unique_ptr<Workload> make_list_scan(const HistoryOptions& options) { return std::make_unique<ListScan>(options); }

}  // namespace elider::bench
