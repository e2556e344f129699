// Recorder: runs a database on MemoryFiles with several concurrent sessions. It records the calls
// on the files (for CrashDisk), and what the sessions did and learned (for Story).
//
// A session repeats: draw a transaction, run it with an `async` or a `group` commit, and record it.
// From time to time, it waits until everything is durable, or reads the other sessions' rows on a
// snapshot and waits until what it has read is durable.
// Thread safety: one thread makes and runs a recorder, which starts threads of its own.
#pragma once

#include <array>
#include <atomic>
#include <iterator>
#include <mutex>
#include <chrono>
#include <thread>

#include "base/random.h"
#include "tests/support/crash_disk.h"
#include "tests/support/memory_files.h"
#include "tests/crash/story.h"
#include "tests/support/compiled.h"

namespace elider::crash {

struct RunShape {
  uint64_t seed = 1;
  uint32_t sessions = 3;       // in addition to session 0, which makes the tables
  uint32_t transactions = 16;  // per session
  uint32_t log_threads = 1;
  uint32_t folders = 1;
  uint32_t flush_interval_us = 200;
  bool checkpoints = false;    // the first session takes one from time to time
  uint32_t checkpoints_kept = 1;
  uint32_t segment_bytes = 4096;
  uint32_t buffer_bytes = 8192;
  bool words = true;           // also the tables of byte and tuple keys, structs and values
  uint32_t failing_sync = 0;   // the number of the sync of a log file that fails, and with it the log; 0: none
};

inline std::vector<std::string> folders_of(uint32_t count) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i) names.push_back("d" + std::to_string(i));
  return names;
}

// Every other run commits by hardware transactions, which are emulated or always abort. Every other
// of these runs makes the calls of chopped procedures as hardware transactions.
#if defined(ELIDER_EMULATOR)
inline constexpr HtmBackend kRegions = HtmBackend::kEmulated;
#else
inline constexpr HtmBackend kRegions = HtmBackend::kAlwaysAborts;
#endif

// The other runs use the protocols in turn, because the recovered state must not depend on them.
inline constexpr Protocol kProtocolsInTurn[] = {Protocol::kOcc,         Protocol::kTimestamp,          Protocol::kTwoPhaseLocking,
                                                Protocol::kPartitioned, Protocol::kTimestampValidated, Protocol::kSerial,
                                                Protocol::kChopped};

// The options that all runs and recoveries share: little memory and small files.
inline Options base_options(const RunShape& shape) {
  Options options;
  options.sync = SyncPolicy::kOptimistic;
  options.memory_limit_bytes = 32u << 20;
  options.huge_pages = false;
  options.block_threshold_bytes = 64;
  options.workers_max = shape.sessions + 4;
  options.data_folders = folders_of(shape.folders);
  options.flush_interval_us = shape.flush_interval_us;
  options.log_threads = shape.log_threads;
  options.log_segment_bytes = shape.segment_bytes;
  options.log_buffer_bytes = shape.buffer_bytes;
  options.checkpoint_threads = shape.folders;
  options.checkpoints_kept = shape.checkpoints_kept;
  options.schemas = schemas_with_indexes();
  return options;
}

// Records the snapshot number of the transaction that a thread has just committed, as the engine
// reports it.
class NumberSink final : public HistorySink {
 public:
  void on_table(uint32_t, const Schema&) override {}
  void on_transaction(const HistoryTransaction& transaction) override {
    if (transaction.committed) last() = transaction.snapshot;
  }
  static uint64_t& last() {
    thread_local uint64_t number = 0;
    return number;
  }
};

class Recorder {
 public:
  // Continues with everything that `before` contains, although some of it may be uncertain. `story`
  // says how it came about.
  Recorder(const RunShape& shape, const io::CrashDisk& before, Story story)
      : shape_(shape), story_(std::move(story)), before_(before), files_(before.everything()), clock_(story_.last_end() + 1) {}
  explicit Recorder(const RunShape& shape) : Recorder(shape, io::CrashDisk(), Story(shape.sessions + 1)) {}

