// The workload claims: threads compete to claim slots. A unique index ensures that at most one row
// holds a slot at a time. In the history, each slot is a list of its claims, which a reader gets
// from the rows that hold the slot. A correct list is empty or has one claim. A list with two
// claims would show that a slot was claimed twice.
//
// The result of a claim also shows what the slot contained. If the claim is accepted, the slot was
// free; if it is refused, the transaction looks up the holder. A slot may also be handed over,
// together with its claim, to another row. A checker does not see this, but the slot's index entry
// is removed and inserted again. Slots are retired after 32 attempts, like the keys of other
// workloads.
#include <algorithm>
#include <array>

#include "bench/history/hot_keys.h"
#include "bench/history/workload.h"

namespace elider::bench {
namespace {

// Slots from this number on are never claimed. A row may hold one of them before it claims a real
// slot.
constexpr uint64_t kParked = uint64_t{1} << 63;

struct ClaimRow {
  uint64_t slot = 0;
  int64_t claim = 0;  // the unique value of the claim
};

class Claims : public Workload {
  static constexpr int64_t kScanSpanMax = 8;
  // The ways to claim a slot. kInsert inserts a row with the slot. kUpdate and kPut insert a row
  // with a parked slot, and then change the row's slot by an update or a put. kHandOver moves a
  // slot that a row already holds to a new row.
  enum ClaimVariant : Variant { kInsert, kUpdate, kPut, kHandOver, kClaimVariants };
  enum ScanVariant : Variant { kForward, kReverse, kScanVariants };

 public:
  explicit Claims(const HistoryOptions& options) : options_(options), slots_(options.keys) {}

  Schema schema() const override { return described().schema(); }
  Status create(Database& db) override { return create_table(db, described(), "by_slot", &table_, &by_slot_); }

  Status resume(Database& db, int64_t* values) override {
    int64_t last = -1;
    std::string wrong;
    Status status = for_each_row(db, by_slot_, [&](Key key, const View<ClaimRow>& view) {
      const auto slot = static_cast<int64_t>(view->slot);
      if (slot < 0 || slot == last) {
        wrong = "the holder of slot " + std::to_string(view->slot) + " in this state";
        return false;
      }
      *values = std::max({*values, value_number(view->claim), value_number(static_cast<int64_t>(key))});
      last = slot;
      return true;
    });
    slots_.begin_at(last + 1);
    return resumed(std::move(status), wrong);
  }

