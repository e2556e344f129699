// Runs elider through its public interface, as any program would use it.
#include "bench/compare/peer.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/common/loader.h"
#include "bench/common/report.h"
#include "bench/ycsb/value.h"
#include "bench/ycsb/value_table.h"
#include "elider/elider.h"

namespace elider::bench {

namespace {

constexpr uint64_t kRowsPerTransaction = 256;

class EliderClient : public PeerClient {
 public:
  EliderClient(Database& db, TableRef table, uint32_t value_bytes, bool batch)
      : db_(db), table_(table), values_(table, value_bytes), value_bytes_(value_bytes), batch_(batch) {}

  Status run(std::span<const Operation> operations) override {
    return db_.run([&](Transaction& txn) -> Status { return values_.run(txn, operations, batch_); });
  }

  Result<uint64_t> sum_counters(const KeySeries& keys) override {
    uint64_t sum = 0;
    for (uint64_t begin = 0; begin < keys.count; begin += kRowsPerTransaction) {
      uint64_t part = 0;
      Status status = db_.run_read_only([&](Transaction& txn) -> Status {
        part = 0;
        for (uint64_t at = begin; at < std::min(keys.count, begin + kRowsPerTransaction); ++at) {
          RawView view;
          if (Status got = txn.get(table_, keys[at], ColumnsRef(), &view); !got.ok()) return got;
          if (!value_is_whole(view.bytes(), value_bytes_, keys[at])) return damaged_value(keys[at]);
          part += value_counter(view.bytes());
        }
        return {};
      });
      if (!status.ok()) return status;
      sum += part;
    }
    return sum;
  }

  Result<uint64_t> count_rows() override { return db_.statistics().tables.front().rows; }

 private:
  Database& db_;
  const TableRef table_;
  ValueTable values_;
  const uint32_t value_bytes_;
  const bool batch_;
};

class EliderPeer : public Peer {
 public:
  EliderPeer(const CompareOptions& options, std::unique_ptr<ScratchFolder> folder, Session session, TableRef table)
      : options_(options.ycsb), folder_(std::move(folder)), session_(std::move(session)), table_(table),
        recovered_(describe_recovery(session_.db().recovery())) {}

  std::string about() const override {
    const DataOptions& data = options_.common.data;
    std::string words = std::string(name_of(options_.key_index)) + (options_.batch ? ", batched" : "");
    if (folder_ != nullptr) words += fmt::format(", {}, in {}", name_of(data.durability), folder_->path());
    if (resumed())
      words += fmt::format(", {}, in {}: {}", name_of(data.durability), data.folders.front(), recovered_);
    return words;
  }
  bool resumed() const override { return options_.common.data.resume; }

  Status load(uint64_t records) override {
    if (resumed()) return {};
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
  std::unique_ptr<ScratchFolder> folder_;  // removed after its database is closed; null: only in memory, or resumed
  Session session_;
  const TableRef table_;
  const std::string recovered_;
};

}  // namespace

Result<std::unique_ptr<Peer>> open_elider(const CompareOptions& options) {
  CommonOptions common = options.ycsb.common;
  std::unique_ptr<ScratchFolder> folder;
  if (common.data.logs() && !common.data.resume) {
    auto made = ScratchFolder::of_peer(options, "elider", 2 * options.ycsb.records * options.ycsb.value_bytes);
    if (!made.ok()) return made.status();
    folder = std::move(*made);
    common.data.folders = {folder->path()};
  }
  auto session = Session::open(common);
  if (!session.ok()) return session.status();
  if (common.data.resume && !session->db().table("usertable").ok())
    return Status(Code::kNotFound, "--resume: this is not a YCSB database: it does not have a table 'usertable'");
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