  const Story& story() const { return story_; }
  const io::CrashDisk& before() const { return before_; }
  io::MemoryFiles& files() { return files_; }
  const RunShape& shape() const { return shape_; }
  // The number of calls of chopped procedures that the run committed as hardware transactions.
  uint64_t calls_in_regions() const { return calls_in_regions_; }

  Status run() {
    const io::SubstituteFiles substitute(files_);
    NumberSink sink;
    Options options = base_options(shape_);
    if (shape_.seed % 2 == 0) options.sync = SyncPolicy::kElided, options.htm = kRegions;
    if (shape_.seed % 4 == 0) options.protocol = Protocol::kChopped;
    if (shape_.seed % 2 != 0) options.protocol = kProtocolsInTurn[shape_.seed / 2 % std::size(kProtocolsInTurn)];
    options = test::with_compiled_engine(options);
    options.history = &sink;
    auto opened = Database::open(options);
    if (!opened.ok()) return opened.status();
    Database db = std::move(*opened);
    // What opening shows is durable, even if a killed process had left it uncertain.
    for (uint32_t s = 0; s < story_.sessions(); ++s) acknowledge(s, story_.deeds(s).size());
    if (shape_.failing_sync != 0) fail_sync();
    if (Status status = set_up(db); !status.ok()) return unless_failed(status);
    std::vector<std::thread> threads;
    std::vector<Status> ends(shape_.sessions + 1);
    for (uint32_t s = 1; s <= shape_.sessions; ++s) threads.emplace_back([&, s] { ends[s] = session(db, s); });
    for (std::thread& thread : threads) thread.join();
    for (const Statistics::Procedure& procedure : db.statistics().procedures)
      if (in_pieces_ && procedure.name == "adding") calls_in_regions_ = procedure.region_commits;
    for (const Status& status : ends)
      if (Status wrong = unless_failed(status); !wrong.ok()) return wrong;
    return {};
  }

 private:
  // From now on, this sync of a log file fails.
  void fail_sync() {
    files_.refuse_with([this, syncs = uint32_t{0}](const io::MemoryFiles::Call& call) mutable -> Status {
      if (call.kind != io::MemoryFiles::Call::Kind::kSync || call.path.find("/log-") == std::string::npos) return {};
      return ++syncs == shape_.failing_sync ? io::file_error("sync", call.path, EIO) : Status();
    });
  }
  Status unless_failed(const Status& status) const {
    return shape_.failing_sync != 0 && status.code() == Code::kIoError ? Status() : status;
  }

  // One transaction in progress: what the session asks of it, and what it did.
  struct Work {
    Random random;
    uint32_t session;
    uint64_t count;  // transactions of the session before this one
    Deed deed;
  };
  // Work that only adds, as a call of a chopped procedure: the row in `progress` orders it, and the
  // additions follow. A body does not record anything. It may run as a hardware transaction, which
  // must not allocate memory or make a system call.
  struct Call {
    Recorder* recorder;
    uint32_t session;
    Progress progress;
    std::array<int64_t, kHotRows> sums;
    bool lingers;
  };
  Status install(Database& db) {
    using chopping::Operation;
    Procedures procedures;
    adding_ = procedures.add(Procedure<Call>("adding")
                                 .operation(Operation("progress").inserts("progress").writes("progress"),
                                            [](Transaction& txn, Call& call) {
                                              return txn.put(call.recorder->tables_.progress, call.session, call.progress);
                                            })
                                 .operation(Operation("hot").adds("hot", {"sum", "count"}).defers(), [](Transaction& txn, Call& call) {
                                   // The log continues meanwhile. It must not close the number of
                                   // the call.
                                   if (call.lingers) std::this_thread::sleep_for(std::chrono::microseconds(500));
                                   return call.recorder->add(txn, call.sums);
                                 }));
    InstallOptions options;
    options.always_in_pieces = !in_regions_;
    options.choices.deferring = !in_regions_;  // the call itself publishes, because nothing subscribes; regions never publish
    return db.install(std::move(procedures), options);
  }

