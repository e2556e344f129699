// Random transactions compared with the model. In one thread, commits are the serial order, so:
//
//   - what a committed transaction was answered must be what the model answers when the same
//     operations are applied at the moment of the commit (even if other transactions committed
//     since the transaction began: that is serializability); one that changed nothing may have its
//     place anywhere between its begin and its commit;
//   - what a read-only transaction is answered must be what a copy of the model, taken at its
//     begin, answers;
//   - with one writer at a time, no transaction may conflict, and a rolled back one saw the model
//     too.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/described_side.h"
#include "tests/model/engine_side.h"

namespace elider::test {
namespace {

constexpr uint32_t kTables = 3;

// Conflict, or what follows from one: the transaction can only be rolled back.
bool ended_by_conflict(const Outcome& outcome) { return outcome.code == Code::kConflict; }

class ModelTest : public DatabaseTest {
 protected:
  struct Writer {
    ActiveTransaction txn;
    std::vector<std::pair<Operation, Outcome>> done;
    std::vector<std::shared_ptr<const Model>> since_begin;  // what other commits left behind, one by one
    bool conflicted = false;
    bool changed_nothing() const {
      return std::none_of(done.begin(), done.end(),
                          [](const auto& step) { return !step.first.reading() && step.second.code == Code::kOk; });
    }
  };
  struct Reader {
    ActiveTransaction txn;
    std::unique_ptr<Model> then;
  };

  void start(const Options& options, const OperationMix& mix) {
    reopen(options);
    mix_ = mix;
    mix_.tables = kTables;
    mix_.ordered = GetParam().ordered();
    if (described_) engine_ = std::make_unique<DescribedSide>(db_, GetParam().key_index, kTables);
    else if (keys_ == Keys::kBytes) engine_ = std::make_unique<EngineSideOf<std::string_view>>(db_, GetParam().key_index, kTables);
    else if (keys_ == Keys::kTuples) engine_ = std::make_unique<EngineSideOf<NumberTuple>>(db_, GetParam().key_index, kTables);
    else engine_ = std::make_unique<EngineSideOf<Key>>(db_, GetParam().key_index, kTables);
    model_ = std::make_unique<Model>(kTables);
  }

  void step(Writer& writer) {
    const Operation operation = random_operation(random_, mix_, false);
    const Outcome outcome = engine_->apply(*writer.txn, operation);
    if (ended_by_conflict(outcome)) writer.conflicted = true;
    else writer.done.emplace_back(operation, outcome);
  }

  // The model must answer as the engine did. The changes stay in `model`.
  static void replay(const Writer& writer, Model& model, const char* what) {
    for (size_t i = 0; i < writer.done.size(); ++i) {
      const auto& [operation, seen] = writer.done[i];
      const Outcome expected = model.apply(operation);
      ASSERT_EQ(seen, expected) << what << ", operation " << i << " of these:\n" << story_of(writer);
    }
  }
  static std::string story_of(const Writer& writer) {
    std::ostringstream story;
    for (const auto& [operation, seen] : writer.done) story << "  " << operation << " -> " << name_of(seen.code) << '\n';
    return story.str();
  }

  static bool fits(const Writer& writer, Model model) {
    return std::all_of(writer.done.begin(), writer.done.end(), [&](const auto& step) { return model.apply(step.first) == step.second; });
  }

  // Ends the writer. Returns whether it committed.
  bool finish(Writer& writer, bool others_are_open) {
    if (writer.conflicted || random_.percent(20)) {
      writer.txn.rollback();
      if (others_are_open) return false;  // it may have seen what no moment held
      Model copy = *model_;
      replay(writer, copy, "rolled back");
      return false;
    }
    const Status status = writer.txn.commit();
    if (status.ok()) {
      if (writer.changed_nothing())
        for (const auto& state : writer.since_begin)
          if (fits(writer, *state)) return true;
      replay(writer, *model_, "committed");
      return true;
    }
    EXPECT_CODE(Code::kConflict, status);
    EXPECT_TRUE(others_are_open || (own_splits_are_phantoms && status.cause() == Cause::kPhantom))
        << "a conflict without another transaction: " << status.message();
    return false;
  }

  void check(Reader& reader) {
    const Operation operation = random_operation(random_, mix_, true);
    ASSERT_EQ(engine_->apply(*reader.txn, operation), reader.then->apply(operation)) << "snapshot: " << operation;
  }

  Reader open_reader() { return {begin_read_only(db_), std::make_unique<Model>(*model_)}; }

  void check_counts() {
    ASSERT_OK(db_.verify());
    const Statistics statistics = db_.statistics();
    ASSERT_EQ(statistics.tables.size(), kTables);
    for (uint32_t t = 0; t < kTables; ++t) ASSERT_EQ(statistics.tables[t].rows, model_->rows(t)) << statistics.tables[t].name;
  }

