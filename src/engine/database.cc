#include "elider/database.h"

#include <bit>
#include <new>
#include <system_error>

#include "engine/engine.h"
#include "engine/registry.h"
#include "log/format.h"
#include "storage/table.h"

namespace elider {

// -- what is not there ------------------------------------------------------------------------------------

namespace detail {

namespace {

class EndedTransaction final : public Transaction {
 public:
  EndedTransaction() = default;
  ~EndedTransaction() override = default;

 protected:
  static Status finished() { return Status(Code::kFinished, "the transaction has ended"); }
  Status do_get(const TableRef&, Key, const ColumnsRef&, RawView*) override { return finished(); }
  Status do_multi_get(const TableRef&, const Key*, size_t, const ColumnsRef&, RawView*) override { return finished(); }
  Status do_scan(const TableRef&, KeyRange, const ScanOptions&, FunctionRef<bool(Key, RawView)>) override { return finished(); }
  Status do_scan_index(const IndexRef&, KeyRange, const ScanOptions&, FunctionRef<bool(Key, RawView)>) override { return finished(); }
  Status do_insert(const TableRef&, Key, const void*) override { return finished(); }
  Status do_put(const TableRef&, Key, const void*) override { return finished(); }
  Status do_edit(const TableRef&, Key, const ColumnsRef&, void**) override { return finished(); }
  Status do_edit_view(const TableRef&, const RawView&, const ColumnsRef&, void**) override { return finished(); }
  Status do_edited(const TableRef&, void*) override { return finished(); }
  void do_edit_threw(const TableRef&, Key) override {}
  Status do_write(const TableRef&, Key, const ColumnsRef&, const void*) override { return finished(); }
  Status do_add(const TableRef&, Key, uint32_t, ColumnType, const void*) override { return finished(); }
  Status do_remove(const TableRef&, Key) override { return finished(); }
};

}  // namespace

Transaction* ended_transaction() {
  static EndedTransaction* const instance = new EndedTransaction;  // never destroyed: destructors of statics may use it
  return instance;
}

}  // namespace detail

// -- ActiveTransaction -------------------------------------------------------------------------------------

ActiveTransaction::ActiveTransaction(ActiveTransaction&& other) noexcept
    : session_(std::exchange(other.session_, nullptr)), txn_(std::exchange(other.txn_, nullptr)) {}

ActiveTransaction& ActiveTransaction::operator=(ActiveTransaction&& other) noexcept {
  if (this != &other) {
    rollback();
    session_ = std::exchange(other.session_, nullptr);
    txn_ = std::exchange(other.txn_, nullptr);
  }
  return *this;
}

ActiveTransaction::~ActiveTransaction() { rollback(); }

Status ActiveTransaction::commit(Durability durability, uint64_t* commit_number) {
  if (session_ == nullptr) return Status(Code::kFinished, "the transaction has ended");
  txn_ = nullptr;
  return std::exchange(session_, nullptr)->commit_active(durability, commit_number);
}

void ActiveTransaction::rollback() {
  if (session_ == nullptr) return;
  txn_ = nullptr;
  std::exchange(session_, nullptr)->rollback_active();
}

// -- Transaction's untyped whole rows --------------------------------------------------------------------------

namespace {
Status wrong_row_size(const TableRef& table, size_t bytes) {
  return Status::invalid_argument("table '" + table.schema().name + "': a row of " + std::to_string(bytes) +
                                  " bytes was given; its rows have " + std::to_string(table.schema().row_bytes));
}
}  // namespace

Status Transaction::insert(const TableRef& table, Key key, std::span<const std::byte> row) {
  if (table && row.size() != table.schema().row_bytes) return wrong_row_size(table, row.size());
  return do_insert(table, key, row.data());
}
Status Transaction::put(const TableRef& table, Key key, std::span<const std::byte> row) {
  if (table && row.size() != table.schema().row_bytes) return wrong_row_size(table, row.size());
  return do_put(table, key, row.data());
}

// -- Database ------------------------------------------------------------------------------------------------------

namespace {

Status check_range(const char* name, uint32_t value, uint32_t first, uint32_t last) {
  if (value >= first && value <= last) return {};
  return Status::invalid_argument("Options::elision." + std::string(name) + " is " + std::to_string(value) + "; its range is " +
                                  std::to_string(first) + " to " + std::to_string(last));
}

Status check_elision(const ElisionPolicy& policy) {
  constexpr uint32_t kAbortsMax = 1'000'000;
  struct Range {
    const char* name;
    uint32_t value, first, last;
  };
  const Range ranges[] = {
      {"conflict_aborts_max", policy.conflict_aborts_max, 0, kAbortsMax},
      {"capacity_aborts_max", policy.capacity_aborts_max, 0, kAbortsMax},
      {"system_aborts_max", policy.system_aborts_max, 0, kAbortsMax},
      {"lock_held_aborts_max", policy.lock_held_aborts_max, 0, kAbortsMax},
      {"write_lines_max", policy.write_lines_max, 1, 512},
      {"read_lines_max", policy.read_lines_max, 1, 65536},
      {"window_runs", policy.window_runs, 0, kAbortsMax},
      {"poor_percent", policy.poor_percent, 0, 100},
      {"off_runs", policy.off_runs, 1, kAbortsMax},
  };
  for (const Range& range : ranges)
    if (Status status = check_range(range.name, range.value, range.first, range.last); !status.ok()) return status;
  return {};
}

Status check_log_options(const Options& options) {
  if (options.flush_interval_us < 1 || options.flush_interval_us > 10'000'000)
    return Status::invalid_argument("Options::flush_interval_us is " + std::to_string(options.flush_interval_us) +
                                    "; its range is 1 to 10000000");
  if (options.durability == Durability::kDefault)
    return Status::invalid_argument("Options::durability is 'default', which is for a RunPolicy");
  if (options.durability == Durability::kGroup && options.data_folders.empty())
    return Status::invalid_argument("Options::durability is 'group', but there is no data folder (Options::data_folders)");
  if (options.log_threads < 1 || options.log_threads > 64)
    return Status::invalid_argument("Options::log_threads is " + std::to_string(options.log_threads) + "; its range is 1 to 64");
  if (options.log_segment_bytes < 4096 || options.log_segment_bytes > log::kSegmentBytesMax)
    return Status::invalid_argument("Options::log_segment_bytes is " + std::to_string(options.log_segment_bytes) +
                                    "; its range is 4096 to 2^32");
  if (options.log_buffer_bytes < 4096 || options.log_buffer_bytes > uint64_t{1} << 30 || !std::has_single_bit(options.log_buffer_bytes))
    return Status::invalid_argument("Options::log_buffer_bytes is " + std::to_string(options.log_buffer_bytes) +
                                    "; it is a power of two, 4096 to 2^30");
  return {};
}

Status check_checkpoint_options(const Options& options) {
  const auto in_range = [](const char* name, uint64_t value, uint64_t first, uint64_t last) {
    if (value >= first && value <= last) return Status();
    return Status::invalid_argument("Options::" + std::string(name) + " is " + std::to_string(value) + "; its range is " +
                                    std::to_string(first) + " to " + std::to_string(last));
  };
  if (options.checkpoint_log_bytes != 0 && options.checkpoint_log_bytes < 65536)
    return Status::invalid_argument("Options::checkpoint_log_bytes is " + std::to_string(options.checkpoint_log_bytes) +
                                    "; it is 0 (never) or at least 65536");
  if (Status status = in_range("checkpoint_interval_s", options.checkpoint_interval_s, 0, 10'000'000); !status.ok()) return status;
  if (Status status = in_range("checkpoint_threads", options.checkpoint_threads, 1, 64); !status.ok()) return status;
  if (Status status = in_range("checkpoints_kept", options.checkpoints_kept, 1, 16); !status.ok()) return status;
  return in_range("recovery_threads", options.recovery_threads, 0, 64);
}

Status check_options(const Options& options) {
  constexpr uint64_t kLimitMin = 4u << 20;
  if (options.memory_limit_bytes != 0 && options.memory_limit_bytes < kLimitMin)
    return Status::invalid_argument("Options::memory_limit_bytes is " + std::to_string(options.memory_limit_bytes) +
                                    "; it is 0 (no limit) or at least " + std::to_string(kLimitMin));
  const uint64_t prefault_max = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : uint64_t{1} << 40;
  if (options.prefault_bytes > prefault_max)
    return Status::invalid_argument("Options::prefault_bytes is " + std::to_string(options.prefault_bytes) + "; it is " +
                                    std::to_string(prefault_max) + " at the most");
  if (options.workers_max < 1 || options.workers_max > 4096)
    return Status::invalid_argument("Options::workers_max is " + std::to_string(options.workers_max) + "; its range is 1 to 4096");
  if (options.block_threshold_bytes < 64 || options.block_threshold_bytes > kRowBytesMax)
    return Status::invalid_argument("Options::block_threshold_bytes is " + std::to_string(options.block_threshold_bytes) +
                                    "; its range is 64 to " + std::to_string(kRowBytesMax));
  if (options.htm != HtmBackend::kAutomatic && options.sync != SyncPolicy::kElided && options.sync != SyncPolicy::kAutomatic)
    return Status::invalid_argument("Options::htm is '" + std::string(name_of(options.htm)) +
                                    "', which goes with sync policy 'elided', not '" + std::string(name_of(options.sync)) + "'");
  if (Status status = check_log_options(options); !status.ok()) return status;
  if (Status status = check_checkpoint_options(options); !status.ok()) return status;
  for (const Schema& schema : options.schemas)
    if (Status status = storage::check_schema(schema); !status.ok())
      return Status::invalid_argument("Options::schemas: " + status.message());
  return check_elision(options.elision);
}

}  // namespace

namespace detail {

namespace {
// Of the others it finds that they are as described.
Status make_missing_tables(Engine& engine, const std::vector<Schema>& schemas) {
  for (const Schema& schema : schemas) {
    if (engine.find_table(schema.name) == nullptr)
      if (Status status = storage::check_names(schema); !status.ok()) return status;
    if (auto table = engine.create_table(schema); !table.ok()) return table.status();
  }
  return {};
}

// A new engine for each try: what a damaged checkpoint has left in the last one goes with it.
Status open_combination(const Combination& combination, const Options& options, recovery::OpenHow how, std::unique_ptr<Engine>* engine) {
  for (;;) {
    *engine = combination.make(options);
    if (Status status = (*engine)->prefault(options.prefault_bytes); !status.ok()) return status;
    bool may_skip = false;
    Status status = (*engine)->open_data(how, &may_skip);
    if (status.ok() && !how.read_only && !how.for_tools && options.create_if_missing) return make_missing_tables(**engine, options.schemas);
    if (!may_skip) return status;
    how.skipped.push_back(status.message());
    engine->reset();  // it holds the folders' lock
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
    } catch (const std::system_error& refused) {  // what had been started has ended by now
      return Status(Code::kIoError, "cannot start a thread of the log or of checkpoints: " + refused.code().message());
    }
  }
  std::string asked = "sync policy '" + std::string(name_of(sync)) + "' with protocol '" + std::string(name_of(options.protocol)) + "'";
  if (sync == SyncPolicy::kElided) asked += " and htm '" + std::string(name_of(htm)) + "'";
  return Status::invalid_argument("Options: no engine of this build has " + asked);
}

}  // namespace detail

Database::Database() = default;
Database::Database(std::unique_ptr<detail::Engine> engine) : engine_(std::move(engine)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<TableRef> Database::create_table(const Schema& schema) {
  if (engine_->find_table(schema.name) == nullptr)
    if (Status status = storage::check_names(schema); !status.ok()) return status;
  return engine_->create_table(schema);
}
std::vector<TableRef> Database::tables() const { return engine_->tables(); }

Result<TableRef> Database::find_table(std::string_view name, uint32_t row_bytes) const {
  detail::TableBase* table = engine_->find_table(name);
  if (table == nullptr) return Status(Code::kNotFound, "no table is named '" + std::string(name) + "'");
  if (row_bytes != 0 && row_bytes != table->schema().row_bytes)
    return Status(Code::kSchemaMismatch, "table '" + std::string(name) + "' has rows of " + std::to_string(table->schema().row_bytes) +
                                             " bytes, the struct has " + std::to_string(row_bytes));
  return TableRef(table);
}

Result<IndexRef> Database::find_index(const TableRef& table, std::string_view name) const {
  if (!table) return Status::invalid_argument("index '" + std::string(name) + "' is asked for of no table");
  const auto& indexes = table.schema().indexes;
  for (uint32_t i = 0; i < indexes.size(); ++i)
    if (indexes[i].name == name) return IndexRef{table, i};
  return Status(Code::kNotFound, "table '" + table.schema().name + "' has no index named '" + std::string(name) + "'");
}

Result<ColumnsRef> Database::columns(const TableRef& table, std::span<const std::string> names) const {
  if (!table) return Status::invalid_argument("columns are asked for of no table");
  const auto& columns = table.schema().columns;
  uint64_t wanted = 0;
  for (const std::string& name : names) {
    size_t i = 0;
    while (i < columns.size() && columns[i].name != name) ++i;
    if (i == columns.size()) return Status::invalid_argument("table '" + table.schema().name + "' has no column named '" + name + "'");
    wanted |= uint64_t{1} << i;
  }
  return ColumnsRef(&table.base()->layout().of_columns(wanted));
}

Status Database::run_procedure(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) {
  return engine_->run(procedure, policy, read_only);
}

Result<ActiveTransaction> Database::begin() {
  detail::Session* session;
  Transaction* txn;
  if (Status status = engine_->begin(false, &session, &txn); !status.ok()) return status;
  return ActiveTransaction(session, txn);
}
Result<ActiveTransaction> Database::begin_read_only() {
  detail::Session* session;
  Transaction* txn;
  if (Status status = engine_->begin(true, &session, &txn); !status.ok()) return status;
  return ActiveTransaction(session, txn);
}

Status Database::wait_durable() { return engine_->wait_durable(detail::Engine::kEverything); }
Status Database::wait_durable(uint64_t commit_number) { return engine_->wait_durable(commit_number); }
void Database::when_durable(uint64_t commit_number, std::function<void(const Status&)> told) {
  engine_->when_durable(commit_number, std::move(told));
}
const Recovery& Database::recovery() const { return engine_->recovery(); }
Status Database::checkpoint() { return engine_->checkpoint(); }
Status Database::backup(const std::string& folder) { return engine_->backup(folder); }
uint32_t Database::procedure_id(std::string_view name) { return engine_->procedure_id(name); }
Statistics Database::statistics() const { return engine_->statistics(); }
SyncPolicy Database::sync() const { return engine_->sync(); }
HtmBackend Database::htm() const { return engine_->htm(); }
Protocol Database::protocol() const { return engine_->protocol(); }
void Database::collect_garbage() { engine_->collect_garbage(); }
Status Database::verify() { return engine_->verify(); }

}  // namespace elider