  Status set_up(Database& db) {
    auto tables = create_tables(db);
    if (!tables.ok()) return tables.status();
    tables_ = *tables;
    in_pieces_ = db.protocol() == Protocol::kChopped;
    in_regions_ = in_pieces_ && db.sync() == SyncPolicy::kElided;
    if (in_pieces_)
      if (Status status = install(db); !status.ok()) return status;
    completed_ = std::vector<std::atomic<uint64_t>>(shape_.sessions + 1);
    for (uint32_t s = 0; s <= shape_.sessions; ++s) completed_[s] = story_.deeds(s).size();
    if (completed_[0] != 0) return {};
    Work work{Random(shape_.seed), 0, 0, {}};
    return run_work(db, work, Durability::kGroup, [&](Transaction& txn) -> Status {
      for (Key key = 0; key < kAccounts; ++key)
        if (Status status = txn.insert(tables_.accounts, key, Account{}); !status.ok()) return status;
      for (Key key = 0; key < kAccounts; ++key) did(work, TableId::kAccounts, key, 0, Account{});
      for (Key key = 0; key < kHotRows; ++key) {
        if (Status status = txn.insert(tables_.hot, key, Hot{}); !status.ok()) return status;
        did(work, TableId::kHot, key, 0, Hot{});
      }
      return {};
    });
  }

  Status session(Database& db, uint32_t s) {
    Random random(shape_.seed * 100 + s);
    for (uint32_t i = 0; i < shape_.transactions; ++i) {
      Work work{Random(random.next()), s, story_.deeds(s).size(), {}};
      const uint64_t kind = work.random.below(shape_.words ? 15 : 10);
      const Durability durability = random.below(5) < 2 ? Durability::kGroup : Durability::kAsync;
      Status status;
      if (kind == 9) status = late_items(db, work, durability);
      else if (kind > 12) status = encoded_rows(db, work, durability);
      else if (kind > 9) status = words(db, work, durability);
      else if (in_pieces_ && (kind == 4 || kind == 5)) status = call_adding(db, work, durability);
      else
        status = run_work(db, work, durability, [&](Transaction& txn) -> Status {
          if (kind < 3) return transfer(txn, work);
          if (kind < 4) return move_branch(txn, work);
          if (kind < 6) return add(txn, work);
          return change_items(txn, work, tables_.items, static_cast<uint32_t>(TableId::kItems));
        });
      if (status.ok() && shape_.checkpoints && s == 1 && i % 6 == 5) status = db.checkpoint();
      if (status.ok() && random.one_in(8)) status = wait_for_all(db);
      if (status.ok() && random.one_in(8)) status = look(db);
      if (!status.ok()) return status;
    }
    return {};
  }

  // The tables of these three are created by the first transaction that needs them.
  Status late_items(Database& db, Work& work, Durability durability) {
    const uint32_t id = static_cast<uint32_t>(TableId::kLate) + static_cast<uint32_t>(work.random.below(kLateTables));
    auto table = db.create_table(item_schema(id));
    if (!table.ok()) return table.status();
    return run_work(db, work, durability, [&](Transaction& txn) { return change_items(txn, work, *table, id); });
  }
  Status words(Database& db, Work& work, Durability durability) {
    const uint32_t id = kFirstWords + static_cast<uint32_t>(work.random.below(kByteTables + 1));
    if (id == kTupleTable) {
      auto table = db.create_table(tuple_schema());
      if (!table.ok()) return table.status();
      return run_work(db, work, durability, [&](Transaction& txn) { return change_words(txn, work, *table, id, tuple_key); });
    }
    auto table = db.create_table(word_schema(id));
    if (!table.ok()) return table.status();
    return run_work(db, work, durability, [&](Transaction& txn) { return change_words(txn, work, *table, id, text_key); });
  }

