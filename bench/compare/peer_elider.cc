// elider, through its public interface as any program would use it.
#include "bench/compare/peer.h"

#include <fmt/format.h>

#include "bench/common/loader.h"
#include "bench/ycsb/value.h"
#include "bench/ycsb/value_table.h"
#include "elider/elider.h"

namespace elider::bench {

namespace {

constexpr uint64_t kRowsPerTransaction = 256;

class EliderClient : public PeerClient {
 public:
  EliderClient(Database& db, TableRef table, uint32_t value_bytes, bool batch)
      : db_(db), table_(table), value_bytes_(value_bytes), batch_(batch) {}

  Status run(std::span<const PeerOperation> operations) override {
    return db_.run([&](Transaction& txn) -> Status {
      if (batch_) return run_batch(txn, operations);
      for (const PeerOperation& operation : operations)
        if (Status status = run_one(txn, operation); !status.ok()) return status;
      return {};
    });
  }

  Result<uint64_t> sum_counters(uint64_t records) override {
    uint64_t sum = 0;
    for (uint64_t begin = 0; begin < records; begin += kRowsPerTransaction) {
      uint64_t part = 0;
      Status status = db_.run_read_only([&](Transaction& txn) -> Status {
        part = 0;
        for (Key key = begin; key < std::min(records, begin + kRowsPerTransaction); ++key) {
          RawView view;
          if (Status got = txn.get(table_, key, ColumnsRef(), &view); !got.ok()) return got;
          if (!value_is_whole(view.bytes(), value_bytes_, key)) return damaged_value(key);
          part += value_counter(view.bytes());
        }
        return {};
      });
      if (!status.ok()) return status;
      sum += part;
    }
    return sum;
  }

 private:
  Status run_one(Transaction& txn, const PeerOperation& operation) {
    if (!operation.modifies) {
      RawView view;
      if (Status status = txn.get(table_, operation.key, ColumnsRef(), &view); !status.ok()) return status;
      return value_ends_match(view.bytes(), value_bytes_, operation.key) ? Status() : damaged_value(operation.key);
    }
    void* image = nullptr;
    if (Status status = txn.edit(table_, operation.key, ColumnsRef(), &image); !status.ok()) return status;
    if (!value_ends_match(image, value_bytes_, operation.key)) return damaged_value(operation.key);
    fill_value(image, value_bytes_, operation.key, value_counter(image) + 1);
    return txn.edited(table_, image);
  }

  Status run_batch(Transaction& txn, std::span<const PeerOperation> operations) {
    std::array<Key, kOperationsMax> keys;
    std::array<RawView, kOperationsMax> views;
    for (size_t i = 0; i < operations.size(); ++i) keys[i] = operations[i].key;
    if (Status status = txn.multi_get(table_, keys.data(), operations.size(), ColumnsRef(), views.data()); !status.ok()) return status;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (!views[i] || !value_ends_match(views[i].bytes(), value_bytes_, keys[i])) return damaged_value(keys[i]);
      if (!operations[i].modifies) continue;
      Status status = txn.update(Table<ValueRow>(table_.base()), View<ValueRow>(views[i]), Columns<ValueRow>(),
                                 [&](ValueRow& row) { fill_value(&row, value_bytes_, keys[i], value_counter(&row) + 1); });
      if (!status.ok()) return status;
    }
    return {};
  }

  Database& db_;
  const TableRef table_;
  const uint32_t value_bytes_;
  const bool batch_;
};

class EliderPeer : public Peer {
 public:
  EliderPeer(const CompareOptions& options, std::unique_ptr<ScratchFolder> folder, Session session, TableRef table)
      : options_(options.ycsb), folder_(std::move(folder)), session_(std::move(session)), table_(table) {}

  std::string about() const override {
    return std::string(options_.key_index == KeyIndex::kHashed ? "hash" : "btree") + (options_.batch ? ", batched" : "") +
           (folder_ == nullptr ? "" : fmt::format(", {}, in {}", name_of(options_.common.data.durability), folder_->path()));
  }

  Status load(uint64_t records) override {
    const uint64_t parts = (records + kRowsPerTransaction - 1) / kRowsPerTransaction;
    return load_parallel(options_.common, "loading elider", parts, records,
                         [&](uint32_t, uint64_t part, LoadProgress& progress) -> Status {
                           const Key first = part * kRowsPerTransaction;
                           const Key end = std::min(records, first + kRowsPerTransaction);
                           std::vector<std::byte> row(options_.value_bytes);
                           Status status = session_.db().run([&](Transaction& txn) -> Status {
                             for (Key key = first; key < end; ++key) {
                               fill_value(row.data(), options_.value_bytes, key, 0);
                               if (Status inserted = txn.insert(table_, key, row); !inserted.ok()) return inserted;
                             }
                             return {};
                           });
                           progress.add(end - first);
                           return status;
                         })
        .status;
  }

  Result<std::unique_ptr<PeerClient>> client() override {
    return std::unique_ptr<PeerClient>(new EliderClient(session_.db(), table_, options_.value_bytes, options_.batch));
  }

 private:
  const YcsbOptions options_;
  std::unique_ptr<ScratchFolder> folder_;  // goes after the database in it is closed; null: in memory alone
  Session session_;
  const TableRef table_;
};

}  // namespace

Result<std::unique_ptr<Peer>> open_elider(const CompareOptions& options) {
  CommonOptions common = options.ycsb.common;
  std::unique_ptr<ScratchFolder> folder;
  if (common.data.logs()) {
    auto made = ScratchFolder::make(options, "elider", 2 * options.ycsb.records * options.ycsb.value_bytes);
    if (!made.ok()) return made.status();
    folder = std::move(*made);
    common.data.folders = {folder->path()};
  }
  auto session = Session::open(common);
  if (!session.ok()) return session.status();
  Schema schema;
  schema.name = "usertable";
  schema.key_index = options.ycsb.key_index;
  schema.row_bytes = options.ycsb.value_bytes;
  schema.columns.push_back({"value", ColumnType::kBytes, 0, options.ycsb.value_bytes, 0});
  auto table = session->db().create_table(schema);
  if (!table.ok()) return table.status();
  return std::unique_ptr<Peer>(new EliderPeer(options, std::move(folder), std::move(*session), *table));
}

}  // namespace elider::bench
