// Cycle: the steps that every image of a crash goes through, whichever test wrote the database.
//
// The database is recovered, recovered again, written to with a `group` commit and, on request, a
// checkpoint, and recovered once more. It is verified each time. files::check (`elider check`)
// checks it before the first recovery and after the last. The caller judges the first state, and
// the other states follow from it. crash_again() does the same with images of crashes during these
// steps.
// Thread safety: one thread at a time, and one Cycle per process, because it substitutes the
// system's files.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "elider/elider.h"
#include "elider/files.h"
#include "tests/support/memory_files.h"
#include "tests/crash/images.h"

namespace elider::crash {

// A database as a test sees it. State: the contents of its rows, or a value that distinguishes two
// such contents.
template <class State>
struct Subject {
  std::vector<std::string> folders;
  std::function<Options(bool threads)> options;    // threads: as a server would, with all of its threads
  std::function<Status(Database&, State*)> read;   // also fails if an invariant of every state is violated
  std::function<Status(Database&, State*)> write;  // durable when it returns; updates the state
  std::function<std::string(const State& expected, const State& found)> difference;  // empty: none
};

template <class State>
class Cycle {
 public:
  using Contents = io::MemoryFiles::Contents;
  // Returns an empty text, or why the state is not allowed.
  using Judge = std::function<std::string(const State&)>;

  struct How {
    bool threads = false;     // the first recovery uses them
    bool checkpoint = false;  // a checkpoint is taken after the writing
    bool damaged = false;     // not from a crash: opening may refuse it, and files::check also files that opening does not need
  };
  struct Outcome {
    bool refused = false;  // then the other fields are not set
    State first, after;    // the state as recovered, and after the writing
    size_t written_at = 0;  // the number of calls up to the end of the writing
  };

  explicit Cycle(Subject<State> subject) : subject_(std::move(subject)) {}

  // The number of images that crash_again() has checked.
  uint64_t images_again() const { return images_again_; }
  // The number of calls of files::check.
  uint64_t files_checked() const { return files_checked_; }

  // Checks an image, whose files are `files`. Returns an empty text, or what is wrong.
  std::string run(io::MemoryFiles& files, const How& how, const Judge& judge, Outcome* outcome) {
    const io::SubstituteFiles substitute(files);
    *outcome = {};
    Status checked, opened;
    if (std::string wrong = check_files(files, how, &checked); !wrong.empty()) return wrong;
    std::string wrong = recover(subject_.options(how.threads), &outcome->first, &opened);
    if (how.damaged && is_refusal(opened)) {
      outcome->refused = true;
      if (!names_a_file(opened)) return "refused with other words: " + opened.message();
      return checked.ok() && is_database(files) ? "files::check accepts what opening refuses: " + opened.message() : "";
    }
    if (!wrong.empty()) return "recovered: " + wrong;
    if (wrong = judge(outcome->first); !wrong.empty()) return wrong;
    outcome->after = outcome->first;
    if (wrong = write(how, files, outcome); !wrong.empty()) return wrong;
    State third;
    wrong = recover(subject_.options(false), &third, &opened);
    if (wrong.empty()) wrong = subject_.difference(outcome->after, third);
    if (wrong.empty()) wrong = check_files(files, how, &checked);
    return wrong.empty() ? "" : "recovered after writing: " + wrong;
  }

  // Crashes at every call that run() made on `before`. The recovered state must be the old one, or
  // the one that was written.
  std::string crash_again(const Contents& before, const std::vector<io::MemoryFiles::Call>& calls, const Outcome& done, Random& random) {
    io::CrashDisk disk(before);
    SeenImages seen;
    for (size_t count = 0; count <= calls.size(); ++count) {
      if (count != 0) disk.apply(calls[count - 1]);
      const bool written = count >= done.written_at;
      const Judge judge = [&](const State& state) -> std::string {
        if (subject_.difference(done.after, state).empty()) return "";
        std::string wrong = subject_.difference(done.first, state);
        return wrong.empty() && written ? "an acknowledged transaction is lost" : wrong;
      };
      std::string wrong = for_each_image(disk, random, [&](Contents image) -> std::string {
        if (!seen.add(image, written)) return "";
        ++images_again_;
        io::MemoryFiles files(std::move(image));
        Outcome outcome;
        return run(files, {}, judge, &outcome);
      });
      if (!wrong.empty()) return "a crash in its recovery after call " + std::to_string(count) + ": " + wrong;
    }
    return "";
  }

 private:
  bool names_a_file(const Status& status) const {
    const auto is_named = [&](const std::string& folder) { return status.message().find("'" + folder) != std::string::npos; };
    return std::ranges::any_of(subject_.folders, is_named);
  }
  static bool is_refusal(const Status& status) {
    return status.code() == Code::kCorrupt || status.code() == Code::kUnsupported || status.code() == Code::kInvalidArgument;
  }
  // A folder without a manifest is not a database.
  bool is_database(const io::MemoryFiles& files) const { return files.contents().contains(subject_.folders[0] + "/MANIFEST"); }

  // `elider check` does not report the result of a crash as damage, and it does not change any
  // file. *checked: its status.
  std::string check_files(const io::MemoryFiles& files, const How& how, Status* checked) {
    *checked = {};
    if (!is_database(files)) return "";
    const size_t calls = files.call_count();
    files::Checked report;
    *checked = files::check(subject_.folders, {}, &report);
    ++files_checked_;
    if (files.call_count() != calls) return "files::check changed a file";
    return checked->ok() || (how.damaged && names_a_file(*checked)) ? "" : "files::check: " + checked->message();
  }

  // Opens the substituted files, verifies the database and reads it. *opened: the status of opening
  // alone.
  std::string recover(const Options& options, State* state, Status* opened) {
    auto db = Database::open(options);
    *opened = db.ok() ? Status() : db.status();
    return db.ok() ? look(*db, state) : opened->message();
  }
  std::string look(Database& db, State* state) {
    if (Status status = db.verify(); !status.ok()) return "verify: " + status.message();
    Status status = subject_.read(db, state);
    return status.ok() ? "" : status.message();
  }

  // Recovers the database a second time, and writes to it.
  std::string write(const How& how, const io::MemoryFiles& files, Outcome* outcome) {
    auto db = Database::open(subject_.options(false));
    if (!db.ok()) return "recovered again: " + db.status().message();
    State second;
    std::string wrong = look(*db, &second);
    if (wrong.empty()) wrong = subject_.difference(outcome->first, second);
    if (!wrong.empty()) return "recovered again: " + wrong;
    if (Status status = subject_.write(*db, &outcome->after); !status.ok()) return "written to: " + status.message();
    outcome->written_at = files.call_count();
    if (!how.checkpoint) return "";
    Status status = db->checkpoint();
    return status.ok() ? "" : "its checkpoint: " + status.message();
  }

  const Subject<State> subject_;
  uint64_t images_again_ = 0;
  uint64_t files_checked_ = 0;
};

}  // namespace elider::crash