  // One writer at a time; readers stay open meanwhile where the combination allows it.
  void run_one_writer(uint64_t transactions, size_t readers_max) {
    if (!GetParam().concurrent()) readers_max = 0;
    std::vector<Reader> readers;
    for (uint64_t i = 0; i < transactions && !HasFatalFailure(); ++i) {
      Writer writer{begin(db_), {}, {}, false};
      for (uint64_t count = random_.below(12); count > 0 && !writer.conflicted; --count) {
        step(writer);
        if (!readers.empty() && random_.percent(20)) check(readers[random_.below(readers.size())]);
      }
      EXPECT_FALSE(writer.conflicted) << "a conflict without another transaction";
      finish(writer, false);
      if (readers.size() < readers_max && random_.percent(30)) readers.push_back(open_reader());
      if (!readers.empty() && random_.percent(30)) {
        const size_t chosen = random_.below(readers.size());
        for (int reads = 0; reads < 5 && !HasFatalFailure(); ++reads) check(readers[chosen]);
        readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
      if (readers.empty() && random_.percent(3)) db_.collect_garbage();
      if (readers.empty() && random_.percent(1)) check_counts();
    }
    readers.clear();
    if (!HasFatalFailure()) check_counts();
  }

  // Several writers take turns at each operation. Returns {commits, conflicts}.
  std::pair<uint64_t, uint64_t> run_interleaved(uint64_t steps, size_t open_max) {
    std::vector<Writer> writers;
    std::vector<Reader> readers;
    uint64_t commits = 0, ended = 0;
    for (uint64_t i = 0; i < steps && !HasFatalFailure(); ++i) {
      if (writers.size() < open_max && random_.percent(40)) writers.push_back({begin(db_), {}, {}, false});
      if (readers.size() < 3 && random_.percent(5)) readers.push_back(open_reader());
      if (!readers.empty() && random_.percent(20)) check(readers[random_.below(readers.size())]);
      if (!readers.empty() && random_.percent(5)) readers.erase(readers.begin());
      if (writers.empty()) continue;
      const size_t chosen = random_.below(writers.size());
      if (!writers[chosen].conflicted && !random_.percent(20)) {
        step(writers[chosen]);
        continue;
      }
      Writer ending = std::move(writers[chosen]);
      writers.erase(writers.begin() + static_cast<std::ptrdiff_t>(chosen));
      const auto before = std::make_shared<const Model>(*model_);
      const bool committed = finish(ending, true);
      if (committed && !ending.changed_nothing())
        for (Writer& writer : writers) writer.since_begin.push_back(before);
      commits += committed;
      ++ended;
    }
    for (Writer& writer : writers) writer.txn.rollback();
    readers.clear();
    if (!HasFatalFailure()) check_counts();
    return {commits, ended - commits};
  }

  enum class Keys { kNumbers, kBytes, kTuples };
  Keys keys_ = Keys::kNumbers;
  bool described_ = false;  // described rows and structs with text, whose sizes change
  TestRandom random_;
  OperationMix mix_;
  std::unique_ptr<EngineSide> engine_;
  std::unique_ptr<Model> model_;
};
ELIDER_ON_EVERY(ModelTest);

class InterleavedModelTest : public ModelTest {};
ELIDER_ON_CONCURRENT(InterleavedModelTest);

TEST_P(ModelTest, FewKeysOneWriter) {
  start({}, {});
  run_one_writer(scaled(1500), 6);
}

TEST_P(ModelTest, FewKeysOneWriterRowsAsBlocks) {
  Options options;
  options.block_threshold_bytes = 64;
  start(options, {});
  run_one_writer(scaled(1500), 6);
}

TEST_P(ModelTest, ManyKeysOneWriter) {
  start({}, {.keys = 3000, .branches = 300, .owners = 20'000, .reading_percent = 15});
  run_one_writer(scaled(1200), 3);
}

TEST_P(ModelTest, TwoKeysOneWriterManySnapshots) {
  start({}, {.keys = 2, .branches = 2, .owners = 3, .reading_percent = 20});
  run_one_writer(scaled(1500), 30);
}

TEST_P(InterleavedModelTest, FewKeysSeveralWriters) {
  start({}, {});
  const auto [commits, conflicts] = run_interleaved(scaled(15'000), 4);
  EXPECT_GT(commits, 0u);
  EXPECT_GT(conflicts, 0u);
}

TEST_P(InterleavedModelTest, FewKeysSeveralWritersRowsAsBlocks) {
  Options options;
  options.block_threshold_bytes = kBlockThresholdMin;  // every row, however small
  start(options, {});
  run_interleaved(scaled(15'000), 4);
}

TEST_P(InterleavedModelTest, ManyKeysSeveralWritersMostlyCommit) {
  start({}, {.keys = 4000, .branches = 4000, .owners = 1'000'000, .reading_percent = 30});
  const auto [commits, conflicts] = run_interleaved(scaled(10'000), 3);
  EXPECT_GT(commits, 0u);
}

TEST_P(InterleavedModelTest, TwoKeysTwoWriters) {
  start({}, {.keys = 2, .branches = 2, .owners = 3});
  run_interleaved(scaled(15'000), 2);
}

// Runs the programs with byte keys: the empty key, keys with long shared prefixes, keys with the
// same first 8 bytes, and keys of up to 1,024 bytes.
class ByteModelTest : public ModelTest {
 protected:
  ByteModelTest() { keys_ = Keys::kBytes; }
};
INSTANTIATE_TEST_SUITE_P(On, ByteModelTest, testing::ValuesIn(combinations_of_byte_keys(false)), combination_name);

class InterleavedByteModelTest : public ByteModelTest {};
INSTANTIATE_TEST_SUITE_P(On, InterleavedByteModelTest, testing::ValuesIn(combinations_of_byte_keys(true)), combination_name);

TEST_P(ByteModelTest, FewKeysOneWriter) {
  start({}, {});
  run_one_writer(scaled(1000), 6);
}

TEST_P(ByteModelTest, ManyKeysOneWriterRowsAsBlocks) {
  Options options;
  options.block_threshold_bytes = 64;
  start(options, {.keys = 2000, .branches = 300, .owners = 20'000, .reading_percent = 15});
  run_one_writer(scaled(800), 3);
}

TEST_P(InterleavedByteModelTest, FewKeysSeveralWriters) {
  start({}, {});
  const auto [commits, conflicts] = run_interleaved(scaled(10'000), 4);
  EXPECT_GT(commits, 0u);
  EXPECT_GT(conflicts, 0u);
}

// Runs random programs with tuple keys.
class TupleModelTest : public ModelTest {
 protected:
  TupleModelTest() { keys_ = Keys::kTuples; }
};
INSTANTIATE_TEST_SUITE_P(On, TupleModelTest, testing::ValuesIn(combinations_of_byte_keys(false)), combination_name);

class InterleavedTupleModelTest : public TupleModelTest {};
INSTANTIATE_TEST_SUITE_P(On, InterleavedTupleModelTest, testing::ValuesIn(combinations_of_byte_keys(true)), combination_name);

TEST_P(TupleModelTest, FewKeysOneWriter) {
  start({}, {});
  run_one_writer(scaled(1000), 6);
}

TEST_P(InterleavedTupleModelTest, FewKeysSeveralWriters) {
  start({}, {});
  const auto [commits, conflicts] = run_interleaved(scaled(5'000), 4);
  EXPECT_GT(commits, 0u);
  EXPECT_GT(conflicts, 0u);
}

TEST_P(InterleavedByteModelTest, TwoKeysTwoWriters) {
  start({}, {.keys = 2, .branches = 2, .owners = 3});
  run_interleaved(scaled(10'000), 2);
}

// Runs the programs with described rows that grow and shrink, and with structs that contain text.
class DescribedModelTest : public ModelTest {
 protected:
  DescribedModelTest() { described_ = true; }
};
ELIDER_ON_EVERY(DescribedModelTest);

class InterleavedDescribedModelTest : public DescribedModelTest {};
ELIDER_ON_CONCURRENT(InterleavedDescribedModelTest);

TEST_P(DescribedModelTest, FewKeysOneWriter) {
  start({}, {});
  run_one_writer(scaled(800), 6);
}

TEST_P(DescribedModelTest, ManyKeysOneWriterRowsAsBlocks) {
  Options options;
  options.block_threshold_bytes = 64;
  start(options, {.keys = 2000, .branches = 300, .owners = 20'000, .reading_percent = 15});
  run_one_writer(scaled(600), 3);
}

TEST_P(InterleavedDescribedModelTest, FewKeysSeveralWriters) {
  start({}, {});
  const auto [commits, conflicts] = run_interleaved(scaled(6'000), 4);
  EXPECT_GT(commits, 0u);
  EXPECT_GT(conflicts, 0u);
}

TEST_P(InterleavedDescribedModelTest, TwoKeysTwoWriters) {
  start({}, {.keys = 2, .branches = 2, .owners = 3});
  run_interleaved(scaled(6'000), 2);
}

#if ELIDER_TEST_POINTS
// Runs random programs with byte keys of which many have equal hashes.
class EqualHashModelTest : public ByteModelTest {
  FewHashes few_{3};
};
INSTANTIATE_TEST_SUITE_P(On, EqualHashModelTest, testing::ValuesIn(combinations_of_hashed_byte_keys(false)), combination_name);

class InterleavedEqualHashModelTest : public EqualHashModelTest {};
INSTANTIATE_TEST_SUITE_P(On, InterleavedEqualHashModelTest, testing::ValuesIn(combinations_of_hashed_byte_keys(true)), combination_name);

TEST_P(EqualHashModelTest, FewKeysOneWriter) {
  start({}, {});
  run_one_writer(scaled(1000), 6);
}

TEST_P(InterleavedEqualHashModelTest, FewKeysSeveralWriters) {
  start({}, {});
  const auto [commits, conflicts] = run_interleaved(scaled(5'000), 4);
  EXPECT_GT(commits, 0u);
}
#endif

}  // namespace
}  // namespace elider::test
