// The workload bank: transfers between the accounts of a bank, and audits that add up all balances.
// The history represents an account as a register. Each of a register's values is unique, because
// it combines the unique stamp of a transfer with the balance: stamp * 2^20 + balance.
//
// Accounts belong to generations. After 8 transfers per account, a whole generation is retired. The
// first transfer in the next generation opens all of its accounts at once. An audit must therefore
// see either no account of a generation or all of them, with a constant sum of balances. An audit
// that sees anything else reports a complaint.
#include <atomic>
#include <vector>

#include "bench/history/workload.h"

namespace elider::bench {
namespace {

constexpr int64_t kOpeningBalance = 100;
constexpr int64_t kBalanceBits = 20;
constexpr uint64_t kTransfersPerAccount = 8;

struct AccountRow {
  uint64_t generation = 0;
  int64_t stamp = 0;
  int64_t balance = 0;

  int64_t value() const { return stamp << kBalanceBits | balance; }
};

class Bank : public Workload {
  enum AuditVariant : Variant { kMultiGet, kByIndex, kForward, kReverse, kAuditVariants };
  enum TransferVariant : Variant { kUpdate, kMove, kTransferVariants };

 public:
  explicit Bank(const HistoryOptions& options) : options_(options), accounts_(std::max<uint32_t>(options.keys, 2)) {}

  Schema schema() const override { return described().schema(); }
  Status create(Database& db) override { return create_table(db, described(), "by_generation", &table_, &by_generation_); }

  // The sum of each generation's balances must be what it was when the generation was opened. The
  // number of accounts may differ between runs.
  Status resume(Database& db, int64_t* values) override {
    int64_t last_generation = -1, last_account = -1, seen = 0, sum = 0;
    bool wrong = false;
    const auto audit_one = [&] { wrong = wrong || sum != seen * kOpeningBalance; };
    Status status = for_each_row(db, by_generation_, [&](Key row_key, const View<AccountRow>& view) {
      const auto generation = static_cast<int64_t>(view->generation);
      if (generation != last_generation) {
        audit_one();
        if (wrong) return false;
        seen = sum = 0;
      }
      last_generation = generation;
      last_account = std::max(last_account, static_cast<int64_t>(row_key / 2));
      ++seen;
      sum += view->balance;
      *values = std::max(*values, value_number(view->stamp));
      return true;
    });
    audit_one();
    if (status.ok() && wrong)
      return left_by_no_run(std::to_string(seen) + " accounts of generation " + std::to_string(last_generation) + " with " +
                            std::to_string(sum) + " as the sum of balances");
    const int64_t first = std::max(last_generation, last_account < 0 ? -1 : last_account / accounts_) + 1;
    // Relaxed: no other thread uses the counter yet.
    transfers_.store(static_cast<uint64_t>(first * accounts_) * kTransfersPerAccount, std::memory_order_relaxed);
    return status;
  }

  // Plans one operation: either an audit of the generation in `key` (kScan), or a transfer from
  // account `key` to account `last_key`.
  void plan(Random& random, int64_t value, Plan* plan) override {
    PlannedOperation operation;
    const bool audits = plan->read_only || random.below(100) < options_.scan_percent;
    // Relaxed: the counter does not order other accesses.
    const uint64_t transfers = audits ? transfers_.load(std::memory_order_relaxed) : transfers_.fetch_add(1, std::memory_order_relaxed);
    const int64_t generation = static_cast<int64_t>(transfers / (kTransfersPerAccount * accounts_));
    if (audits) {
      operation.kind = PlannedOperation::Kind::kScan;
      operation.variant = static_cast<Variant>(random.below(is_ordered(options_.index) ? kAuditVariants : kForward));
      operation.key = generation;
    } else {
      operation.kind = PlannedOperation::Kind::kWrite;
      operation.variant = static_cast<Variant>(random.below(4) == 0 ? kMove : kUpdate);
      const int64_t from = static_cast<int64_t>(random.below(accounts_));
      const int64_t other = static_cast<int64_t>(random.below(accounts_ - 1));
      operation.key = account(generation, from);
      operation.last_key = account(generation, other < from ? other : other + 1);
      operation.value = value;
    }
    plan->operations.push_back(operation);
  }

  void invocation(const Plan& plan, MicroOps* operations) const override {
    for (const PlannedOperation& operation : plan.operations) {
      if (operation.kind == PlannedOperation::Kind::kScan) {
        for (int64_t i = 0; i < accounts_; ++i) operations->read_unknown(account(operation.key, i));
      } else {
        operations->read_unknown(operation.key);
        operations->read_unknown(operation.last_key);
      }
    }
  }

