// Everything at once, for as long as ELIDER_TEST_SCALE says: sessions come and go, insert, replace,
// change, remove and add, on tables with secondary and unique indexes, blocks of their own and
// several column groups; others make tables, take checkpoints, and back up and open what was backed
// up. Then the database is opened again. Each session writes keys of its own, so that it knows each
// of its rows; all race for the slots of a unique index, and add to the same counters.
//
// There are also runs with little memory, and with a disk that becomes full. Everything that was
// acknowledged is there, and nothing else. ELIDER_SEED=<number> selects other runs.
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "base/random.h"
#include "tests/durability/faulty_files.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

struct Thing {
  uint64_t owner = 0;
  uint64_t slot = 0;  // no two rows of a table have the same
  int64_t value = 0;
  std::array<char, 104> text{};
  bool operator==(const Thing&) const = default;
};
struct Sum {
  int64_t sum = 0;
  uint64_t count = 0;
  bool operator==(const Sum&) const = default;
};

constexpr uint32_t kTables = 4, kSessions = 3, kSlots = 600;
constexpr Key kKeysOfSession = 100, kSums = 3;

SchemaOf<Thing> thing_schema(uint32_t i) {
  SchemaOf<Thing> schema("things" + std::to_string(i));
  schema.key_index(i % 2 == 0 ? KeyIndex::kOrdered : KeyIndex::kHashed)
      .column("owner", &Thing::owner)
      .column("slot", &Thing::slot)
      .column("value", &Thing::value)
      .column("text", &Thing::text)
      .group({"value"})
      .group({"text"})
      .index("by_owner", {"owner"}, [](const Thing& thing) { return thing.owner; })
      .unique_index("by_slot", {"slot"}, [](const Thing& thing) { return thing.slot; });
  return schema;
}
SchemaOf<Sum> sum_schema() {
  SchemaOf<Sum> schema("sums");
  schema.column("sum", &Sum::sum).column("count", &Sum::count);
  return schema;
}

using Rows = std::map<std::pair<uint32_t, Key>, Thing>;  // by table and key
using Sums = std::array<Sum, kSums>;

// What one session has written, and what it was about to write when the database failed.
struct Model {
  Rows rows;
  Sums sums{};
  std::optional<std::pair<Rows, Sums>> in_doubt;
};

// What a database may refuse without being wrong.
struct Allowed {
  bool memory_limit = false, disk = false;
  bool allows(const Status& status) const {
    return (memory_limit && status.code() == Code::kMemoryLimit) || (disk && status.code() == Code::kIoError);
  }
};

class EverythingStressTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    options_.block_threshold_bytes = 64;
    options_.log_threads = 2;
    options_.log_segment_bytes = 1u << 16;
    options_.checkpoint_log_bytes = 1u << 18;
    options_.checkpoints_kept = 2;
    options_.workers_max = 24;
    for (uint32_t i = 0; i < kTables; ++i) options_.schemas.push_back(thing_schema(i).schema());
    options_.schemas.push_back(sum_schema().schema());
    const char* const seed = std::getenv("ELIDER_SEED");
    seed_ = seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
  }
  static uint32_t rounds() {
    const char* const scale = std::getenv("ELIDER_TEST_SCALE");
    return std::max(1u, static_cast<uint32_t>(3 * (scale == nullptr ? 1.0 : std::atof(scale))));
  }

  struct Tables {
    std::array<Table<Thing>, kTables> things;
    Table<Sum> sums;
  };
  // Each table is created by the session that comes first.
  static Status open_tables(Database& db, Tables* tables) {
    for (uint32_t i = 0; i < kTables; ++i) {
      auto table = db.create_table(thing_schema(i));
      if (!table.ok()) return table.status();
      tables->things[i] = *table;
    }
    auto sums = db.create_table(sum_schema());
    if (!sums.ok()) return sums.status();
    tables->sums = *sums;
    return db.run([&](Transaction& txn) -> Status {
      for (Key key = 0; key < kSums; ++key)
        if (Status status = txn.insert(tables->sums, key, Sum{}); !status.ok() && status.code() != Code::kDuplicateKey) return status;
      return {};
    });
  }

  // Runs one transaction of a few steps on the session's own rows. Updates *model if it commits.
  Status step(Database& db, const Tables& tables, uint32_t session, Random& random, Durability durability, Model* model) {
    const Random begin = random;
    Rows rows;
    Sums sums{};
    RunPolicy policy;
    policy.durability = durability;
    Status status = db.run([&](Transaction& txn) -> Status {
      random = begin;
      rows = model->rows;
      sums = model->sums;
      for (uint64_t steps = 1 + random.below(5); steps != 0; --steps)
        if (Status done = change(txn, tables, session, random, &rows, &sums); !done.ok()) return done;
      return {};
    }, policy);
    if (status.ok()) {
      model->rows = std::move(rows);
      model->sums = sums;
    } else if (status.code() == Code::kIoError) {
      model->in_doubt.emplace(std::move(rows), sums);
    }
    return status;
  }
  static Status change(Transaction& txn, const Tables& tables, uint32_t session, Random& random, Rows* rows, Sums* sums) {
    const auto t = static_cast<uint32_t>(random.below(kTables));
    const Key key = session * 1000 + random.below(kKeysOfSession);
    const Table<Thing>& table = tables.things[t];
    Thing fresh{random.below(50), random.below(kSlots), static_cast<int64_t>(random.below(1000)), {}};
    fresh.text.fill(static_cast<char>('a' + random.below(26)));
    const auto known = rows->find({t, key});
    Status status;
    switch (random.below(6)) {
      case 0: {
        status = txn.put(table, key, fresh);
        if (status.ok()) (*rows)[{t, key}] = fresh;
        break;
      }
      case 1:
        status = txn.insert(table, key, fresh);
        if (status.ok() && known != rows->end()) return Status::invalid_argument("a key was inserted twice");
        if (status.ok()) (*rows)[{t, key}] = fresh;
        break;
      case 2:
        status = txn.remove(table, key);
        if (status.ok() != (known != rows->end())) return Status::invalid_argument("a row was removed that was not there, or the reverse");
        if (status.ok()) rows->erase(known);
        break;
      case 3:
        status = txn.update(table, key, table.columns(&Thing::slot, &Thing::value), [&](Thing& thing) {
          thing.slot = fresh.slot;
          thing.value += fresh.value;
        });
        if (status.ok()) known->second.slot = fresh.slot, known->second.value += fresh.value;
        break;
      case 4: {
        auto view = txn.get(table, key);
        if (view.ok() != (known != rows->end()) || (view.ok() && !(**view == known->second)))
          return Status::invalid_argument("a session does not read what it wrote");
        return view.ok() || view.status().not_found() ? Status() : view.status();
      }
      default: {
        const Key hot = random.below(kSums);
        const auto amount = static_cast<int64_t>(random.below(100)) - 50;
        if (status = txn.add(tables.sums, hot, &Sum::sum, amount); !status.ok()) return status;
        if (status = txn.add(tables.sums, hot, &Sum::count, 1); !status.ok()) return status;
        (*sums)[hot].sum += amount;
        ++(*sums)[hot].count;
        return {};
      }
    }
    // Another row has the slot, or the key exists or does not exist.
    return status.code() == Code::kDuplicateKey || status.not_found() ? Status() : status;
  }

  // Runs many short threads, one after the other. Each continues where the session was.
  void run_session(Database& db, uint32_t session, uint32_t threads, const Allowed& allowed, Durability durability, Model* model) {
    Random random(seed_ * 1000 + session);
    bool failed = false;
    for (uint32_t i = 0; i < threads && !failed; ++i)
      std::thread([&] {
        Tables tables;
        Status status = open_tables(db, &tables);
        for (int n = 0; n < 60 && status.ok(); ++n) {
          status = step(db, tables, session, random, durability, model);
          if (allowed.memory_limit && status.code() == Code::kMemoryLimit) status = {};
        }
        EXPECT_TRUE(status.ok() || allowed.allows(status)) << status.message();
        failed = status.code() == Code::kIoError;
      }).join();
  }

  // Runs the sessions, and threads that take checkpoints, make backups and read, until the sessions
  // have ended.
  void run_all(Database& db, const Allowed& allowed, Durability durability, std::array<Model, kSessions>* models) {
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    std::thread keeper([&] {
      for (uint32_t i = 0; !done.load(); ++i) {
        const Status status = i % 4 == 3 ? back_up(db, i) : db.checkpoint();
        EXPECT_TRUE(status.ok() || allowed.allows(status)) << status.message();
        std::this_thread::yield();
      }
    });
    for (uint32_t s = 0; s < kSessions; ++s)
      threads.emplace_back([&, s] { run_session(db, s, 4, allowed, durability, &(*models)[s]); });
    for (std::thread& thread : threads) thread.join();
    done.store(true);
    keeper.join();
  }
  Status back_up(Database& db, uint32_t i) {
    const std::filesystem::path folder = folder_ / ("backup" + std::to_string(i));
    if (Status status = db.backup(folder); !status.ok()) return status;
    Status status;
    {
      auto opened = Database::open(options_for(folder));
      status = opened.ok() ? opened->verify() : opened.status();
    }
    std::filesystem::remove_all(folder);
    return status;
  }

  static void contents(Database& db, Rows* rows, Sums* sums) {
    Tables tables;
    ASSERT_OK(open_tables(db, &tables));
    read(db, [&](Transaction& txn) {
      rows->clear();
      for (uint32_t t = 0; t < kTables; ++t) {
        auto by_owner = db.index(tables.things[t], "by_owner");
        ASSERT_OK(by_owner);
        ASSERT_OK(txn.scan(*by_owner, KeyRange{}, ScanOptions{}, [&](Key key, const View<Thing>& view) {
          EXPECT_TRUE(rows->emplace(std::pair(t, key), *view).second);
          return true;
        }));
      }
      for (Key key = 0; key < kSums; ++key) {
        auto view = txn.get(tables.sums, key);
        ASSERT_OK(view);
        (*sums)[key] = **view;
      }
    });
  }
  // The database contains exactly what the sessions know. What a session was in doubt of may be
  // there or not.
  static void expect_contents(Database& db, const std::array<Model, kSessions>& models) {
    ASSERT_OK(db.verify());
    Rows found;
    Sums sums_found{};
    contents(db, &found, &sums_found);
    if (testing::Test::HasFatalFailure()) return;
    Sums expected{};
    for (uint32_t s = 0; s < kSessions; ++s) {
      Rows of_session;
      for (const auto& [place, thing] : found)
        if (place.second / 1000 == s) of_session.emplace(place, thing);
      const Model& model = models[s];
      const bool doubtful = of_session != model.rows && model.in_doubt.has_value();
      EXPECT_TRUE(of_session == (doubtful ? model.in_doubt->first : model.rows)) << "session " << s << (doubtful ? ", in doubt" : "");
      const Sums& sums = doubtful ? model.in_doubt->second : model.sums;
      for (Key key = 0; key < kSums; ++key) expected[key].sum += sums[key].sum, expected[key].count += sums[key].count;
    }
    const bool any_doubt = std::any_of(models.begin(), models.end(), [](const Model& model) { return model.in_doubt.has_value(); });
    if (!any_doubt) {  // no row shows whether additions in doubt took effect
      EXPECT_TRUE(expected == sums_found);
    }
    for (uint32_t t = 0; t < kTables; ++t) {
      std::map<uint64_t, Key> holders;
      for (const auto& [place, thing] : found)
        if (place.first == t) {
          EXPECT_TRUE(holders.emplace(thing.slot, place.second).second) << "slot " << thing.slot << " has two holders";
        }
    }
  }

  uint64_t seed_ = 1;
};

