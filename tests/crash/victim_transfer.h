// The workload `transfer` of crash_victim. Each transaction appends unique values to one to three
// lists, reads each list, and moves money between them. Some transactions only read. A later reader
// can therefore determine which transactions there were, and in which order: a list contains every
// value that was appended to it, and the sum of all balances is zero. Half of the lists are rows of
// fixed size. The others grow: a quarter are structs with bytes (described rows), and a quarter
// values.
// Thread safety: run_transfer_victim() by one thread, which starts others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/crash/victim_threads.h"

namespace elider::crash {

struct List {
  static constexpr uint64_t kCapacity = 32;
  uint64_t count = 0;
  int64_t values[kCapacity] = {};
  int64_t balance = 0;  // in a group of its own
};

// A list that grows.
struct GrowingList {
  int64_t balance = 0;
  Bytes values{};
};

// The place in the commit order of the transaction that a thread has just committed.
class PlaceSink final : public HistorySink {
 public:
  struct Place {
    uint64_t snapshot = 0, order = 0;
  };
  void on_table(uint32_t, const Schema&) override {}
  void on_transaction(const HistoryTransaction& transaction) override {
    if (transaction.committed) last() = {transaction.snapshot, transaction.order};
  }
  static Place& last() {
    thread_local Place place;
    return place;
  }
};

class TransferVictim {
 public:
  explicit TransferVictim(const VictimOptions& options) : options_(options) {}

  Status run() {
    PlaceSink sink;
    Options options = database_options(options_);
    options.history = &sink;
    auto opened = Database::open(options);
    if (!opened.ok()) return opened.status();
    Database db = std::move(*opened);
    if (Status status = db.verify(); !status.ok()) return status;
    auto table = db.create_table(SchemaOf<List>("lists").column("count", &List::count).column("values", &List::values)
                                     .column("balance", &List::balance).group({"balance"}));
    if (!table.ok()) return table.status();
    table_ = *table;
    auto growing = db.create_table(
        RowsOf<GrowingList>("growing").column("balance", &GrowingList::balance).column("values", &GrowingList::values));
    if (!growing.ok()) return growing.status();
    growing_ = *growing;
    auto raw = db.create_table(ValueSchema("raw"));
    if (!raw.ok()) return raw.status();
    raw_ = *raw;
    if (Status status = tell_recovered(db); !status.ok()) return status;
    VictimThreads threads(db, options_);
    threads.run([&](uint32_t i) { work(db, options_.process + i, &threads); });
    tell("{\"t\":\"end\"}\n");
    return {};
  }

 private:
  static constexpr Key kWindow = 6;  // keys that are written to at one time

  Status tell_recovered(Database& db) {
    std::string lists;
    int64_t sum = 0;
    Status status = db.run_read_only([&](Transaction& txn) -> Status {
      lists.clear();
      sum = 0;
      window_ = 0;
      const auto add = [&](Key key, const List& list) {
        lists += fmt::format("{}\"{}\":{}", lists.empty() ? "" : ",", key, values_of(list));
        sum += list.balance;
        if (list.count == List::kCapacity) window_ = std::max(window_.load(), key + 1);
      };
      ELIDER_TRY(txn.scan(table_, KeyRange{}, ScanOptions{}, [&](Key key, const View<List>& view) { add(key, *view); }));
      ELIDER_TRY(txn.scan(growing_, {}, {}, [&](Key key, const GrowingList& list) { add(key, list_of(list)); }));
      return txn.scan(raw_, {}, {}, [&](Key key, Bytes bytes) { add(key, list_of(bytes)); });
    });
    if (status.ok())
      tell(fmt::format("{{\"t\":\"recovered\",\"ns\":{},\"snapshot\":{},\"cuts\":{},\"balance\":{},\"lists\":{{{}}}}}\n", now_ns(),
                       db.recovery().snapshot, db.recovery().cuts.size(), sum, lists));
    return status;
  }