  Status encoded_rows(Database& db, Work& work, Durability durability) {
    std::string text;
    const auto note_of = [&](Work& drawing) {
      text = std::string(drawing.random.below(200), static_cast<char>('a' + drawing.random.below(26)));
      Note note{drawing.count + 1, {}, Bytes(text).text().substr(0, 3)};
      if (!drawing.random.one_in(4)) note.text = text;
      return note;
    };
    if (work.random.one_in(2)) {
      auto table = db.create_table(note_rows());
      if (!table.ok()) return table.status();
      return run_work(db, work, durability, [&](Transaction& txn) { return change_encoded(txn, work, *table, kNotes, note_of); });
    }
    auto table = db.create_table(value_schema());
    if (!table.ok()) return table.status();
    const auto value_of = [&](Work& drawing) {
      const Note note = note_of(drawing);
      return Bytes(note.text ? *note.text : note.mark.text());
    };
    return run_work(db, work, durability, [&](Transaction& txn) { return change_encoded(txn, work, *table, kValues, value_of); });
  }

  static Progress progress_of(const Work& work) { return {work.count + 1, 2 * (work.count + 1)}; }
  Status put_progress(Transaction& txn, Work& work) {
    const Progress progress = progress_of(work);
    did(work, TableId::kProgress, work.session, work.count + 1, progress);
    return txn.put(tables_.progress, work.session, progress);
  }
  Status call_adding(Database& db, Work& work, Durability durability) {
    Call call{this, work.session, progress_of(work), {}, !in_regions_ && work.random.one_in(4)};
    for (int64_t& sum : call.sums) sum = draw_sum(work);
    did(work, TableId::kProgress, work.session, work.count + 1, call.progress);
    did_add(work, call.sums);
    return execute(db, work, durability, [&](const RunPolicy& policy) { return db.call(adding_, call, policy); });
  }
  template <class Body>
  Status run_work(Database& db, Work& work, Durability durability, Body&& body) {
    const Random random = work.random;
    return execute(db, work, durability, [&](const RunPolicy& policy) {
      return db.run(
          [&](Transaction& txn) -> Status {
            work.random = random;
            work.deed.effects.clear();
            work.deed.additions.clear();
            if (Status done = body(txn); !done.ok()) return done;
            return put_progress(txn, work);
          },
          policy);
    });
  }

  // run(policy) -> Status
  template <class Run>
  Status execute(Database& db, Work& work, Durability durability, Run&& run) {
    uint64_t number = 0;
    RunPolicy policy;
    policy.durability = durability;
    policy.commit_number = &number;
    work.deed.begin = clock_.fetch_add(1);
    NumberSink::last() = 0;
    Status status = run(policy);
    work.deed.number = NumberSink::last();
    work.deed.end = clock_.fetch_add(1);
    // A commit that cannot be acknowledged may have happened.
    if (!status.ok() && work.deed.number != 0) story_.note(work.session, std::move(work.deed));
    if (!status.ok()) return status;
    if (number != work.deed.number)
      return Status::invalid_argument("commit number " + std::to_string(number) + " was told, but the history has " +
                                      std::to_string(work.deed.number));
    story_.note(work.session, std::move(work.deed));
    completed_[work.session].store(work.count + 1);
    if (durability == Durability::kGroup) acknowledge(work.session, work.count + 1);
    else status = follow(db, work, number);
    report(db);
    return status;
  }
  // An `async` commit: some sessions wait for its number later, others ask for a notification.
  Status follow(Database& db, Work& work, uint64_t number) {
    const uint32_t session = work.session;
    const uint64_t count = work.count + 1, choice = work.random.below(4);
    if (choice == 0)
      db.when_durable(number, [this, session, count](const Status& status) {
        if (status.ok()) acknowledge(session, count);
      });
    if (choice != 1) return {};
    Status status = db.wait_durable(number);
    if (status.ok()) acknowledge(session, count);
    return status;
  }

  // -- what transactions do -----------------------------------------------------------------------

