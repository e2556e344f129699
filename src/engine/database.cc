#include "elider/database.h"

#include <new>
#include <system_error>

#include "base/clock.h"
#include "base/fork.h"
#include "base/name_list.h"
#include "base/random.h"
#include "elider/option_table.h"
#include "elider/row_schema.h"
#include "engine/engine.h"
#include "engine/registry.h"
#include "engine/runtime/worker_pool.h"
#include "storage/table.h"
#include "txn/any_table.h"
#include "txn/refuse.h"
#include "txn/retry.h"

namespace elider {

// -- ended transactions ---------------------------------------------------------------------------

namespace detail {

namespace {

class EndedTransaction final : public Transaction {
 public:
  EndedTransaction() = default;
  ~EndedTransaction() override = default;

 protected:
  static Status finished() { return Status(Code::kFinished, "the transaction has ended"); }
  Status do_get(const TableRef&, KeyRef, const ColumnsRef&, RawView*) override { return finished(); }
  Status do_multi_get(const TableRef&, const KeyRef*, size_t, const ColumnsRef&, RawView*) override { return finished(); }
  Status do_scan(const TableRef&, const KeyRefRange&, const ScanOptions&, EachRow) override { return finished(); }
  Status do_scan_index(const IndexRef&, const EntryRange&, const ScanOptions&, EachEntry) override { return finished(); }
  Status do_scan_rows(const TableRef&, const RowScanOptions&, EachScannedRow) override { return finished(); }
  Status do_insert(const TableRef&, KeyRef, const void*, size_t) override { return finished(); }
  Status do_put(const TableRef&, KeyRef, const void*, size_t) override { return finished(); }
  Status do_edit(const TableRef&, KeyRef, const ColumnsRef&, void**) override { return finished(); }
  Status do_edit_view(const TableRef&, const RawView&, const ColumnsRef&, void**) override { return finished(); }
  Status do_edited(const TableRef&, void*) override { return finished(); }
  void do_edit_threw(const TableRef&, KeyRef) override {}
  Status do_write(const TableRef&, KeyRef, const ColumnsRef&, const void*) override { return finished(); }
  Status do_add(const TableRef&, KeyRef, uint32_t, ColumnType, const void*) override { return finished(); }
  Status do_remove(const TableRef&, KeyRef) override { return finished(); }
  void do_look_ahead(const TableRef&, const KeyRef*, size_t) override {}
  Status do_version(const TableRef&, KeyRef, uint64_t*) override { return finished(); }
  uint64_t do_serial() const override { return 0; }
  uint64_t do_first_serial() const override { return 0; }
};

}  // namespace

Transaction* ended_transaction() {
  static EndedTransaction* const instance = new EndedTransaction;  // never destroyed, because destructors of static objects may use it
  return instance;
}

}  // namespace detail

// -- ActiveTransaction ----------------------------------------------------------------------------

ActiveTransaction::ActiveTransaction(ActiveTransaction&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), worker_(std::exchange(other.worker_, nullptr)),
      txn_(std::exchange(other.txn_, nullptr)), read_only_(other.read_only_), attempt_(other.attempt_), begin_ns_(other.begin_ns_) {}

ActiveTransaction& ActiveTransaction::operator=(ActiveTransaction&& other) noexcept {
  if (this != &other) {
    rollback();
    engine_ = std::exchange(other.engine_, nullptr);
    worker_ = std::exchange(other.worker_, nullptr);
    txn_ = std::exchange(other.txn_, nullptr);
    read_only_ = other.read_only_;
    attempt_ = other.attempt_;
    begin_ns_ = other.begin_ns_;
  }
  return *this;
}

ActiveTransaction::~ActiveTransaction() { rollback(); }

Status ActiveTransaction::commit(Durability durability, SnapshotNumber* commit_number) {
  if (worker_ == nullptr) return Status(Code::kFinished, "the transaction has ended");
  txn_ = nullptr;
  return std::exchange(worker_, nullptr)->commit_active(durability, commit_number);
}

void ActiveTransaction::rollback() {
  if (worker_ == nullptr) return;
  txn_ = nullptr;
  std::exchange(worker_, nullptr)->rollback_active();
}

// Unlike run(), does not call RunPolicy::on_conflict, because the caller already has the status of
// each conflict. If a claim of another transaction ended the attempt, run() also waits until that
// transaction has ended. begin_again() waits only for the policy's random time: the object does not
// know the conflict, and the same thread may own the other transaction.
Status ActiveTransaction::begin_again(const RunPolicy& policy) {
  if (engine_ == nullptr) return Status(Code::kFinished, "begin_again(): the transaction was never begun, or was moved");
  if (read_only_) return Status::invalid_argument("begin_again(): a read-only transaction cannot conflict; use begin_read_only()");
  rollback();
  if (begin_ns_ == 0) begin_ns_ = now_ns();
  Random random(now_ns());
  if (!txn::wait_before_retry(policy, attempt_, begin_ns_, random))
    return Status(Code::kDeadline, Cause::kDeadline, Status(), "given up after " + std::to_string(attempt_) + " attempts");
  Status status = engine_->begin({.attempt = attempt_ + 1}, nullptr, &worker_, &txn_);
  if (status.ok()) ++attempt_;
  return status;
}

// -- Transaction's untyped whole rows -------------------------------------------------------------

namespace {
// Checks a row that the caller passed as bytes: its size and, in a table of described rows, its
// contents. The rows of a RowBuilder do not need this check.
Status check_row(const TableRef& table, detail::KeyRef key, std::span<const std::byte> row) {
  const storage::Layout& layout = table.base()->layout();
  if (layout.fits(row.size())) {
    if (!table.described()) [[likely]] return {};
    return detail::check_described_row(*table.base(), key, row);
  }
  std::string sizes = std::to_string(layout.row_bytes());
  if (layout.sized_rows()) sizes = std::to_string(layout.least_row_bytes()) + " to " + sizes;
  return Status::invalid_argument("table '" + table.schema().name + "': the row has " + std::to_string(row.size()) +
                                  " bytes, but rows of this table have " + sizes);
}
}  // namespace

Status Transaction::insert(const TableRef& table, Key key, std::span<const std::byte> row) {
  if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
  if (table)
    if (Status status = check_row(table, key, row); !status.ok()) return status;
  return do_insert(table, key, row.data(), row.size());
}
Status Transaction::insert_many(const TableRef& table, std::span<const Key> keys, std::span<const Bytes> rows) {
  if (keys.size() != rows.size()) return detail::refuse_row_count(keys.size(), rows.size());
  return in_batches(table, keys.size(), [&](size_t begin, size_t end) -> Status {
    do_look_ahead(table, refs(keys.data() + begin), end - begin);
    for (size_t i = begin; i < end; ++i)
      if (Status status = insert(table, keys[i], rows[i].span()); !status.ok()) return status;
    return {};
  });
}
Status Transaction::insert_many(const TableRef& table, std::span<const Bytes> keys, std::span<const Bytes> rows) {
  if (keys.size() != rows.size()) return detail::refuse_row_count(keys.size(), rows.size());
  const auto put = [&](size_t i, std::span<std::byte> to) -> Result<size_t> {
    if (Status status = check_bytes(table, keys[i]); !status.ok()) return status;
    return put_key<Bytes>(table, keys[i], to);
  };
  return with_many_keys(table, keys.size(), put, [&](const detail::KeyRef* refs, size_t begin, size_t count) -> Status {
    do_look_ahead(table, refs, count);
    for (size_t i = 0; i < count; ++i) {
      const std::span<const std::byte> row = rows[begin + i].span();
      if (Status status = check_row(table, refs[i], row); !status.ok()) return status;
      if (Status status = do_insert(table, refs[i], row.data(), row.size()); !status.ok()) return status;
    }
    return {};
  });
}
Status Transaction::put(const TableRef& table, Key key, std::span<const std::byte> row) {
  if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
  if (table)
    if (Status status = check_row(table, key, row); !status.ok()) return status;
  return do_put(table, key, row.data(), row.size());
}
Status Transaction::insert(const TableRef& table, Bytes key, std::span<const std::byte> row) {
  return with_bytes(table, key, [&](detail::KeyRef ref) -> Status {
    if (Status status = check_row(table, ref, row); !status.ok()) return status;
    return do_insert(table, ref, row.data(), row.size());
  });
}
Status Transaction::put(const TableRef& table, Bytes key, std::span<const std::byte> row) {
  return with_bytes(table, key, [&](detail::KeyRef ref) -> Status {
    if (Status status = check_row(table, ref, row); !status.ok()) return status;
    return do_put(table, ref, row.data(), row.size());
  });
}

// -- Database -------------------------------------------------------------------------------------

namespace detail {

namespace {
// Checks the schema of a table that the application wants to create.
Status check_schema_of_new(const Schema& schema) {
  Status status = storage::check_names(schema);
  return status.ok() ? check_reserved_name(schema) : status;
}

// Creates the tables that are missing, if `create` is true, and checks or upgrades the existing
// ones.
Status make_missing_tables(Engine& engine, const std::vector<Schema>& schemas, bool create) {
  for (const Schema& schema : schemas) {
    const bool missing = engine.find_table(schema.name) == nullptr;
    if (missing && !create) continue;
    if (missing)
      if (Status status = check_schema_of_new(schema); !status.ok()) return status;
    if (auto table = engine.create_table(schema); !table.ok()) return table.status();
  }
  return {};
}

// Opens the database. If the newest checkpoint is damaged, tries again with an older one. Each
// attempt uses a new engine, so the rows that a failed attempt has loaded are discarded together
// with its engine.
Status open_combination(const Combination& combination, const Options& options, recovery::OpenHow how, std::unique_ptr<Engine>* engine) {
  for (;;) {
    *engine = combination.make(options);
    if (Status status = (*engine)->prefault(options.prefault_bytes); !status.ok()) return status;
    bool may_skip = false;
    Status status = (*engine)->open_data(how, &may_skip);
    if (status.ok() && !how.read_only && !how.for_tools) return make_missing_tables(**engine, options.schemas, options.create_if_missing);
    if (!may_skip) return status;
    how.skipped.push_back(status.message());
    engine->reset();  // the old engine holds the lock of the folders
  }
}
}  // namespace

Status open_engine(const Options& options, const recovery::OpenHow& how, std::unique_ptr<Engine>* engine) {
  try {
    if (Status status = check_options(options); !status.ok()) return status;
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
  SyncPolicy sync = options.sync;
  HtmBackend htm = options.htm;
  choose_automatic(options.protocol, &sync, &htm);
  for (const Combination& combination : registry()) {
    if (combination.sync != sync || combination.protocol != options.protocol) continue;
    if (sync == SyncPolicy::kElided && combination.htm != htm) continue;
    if (Status status = can_run(combination); !status.ok()) return status;
    try {
      return open_combination(combination, options, how, engine);
    } catch (const std::bad_alloc&) {
      return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
    } catch (const std::system_error& refused) {  // the threads that had been started have ended by now
      return Status(Code::kIoError, "cannot start a thread for the log or for checkpoints: " + refused.code().message());
    }
  }
  return refuse_combination(sync, htm, options.protocol);
}

}  // namespace detail

void detail::EndEngine::operator()(Engine* engine) const {
  if (engine == closed_engine()) return;
  if (!engine->in_child()) {
    delete engine;
    return;
  }
  engine->abandon();
  keep_until_exit(engine);
}

namespace detail {

namespace {
// Returns ok if the table belongs to this database. `asked` names the request in the error message.
Status check_own(const Engine& engine, const TableRef& table, const std::string& asked) {
  if (engine.database_id() == 0) return refuse_closed();
  if (!table) return Status::invalid_argument(asked + ": the TableRef is empty");
  if (table.base()->database_id() != engine.database_id())
    return Status::invalid_argument(asked + ": table '" + table.schema().name + "' belongs to another database");
  if (!table.base()->usable()) return txn::refuse_dropped(*table.base());
  return {};
}
}  // namespace

}  // namespace detail

Status Database::refuse_unusable() const {
  if (!is_open()) return detail::refuse_closed();
  return engine_->in_child() ? opened_before_fork("database") : Status();
}

Database::Database() : engine_(detail::closed_engine()) {}
Database::Database(std::unique_ptr<detail::Engine> engine) : engine_(engine.release()) {}
Database::Database(Database&& other) noexcept : engine_(other.engine_.release()) { other.engine_.reset(detail::closed_engine()); }
Database& Database::operator=(Database&& other) noexcept {
  if (this != &other) {
    engine_.reset(other.engine_.release());
    other.engine_.reset(detail::closed_engine());
  }
  return *this;
}
Database::~Database() = default;
bool Database::is_open() const { return engine_.get() != detail::closed_engine(); }

Result<TableRef> Database::create_table(const Schema& schema) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  if (engine_->find_table(schema.name) == nullptr)
    if (Status status = detail::check_schema_of_new(schema); !status.ok()) return status;
  return engine_->create_table(schema);
}
std::vector<TableRef> Database::tables() const { return engine_->in_child() ? std::vector<TableRef>() : engine_->tables(); }

Result<TableRef> Database::find_table(std::string_view name, const Schema* typed) const {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  detail::TableBase* table = engine_->find_table(name);
  if (table == nullptr) return Status(Code::kNotFound, "table '" + std::string(name) + "' does not exist");
  if (typed == nullptr) return TableRef(table);
  const Schema& schema = table->schema();
  const auto mismatch = [&](const std::string& words) {
    return Status(Code::kSchemaMismatch, "table '" + std::string(name) + "' has " + words);
  };
  if (typed->sized_rows) {
    if (schema.row_columns.empty()) return mismatch("rows that are not described; use Database::table()");
  } else if (!schema.row_columns.empty()) {
    return mismatch("described rows; use Database::described_table()");
  } else if (schema.sized_rows) {
    return mismatch("variable-size rows; use Database::table(name) without a row type");
  } else if (typed->row_bytes != schema.row_bytes)
    return mismatch("rows of " + std::to_string(schema.row_bytes) + " bytes, but the struct has " + std::to_string(typed->row_bytes));
  if (std::string words = storage::key_difference(schema, *typed); !words.empty()) return mismatch(words);
  return TableRef(table);
}

Result<IndexRef> Database::find_index(const TableRef& table, std::string_view name) const {
  if (Status status = detail::check_own(*engine_, table, "index '" + std::string(name) + "'"); !status.ok()) return status;
  if (const txn::IndexSlot* const slot = static_cast<const txn::AnyTable&>(*table.base()).usable_index(name))
    return IndexRef{table, slot->position};
  if (table.base()->lacks_indexes())
    return Status(Code::kNotFound, "table '" + table.schema().name +
                                       "' was opened without its indexes (Options::leave_out_indexes), so index '" + std::string(name) +
                                       "' cannot be used");
  return Status(Code::kNotFound, "table '" + table.schema().name + "' does not have an index named '" + std::string(name) + "'");
}

Result<ColumnsRef> Database::columns(const TableRef& table, std::span<const std::string> names) const {
  if (Status status = detail::check_own(*engine_, table, "columns"); !status.ok()) return status;
  const auto& columns = table.schema().columns;
  uint64_t wanted = 0;
  for (const std::string& name : names) {
    size_t i = 0;
    while (i < columns.size() && columns[i].name != name) ++i;
    if (i == columns.size()) {
      NameList known;
      for (const Column& column : columns) known.add(column.name);
      return Status::invalid_argument("table '" + table.schema().name + "' does not have a column named '" + name + "'" +
                                      (columns.empty() ? "" : "; the columns are " + known.words()));
    }
    wanted |= uint64_t{1} << i;
  }
  return ColumnsRef(&table.base()->layout().of_columns(wanted));
}

Status Database::run_procedure(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) {
  return engine_->run(procedure, policy, read_only);
}

Status Database::run_calls(size_t calls, FunctionRef<void(size_t, Touches&)> touch, FunctionRef<Status(size_t, Transaction&)> procedure,
                           std::span<Status> outcomes, const GroupPolicy& policy) {
  return run_calls(detail::GroupCalls{calls, touch, procedure, outcomes}, policy);
}

Status Database::run_calls(const detail::GroupCalls& calls, const GroupPolicy& policy) {
  Status status;
  if (!calls.outcomes.empty() && calls.outcomes.size() != calls.count)
    status = Status::invalid_argument("run_group: " + std::to_string(calls.outcomes.size()) + " outcomes were given for " +
                                      std::to_string(calls.count) + " calls; give one per call");
  else if (policy.size > GroupPolicy::kSizeMax)
    status = Status::invalid_argument("GroupPolicy::size is " + std::to_string(policy.size) + ": it must be at most " +
                                      std::to_string(GroupPolicy::kSizeMax));
  else return engine_->run_group(calls, policy);
  for (Status& outcome : calls.outcomes) outcome = status;
  return status;
}

Result<ActiveTransaction> Database::begin() {
  detail::EngineWorker* worker;
  Transaction* txn;
  if (Status status = engine_->begin({}, nullptr, &worker, &txn); !status.ok()) return status;
  return ActiveTransaction(engine_.get(), worker, txn);
}
Result<ActiveTransaction> Database::begin_read_only() {
  detail::EngineWorker* worker;
  Transaction* txn;
  if (Status status = engine_->begin({.read_only = true}, nullptr, &worker, &txn); !status.ok()) return status;
  ActiveTransaction begun(engine_.get(), worker, txn);
  begun.read_only_ = true;
  return begun;
}
Result<ActiveTransaction> Database::begin_read_only(const HeldSnapshot& at) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  std::shared_ptr<const detail::SnapshotHold> hold;
  if (Status status = engine_->hold_of(at, true, &hold); !status.ok()) return status;
  detail::EngineWorker* worker;
  Transaction* txn;
  if (Status status = engine_->begin({.read_only = true}, std::move(hold), &worker, &txn); !status.ok()) return status;
  ActiveTransaction begun(engine_.get(), worker, txn);
  begun.read_only_ = true;
  return begun;
}
Result<HeldSnapshot> Database::hold_snapshot() {
  std::shared_ptr<const detail::SnapshotHold> hold;
  if (Status status = engine_->hold_snapshot(detail::Engine::WhenHalfDone::kWait, &hold); !status.ok()) return status;
  try {
    return HeldSnapshot(std::make_unique<detail::HeldState>(*engine_, std::move(hold)));
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

Status Database::wait_durable() { return engine_->wait_durable(detail::Engine::kEverything); }
Status Database::wait_durable(SnapshotNumber commit_number) { return engine_->wait_durable(commit_number); }
void Database::when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told) {
  engine_->when_durable(commit_number, std::move(told));
}
const Recovery& Database::recovery() const { return engine_->recovery(); }
Status Database::checkpoint() {
  Status status = refuse_unusable();
  return status.ok() ? engine_->checkpoint() : status;
}
Status Database::backup(const std::string& folder) {
  Status status = refuse_unusable();
  return status.ok() ? engine_->backup(folder) : status;
}
uint32_t Database::procedure_id(std::string_view name) { return engine_->in_child() ? 0 : engine_->procedure_id(name); }
Statistics Database::statistics() const { return engine_->in_child() ? Statistics() : engine_->statistics(); }
SyncPolicy Database::sync() const { return engine_->sync(); }
HtmBackend Database::htm() const { return engine_->htm(); }
Protocol Database::protocol() const { return engine_->protocol(); }
void Database::collect_garbage() {
  if (!engine_->in_child()) engine_->collect_garbage();
}
Status Database::verify() {
  Status status = refuse_unusable();
  return status.ok() ? engine_->verify() : status;
}

}  // namespace elider
