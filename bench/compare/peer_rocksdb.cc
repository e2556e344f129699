// RocksDB's OptimisticTransactionDB: write-ahead log off unless all stores are durable, then synced or not as they are, no compression,
// Bloom filters, a block cache that holds the whole table, which is compacted after loading.
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

#include "bench/ycsb/value.h"

namespace elider::bench {

namespace {

// What a record takes on disk and, while it is compacted, once more.
constexpr uint64_t kBytesBesideValue = 64;
constexpr uint64_t kCopiesWhileLoading = 3;

Status failed(const char* what, const rocksdb::Status& status) {
  return Status(Code::kInvalidArgument, fmt::format("RocksDB: {}: {}", what, status.ToString()));
}

// Keys as big-endian bytes, so that they sort as numbers.
std::array<char, 8> key_bytes(Key key) {
  std::array<char, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(key >> (56 - 8 * i));
  return bytes;
}
rocksdb::Slice slice(const std::array<char, 8>& bytes) { return {bytes.data(), bytes.size()}; }

class RocksDbClient : public PeerClient {
 public:
  RocksDbClient(rocksdb::OptimisticTransactionDB& db, const rocksdb::WriteOptions& write, uint32_t value_bytes)
      : db_(db), write_(write), row_(value_bytes, '\0') {}

  Status run(std::span<const PeerOperation> operations) override {
    for (;;) {
      txn_.reset(db_.BeginTransaction(write_, {}, txn_.release()));  // an old transaction object is used again
      if (Status status = run_once(operations); !status.ok()) return status;
      const rocksdb::Status committed = txn_->Commit();
      if (committed.ok()) return {};
      if (!committed.IsBusy() && !committed.IsTryAgain()) return failed("commit", committed);
      txn_->Rollback();
    }
  }

  Result<uint64_t> sum_counters(uint64_t records) override {
    uint64_t sum = 0;
    for (Key key = 0; key < records; ++key) {
      const auto bytes = key_bytes(key);
      if (rocksdb::Status got = db_.Get({}, slice(bytes), &value_); !got.ok()) return failed("get", got);
      if (value_.size() != row_.size() || !value_is_whole(value_.data(), value_bytes(), key)) return damaged_value(key);
      sum += value_counter(value_.data());
    }
    return sum;
  }

 private:
  uint32_t value_bytes() const { return static_cast<uint32_t>(row_.size()); }

  Status run_once(std::span<const PeerOperation> operations) {
    for (const PeerOperation& operation : operations) {
      const auto bytes = key_bytes(operation.key);
      // A lone read needs no check at commit; all others are tracked, or reads would not be serializable.
      const bool alone = operations.size() == 1 && !operation.modifies;
      const rocksdb::Status got = alone ? txn_->Get({}, slice(bytes), &value_) : txn_->GetForUpdate({}, slice(bytes), &value_);
      if (!got.ok()) return failed("get", got);
      const bool whole = value_.size() == row_.size() && value_ends_match(value_.data(), value_bytes(), operation.key);
      if (!whole) return damaged_value(operation.key);
      if (!operation.modifies) continue;
      fill_value(row_.data(), value_bytes(), operation.key, value_counter(value_.data()) + 1);
      if (rocksdb::Status put = txn_->Put(slice(bytes), row_); !put.ok()) return failed("put", put);
    }
    return {};
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
  std::unique_ptr<ScratchFolder> folder_;  // goes after the database in it is closed
  std::unique_ptr<rocksdb::OptimisticTransactionDB> db_;
  rocksdb::WriteOptions write_, load_;
  const uint32_t value_bytes_;
};

}  // namespace

Result<std::unique_ptr<Peer>> open_rocksdb(const CompareOptions& options) {
  const uint64_t table_bytes = options.ycsb.records * (options.ycsb.value_bytes + kBytesBesideValue);
  auto folder = ScratchFolder::make(options, "rocksdb", kCopiesWhileLoading * table_bytes);
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
