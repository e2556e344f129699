// LMDB stores its data in a memory-mapped file. With --durability group, it runs with its defaults,
// which sync at each commit. Otherwise, it writes through its map and does not sync. By design, it
// has one writer at a time; read-only transactions run concurrently with the writer, each on a
// snapshot.
#include "bench/compare/peer.h"

#ifndef ELIDER_HAVE_LMDB

namespace elider::bench {
Result<std::unique_ptr<Peer>> open_lmdb(const CompareOptions&) { return built_without("LMDB", "liblmdb-dev"); }
}  // namespace elider::bench

#else

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <lmdb.h>

#include "bench/ycsb/scanned_values.h"
#include "bench/ycsb/value.h"

namespace elider::bench {

namespace {

// Bounds for the size of the map: its 4 KiB pages are at least half full, and the map may be much
// larger than the part in use.
constexpr uint64_t kMapBytesMin = uint64_t{256} << 20;
constexpr uint64_t kBytesBesideValue = 48;
// LMDB's single writer cannot insert more rows than this per second.
constexpr double kInsertsPerSecondMax = 1e6;

Status failed(const char* what, int code) { return Status(Code::kInvalidArgument, fmt::format("LMDB: {}: {}", what, mdb_strerror(code))); }

struct CloseEnvironment {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};
using Environment = std::unique_ptr<MDB_env, CloseEnvironment>;

class LmdbClient : public PeerClient {
 public:
  LmdbClient(MDB_env* env, MDB_dbi table, uint32_t value_bytes) : env_(env), table_(table), row_(value_bytes) {}
  ~LmdbClient() override {
    if (reader_cursor_ != nullptr) mdb_cursor_close(reader_cursor_);
    if (reader_ != nullptr) mdb_txn_abort(reader_);
  }

  Status run(std::span<const Operation> operations) override {
    return any_writes(operations) ? run_writer(operations) : run_reader(operations);
  }

  Result<uint64_t> sum_counters(const KeySeries& keys) override {
    if (Status status = begin_reader(); !status.ok()) return status;
    uint64_t sum = 0;
    Status status;
    for (uint64_t at = 0; at < keys.count && status.ok(); ++at) {
      const void* value = nullptr;
      status = get(reader_, keys[at], &value);
      if (!status.ok()) break;
      if (!value_is_whole(value, value_bytes(), keys[at])) status = damaged_value(keys[at]);
      sum += value_counter(value);
    }
    mdb_txn_reset(reader_);
    if (!status.ok()) return status;
    return sum;
  }

  Result<uint64_t> count_rows() override {
    if (Status status = begin_reader(); !status.ok()) return status;
    MDB_stat found;
    const int code = mdb_stat(reader_, table_, &found);
    mdb_txn_reset(reader_);
    if (code != 0) return failed("stat", code);
    return uint64_t{found.ms_entries};
  }

 private:
  uint32_t value_bytes() const { return static_cast<uint32_t>(row_.size()); }

  // The client has one LMDB reader, which occupies a slot in LMDB's reader table. The reader is
  // allocated once and renewed for each read-only transaction.
  Status begin_reader() {
    const int code = reader_ == nullptr ? mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader_) : mdb_txn_renew(reader_);
    return code == 0 ? Status() : failed("begin reader", code);
  }

  Status run_reader(std::span<const Operation> operations) {
    if (Status status = begin_reader(); !status.ok()) return status;
    Status status;
    for (const Operation& operation : operations)
      if (status = run_one(reader_, operation); !status.ok()) break;
    mdb_txn_reset(reader_);
    return status;
  }

  Status run_writer(std::span<const Operation> operations) {
    MDB_txn* txn = nullptr;
    if (const int code = mdb_txn_begin(env_, nullptr, 0, &txn); code != 0) return failed("begin", code);
    for (const Operation& operation : operations)
      if (Status status = run_one(txn, operation); !status.ok()) {
        mdb_txn_abort(txn);
        return status;
      }
    const int code = mdb_txn_commit(txn);
    return code == 0 ? Status() : failed("commit", code);
  }

  Status run_one(MDB_txn* txn, const Operation& operation) {
    const Key key = operation.key;
    const void* value = nullptr;
    switch (operation.kind) {
      case OperationKind::kRead: return get(txn, key, &value);
      case OperationKind::kUpdate: return put(txn, key, operation.counter, 0);
      case OperationKind::kReadModifyWrite:
        if (Status status = get(txn, key, &value); !status.ok()) return status;
        return put(txn, key, value_counter(value) + 1, 0);
      case OperationKind::kInsert: return put(txn, key, 0, MDB_NOOVERWRITE);
      case OperationKind::kScan: return scan(txn, key, operation.scan_rows);
    }
    return {};
  }

  Status get(MDB_txn* txn, Key key, const void** value) {
    MDB_val name{sizeof(key), &key};
    MDB_val found;
    if (const int code = mdb_get(txn, table_, &name, &found); code != 0) return failed("get", code);
    if (found.mv_size != row_.size() || !value_ends_match(found.mv_data, value_bytes(), key)) return damaged_value(key);
    *value = found.mv_data;
    return {};
  }

  Status put(MDB_txn* txn, Key key, uint64_t counter, unsigned flags) {
    fill_value(row_.data(), value_bytes(), key, counter);
    MDB_val name{sizeof(key), &key};
    MDB_val data{row_.size(), row_.data()};
    const int code = mdb_put(txn, table_, &name, &data, flags);
    return code == 0 ? Status() : failed("put", code);
  }

