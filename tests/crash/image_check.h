// ImageCheck: opens the image of a crash and says whether what comes back is allowed.
//
// Each image is recovered, recovered again, written to with a `group` commit (and some with a checkpoint), and recovered
// once more; the database is verified each time, and looked at by files::check (`elider check`) before the first and after
// the last recovery. `nested`: and crashes while that is done, with the same demands.
// Thread safety: one thread at a time, and one ImageCheck a process: it substitutes the system's files.
#pragma once

#include "elider/files.h"
#include "log/crash_disk.h"
#include "tests/crash/recorder.h"
#include "tests/crash/story.h"

namespace elider::crash {

// Recovers with little memory; `threads`: as a server would, with all of its threads.
inline Options recovery_options(const RunShape& shape, bool threads = false) {
  Options options = base_options(shape);
  options.memory_limit_bytes = 4u << 20;
  if (!threads) options.sync = SyncPolicy::kSingleThreaded;
  options.workers_max = 6;
  options.recovery_threads = threads ? 3 : 1;
  options.log_threads = 1;
  return options;
}

class ImageCheck {
 public:
  using Contents = log::MemoryFiles::Contents;

  ImageCheck(const RunShape& shape, const Story& story) : shape_(shape), story_(story) {}

  // Images looked at so far, those of crashes while others were recovered included.
  uint64_t images() const { return images_; }
  // How often files::check was asked.
  uint64_t files_checked() const { return files_checked_; }

  // Empty, or what is wrong. `calls`: how many the crash came after. *state: what was recovered.
  std::string check(Contents image, size_t calls, bool nested, State* state = nullptr) {
    ++images_;
    const Contents before = nested ? image : Contents();
    log::MemoryFiles files(std::move(image));
    const log::SubstituteFiles substitute(files);
    State first, second, third;
    if (std::string wrong = check_files(files); !wrong.empty()) return wrong;
    if (std::string wrong = recover(&first, images_ % 16 == 0); !wrong.empty()) return "recovered: " + wrong;
    if (std::string wrong = story_.judge(first, calls); !wrong.empty()) return wrong;
    State after = first;
    size_t written_at = 0;
    {
      Options options = recovery_options(shape_);
      auto db = Database::open(options);
      if (!db.ok()) return "recovered again: " + db.status().message();
      if (Status status = read_state(*db, &second); !status.ok()) return status.message();
      if (std::string wrong = difference(first, second); !wrong.empty()) return "recovered again: " + wrong;
      if (Status status = write_more(*db, &after); !status.ok()) return "written to: " + status.message();
      written_at = files.call_count();
      if (shape_.checkpoints && images_ % 4 == 0)
        if (Status status = db->checkpoint(); !status.ok()) return "its checkpoint: " + status.message();
    }
    if (std::string wrong = recover(&third, false); !wrong.empty()) return "recovered after writing: " + wrong;
    if (std::string wrong = difference(after, third); !wrong.empty()) return "recovered after writing: " + wrong;
    if (std::string wrong = check_files(files); !wrong.empty()) return "recovered after writing: " + wrong;
    if (state != nullptr) *state = first;
    return nested ? check_nested(before, files.calls(), first, after, written_at) : "";
  }

  // Of an image that no crash leaves, because files are missing or stand there twice: it is refused in words that name one,
  // or what comes back holds all that had been acknowledged after `calls` calls. *refused: whether it was.
  std::string check_misplaced(Contents image, size_t calls, bool* refused) {
    ++images_;
    log::MemoryFiles files(std::move(image));
    const log::SubstituteFiles substitute(files);
    auto db = Database::open(recovery_options(shape_));
    *refused = !db.ok();
    if (*refused) {
      const Status status = db.status();
      const bool fits = status.code() == Code::kCorrupt || status.code() == Code::kUnsupported || status.code() == Code::kInvalidArgument;
      return fits && status.message().find("'d") != std::string::npos ? "" : "refused with other words: " + status.message();
    }
    State state;
    if (Status status = db->verify(); !status.ok()) return "verify: " + status.message();
    if (Status status = read_state(*db, &state); !status.ok()) return status.message();
    return story_.judge(state, calls);
  }

 private:
  // What a crash left is no damage to `elider check` either, and it changes nothing. Without a manifest there is no database.
  std::string check_files(const log::MemoryFiles& disk) {
    if (!disk.contents().contains("d0/MANIFEST")) return "";
    const size_t calls = disk.call_count();
    files::Checked report;
    if (Status status = files::check(folders_of(shape_.folders), {}, &report); !status.ok()) return "files::check: " + status.message();
    ++files_checked_;
    return disk.call_count() == calls ? "" : "files::check changed a file";
  }

  // Opens what is substituted, verifies and reads it.
  std::string recover(State* state, bool threads) {
    auto db = Database::open(recovery_options(shape_, threads));
    if (!db.ok()) return db.status().message();
    if (Status status = db->verify(); !status.ok()) return "verify: " + status.message();
    if (Status status = read_state(*db, state); !status.ok()) return status.message();
    return "";
  }

  // A transaction upon rows that were there and rows that were not; `state` follows.
  static Status write_more(Database& db, State* state) {
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

  // Crashes at every call that the recovery and the writing made: the state stays, or is the one that was written.
  std::string check_nested(const Contents& before, const std::vector<log::MemoryFiles::Call>& calls, const State& first, const State& after,
                           size_t written_at) {
    log::CrashDisk disk(before);
    for (size_t count = 0; count <= calls.size(); ++count) {
      if (count != 0) disk.apply(calls[count - 1]);
      const size_t unsure = disk.unsure();
      for (size_t choice = 0; choice < (unsure == 0 ? 1 : 4); ++choice) {
        ++images_;
        const auto happened = [&] { return choice == 0 || (choice > 1 && random_.one_in(2)); };
        log::MemoryFiles files(disk.image(happened));
        const log::SubstituteFiles substitute(files);
        State state;
        const std::string at = "a crash in its recovery after call " + std::to_string(count) + ": ";
        if (std::string wrong = recover(&state, false); !wrong.empty()) return at + wrong;
        if (difference(after, state).empty()) continue;
        if (std::string wrong = difference(first, state); !wrong.empty()) return at + wrong;
        if (count >= written_at) return at + "an acknowledged transaction is lost";
      }
    }
    return "";
  }

  const RunShape shape_;
  const Story& story_;
  Random random_{1};
  uint64_t images_ = 0;
  uint64_t files_checked_ = 0;
};

}  // namespace elider::crash
