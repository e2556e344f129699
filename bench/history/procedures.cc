// The workload procedures: chopped procedures with random declarations, and with bodies that obey
// the declarations. A run has many groups of procedures (--declarations). Each group has its own
// tables, so that it is analyzed separately. All clients work on the same group, and then move to
// the next one.
//
// A group has three tables of cells, and one table each for posts, pledges and tokens. A cell
// (workload.h) has two lists, x and y, and a count z, each in its own column group. Calls only add
// to the count. At the end, the sum of a table's counts is compared with what was added.
// An operation may
//   - read a list, append to a list, or add to a count,
//   - insert a row with two lists of one element,
//   - move a cell to its other row,
//   - scan,
//   - insert a post, which is a list of one element that no other operation inserts, or read it.
// Some procedures create a pledge, which is a list that is owned by a token (docs/chopping.md), and
// hand out the token. Other procedures claim a token and append to its pledge.
//
// About half of the transactions are calls. Others do the same work in an ordinary transaction,
// except that they insert a missing cell before they append to it. The remaining transactions are
// readers, which read all tables of the group on a snapshot.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "bench/history/hot_keys.h"
#include "bench/history/procedure_rows.h"
#include "bench/history/workload.h"
#include "elider/try.h"

namespace elider::bench {
namespace {

constexpr uint32_t kTables = 3, kColumns = 2;
constexpr uint32_t kPostsOfACall = 16;  // the maximum number of posts and pledges of a call
constexpr int64_t kListsOfPosts = int64_t{1} << 62;
constexpr int64_t kKeysFilledMax = 64;

constexpr int64_t kCellsScanned = 5;  // the maximum number of cells that one scan reads
constexpr size_t kWordsOfAStep = kCellsScanned * (3 + 2 * kWritesPerKey);

class Procedures : public Workload {
  enum Way : Variant { kInPieces, kAtOnce, kReader };  // how a transaction runs; stored in the first operation of its plan
  enum StepVariant : Variant { kDone, kLeftOut };      // whether a step was left out; stored in the operations after the first
  struct Done {
    MicroOps did;
    bool added = false, claimed = false;
  };
  // Bodies do not allocate memory, because an allocation may abort the hardware transaction that
  // they run in.
  struct Call {
    Call(const Procedures& its_workload, const Plan& its_plan, Yields& its_yields, std::function<void()> it_begins = nullptr)
        : workload(&its_workload), plan(&its_plan), yields(&its_yields), begins(std::move(it_begins)),
          done(its_plan.operations.size() - 1) {
      for (Done& step : done) step.did.reserve(kWordsOfAStep);
    }
    void did(Attempt* attempt) const { workload->report(*this, attempt); }
    const Procedures* workload;
    const Plan* plan;
    Yields* yields;
    std::function<void()> begins;  // for a call in a group: each operation calls it
    std::vector<Done> done;        // indexed by step
  };
  struct Operation {
    uint32_t first_step = 0, end_step = 0;
    bool rolls_back = false;
  };
  struct Procedure {
    std::vector<Step> steps;
    std::vector<Operation> operations;
    ProcedureHandle<Call> chopped;
  };
  struct Group {
    explicit Group(uint32_t keys) : hot{HotKeys(keys), HotKeys(keys)} {}
    std::array<Table<CellRow>, kTables> tables;
    std::array<std::array<Columns<CellRow>, kColumns>, kTables> columns;  // the columns of each list
    Table<ShortList> posts;
    Table<ShortList> pledges;
    Table<TokenRow> tokens;
    std::array<HotKeys, 2> hot;                          // indexed by the parity of the keys
    std::array<std::atomic<int64_t>, 4> recent{};        // posts that calls are about to insert, or have inserted
    std::array<std::atomic<int64_t>, 4> pledged{};       // pledges that calls are about to create, or have created
    std::array<std::atomic<uint64_t>, kTables> added{};  // total that committed transactions have added to each table's counts
    std::vector<Procedure> procedures;
  };

 public:
  explicit Procedures(const HistoryOptions& options)
      : options_(options),
        turn_(options.transactions == 0 ? 64 : std::max<uint64_t>(options.transactions / (3 * options.declarations), 1)),
        keys_filled_(options.transactions == 0
                         ? kKeysFilledMax
                         : std::min(kKeysFilledMax, 8 + static_cast<int64_t>(options.transactions / (4 * options.declarations)))) {
    for (uint32_t g = 0; g < options.declarations; ++g) groups_.emplace_back(std::max(options.keys / 2, 1u));
  }