  // The reader's cursor is kept and renewed, like the reader itself. A writer's cursor is closed
  // after its scan.
  Status scan(MDB_txn* txn, Key key, uint32_t rows) {
    const bool reads = txn == reader_;
    MDB_cursor* cursor = reads ? reader_cursor_ : nullptr;
    const int opened = cursor == nullptr ? mdb_cursor_open(txn, table_, &cursor) : mdb_cursor_renew(txn, cursor);
    if (opened != 0) return failed("open cursor", opened);
    if (reads) reader_cursor_ = cursor;
    Status status = scan(cursor, key, rows);
    if (!reads) mdb_cursor_close(cursor);
    return status;
  }

  Status scan(MDB_cursor* cursor, Key key, uint32_t rows) {
    ScannedValues scanned(key, value_bytes());
    MDB_val name{sizeof(key), &key};
    MDB_val found;
    int code = mdb_cursor_get(cursor, &name, &found, MDB_SET_RANGE);
    while (code == 0) {
      Key at;
      std::memcpy(&at, name.mv_data, sizeof(at));
      if (found.mv_size != row_.size()) return damaged_value(at);
      if (!scanned.take(at, found.mv_data) || scanned.rows() == rows) break;
      code = mdb_cursor_get(cursor, &name, &found, MDB_NEXT);
    }
    return code == 0 || code == MDB_NOTFOUND ? scanned.status() : failed("scan", code);
  }

  MDB_env* const env_;
  const MDB_dbi table_;
  MDB_txn* reader_ = nullptr;
  MDB_cursor* reader_cursor_ = nullptr;
  std::vector<std::byte> row_;
};

class LmdbPeer : public Peer {
 public:
  LmdbPeer(std::unique_ptr<ScratchFolder> folder, Environment env, uint32_t value_bytes, bool synced)
      : folder_(std::move(folder)), env_(std::move(env)), value_bytes_(value_bytes), synced_(synced) {}

  std::string about() const override {
    return fmt::format("{}, {}, in {}", MDB_VERSION_STRING, synced_ ? "synced" : "no sync, writable map", folder_->path());
  }

  Status load(uint64_t records) override {
    MDB_txn* txn = nullptr;
    if (const int code = mdb_txn_begin(env_.get(), nullptr, 0, &txn); code != 0) return failed("begin", code);
    std::vector<std::byte> row(value_bytes_);
    int code = mdb_dbi_open(txn, nullptr, MDB_INTEGERKEY, &table_);
    for (Key key = 0; key < records && code == 0; ++key) {
      fill_value(row.data(), value_bytes_, key, 0);
      MDB_val name{sizeof(key), &key};
      MDB_val data{row.size(), row.data()};
      code = mdb_put(txn, table_, &name, &data, MDB_APPEND);
    }
    if (code == 0) code = mdb_txn_commit(txn);
    else mdb_txn_abort(txn);
    return code == 0 ? Status() : failed("load", code);
  }

  Result<std::unique_ptr<PeerClient>> client() override {
    return std::unique_ptr<PeerClient>(new LmdbClient(env_.get(), table_, value_bytes_));
  }

 private:
  std::unique_ptr<ScratchFolder> folder_;  // removed after its environment is closed
  Environment env_;
  MDB_dbi table_ = 0;
  const uint32_t value_bytes_;
  const bool synced_;
};

// The file is sparse, so a large map does not cost disk space.
uint64_t map_bytes(const CompareOptions& options, uint64_t table_bytes) {
  uint64_t bytes = std::max(kMapBytesMin, 4 * table_bytes);
  if (!has(options.ycsb, OperationKind::kInsert)) return bytes;
  const double inserts = kInsertsPerSecondMax * (options.ycsb.common.warmup_seconds + options.ycsb.common.seconds);
  return bytes + 2 * static_cast<uint64_t>(inserts) * (options.ycsb.value_bytes + kBytesBesideValue);
}

}  // namespace

Result<std::unique_ptr<Peer>> open_lmdb(const CompareOptions& options) {
  const uint64_t table_bytes = options.ycsb.records * (options.ycsb.value_bytes + kBytesBesideValue);
  auto folder = ScratchFolder::of_peer(options, "lmdb", 2 * table_bytes);
  if (!folder.ok()) return folder.status();
  MDB_env* made = nullptr;
  if (const int code = mdb_env_create(&made); code != 0) return failed("create", code);
  Environment env(made);
  if (const int code = mdb_env_set_mapsize(made, map_bytes(options, table_bytes)); code != 0) return failed("map size", code);
  // MDB_NOTLS, because one thread may hold the readers of several clients.
  const bool synced = durability_of(options) == Durability::kGroup;
  const unsigned flags = MDB_NORDAHEAD | MDB_NOTLS | (synced ? 0 : MDB_NOSYNC | MDB_NOMETASYNC | MDB_WRITEMAP);
  if (const int code = mdb_env_open(made, (*folder)->path().c_str(), flags, 0600); code != 0) return failed("open", code);
  return std::unique_ptr<Peer>(new LmdbPeer(std::move(*folder), std::move(env), options.ycsb.value_bytes, synced));
}

}  // namespace elider::bench

#endif
