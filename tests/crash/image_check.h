// ImageCheck: opens the image of a crash during a Recorder's run, and decides whether the recovered
// state is allowed (cycle.h).
//
// Thread safety: one thread at a time, and one ImageCheck per process, because it substitutes the
// system's files.
#pragma once

#include "tests/crash/cycle.h"
#include "tests/crash/recorder.h"
#include "tests/crash/story.h"
#include "tests/support/compiled.h"

namespace elider::crash {

// Recovers with little memory. `threads`: with as many threads as a server would use.
inline Options recovery_options(const RunShape& shape, bool threads = false) {
  Options options = base_options(shape);
  options.memory_limit_bytes = 4u << 20;
  if (!threads) options.sync = SyncPolicy::kSingleThreaded;
  options.workers_max = 6;
  options.recovery_threads = threads ? 3 : 1;
  options.log_threads = 1;
  return test::with_compiled_engine(options);
}

// Removes the rows of session 1 that a table of byte or tuple keys has, and inserts the others.
template <class KeyType, class KeyOf>
Status write_words(Transaction& txn, Database& db, uint32_t id, KeyOf&& key_of, State* state) {
  const auto table = db.table<Word, KeyType>(table_name(id));
  if (!table.ok()) return table.status().not_found() ? Status() : table.status();
  for (uint64_t i = 0; i < kItemsOfSession; ++i) {
    const Key number = item_key(1, i);
    const uint64_t place = place_of(id, number);
    const Word word{1000, 17};
    Status status = state->contains(place) ? txn.remove(*table, key_of(number)) : txn.insert(*table, key_of(number), word);
    if (!status.ok()) return status;
    if (!state->erase(place)) (*state)[place] = bytes_of(word);
  }
  return {};
}

// Removes and inserts rows of session 1 in a table whose rows are encoded.
template <class Encoded, class Row>
Status write_encoded(Transaction& txn, const Result<Encoded>& table, uint32_t id, const Row& row, State* state) {
  if (!table.ok()) return table.status().not_found() ? Status() : table.status();
  for (uint64_t i = 0; i < kItemsOfSession; ++i) {
    const Key key = item_key(1, i);
    const uint64_t place = place_of(id, key);
    Status status = state->contains(place) ? txn.remove(*table, key) : txn.insert(*table, key, row);
    if (!status.ok()) return status;
    if (!state->erase(place)) (*state)[place] = encoded_bytes_of(*table, row);
  }
  return {};
}

// Runs a transaction on rows that exist and rows that do not. Updates `state`.
inline Status write_more(Database& db, State* state) {
  auto tables = create_tables(db);
  if (!tables.ok()) return tables.status();
  const Key progress_key = 1000;
  RunPolicy policy;
  policy.durability = Durability::kGroup;
  const State before = *state;
  return db.run([&](Transaction& txn) -> Status {
    *state = before;
    const Progress progress{1, 2};
    if (Status status = txn.put(tables->progress, progress_key, progress); !status.ok()) return status;
    (*state)[place_of(TableId::kProgress, progress_key)] = bytes_of(progress);
    for (uint64_t i = 0; i < kItemsOfSession; ++i) {
      const Key key = item_key(1, i);
      const uint64_t place = place_of(TableId::kItems, key);
      Item item{1000, {}};
      item.text.fill('z');
      Status status = state->contains(place) ? txn.remove(tables->items, key) : txn.insert(tables->items, key, item);
      if (!status.ok()) return status;
      if (!state->erase(place)) (*state)[place] = bytes_of(item);
    }
    for (uint32_t id = kFirstWords; id < kTupleTable; ++id)
      if (Status status = write_words<std::string_view>(txn, db, id, text_key, state); !status.ok()) return status;
    if (Status status = write_words<TupleKey>(txn, db, kTupleTable, tuple_key, state); !status.ok()) return status;
    const auto opened = [&](uint32_t id, const auto& rows) {
      const auto table = db.table(table_name(id));
      return table.ok() ? rows.open(*table) : table.status();
    };
    const Note note{1000, "z", "z"};
    if (Status status = write_encoded(txn, opened(kNotes, note_rows()), kNotes, note, state); !status.ok()) return status;
    if (Status status = write_encoded(txn, opened(kValues, value_schema()), kValues, Bytes("z"), state); !status.ok()) return status;
    for (Key key = 0; key < kHotRows; ++key) {
      const auto row = state->find(place_of(TableId::kHot, key));
      if (row == state->end()) continue;
      Hot hot = row_of<Hot>(row->second);
      ++hot.count;
      row->second = bytes_of(hot);
      if (Status status = txn.add(tables->hot, key, &Hot::count, 1); !status.ok()) return status;
    }
    const auto row = state->find(place_of(TableId::kAccounts, 0));
    if (row == state->end()) return {};
    Account account = row_of<Account>(row->second);
    account.branch += 17;
    row->second = bytes_of(account);
    return txn.put(tables->accounts, 0, account);
  }, policy);
}

inline Subject<State> subject_of(const RunShape& shape, const std::vector<std::string>& folders) {
  const auto options = [shape, folders](bool threads) {
    Options chosen = recovery_options(shape, threads);
    chosen.data_folders = folders;
    chosen.checkpoint_threads = static_cast<uint32_t>(folders.size());
    return chosen;
  };
  return {folders, options, read_state, write_more, difference};
}

class ImageCheck {
 public:
  using Contents = io::MemoryFiles::Contents;

  ImageCheck(const RunShape& shape, const Story& story)
      : shape_(shape), story_(story), cycle_(subject_of(shape, folders_of(shape.folders))) {}

  // The number of images that were checked, including those of crashes during other recoveries.
  uint64_t images() const { return images_ + cycle_.images_again(); }
  uint64_t files_checked() const { return cycle_.files_checked(); }

  // Returns an empty text, or what is wrong. `calls`: the number of calls before the crash. *state:
  // the recovered state.
  std::string check(Contents image, size_t calls, bool nested, State* state = nullptr) {
    ++images_;
    const Contents before = nested ? image : Contents();
    io::MemoryFiles files(std::move(image));
    Cycle<State>::Outcome outcome;
    const Cycle<State>::How how{.threads = images_ % 16 == 0, .checkpoint = shape_.checkpoints && images_ % 4 == 0};
    std::string wrong = cycle_.run(files, how, [&](const State& first) { return story_.judge(first, calls); }, &outcome);
    if (state != nullptr) *state = outcome.first;
    return nested && wrong.empty() ? cycle_.crash_again(before, files.calls(), outcome, random_) : wrong;
  }

  // Checks an image that no crash leaves, because files are missing or duplicated. Opening either
  // refuses it with a message that names such a file, or recovers everything that had been
  // acknowledged after `calls` calls. *refused: whether it refused.
  std::string check_misplaced(Contents image, size_t calls, bool* refused) {
    ++images_;
    io::MemoryFiles files(std::move(image));
    Cycle<State>::Outcome outcome;
    std::string wrong = cycle_.run(files, {.damaged = true}, [&](const State& first) { return story_.judge(first, calls); }, &outcome);
    *refused = outcome.refused;
    return wrong;
  }

 private:
  const RunShape shape_;
  const Story& story_;
  Cycle<State> cycle_;
  Random random_{1};
  uint64_t images_ = 0;
};

}  // namespace elider::crash
