// RocksDB's OptimisticTransactionDB, without compression, with Bloom filters, and with a block
// cache that holds the whole table. The table is compacted after loading. The write-ahead log is
// enabled only if all stores are durable (durability_of()), and is synced at each commit only with
// --durability group. Transactions check the keys that they read, but not ranges, so each scan is a
// transaction of its own, with an iterator on one snapshot.
#include "bench/compare/peer.h"

#ifndef ELIDER_HAVE_ROCKSDB

namespace elider::bench {
Result<std::unique_ptr<Peer>> open_rocksdb(const CompareOptions&) { return built_without("RocksDB", "librocksdb-dev"); }
}  // namespace elider::bench

#else

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/version.h>

#include "bench/ycsb/scanned_values.h"
#include "bench/ycsb/value.h"

namespace elider::bench {

namespace {

// Upper bounds: the bytes that a record takes on disk in addition to its value, and the number of
// its copies on disk during loading and compaction.
constexpr uint64_t kBytesBesideValue = 64;
constexpr uint64_t kCopiesWhileLoading = 3;

Status failed(const char* what, const rocksdb::Status& status) {
  return Status(Code::kInvalidArgument, fmt::format("RocksDB: {}: {}", what, status.ToString()));
}

// Keys are stored as big-endian bytes, so that they sort like numbers.
std::array<char, 8> key_bytes(Key key) {
  std::array<char, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(key >> (56 - 8 * i));
  return bytes;
}
rocksdb::Slice slice(const std::array<char, 8>& bytes) { return {bytes.data(), bytes.size()}; }
Key key_of(const rocksdb::Slice& bytes) {
  Key key = 0;
  for (size_t i = 0; i < bytes.size(); ++i) key = key << 8 | static_cast<unsigned char>(bytes[i]);
  return key;
}

class RocksDbClient : public PeerClient {
 public:
  RocksDbClient(rocksdb::OptimisticTransactionDB& db, const rocksdb::WriteOptions& write, uint32_t value_bytes)
      : db_(db), write_(write), row_(value_bytes, '\0') {}

  Status run(std::span<const Operation> operations) override {
    const bool alone = operations.size() == 1;
    for (;;) {
      txn_.reset(db_.BeginTransaction(write_, {}, txn_.release()));  // reuses an old transaction object
      for (const Operation& operation : operations)
        if (Status status = run_one(operation, alone); !status.ok()) return status;
      if (alone && !operations.front().writes()) return {};  // a single read need not be checked, and a commit would queue with the writers
      const rocksdb::Status committed = txn_->Commit();
      if (committed.ok()) return {};
      if (!committed.IsBusy() && !committed.IsTryAgain()) return failed("commit", committed);
      txn_->Rollback();
    }
  }

  Result<uint64_t> sum_counters(const KeySeries& keys) override {
    uint64_t sum = 0;
    for (uint64_t at = 0; at < keys.count; ++at) {
      const auto bytes = key_bytes(keys[at]);
      if (rocksdb::Status got = db_.Get({}, slice(bytes), &value_); !got.ok()) return failed("get", got);
      if (value_.size() != row_.size() || !value_is_whole(value_.data(), value_bytes(), keys[at])) return damaged_value(keys[at]);
      sum += value_counter(value_.data());
    }
    return sum;
  }

  Result<uint64_t> count_rows() override {
    uint64_t rows = 0;
    const std::unique_ptr<rocksdb::Iterator> iterator(db_.NewIterator({}));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++rows;
    if (!iterator->status().ok()) return failed("count", iterator->status());
    return rows;
  }

 private:
  uint32_t value_bytes() const { return static_cast<uint32_t>(row_.size()); }

  // A transaction that consists of a single read does not have to be checked at commit. Neither
  // does a single blind write, because only workloads a and b have blind writes, and their other
  // transactions are single reads and blind writes. All other accesses are tracked: a commit checks
  // and locks only tracked keys, so transactions would otherwise not be serializable.
  Status run_one(const Operation& operation, bool alone) {
    switch (operation.kind) {
      case OperationKind::kRead: return read(operation.key, !alone);
      case OperationKind::kUpdate: return put(operation.key, operation.counter, !alone);
      case OperationKind::kReadModifyWrite:
        if (Status status = read(operation.key, true); !status.ok()) return status;
        return put(operation.key, value_counter(value_.data()) + 1, true);
      case OperationKind::kInsert: return insert(operation.key);
      case OperationKind::kScan: return scan(operation.key, operation.scan_rows);
    }
    return {};
  }

  rocksdb::Status get(Key key, bool tracked) {
    const auto bytes = key_bytes(key);
    return tracked ? txn_->GetForUpdate({}, slice(bytes), &value_) : txn_->Get({}, slice(bytes), &value_);
  }