  Schema schema() const override { return cells(0, 0).key_index(options_.index).schema(); }

  Status create(Database& db) override {
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      for (uint32_t t = 0; t < kTables; ++t) {
        Table<CellRow>& table = groups_[g].tables[t];
        ELIDER_TRY(create_table(db, cells(g, t), &table));
        groups_[g].columns[t] = {table.columns(&CellRow::x), table.columns(&CellRow::y)};
      }
      ELIDER_TRY(create_table(db, SchemaOf<ShortList>(table_name(g, kTables)).column("list", &ShortList::list), &groups_[g].posts));
      ELIDER_TRY(create_table(db, SchemaOf<ShortList>(table_name(g, kTables + 1)).column("list", &ShortList::list), &groups_[g].pledges));
      ELIDER_TRY(
          create_table(db, SchemaOf<TokenRow>(table_name(g, kTables + 2)).column("made_by", &TokenRow::made_by), &groups_[g].tokens));
    }
    return install(db);
  }

  // Creates three of every four cells with keys below `keys_filled_`. Transactions insert the
  // others.
  Status fill(Database& db) override {
    for (const Group& group : groups_)
      ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
        for (uint32_t t = 0; t < kTables; ++t)
          for (int64_t key = 0; key < keys_filled_; ++key)
            if ((key + t) % 4 != 0) ELIDER_TRY(txn.insert(group.tables[t], cell_row(key, 0), CellRow{}));
        return {};
      }));
    return {};
  }

  Status resume(Database&, int64_t*) override {
    return Status::invalid_argument("--resume: the workload procedures cannot be resumed, because its tables depend on the seed");
  }

  void plan(Random& random, int64_t value, Plan* plan) override {
    PlannedOperation head;
    const uint64_t turn = drawn_.fetch_add(1) / turn_;
    head.key = static_cast<int64_t>(turn % groups_.size());
    Group& group = groups_[static_cast<size_t>(head.key)];
    head.variant = plan->read_only ? kReader : random.below(3) == 0 ? kAtOnce : kInPieces;
    head.last_key = static_cast<int64_t>(random.below(group.procedures.size()));
    plan->operations.push_back(head);
    // A call appends to each list at most once, because all elements that it appends are equal.
    std::set<std::pair<uint32_t, int64_t>> written;
    uint32_t posts = 0;
    for (const Step& step : steps_of(*plan)) {
      PlannedOperation operation;
      operation.value = value;
      switch (step.does) {
        case Step::Does::kLookForPost: operation.key = draw(random, group.recent).load(); break;
        case Step::Does::kPost: draw(random, group.recent) = operation.key = value * kPostsOfACall + posts++; break;
        case Step::Does::kPledge: draw(random, group.pledged) = operation.key = value * kPostsOfACall + posts++; break;
        case Step::Does::kClaim:
        case Step::Does::kLookForPledge: operation.key = draw(random, group.pledged).load(); break;
        case Step::Does::kHandOut:
        case Step::Does::kRedeem: operation.key = plan->operations[step.partner + 1].key; break;
        default: operation.key = draw_key(random, group, step);
      }
      operation.last_key = operation.key + static_cast<int64_t>(random.below(kCellsScanned));  // the end of a scan
      if ((step.does == Step::Does::kAppend || step.does == Step::Does::kInsert) && !written.insert({step.table, operation.key}).second)
        operation.variant = kLeftOut;
      plan->operations.push_back(operation);
    }
  }

  void invocation(const Plan& plan, MicroOps* operations) const override {
    const auto& steps = steps_of(plan);
    for (size_t i = 0; i < steps.size(); ++i) {
      const PlannedOperation& planned = plan.operations[i + 1];
      if (planned.variant == kLeftOut) continue;
      const Step& step = steps[i];
      switch (step.does) {
        case Step::Does::kAppend: operations->append(list_of(plan, step, step.column, planned.key), planned.value); break;
        case Step::Does::kInsert:
          for (uint32_t column = 0; column < kColumns; ++column)
            operations->append(list_of(plan, step, column, planned.key), planned.value);
          break;
        case Step::Does::kPost: operations->append(post_list(plan, planned.key), planned.value); break;
        case Step::Does::kPledge:
        case Step::Does::kRedeem: operations->append(pledge_list(plan, planned.key), planned.value); break;
        case Step::Does::kLookForPost: operations->read_unknown(post_list(plan, planned.key)); break;
        case Step::Does::kLookForPledge: operations->read_unknown(pledge_list(plan, planned.key)); break;
        case Step::Does::kMove:
        case Step::Does::kAdd:
        case Step::Does::kHandOut:
        case Step::Does::kClaim: break;
        case Step::Does::kRead: operations->read_unknown(list_of(plan, step, step.column, planned.key)); break;
        case Step::Does::kScan:
          for (int64_t key = planned.key; key <= planned.last_key; ++key) operations->read_unknown(list_of(plan, step, step.column, key));
      }
    }
  }

  Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) override {
    Call call(*this, plan, yields);
    const auto& steps = steps_of(plan);
    for (size_t i = 0; i < steps.size(); ++i) ELIDER_TRY(perform(txn, call, steps[i], i));
    report(call, attempt);
    return {};
  }

  bool in_pieces(const Plan& plan) const override { return plan.operations.front().variant == kInPieces; }
  Status call(Database& db, const Plan& plan, Yields& yields, Attempt* attempt, const RunPolicy& policy) override {
    Call call(*this, plan, yields);
    Status status = db.call(procedure_of(plan).chopped, call, policy);
    if (!status.ok()) return status;
    report(call, attempt);
    return status;
  }

  std::unique_ptr<PreparedCall> prepare(const Plan& plan, Yields& yields, std::function<void()> begins) override {
    return std::make_unique<Prepared<Call>>(procedure_of(plan).chopped, Call(*this, plan, yields, std::move(begins)));
  }
  void touch(const Plan& plan, Touches& touches) const override {
    const auto& steps = steps_of(plan);
    const Group& group = groups_[static_cast<size_t>(plan.operations.front().key)];
    for (size_t i = 0; i < steps.size(); ++i) {
      const Key key = static_cast<Key>(plan.operations[i + 1].key);
      switch (steps[i].does) {
        case Step::Does::kPost:
        case Step::Does::kLookForPost: touches.row(group.posts, key); break;
        case Step::Does::kPledge:
        case Step::Does::kRedeem:
        case Step::Does::kLookForPledge: touches.row(group.pledges, key); break;
        case Step::Does::kHandOut:
        case Step::Does::kClaim: touches.row(group.tokens, key); break;
        default:
          for (const int half : {0, 1}) touches.row(group.tables[steps[i].table], cell_row(plan.operations[i + 1].key, half));
      }
    }
  }

  std::string about() const override { return about_; }
  void committed(const Attempt& attempt) override {
    for (const uint64_t table : attempt.added) groups_[table / kTables].added[table % kTables].fetch_add(1);
  }

  std::string complaint(Database& db) const override {
    for (uint32_t g = 0; g < groups_.size(); ++g)
      for (uint32_t t = 0; t < kTables; ++t) {
        uint64_t counted = 0;
        Status status = db.run_read_only([&](Transaction& txn) { return count(txn, groups_[g], t, &counted); });
        if (!status.ok()) return status.message();
        if (const uint64_t added = groups_[g].added[t].load(); counted != added)
          return "transactions have added " + std::to_string(added) + " to table '" + table_name(g, t) + "', but its rows sum up to " +
                 std::to_string(counted);
      }
    return "";
  }

 private:
  template <class Row>
  Status create_table(Database& db, SchemaOf<Row> described, Table<Row>* table) const {
    auto made = db.create_table(described.key_index(options_.index));
    if (made.ok()) *table = *made;
    return made.status();
  }
  static std::string table_name(uint32_t group, uint32_t table) {
    return "g" + std::to_string(group) + "_" + std::string(1, static_cast<char>('a' + table));
  }
  SchemaOf<CellRow> cells(uint32_t group, uint32_t table) const {
    return SchemaOf<CellRow>(table_name(group, table))
        .column("x", &CellRow::x)
        .column("y", &CellRow::y)
        .column("z", &CellRow::z)
        .group({"x"})
        .group({"y"})
        .group({"z"});
  }

  const Procedure& procedure_of(const Plan& plan) const {
    const PlannedOperation& head = plan.operations.front();
    return groups_[static_cast<size_t>(head.key)].procedures[static_cast<size_t>(head.last_key)];
  }
  // A reader's steps do not depend on the group's procedures.
  const std::vector<Step>& steps_of(const Plan& plan) const {
    return plan.operations.front().variant == kReader ? reader_steps_ : procedure_of(plan).steps;
  }
  static std::atomic<int64_t>& draw(Random& random, std::array<std::atomic<int64_t>, 4>& keys) { return keys[random.below(keys.size())]; }
  static int64_t draw_key(Random& random, Group& group, const Step& step) {
    const int64_t parity = step.parity >= 0 ? step.parity : static_cast<int64_t>(random.below(2));
    HotKeys& hot = group.hot[static_cast<size_t>(parity)];
    const bool writes = step.does == Step::Does::kAppend || step.does == Step::Does::kInsert;
    return 2 * (writes ? hot.to_write(random) : hot.to_read(random)) + parity;
  }
  // Returns the number that the cell's list x or y has in the history.
  static int64_t list_of(const Plan& plan, const Step& step, uint32_t column, int64_t key) {
    return ((plan.operations.front().key * kTables + step.table) * kColumns + column) << 40 | key;
  }

  // -- what is declared --------------------------------------------------------------------------

  Status install(Database& db) {
    Random random(options_.seed, ~uint64_t{0});
    elider::Procedures procedures;
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      auto& of_group = groups_[g].procedures;
      of_group.resize(random.between(1, 3));
      for (uint32_t p = 0; p < of_group.size(); ++p) declare(random, g, p, procedures);
    }
    reader_steps_.clear();
    for (uint32_t t = 0; t < kTables; ++t)
      for (uint32_t column = 0; column < kColumns; ++column) reader_steps_.push_back({Step::Does::kRead, t, column});
    reader_steps_.push_back({Step::Does::kLookForPost});
    reader_steps_.push_back({Step::Does::kLookForPledge});
    if (is_ordered(options_.index)) reader_steps_.push_back({Step::Does::kScan, 0, 0});
    InstallOptions options;
    options.choices.granularity = random.below(3) == 0 ? chopping::Granularity::kTable : chopping::Granularity::kGroup;
    options.choices.snapshots = random.below(2) == 0;
    options.choices.adding = random.below(4) != 0;
    options.choices.tokens = random.below(4) != 0;
    options.choices.reordering = random.below(4) != 0;
    options.choices.deferring = options_.deferring;
    options.answers_at_once = options_.answers_at_once;
    options.always_in_pieces = db.sync() != SyncPolicy::kElided && random.below(4) != 0;
    options.check_accesses = true;  // otherwise a body could violate its declaration
    chopping::Plan plan;
    ELIDER_TRY(db.install(std::move(procedures), options, &plan));
    describe(plan);
    return {};
  }

  void describe(const chopping::Plan& plan) {
    const auto in_pieces =
        std::count_if(plan.procedures.begin(), plan.procedures.end(), [](const auto& its) { return its.pieces.size() > 1; });
    // Counts only deferrals that have subscribers, because others do not affect any other call.
    const auto deferrals = std::count_if(plan.deferrals.begin(), plan.deferrals.end(),
                                         [](const auto& its) { return its.granted && !its.subscribers.empty(); });
    about_ = std::to_string(groups_.size()) + " declarations of " + std::to_string(plan.procedures.size()) +
             " procedures: " + std::to_string(in_pieces) + " have several pieces, " + std::to_string(plan.merges.size()) + " merges, " +
             std::to_string(deferrals) + " deferrals with subscribers";
  }

  void declare(Random& random, uint32_t g, uint32_t p, elider::Procedures& procedures) {
    Procedure& procedure = groups_[g].procedures[p];
    const std::string name = "g" + std::to_string(g) + "_p" + std::to_string(p);
    const std::string pledges = table_name(g, kTables + 1), tokens = table_name(g, kTables + 2);
    elider::Procedure<Call> declared(name);
    const uint32_t count = static_cast<uint32_t>(random.between(2, 4));
    // Half of the procedures use tokens: operation `first` creates a pledge or claims a token, and
    // operation `second` hands out the token or appends to the pledge.
    const bool has_tokens = random.below(2) == 0, claims = random.below(2) == 0;
    const uint32_t first = static_cast<uint32_t>(random.below(count)), second = static_cast<uint32_t>(random.between(first, count - 1));
    uint32_t partner = 0;
    for (uint32_t o = 0; o < count; ++o) {
      chopping::Operation operation("o" + std::to_string(o));
      Operation its;
      its.first_step = static_cast<uint32_t>(procedure.steps.size());
      const bool of_tokens = has_tokens && (o == first || o == second);
      const bool defers = options_.deferring && random.below(2) == 0 && !of_tokens;
      for (uint64_t i = random.between(1, 2); i > 0; --i) procedure.steps.push_back(draw_step(random, g, defers, operation));
      if (has_tokens && o == first) {
        partner = static_cast<uint32_t>(procedure.steps.size());
        procedure.steps.push_back({.does = claims ? Step::Does::kClaim : Step::Does::kPledge});
        if (claims)
          operation.removes(tokens);
        else
          operation.inserts(pledges).token(tokens);
      }
      if (has_tokens && o == second) {
        procedure.steps.push_back({.does = claims ? Step::Does::kRedeem : Step::Does::kHandOut, .partner = partner});
        if (claims)
          operation.reads(pledges).token(tokens).writes(pledges).token(tokens);
        else
          operation.inserts(tokens).fresh();
      }
      its.end_step = static_cast<uint32_t>(procedure.steps.size());
      std::vector<std::string> needs;
      for (uint32_t before = 0; before < o; ++before)
        if (random.below(4) == 0) needs.push_back("o" + std::to_string(before));
      operation.needs(std::move(needs));
      if (defers)
        operation.defers();
      else if (random.below(8) == 0)
        operation.rolls_back(), its.rolls_back = true;
      procedure.operations.push_back(its);
      declared.operation(std::move(operation), [this, its](Transaction& txn, Call& call) -> Status {
        if (call.begins) call.begins();
        const auto& steps = steps_of(*call.plan);
        for (uint32_t i = its.first_step; i < its.end_step; ++i) ELIDER_TRY(perform(txn, call, steps[i], i));
        return its.rolls_back && call.plan->roll_back ? Status::rollback() : Status();
      });
    }
    declared.touch([this](const Call& call, Touches& touches) { touch(*call.plan, touches); });
    procedure.chopped = procedures.add(std::move(declared));
  }

  // Only additions and fresh inserts may be deferred.
  Step draw_step(Random& random, uint32_t g, bool defers, chopping::Operation& operation) const {
    using Does = Step::Does;
    constexpr Does kAny[] = {Does::kRead,   Does::kRead, Does::kAppend, Does::kAppend, Does::kAdd,
                             Does::kInsert, Does::kMove, Does::kScan,   Does::kPost,   Does::kLookForPost};
    constexpr Does kDeferrable[] = {Does::kAdd, Does::kPost};
    Step step;
    step.does = defers ? kDeferrable[random.below(std::size(kDeferrable))] : kAny[random.below(std::size(kAny))];
    if (step.does == Does::kScan && !is_ordered(options_.index)) step.does = Does::kRead;
    step.table = static_cast<uint32_t>(random.below(kTables));
    step.column = static_cast<uint32_t>(random.below(kColumns));
    const std::string table = table_name(g, step.table), posts = table_name(g, kTables);
    const std::vector<std::string> column{step.column == 0 ? "x" : "y"};
    switch (step.does) {
      case Does::kRead: operation.reads(table, column); break;
      case Does::kAppend: operation.writes(table, column); break;
      case Does::kAdd: operation.adds(table, {"z"}); break;
      case Does::kInsert:
      case Does::kMove: operation.reads(table); break;
      case Does::kScan: operation.scans(table, column); break;
      case Does::kPost: operation.inserts(posts).fresh(); break;
      default: operation.reads(posts);
    }
    const bool of_cells = step.does != Does::kPost && step.does != Does::kLookForPost && step.does != Does::kScan;
    if (of_cells && random.below(3) == 0) step.parity = static_cast<int>(random.below(2));
    const auto within_partition = [&] {
      if (step.parity >= 0) operation.partition("=" + std::to_string(step.parity));
    };
    within_partition();
    if (step.does == Does::kInsert || step.does == Does::kMove) operation.inserts(table), within_partition();
    if (step.does == Does::kMove) operation.removes(table), within_partition();
    return step;
  }

  // -- what the bodies do ------------------------------------------------------------------------

  Status perform(Transaction& txn, Call& call, const Step& step, size_t i) const {
    const PlannedOperation& planned = call.plan->operations[i + 1];
    const PlannedOperation& head = call.plan->operations.front();
    const Group& group = groups_[static_cast<size_t>(head.key)];
    const Table<CellRow>& table = group.tables[step.table];
    const Columns<CellRow>& columns = group.columns[step.table][step.column];
    const auto list = [&](uint32_t column, int64_t key) { return list_of(*call.plan, step, column, key); };
    Done& done = call.done[i];
    done.did.clear();
    done.added = done.claimed = false;
    if (planned.variant == kLeftOut) return {};
    call.yields->maybe();
    switch (step.does) {
      case Step::Does::kRead: {
        Cell<CellRow> cell;
        ELIDER_TRY(find_cell(txn, table, planned.key, columns, &cell));
        done.did.read_list(list(step.column, planned.key), elements_of(cell, step.column).all());
        return {};
      }
      case Step::Does::kAppend: {
        Cell<CellRow> cell;
        ELIDER_TRY(find_cell(txn, table, planned.key, columns, &cell));
        call.yields->maybe();
        if (cell.place() < 0 && head.variant == kAtOnce) {
          CellRow row;
          row.begin_list(step.column, planned.value);
          done.did.append(list(step.column, planned.key), planned.value);
          return txn.insert(table, cell_row(planned.key, 0), row);
        }
        if (cell.place() < 0) return done.did.read_list(list(step.column, planned.key), {}), Status();
        const int64_t count = cell.half[cell.place()]->list(step.column)[0];
        if (count < 0 || count >= kWritesPerKey)
          return Status::invalid_argument("a list has " + std::to_string(count) + " elements, which appends cannot have produced");
        ELIDER_TRY(txn.update(table, cell_row(planned.key, cell.place()), columns, [&](CellRow& row) {
          int64_t* elements = row.list(step.column);
          elements[++elements[0]] = planned.value;
        }));
        done.did.append(list(step.column, planned.key), planned.value);
        return {};
      }
      case Step::Does::kAdd:
        for (const int half : {0, 1}) {
          Status status = txn.add(table, cell_row(planned.key, half), &CellRow::z, 1);
          if (status.not_found()) continue;
          done.added = status.ok();
          return status;
        }
        return {};
      case Step::Does::kInsert: {
        Cell<CellRow> cell;
        ELIDER_TRY(read_cell(txn, table, planned.key, true, &cell));
        if (cell.place() >= 0) {
          for (uint32_t column = 0; column < kColumns; ++column)
            done.did.read_list(list(column, planned.key), elements_of(cell, column).all());
          return {};
        }
        CellRow row;
        for (uint32_t column = 0; column < kColumns; ++column) {
          row.begin_list(column, planned.value);
          done.did.append(list(column, planned.key), planned.value);
        }
        call.yields->maybe();
        return txn.insert(table, cell_row(planned.key, static_cast<int>(planned.value % 2)), row);
      }
      case Step::Does::kMove: {
        Cell<CellRow> cell;
        ELIDER_TRY(read_cell(txn, table, planned.key, false, &cell));
        if (cell.place() < 0) return {};
        const CellRow row = *cell.half[cell.place()];
        ELIDER_TRY(txn.remove(table, cell_row(planned.key, cell.place())));
        call.yields->maybe();
        return txn.insert(table, cell_row(planned.key, 1 - cell.place()), row);
      }
      case Step::Does::kScan: {
        std::array<Elements, kCellsScanned> cells;
        ELIDER_TRY(txn.scan(table, KeyRange{cell_row(planned.key, 0), cell_row(planned.last_key, 1)}, ScanOptions{.columns = columns},
                            [&](Key key, const View<CellRow>& row) {
                              const auto which = static_cast<uint64_t>(static_cast<int64_t>(key / 2) - planned.key);
                              if (which < cells.size())
                                cells[which].add(row->list(step.column));
                              else
                                cells[0].add_impossible();
                            }));
        for (int64_t key = planned.key; key <= planned.last_key; ++key)
          done.did.read_list(list(step.column, key), cells[static_cast<size_t>(key - planned.key)].all());
        return {};
      }
      case Step::Does::kPost: return begin_short_list(txn, group.posts, post_list(*call.plan, planned.key), planned, done);
      case Step::Does::kLookForPost: return read_short_list(txn, group.posts, post_list(*call.plan, planned.key), planned.key, done);
      case Step::Does::kPledge: return begin_short_list(txn, group.pledges, pledge_list(*call.plan, planned.key), planned, done);
      case Step::Does::kLookForPledge: return read_short_list(txn, group.pledges, pledge_list(*call.plan, planned.key), planned.key, done);
      case Step::Does::kHandOut: return txn.insert(group.tokens, static_cast<Key>(planned.key), TokenRow{planned.value});
      case Step::Does::kClaim: {
        Status status = txn.remove(group.tokens, static_cast<Key>(planned.key));
        done.claimed = status.ok();
        return status.not_found() ? Status() : status;
      }
      case Step::Does::kRedeem: {
        if (!call.done[step.partner].claimed) return {};
        const int64_t its_list = pledge_list(*call.plan, planned.key);
        ELIDER_TRY(read_short_list(txn, group.pledges, its_list, planned.key, done));
        done.did.append(its_list, planned.value);
        return txn.update(group.pledges, static_cast<Key>(planned.key), {}, [&](ShortList& row) {
          row.list[0] = 2;
          row.list[2] = planned.value;
        });
      }
    }
    return {};
  }

  static Status begin_short_list(Transaction& txn, const Table<ShortList>& table, int64_t list, const PlannedOperation& planned,
                                 Done& done) {
    done.did.append(list, planned.value);
    return txn.insert(table, static_cast<Key>(planned.key), ShortList{{1, planned.value}});
  }
  static Status read_short_list(Transaction& txn, const Table<ShortList>& table, int64_t list, int64_t key, Done& done) {
    View<ShortList> row;
    ELIDER_TRY(find(txn, table, static_cast<Key>(key), &row));
    const size_t count = row ? static_cast<size_t>(std::clamp<int64_t>(row->list[0], 0, 2)) : 0;
    done.did.read_list(list, row ? std::span(row->list + 1, count) : std::span<const int64_t>());
    return {};
  }
  // Reads only `columns` of the cell.
  static Status find_cell(Transaction& txn, const Table<CellRow>& table, int64_t key, const Columns<CellRow>& columns,
                          Cell<CellRow>* cell) {
    for (const int half : {0, 1}) ELIDER_TRY(find(txn, table, cell_row(key, half), &cell->half[half], columns));
    return {};
  }
  static int64_t post_list(const Plan& plan, int64_t key) { return kListsOfPosts | plan.operations.front().key << 48 | key; }
  static int64_t pledge_list(const Plan& plan, int64_t key) { return post_list(plan, key) | int64_t{1} << 47; }
  static Elements elements_of(const Cell<CellRow>& cell, uint32_t column) {
    Elements found;
    for (const View<CellRow>& row : cell.half)
      if (row) found.add(row->list(column));
    return found;
  }
  // Adds up the counts of all rows of a table.
  Status count(Transaction& txn, const Group& group, uint32_t table, uint64_t* counted) const {
    *counted = 0;
    for (int64_t key = 0, end = std::max(keys_filled_, 2 * std::max(group.hot[0].end(), group.hot[1].end())); key < end; ++key) {
      Cell<CellRow> cell;
      ELIDER_TRY(read_cell(txn, group.tables[table], key, true, &cell));
      for (const View<CellRow>& row : cell.half) *counted += row ? row->z : 0;
    }
    return {};
  }
  void report(const Call& call, Attempt* attempt) const {
    const auto& steps = steps_of(*call.plan);
    for (size_t i = 0; i < steps.size(); ++i) {
      attempt->did.add(call.done[i].did);
      if (call.done[i].added) attempt->added.push_back(static_cast<uint64_t>(call.plan->operations.front().key) * kTables + steps[i].table);
    }
  }

  const HistoryOptions& options_;
  std::deque<Group> groups_;
  std::vector<Step> reader_steps_;
  std::string about_;
  const uint64_t turn_;  // number of transactions on a group before the clients move to the next one
  const int64_t keys_filled_;
  std::atomic<uint64_t> drawn_{0};
};

}  // namespace

std::unique_ptr<Workload> make_procedures(const HistoryOptions& options) { return std::make_unique<Procedures>(options); }

}  // namespace elider::bench
