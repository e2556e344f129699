// SQLite with an in-memory database and prepared statements, and without syncs. A single thread
// uses a private database. Several threads have one connection each and share a page cache; a
// thread that encounters a lock retries. If all stores are durable (durability_of()), the database
// is a file with a write-ahead log, and each connection has its own cache.
#include "bench/compare/peer.h"

#ifndef ELIDER_HAVE_SQLITE

namespace elider::bench {
Result<std::unique_ptr<Peer>> open_sqlite(const CompareOptions&) { return built_without("SQLite", "libsqlite3-dev"); }
}  // namespace elider::bench

#else

#include <algorithm>

#include <sched.h>

#include <fmt/format.h>
#include <sqlite3.h>

#include "bench/ycsb/scanned_values.h"
#include "bench/ycsb/value.h"

namespace elider::bench {

namespace {

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
using Connection = std::shared_ptr<sqlite3>;
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

Status failed(const char* what, sqlite3* connection) {
  return Status(Code::kInvalidArgument, fmt::format("SQLite: {}: {}", what, sqlite3_errmsg(connection)));
}
constexpr const char* kInsert = "INSERT INTO kv VALUES(?1,?2)";

bool is_locked(int code) { return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED; }

// The name and the settings of the database that connections open.
struct Place {
  std::string name;
  std::string pragmas;
};

Place place_of(const CompareOptions& options, const ScratchFolder* folder) {
  if (folder != nullptr) {
    const char* const synchronous = durability_of(options) == Durability::kGroup ? "FULL" : "NORMAL";
    return {"file:" + folder->path() + "/compare.db",
            fmt::format("PRAGMA journal_mode=WAL; PRAGMA synchronous={}; PRAGMA cache_size=-1000000", synchronous)};
  }
  return {options.ycsb.common.threads > 1 ? "file:elider-compare?mode=memory&cache=shared" : ":memory:", "PRAGMA synchronous=OFF"};
}

Result<Connection> connect(const Place& place) {
  sqlite3* made = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(place.name.c_str(), &made, kFlags, nullptr);
  Connection connection(made, CloseConnection());
  if (code != SQLITE_OK) return failed("open", made);
  if (sqlite3_exec(made, place.pragmas.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failed("pragma", made);
  return connection;
}

Status prepare(sqlite3* connection, const char* text, Statement* statement) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v3(connection, text, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  statement->reset(made);
  return code == SQLITE_OK ? Status() : failed(text, connection);
}

class SqliteClient : public PeerClient {
 public:
  SqliteClient(Connection connection, uint32_t value_bytes) : connection_(std::move(connection)), row_(value_bytes) {}

  Status prepare_all() {
    for (const auto& [text, statement] : {std::pair<const char*, Statement*>{"BEGIN", &begin_},
                                          {"BEGIN IMMEDIATE", &begin_writer_},
                                          {"COMMIT", &commit_},
                                          {"ROLLBACK", &rollback_},
                                          {"SELECT v FROM kv WHERE k=?1", &select_},
                                          {"UPDATE kv SET v=?2 WHERE k=?1", &update_},
                                          {kInsert, &insert_},
                                          {"SELECT k, v FROM kv WHERE k>=?1 ORDER BY k LIMIT ?2", &scan_},
                                          {"SELECT COUNT(*) FROM kv", &count_}})
      if (Status status = prepare(connection_.get(), text, statement); !status.ok()) return status;
    return {};
  }

  Status run(std::span<const Operation> operations) override {
    const bool writes = any_writes(operations);
    for (;;) {
      bool locked = false;
      Status status = run_once(operations, writes, &locked);
      if (!locked) return status;
      ::sched_yield();  // the holder of the lock may be waiting for this processor
    }
  }

  Result<uint64_t> sum_counters(const KeySeries& keys) override {
    uint64_t sum = 0;
    for (uint64_t at = 0; at < keys.count; ++at) {
      const Key key = keys[at];
      bind(select_, 1, key);
      const int code = sqlite3_step(select_.get());
      const void* value = sqlite3_column_blob(select_.get(), 0);
      const bool whole = code == SQLITE_ROW && has_size(select_, 0) && value_is_whole(value, value_bytes(), key);
      if (whole) sum += value_counter(value);
      sqlite3_reset(select_.get());
      if (!whole) return damaged_value(key);
    }
    return sum;
  }

  Result<uint64_t> count_rows() override {
    const int code = sqlite3_step(count_.get());
    const uint64_t rows = static_cast<uint64_t>(sqlite3_column_int64(count_.get(), 0));
    sqlite3_reset(count_.get());
    if (code != SQLITE_ROW) return failed("count", connection_.get());
    return rows;
  }

 private:
  uint32_t value_bytes() const { return static_cast<uint32_t>(row_.size()); }
  bool has_size(const Statement& statement, int column) const {
    return static_cast<size_t>(sqlite3_column_bytes(statement.get(), column)) == row_.size();
  }

  static void bind(const Statement& statement, int position, uint64_t number) {
    sqlite3_bind_int64(statement.get(), position, static_cast<sqlite3_int64>(number));
  }
  // Runs a statement that does not return a row.
  int execute(const Statement& statement) {
    const int code = sqlite3_step(statement.get());
    sqlite3_reset(statement.get());
    return code;
  }

  Status run_once(std::span<const Operation> operations, bool writes, bool* locked) {
    // A single statement is its own transaction.
    const bool explicit_begin = operations.size() > 1 || operations.front().kind == OperationKind::kReadModifyWrite;
    if (explicit_begin)
      if (const int code = execute(writes ? begin_writer_ : begin_); code != SQLITE_DONE) return ended("begin", code, locked);
    for (const Operation& operation : operations) {
      Status status = run_one(operation, locked);
      if (status.ok() && !*locked) continue;
      if (explicit_begin) execute(rollback_);
      return status;
    }
    if (!explicit_begin) return {};
    const int code = execute(commit_);
    if (code == SQLITE_DONE) return {};
    Status status = ended("commit", code, locked);
    execute(rollback_);
    return status;
  }

  // If another connection holds a lock, sets *locked and does nothing.
  Status run_one(const Operation& operation, bool* locked) {
    const Key key = operation.key;
    uint64_t counter = operation.counter;
    switch (operation.kind) {
      case OperationKind::kRead: return read(key, &counter, locked);
      case OperationKind::kUpdate: return write(update_, key, counter, locked);
      case OperationKind::kReadModifyWrite:
        if (Status status = read(key, &counter, locked); !status.ok() || *locked) return status;
        return write(update_, key, counter + 1, locked);
      case OperationKind::kInsert: return write(insert_, key, 0, locked);
      case OperationKind::kScan: return scan(key, operation.scan_rows, locked);
    }
    return {};
  }

  Status read(Key key, uint64_t* counter, bool* locked) {
    bind(select_, 1, key);
    const int code = sqlite3_step(select_.get());
    const void* value = code == SQLITE_ROW ? sqlite3_column_blob(select_.get(), 0) : nullptr;
    const bool whole = value != nullptr && has_size(select_, 0) && value_ends_match(value, value_bytes(), key);
    if (whole) *counter = value_counter(value);
    sqlite3_reset(select_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) return ended("select", code, locked);
    return whole ? Status() : damaged_value(key);
  }

  Status write(const Statement& statement, Key key, uint64_t counter, bool* locked) {
    fill_value(row_.data(), value_bytes(), key, counter);
    bind(statement, 1, key);
    sqlite3_bind_blob(statement.get(), 2, row_.data(), static_cast<int>(row_.size()), SQLITE_STATIC);
    const int code = execute(statement);
    if (code != SQLITE_DONE) return ended("write", code, locked);
    return sqlite3_changes(connection_.get()) == 1 ? Status() : damaged_value(key);
  }

  Status scan(Key key, uint32_t rows, bool* locked) {
    ScannedValues scanned(key, value_bytes());
    bind(scan_, 1, key);
    bind(scan_, 2, rows);
    bool whole = true;
    int code = SQLITE_ROW;
    while (whole && (code = sqlite3_step(scan_.get())) == SQLITE_ROW) {
      const Key at = static_cast<Key>(sqlite3_column_int64(scan_.get(), 0));
      whole = has_size(scan_, 1) && scanned.take(at, sqlite3_column_blob(scan_.get(), 1));
    }
    sqlite3_reset(scan_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) return ended("scan", code, locked);
    return whole ? scanned.status() : damaged_value(key);
  }

  Status ended(const char* what, int code, bool* locked) {
    *locked = is_locked(code);
    return *locked ? Status() : failed(what, connection_.get());
  }

  Connection connection_;
  Statement begin_, begin_writer_, commit_, rollback_, select_, update_, insert_, scan_, count_;
  std::vector<std::byte> row_;
};

class SqlitePeer : public Peer {
 public:
  SqlitePeer(std::unique_ptr<ScratchFolder> folder, Place place, Connection connection, bool one_connection, uint32_t value_bytes)
      : folder_(std::move(folder)), place_(std::move(place)), connection_(std::move(connection)), one_connection_(one_connection),
        value_bytes_(value_bytes) {}

  std::string about() const override {
    if (folder_ != nullptr) return fmt::format("{}, {}, in {}", sqlite3_libversion(), place_.pragmas, folder_->path());
    return fmt::format("{} in memory{}", sqlite3_libversion(), one_connection_ ? "" : ", one cache shared by all threads");
  }

  Status load(uint64_t records) override {
    sqlite3* connection = connection_.get();
    if (sqlite3_exec(connection, "CREATE TABLE kv(k INTEGER PRIMARY KEY, v BLOB) ; BEGIN", nullptr, nullptr, nullptr) != SQLITE_OK)
      return failed("create table", connection);
    Statement insert;
    if (Status status = prepare(connection, kInsert, &insert); !status.ok()) return status;
    std::vector<std::byte> row(value_bytes_);
    for (Key key = 0; key < records; ++key) {
      fill_value(row.data(), value_bytes_, key, 0);
      sqlite3_bind_int64(insert.get(), 1, static_cast<sqlite3_int64>(key));
      sqlite3_bind_blob(insert.get(), 2, row.data(), static_cast<int>(row.size()), SQLITE_STATIC);
      if (sqlite3_step(insert.get()) != SQLITE_DONE) return failed("load", connection);
      sqlite3_reset(insert.get());
    }
    return sqlite3_exec(connection, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK ? Status() : failed("load", connection);
  }

  Result<std::unique_ptr<PeerClient>> client() override {
    Connection connection = connection_;
    if (!one_connection_) {
      auto own = connect(place_);
      if (!own.ok()) return own.status();
      connection = *own;
    }
    auto client = std::make_unique<SqliteClient>(connection, value_bytes_);
    if (Status status = client->prepare_all(); !status.ok()) return status;
    return std::unique_ptr<PeerClient>(std::move(client));
  }

 private:
  std::unique_ptr<ScratchFolder> folder_;  // removed after its connections are closed; null: in memory
  const Place place_;
  Connection connection_;
  const bool one_connection_;
  const uint32_t value_bytes_;
};

}  // namespace

Result<std::unique_ptr<Peer>> open_sqlite(const CompareOptions& options) {
  std::unique_ptr<ScratchFolder> folder;
  if (durability_of(options) != Durability::kNone) {
    auto made = ScratchFolder::of_peer(options, "sqlite", 3 * options.ycsb.records * options.ycsb.value_bytes);
    if (!made.ok()) return made.status();
    folder = std::move(*made);
  }
  Place place = place_of(options, folder.get());
  auto connection = connect(place);
  if (!connection.ok()) return connection.status();
  const bool one_connection = options.ycsb.common.threads == 1;
  return std::unique_ptr<Peer>(new SqlitePeer(std::move(folder), std::move(place), *connection, one_connection, options.ycsb.value_bytes));
}

}  // namespace elider::bench

#endif