  Status read(Key key, bool tracked) {
    if (rocksdb::Status got = get(key, tracked); !got.ok()) return failed("get", got);
    const bool whole = value_.size() == row_.size() && value_ends_match(value_.data(), value_bytes(), key);
    return whole ? Status() : damaged_value(key);
  }

  Status put(Key key, uint64_t counter, bool tracked) {
    fill_value(row_.data(), value_bytes(), key, counter);
    const auto bytes = key_bytes(key);
    const rocksdb::Status written = tracked ? txn_->Put(slice(bytes), row_) : txn_->PutUntracked(slice(bytes), row_);
    return written.ok() ? Status() : failed("put", written);
  }

  Status insert(Key key) {
    const rocksdb::Status got = get(key, true);
    if (got.ok()) return Status::invalid_argument(fmt::format("RocksDB: insert: key {} already exists", key));
    if (!got.IsNotFound()) return failed("insert", got);
    return put(key, 0, true);
  }

  Status scan(Key key, uint32_t rows) {
    ScannedValues scanned(key, value_bytes());
    const auto bytes = key_bytes(key);
    const std::unique_ptr<rocksdb::Iterator> iterator(txn_->GetIterator({}));
    for (iterator->Seek(slice(bytes)); iterator->Valid(); iterator->Next()) {
      const Key at = key_of(iterator->key());
      if (iterator->value().size() != row_.size()) return damaged_value(at);
      if (!scanned.take(at, iterator->value().data()) || scanned.rows() == rows) break;
    }
    return iterator->status().ok() ? scanned.status() : failed("scan", iterator->status());
  }

  rocksdb::OptimisticTransactionDB& db_;
  const rocksdb::WriteOptions& write_;
  std::unique_ptr<rocksdb::Transaction> txn_;
  std::string value_;
  std::string row_;
};

class RocksDbPeer : public Peer {
 public:
  RocksDbPeer(std::unique_ptr<ScratchFolder> folder, rocksdb::OptimisticTransactionDB* db, uint32_t value_bytes, Durability durability)
      : folder_(std::move(folder)), db_(db), value_bytes_(value_bytes) {
    write_.disableWAL = durability == Durability::kNone;
    write_.sync = durability == Durability::kGroup;
    load_.disableWAL = true;
  }

  std::string about() const override {
    const char* const log = write_.disableWAL ? "off" : write_.sync ? "synced" : "not synced";
    return fmt::format("{}.{}.{} OptimisticTransactionDB, log {}, in {}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH, log,
                       folder_->path());
  }

  Status load(uint64_t records) override {
    std::string row(value_bytes_, '\0');
    for (Key key = 0; key < records; ++key) {
      fill_value(row.data(), value_bytes_, key, 0);
      const auto bytes = key_bytes(key);
      if (rocksdb::Status put = db_->Put(load_, slice(bytes), row); !put.ok()) return failed("load", put);
    }
    if (rocksdb::Status flushed = db_->Flush({}); !flushed.ok()) return failed("flush", flushed);
    if (rocksdb::Status compacted = db_->CompactRange({}, nullptr, nullptr); !compacted.ok()) return failed("compact", compacted);
    return {};
  }

  Result<std::unique_ptr<PeerClient>> client() override {
    return std::unique_ptr<PeerClient>(new RocksDbClient(*db_, write_, value_bytes_));
  }

 private:
  std::unique_ptr<ScratchFolder> folder_;  // removed after its database is closed
  std::unique_ptr<rocksdb::OptimisticTransactionDB> db_;
  rocksdb::WriteOptions write_, load_;
  const uint32_t value_bytes_;
};

}  // namespace

Result<std::unique_ptr<Peer>> open_rocksdb(const CompareOptions& options) {
  const uint64_t table_bytes = options.ycsb.records * (options.ycsb.value_bytes + kBytesBesideValue);
  auto folder = ScratchFolder::of_peer(options, "rocksdb", kCopiesWhileLoading * table_bytes);
  if (!folder.ok()) return folder.status();
  rocksdb::Options settings;
  settings.create_if_missing = true;
  settings.compression = rocksdb::kNoCompression;
  settings.IncreaseParallelism(static_cast<int>(std::max(2u, options.ycsb.common.threads)));
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(std::max<uint64_t>(uint64_t{1} << 28, 2 * table_bytes));
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  settings.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::OptimisticTransactionDB* db = nullptr;
  if (rocksdb::Status opened = rocksdb::OptimisticTransactionDB::Open(settings, (*folder)->path(), &db); !opened.ok())
    return failed("open", opened);
  return std::unique_ptr<Peer>(new RocksDbPeer(std::move(*folder), db, options.ycsb.value_bytes, durability_of(options)));
}

}  // namespace elider::bench

#endif