  void touch(const Plan& plan, Touches& touches) const override { touch_cells(plan, table_, touches); }
  Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) override {
    for (const PlannedOperation& operation : plan.operations) {
      yields.maybe();
      Status status =
          operation.kind == PlannedOperation::Kind::kScan ? audit(txn, operation, attempt) : transfer(txn, operation, yields, attempt);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  SchemaOf<AccountRow> described() const {
    return SchemaOf<AccountRow>("accounts")
        .key_index(options_.index)
        .column("generation", &AccountRow::generation)
        .column("stamp", &AccountRow::stamp)
        .column("balance", &AccountRow::balance)
        .index("by_generation", {"generation"}, [](const AccountRow& row) { return row.generation; });
  }

  int64_t account(int64_t generation, int64_t i) const { return generation * accounts_ + i; }

  Status transfer(Transaction& txn, const PlannedOperation& operation, Yields& yields, Attempt* attempt) const {
    Cell<AccountRow> from, to;
    if (Status status = read_cell(txn, table_, operation.key, false, &from); !status.ok()) return status;
    if (from.place() < 0) return open_generation(txn, operation, attempt);
    yields.maybe();
    if (Status status = read_cell(txn, table_, operation.last_key, true, &to); !status.ok()) return status;
    if (to.place() < 0) {
      attempt->complaint = "account " + std::to_string(operation.last_key) + " is missing";
      return {};
    }
    AccountRow source = *from.half[from.place()], target = *to.half[to.place()];
    attempt->did.read_value(operation.key, source.value());
    attempt->did.read_value(operation.last_key, target.value());
    const int64_t amount = 1 + operation.value % 10;
    if (source.balance < amount) return {};
    source.balance -= amount;
    target.balance += amount;
    source.stamp = target.stamp = operation.value;
    yields.maybe();
    if (Status status = store(txn, operation, operation.key, from, source); !status.ok()) return status;
    attempt->did.write(operation.key, source.value());
    if (Status status = store(txn, operation, operation.last_key, to, target); !status.ok()) return status;
    attempt->did.write(operation.last_key, target.value());
    return {};
  }

  Status store(Transaction& txn, const PlannedOperation& operation, int64_t key, const Cell<AccountRow>& cell,
               const AccountRow& row) const {
    const int place = cell.place();
    if (operation.variant == kUpdate)
      return txn.update(table_, cell.half[place], Columns<AccountRow>(), [&](AccountRow& image) { image = row; });
    if (Status status = txn.remove(table_, cell_row(key, place)); !status.ok()) return status;
    return txn.insert(table_, cell_row(key, 1 - place), row);
  }

  Status open_generation(Transaction& txn, const PlannedOperation& operation, Attempt* attempt) const {
    const int64_t generation = operation.key / accounts_;
    attempt->did.read_value(operation.key, std::nullopt);
    for (int64_t i = 0; i < accounts_; ++i) {
      const AccountRow row{static_cast<uint64_t>(generation), operation.value, kOpeningBalance};
      if (Status status = txn.insert(table_, cell_row(account(generation, i), 0), row); !status.ok()) return status;
      attempt->did.write(account(generation, i), row.value());
    }
    return {};
  }

  Status audit(Transaction& txn, const PlannedOperation& operation, Attempt* attempt) const {
    std::vector<std::optional<AccountRow>> rows(static_cast<size_t>(accounts_));
    int64_t sum = 0;
    uint64_t seen = 0;
    const auto visit = [&](Key row_key, const View<AccountRow>& view) {
      const int64_t i = static_cast<int64_t>(row_key / 2) - account(operation.key, 0);
      sum += view->balance;
      ++seen;
      if (i >= 0 && i < accounts_) rows[static_cast<size_t>(i)] = *view;
      return true;
    };
    if (Status status = visit_generation(txn, operation, visit); !status.ok()) return status;
    for (int64_t i = 0; i < accounts_; ++i) {
      const auto& row = rows[static_cast<size_t>(i)];
      attempt->did.read_value(account(operation.key, i), row ? std::optional(row->value()) : std::nullopt);
    }
    const bool none = seen == 0, all = seen == static_cast<uint64_t>(accounts_) && sum == accounts_ * kOpeningBalance;
    if (!none && !all) {
      attempt->complaint = "an audit of generation " + std::to_string(operation.key) + " saw " + std::to_string(seen) + " accounts with " +
                           std::to_string(sum) + " as the sum of balances, not " + std::to_string(accounts_ * kOpeningBalance);
    }
    return {};
  }

  template <class Visit>
  Status visit_generation(Transaction& txn, const PlannedOperation& operation, Visit& visit) const {
    if (operation.variant == kByIndex) {
      const uint64_t generation = static_cast<uint64_t>(operation.key);
      return txn.scan(by_generation_, {generation, generation}, {}, visit);
    }
    if (operation.variant != kMultiGet) {
      const KeyRange range{cell_row(account(operation.key, 0), 0), cell_row(account(operation.key, accounts_ - 1), 1)};
      return txn.scan(table_, range, {.reverse = operation.variant == kReverse}, visit);
    }
    std::vector<Key> keys;
    for (int64_t i = 0; i < accounts_; ++i) {
      keys.push_back(cell_row(account(operation.key, i), 0));
      keys.push_back(cell_row(account(operation.key, i), 1));
    }
    std::vector<View<AccountRow>> views(keys.size());
    if (Status status = txn.multi_get(table_, std::span<const Key>(keys), std::span(views)); !status.ok()) return status;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (views[i]) visit(keys[i], views[i]);
    }
    return {};
  }

  const HistoryOptions& options_;
  const int64_t accounts_;
  std::atomic<uint64_t> transfers_{0};
  Table<AccountRow> table_;
  Index<AccountRow> by_generation_;
};

}  // namespace

std::unique_ptr<Workload> make_bank(const HistoryOptions& options) { return std::make_unique<Bank>(options); }

}  // namespace elider::bench