TEST_P(EverythingStressTest, IsThereAgainWhenItIsOpenedAgain) {
  std::array<Model, kSessions> models;
  for (uint32_t round = 0; round < rounds(); ++round, seed_ += 100) {
    Database db = open();
    if (round != 0) expect_contents(db, models);
    run_all(db, {}, round % 2 == 0 ? Durability::kAsync : Durability::kGroup, &models);
    expect_contents(db, models);
    if (HasFailure()) FAIL() << "seed " << seed_;
  }
  Database db = open();
  expect_contents(db, models);
}

TEST_P(EverythingStressTest, LosesNothingWithLittleMemory) {
  options_.memory_limit_bytes = 4u << 20;
  std::array<Model, kSessions> models;
  for (uint32_t round = 0; round < rounds(); ++round, seed_ += 100) {
    Database db = open();
    run_all(db, {.memory_limit = true}, Durability::kAsync, &models);
    if (HasFailure()) FAIL() << "seed " << seed_;
  }
  options_.memory_limit_bytes = 64u << 20;
  Database db = open();
  expect_contents(db, models);
}

TEST_P(EverythingStressTest, KeepsWhatWasAcknowledgedBeforeTheDiskWasFull) {
  FaultyFiles files(io::system_files());
  const io::SubstituteFiles substitute(files);
  std::array<Model, kSessions> models;
  for (uint32_t round = 0; round < rounds(); ++round, seed_ += 100) {
    for (Model& model : models) model.in_doubt.reset();
    {
      Database db = open();
      Rows rows;
      Sums sums;
      contents(db, &rows, &sums);  // the tables are there
      std::atomic<uint64_t> room{50 + seed_ % 7 * 40};  // writes of the log
      files.plan([&](FileCall call, const std::string& path) -> Fault {
        if (call != FileCall::kWrite || path.find("/log-") == std::string::npos) return {};
        return room.load() == 0 ? Fault{ENOSPC, 100} : (--room, Fault{});
      });
      run_all(db, {.disk = true}, Durability::kGroup, &models);
    }
    files.plan(nullptr);
    Database db = open();
    expect_contents(db, models);
    if (HasFailure()) FAIL() << "seed " << seed_;
    // What was in doubt is known now.
    Rows rows;
    Sums sums{};
    contents(db, &rows, &sums);
    for (uint32_t s = 0; s < kSessions; ++s) {
      models[s].rows.clear();
      for (const auto& [place, thing] : rows)
        if (place.second / 1000 == s) models[s].rows.emplace(place, thing);
      models[s].sums = s == 0 ? sums : Sums{};
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, EverythingStressTest, testing::ValuesIn(racing_combinations()), combination_name);

}  // namespace
}  // namespace elider::test