  Status transfer(Transaction& txn, Work& work) {
    const Key from = work.random.below(kAccounts), to = (from + 1 + work.random.below(kAccounts - 1)) % kAccounts;
    const auto columns = tables_.accounts.columns(&Account::version, &Account::balance);
    for (const Key key : {from, to}) {
      auto view = txn.get(tables_.accounts, key);
      if (!view.ok()) return view.status();
      Account account = **view;
      ++account.version;
      account.balance += key == from ? -7 : 7;
      if (work.random.one_in(2)) {
        if (Status status = txn.update(tables_.accounts, *view, columns,
                                       [&](Account& row) { row.version = account.version, row.balance = account.balance; });
            !status.ok())
          return status;
      } else {
        ++account.transfers;
        if (Status status = txn.put(tables_.accounts, key, account); !status.ok()) return status;
      }
      did(work, TableId::kAccounts, key, account.version, account);
    }
    return {};
  }
  Status move_branch(Transaction& txn, Work& work) {
    const Key key = work.random.below(kAccounts);
    auto view = txn.get(tables_.accounts, key);
    if (!view.ok()) return view.status();
    Account account = **view;
    ++account.version;
    account.branch = static_cast<uint32_t>(work.random.below(4));
    did(work, TableId::kAccounts, key, account.version, account);
    return txn.update(tables_.accounts, key, tables_.accounts.columns(&Account::version, &Account::branch),
                      [&](Account& row) { row.version = account.version, row.branch = account.branch; });
  }
  static int64_t draw_sum(Work& work) { return static_cast<int64_t>(work.random.below(1000)) - 500; }
  Status add(Transaction& txn, Work& work) {
    std::array<int64_t, kHotRows> sums;
    for (int64_t& sum : sums) sum = draw_sum(work);
    did_add(work, sums);
    return add(txn, sums);
  }
  Status add(Transaction& txn, const std::array<int64_t, kHotRows>& sums) {
    for (Key key = 0; key < kHotRows; ++key) {
      if (Status status = txn.add(tables_.hot, key, &Hot::sum, sums[key]); !status.ok()) return status;
      if (Status status = txn.add(tables_.hot, key, &Hot::count, 1); !status.ok()) return status;
    }
    return {};
  }
  static void did_add(Work& work, const std::array<int64_t, kHotRows>& sums) {
    for (Key key = 0; key < kHotRows; ++key) work.deed.additions.push_back({place_of(TableId::kHot, key), sums[key], 1});
  }
  // Changes the session's own rows. A missing row is inserted. An existing row is replaced,
  // removed, or removed and inserted.
  Status change_items(Transaction& txn, Work& work, const Table<Item>& table, uint32_t id) {
    const uint64_t first = work.random.below(kItemsOfSession), steps = work.random.between(1, kItemsOfSession);
    for (uint64_t i = 0; i < steps; ++i) {
      const Key key = item_key(work.session, (first + i) % kItemsOfSession);
      Item item{work.count + 1, {}};
      item.text.fill(static_cast<char>('a' + work.random.below(26)));
      auto view = txn.get(table, key);
      if (!view.ok() && !view.status().not_found()) return view.status();
      const uint64_t choice = work.random.below(3);
      Status status;
      if (!view.ok()) status = txn.insert(table, key, item);
      else if (choice == 0) status = txn.put(table, key, item);
      else status = txn.remove(table, key);
      if (status.ok() && view.ok() && choice == 2) status = txn.insert(table, key, item);
      if (!status.ok()) return status;
      work.deed.effects.push_back({place_of(id, key), work.count + 1, !view.ok() || choice != 1, bytes_of(item)});
    }
    return {};
  }

  // Does the same in a table of other keys. An existing row may also be changed in its second group
  // alone.
  template <class KeyType, class KeyOf>
  Status change_words(Transaction& txn, Work& work, const Table<Word, KeyType>& table, uint32_t id, KeyOf&& key_of) {
    const uint64_t first = work.random.below(kItemsOfSession), steps = work.random.between(1, kItemsOfSession / 2);
    for (uint64_t i = 0; i < steps; ++i) {
      const Key number = item_key(work.session, (first + i) % kItemsOfSession);
      const auto key = key_of(number);
      Word word{work.count + 1, work.random.below(5)};
      auto view = txn.get(table, key);
      if (!view.ok() && !view.status().not_found()) return view.status();
      const uint64_t choice = work.random.below(4);
      Status status;
      if (!view.ok()) status = txn.insert(table, key, word);
      else if (choice == 0) status = txn.put(table, key, word);
      else if (choice != 3) status = txn.remove(table, key);
      else {
        word.version = (*view)->version;
        status = txn.update(table, key, table.columns(&Word::mark), [&](Word& row) { row.mark = word.mark; });
      }
      if (status.ok() && view.ok() && choice == 2) status = txn.insert(table, key, word);
      if (!status.ok()) return status;
      work.deed.effects.push_back({place_of(id, number), work.count + 1, !view.ok() || choice != 1, bytes_of(word)});
    }
    return {};
  }