  static std::string values_of(const List& list) {
    std::string text = "[";
    for (uint64_t i = 0; i < list.count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", list.values[i]);
    return text + "]";
  }

  void work(Database& db, uint32_t process, VictimThreads* threads) {
    Random random(options_.seed * 1000003 + process);
    int64_t value = int64_t{process} << 20;
    for (uint64_t i = 0; options_.transactions == 0 || i < options_.transactions; ++i) {
      const uint64_t count = random.between(1, 3);
      const bool only_read = random.one_in(5);
      // Distinct keys from a window that moves on as lists become full.
      const Key first = window_.load() + random.below(kWindow);
      std::vector<Key> keys;
      for (uint64_t k = 0; k < count; ++k) keys.push_back(first + k);
      if (only_read) look(db, process, keys);
      else append(db, process, keys, value, random.one_in(4));
      value += static_cast<int64_t>(count);
      threads->one_ended();
      if (stopped_) return;
    }
  }

  void look(Database& db, uint32_t process, const std::vector<Key>& keys) {
    std::string asked, got;
    for (Key key : keys) asked += fmt::format("{}[\"r\",{},null]", asked.empty() ? "" : ",", key);
    tell(fmt::format("{{\"t\":\"invoke\",\"p\":{},\"ns\":{},\"v\":[{}]}}\n", process, now_ns(), asked));
    const Status status = db.run_read_only([&](Transaction& txn) -> Status {
      got.clear();
      for (Key key : keys) {
        List list;
        if (Status found = get(txn, key, &list); !found.ok()) return found;
        got += fmt::format("{}[\"r\",{},{}]", got.empty() ? "" : ",", key, values_of(list));
      }
      return {};
    });
    complete(process, status, true, asked, got);
  }

  void append(Database& db, uint32_t process, const std::vector<Key>& keys, int64_t value, bool waits_itself) {
    std::string asked, got;
    for (size_t i = 0; i < keys.size(); ++i)
      asked += fmt::format("{}[\"append\",{},{}],[\"r\",{},null]", i == 0 ? "" : ",", keys[i], value + static_cast<int64_t>(i), keys[i]);
    tell(fmt::format("{{\"t\":\"invoke\",\"p\":{},\"ns\":{},\"v\":[{}]}}\n", process, now_ns(), asked));
    RunPolicy policy;
    policy.durability = waits_itself ? Durability::kAsync : Durability::kGroup;
    Status status = db.run([&](Transaction& txn) -> Status {
      got.clear();
      for (size_t i = 0; i < keys.size(); ++i) {
        List list;
        if (Status found = get(txn, keys[i], &list); !found.ok()) return found;
        if (list.count == List::kCapacity) {
          window_.store(std::max(window_.load(), keys[i] + 1));
          return Status::rollback();
        }
        list.values[list.count++] = value + static_cast<int64_t>(i);
        list.balance += i + 1 < keys.size() ? -5 : 5 * (static_cast<int64_t>(keys.size()) - 1);
        if (Status written = put(txn, keys[i], list); !written.ok()) return written;
        got += fmt::format("{}[\"append\",{},{}],[\"r\",{},{}]", i == 0 ? "" : ",", keys[i], value + static_cast<int64_t>(i), keys[i],
                           values_of(list));
      }
      return {};
    }, policy);
    const PlaceSink::Place place = PlaceSink::last();
    if (status.ok() && waits_itself) status = db.wait_durable();
    PlaceSink::last() = place;
    complete(process, status, false, asked, got);
  }

  static bool is_growing(Key key) { return key % 4 == 1; }
  static bool is_raw(Key key) { return key % 4 == 3; }
  static List list_of(const GrowingList& growing) {
    List list;
    list.count = growing.values.size() / sizeof(int64_t);
    if (list.count != 0) std::memcpy(list.values, growing.values.data(), growing.values.size());
    list.balance = growing.balance;
    return list;
  }
  // A raw list consists of the balance and the values.
  static List list_of(Bytes bytes) {
    GrowingList growing{0, Bytes(bytes.data() + sizeof growing.balance, bytes.size() - sizeof growing.balance)};
    std::memcpy(&growing.balance, bytes.data(), sizeof growing.balance);
    return list_of(growing);
  }
  Status get(Transaction& txn, Key key, List* list) const {
    const auto take = [&](const auto& row, auto&& convert) {
      if (row.ok()) *list = convert(*row);
      return row.ok() || row.status().not_found() ? Status() : row.status();
    };
    if (is_growing(key)) return take(txn.get(growing_, key), [](const GrowingList& row) { return list_of(row); });
    if (is_raw(key)) return take(txn.get(raw_, key), [](Bytes row) { return list_of(row); });
    return take(txn.get(table_, key), [](const View<List>& row) { return *row; });
  }
  Status put(Transaction& txn, Key key, const List& list) const {
    const auto values = std::as_bytes(std::span(list.values, list.count));
    if (is_growing(key)) return txn.put(growing_, key, {list.balance, values});
    if (!is_raw(key)) return txn.put(table_, key, list);
    std::string bytes(reinterpret_cast<const char*>(&list.balance), sizeof list.balance);
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size());
    return txn.put(raw_, key, bytes);
  }

  // After an I/O error, it is not known whether the transaction is on the disk. It may or may not
  // be there later.
  void complete(uint32_t process, const Status& status, bool read_only, const std::string& asked, const std::string& got) {
    const PlaceSink::Place place = PlaceSink::last();
    if (status.ok())
      return tell(fmt::format("{{\"t\":\"ok\",\"p\":{},\"ns\":{},\"rank\":[{},{},{}],\"v\":[{}]}}\n", process, now_ns(), place.snapshot,
                              place.order, read_only ? "true" : "false", got));
    const bool unknown = status.code() == Code::kIoError;
    tell(fmt::format("{{\"t\":\"{}\",\"p\":{},\"ns\":{},\"v\":[{}]}}\n", unknown ? "info" : "fail", process, now_ns(), asked));
    if (unknown) stopped_ = true;
  }

  const VictimOptions& options_;
  Table<List> table_;
  StructTable<GrowingList> growing_;
  ValueTable<> raw_;
  std::atomic<Key> window_{0};
  std::atomic<bool> stopped_{false};
};

inline Status run_transfer_victim(const VictimOptions& options) { return TransferVictim(options).run(); }

}  // namespace elider::crash