  void plan(Random& random, int64_t value, Plan* plan) override {
    const uint64_t count = random.between(1, options_.operations);
    for (uint64_t i = 0; i < count; ++i) {
      PlannedOperation operation;
      if (random.below(100) < options_.scan_percent) {
        operation.kind = PlannedOperation::Kind::kScan;
        operation.variant = static_cast<Variant>(random.below(kScanVariants));
        slots_.draw_range(random, kScanSpanMax, &operation.key, &operation.last_key);
      } else if (plan->read_only || random.below(4) == 0) {
        operation.key = operation.last_key = slots_.to_read(random);
      } else {
        operation.kind = PlannedOperation::Kind::kWrite;
        operation.variant = static_cast<Variant>(random.below(kClaimVariants));
        operation.key = operation.last_key = slots_.to_write(random);
        operation.value = value++;
      }
      plan->operations.push_back(operation);
    }
  }

  Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) override {
    for (const PlannedOperation& operation : plan.operations) {
      yields.maybe();
      const bool claims = operation.kind == PlannedOperation::Kind::kWrite;
      Status status = claims ? claim(txn, operation, yields, attempt) : read(txn, operation, attempt);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  using Elements = std::vector<int64_t>;

  SchemaOf<ClaimRow> described() const {
    return SchemaOf<ClaimRow>("claims")
        .key_index(options_.index)
        .column("slot", &ClaimRow::slot)
        .column("claim", &ClaimRow::claim)
        .unique_index("by_slot", {"slot"}, [](const ClaimRow& row) { return row.slot; });
  }

  // Reads the claims of a range of slots. Each slot is recorded as a read of one list.
  Status read(Transaction& txn, const PlannedOperation& operation, Attempt* attempt, Elements* of_first = nullptr,
              Key* holder = nullptr) const {
    std::array<Elements, kScanSpanMax> lists;
    const KeyRange range{static_cast<Key>(operation.key), static_cast<Key>(operation.last_key)};
    const ScanOptions options{.reverse = operation.variant == kReverse};
    Status status = txn.scan(by_slot_, range, options, [&](Key key, const View<ClaimRow>& view) {
      const auto slot = static_cast<int64_t>(view->slot);
      // A row from outside the range is recorded as an element that the list cannot contain.
      if (slot < operation.key || slot > operation.last_key) {
        lists[0].push_back(-1 - slot);
        return true;
      }
      Elements& list = lists[static_cast<size_t>(slot - operation.key)];
      list.push_back(view->claim);
      if (list.size() > 1) attempt->complaint = "slot " + std::to_string(slot) + " has two holders";
      if (holder != nullptr) *holder = key;
      return true;
    });
    if (!status.ok()) return status;
    for (int64_t slot = operation.key; slot <= operation.last_key; ++slot)
      attempt->did.read_list(slot, lists[static_cast<size_t>(slot - operation.key)]);
    if (of_first != nullptr) *of_first = lists[0];
    return {};
  }

  Status claim(Transaction& txn, const PlannedOperation& operation, Yields& yields, Attempt* attempt) const {
    const Key key = static_cast<Key>(operation.value);
    const ClaimRow row{static_cast<uint64_t>(operation.key), operation.value};
    const PlannedOperation look{.key = operation.key, .last_key = operation.key};
    if (operation.variant == kHandOver) {
      Elements had;
      Key holder = 0;
      if (Status status = read(txn, look, attempt, &had, &holder); !status.ok()) return status;
      yields.maybe();
      if (had.size() == 1) return hand_over(txn, holder, key);
    }
    Status status = put_claim(txn, operation, key, row, yields);
    if (status.ok()) {
      attempt->did.read_list(operation.key, {});  // the claim was accepted, so the slot was free
      attempt->did.append(operation.key, operation.value);
      return {};
    }
    if (status.code() != Code::kDuplicateKey) return status;
    Elements had;
    if (status = read(txn, look, attempt, &had); !status.ok()) return status;
    if (had.empty()) attempt->complaint = "slot " + std::to_string(operation.key) + " was refused, although it is free";
    return {};
  }

  Status put_claim(Transaction& txn, const PlannedOperation& operation, Key key, const ClaimRow& row, Yields& yields) const {
    if (operation.variant != kUpdate && operation.variant != kPut) return txn.insert(table_, key, row);
    if (Status status = txn.insert(table_, key, ClaimRow{kParked | key, operation.value}); !status.ok()) return status;
    yields.maybe();
    const Status status = operation.variant == kPut ? txn.put(table_, key, row)
                                                    : txn.update(table_, key, {}, [&](ClaimRow& image) { image.slot = row.slot; });
    if (status.code() != Code::kDuplicateKey) return status;
    const Status removed = txn.remove(table_, key);
    return removed.ok() ? status : removed;
  }

  Status hand_over(Transaction& txn, Key holder, Key key) const {
    auto view = txn.get(table_, holder);
    if (!view.ok()) return view.status();
    const ClaimRow row = **view;
    if (Status status = txn.remove(table_, holder); !status.ok()) return status;
    return txn.insert(table_, key, row);
  }

  const HistoryOptions& options_;
  HotKeys slots_;
  Table<ClaimRow> table_;
  Index<ClaimRow> by_slot_;
};

}  // namespace

std::unique_ptr<Workload> make_claims(const HistoryOptions& options) { return std::make_unique<Claims>(options); }

}  // namespace elider::bench