  // Does the same in a table whose rows are encoded and change their sizes. row_of(work) draws a
  // row.
  template <class Encoded, class RowOf>
  Status change_encoded(Transaction& txn, Work& work, const Encoded& table, uint32_t id, RowOf&& row_of) {
    const uint64_t first = work.random.below(kItemsOfSession), steps = work.random.between(1, kItemsOfSession / 2);
    for (uint64_t i = 0; i < steps; ++i) {
      const Key key = item_key(work.session, (first + i) % kItemsOfSession);
      const auto row = row_of(work);
      auto view = txn.get(table, key);
      if (!view.ok() && !view.status().not_found()) return view.status();
      const uint64_t choice = work.random.below(4);
      Status status;
      if (!view.ok()) status = txn.insert(table, key, row);
      else if (choice == 0) status = txn.put(table, key, row);
      else if (choice != 3) status = txn.remove(table, key);
      else if constexpr (std::is_same_v<Encoded, StructTable<Note>>) status = txn.update(table, key, [&](Note& note) { note = row; });
      else status = txn.put(table, key, row);
      if (status.ok() && view.ok() && choice == 2) status = txn.insert(table, key, row);
      if (!status.ok()) return status;
      const bool present = !view.ok() || choice != 1;
      work.deed.effects.push_back({place_of(id, key), work.count + 1, present, encoded_bytes_of(table, row)});
    }
    return {};
  }

  template <class Row>
  static void did(Work& work, TableId table, Key key, uint64_t version, const Row& row) {
    work.deed.effects.push_back({place_of(table, key), version, true, bytes_of(row)});
  }

  // -- acknowledgements ---------------------------------------------------------------------------

  void acknowledge(uint32_t session, uint64_t count) {
    std::lock_guard lock(mutex_);
    story_.acknowledge(files_.call_count(), session, count);
  }
  void report(Database& db) {
    const uint64_t durable = db.statistics().durable_snapshot;
    std::lock_guard lock(mutex_);
    story_.report(files_.call_count(), durable);
  }
  Status wait_for_all(Database& db) {
    std::vector<uint64_t> before;
    for (const auto& count : completed_) before.push_back(count.load());
    if (Status status = db.wait_durable(); !status.ok()) return status;
    for (uint32_t s = 0; s < before.size(); ++s) acknowledge(s, before[s]);
    return {};
  }
  // A reader may report every transaction that it has seen, because it waits until these are
  // durable.
  Status look(Database& db) {
    std::vector<uint64_t> seen(shape_.sessions + 1);
    RunPolicy policy;
    policy.durability = Durability::kGroup;
    Status status = db.run_read_only([&](Transaction& txn) -> Status {
      for (uint32_t s = 0; s < seen.size(); ++s) {
        auto view = txn.get(tables_.progress, s);
        seen[s] = view.ok() ? (*view)->count : 0;
        if (!view.ok() && !view.status().not_found()) return view.status();
      }
      return {};
    }, policy);
    for (uint32_t s = 0; status.ok() && s < seen.size(); ++s) acknowledge(s, seen[s]);
    return status;
  }

  const RunShape shape_;
  Story story_;
  const io::CrashDisk before_;
  io::MemoryFiles files_;
  Tables tables_;
  bool in_pieces_ = false, in_regions_ = false;
  uint64_t calls_in_regions_ = 0;
  ProcedureHandle<Call> adding_;
  std::atomic<uint64_t> clock_;
  std::vector<std::atomic<uint64_t>> completed_;  // by session
  std::mutex mutex_;                              // guards story_'s acknowledgements and reports
};

}  // namespace elider::crash
