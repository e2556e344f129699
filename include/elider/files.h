// Files: looking at, copying and mending the files of a database that nobody has open: what
// the command line's tools do.
//
// They need no schemas: tables and columns are in the files. The key functions of secondary indexes
// are not, so these functions pass by such indexes; opening the database with its schemas builds
// them again.
//
// They refuse a folder that a database has open, and a database cannot open a folder while one of
// these functions reads it (kInvalidArgument). Functions that only read can share a folder: check,
// recover with dry_run, backup, restore, verify_log, dump_log, logged_tables. The last two do not
// lock anything for a single file. Folders are opened once, so a relative path has the meaning that
// it has at the call.
// Messages have the absolute path of the file, and the offset. `folders` are as
// Options::data_folders. All may return kIoError, which names the file, and kMemoryLimit: the heap
// has no room. Every pointer to a report, or to another result, may be null: the result is
// then discarded.
// Thread safety: all functions may be called from any thread.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "elider/function_ref.h"
#include "elider/recovery.h"
#include "elider/schema.h"
#include "elider/snapshot_number.h"
#include "elider/statistics.h"
#include "elider/status.h"

namespace elider::files {

using Folders = std::vector<std::string>;
using Tell = std::function<void(const RecoveryProgress&)>;  // now and then; may be empty
inline constexpr SnapshotNumber kNewest = ~uint64_t{0};

// Recovers the state after number `to_snapshot`, as opening does; with dry_run nothing in the
// folders changes, else what a crash left is cut off, and what is behind that number is gone
// for good.
//   kInvalidArgument  the files do not hold that state; the message says which they hold
//   kCorrupt          they are damaged
Status recover(const Folders& folders, SnapshotNumber to_snapshot, bool dry_run, const Tell& tell, Recovery* report);

// Takes a checkpoint: afterwards opening reads no log.
Status checkpoint(const Folders& folders, const Tell& tell, Recovery* report, Statistics::Checkpoints* taken);

// Writes what the folders hold into the folder `to`, which is made, or empty: one
// checkpoint. Not ok: what was written is removed again; where even that fails, what stays
// opens whole, or opening refuses it.
Status backup(const Folders& folders, const std::string& to, const Tell& tell, Recovery* report);

struct Copied {
  uint64_t files = 0, bytes = 0;
};
// Looks through all files of `folders`, then copies them into the folder `to`, which is made, or
// empty. Not ok: as backup().
Status restore(const Folders& folders, const std::string& to, Copied* copied);

struct Checked {
  Recovery recovery;
  uint64_t checkpoints = 0;         // all of them are looked through
  std::vector<std::string> tables;  // whose rows were made, and whose key index was compared with them
  std::vector<std::string> unchecked_indexes;  // 'table'.'index': secondary ones, which are in no file
};
// Reads everything, makes all rows in memory and compares indexes with them. Changes
// nothing. kCorrupt: what is wrong.
Status check(const Folders& folders, const Tell& tell, Checked* report);

// -- the log --------------------------------------------------------------------------------------

struct Segment {
  std::string file;
  uint64_t bytes = 0, whole_bytes = 0;  // the rest is what a crash left
  uint64_t frames = 0, records = 0;
  SnapshotNumber first_number = 0, last_number = 0;  // of its records; 0 without any
  SnapshotNumber cut = 0;                        // records with larger numbers are void; kNewest: none are
};
struct Log {
  SnapshotNumber checkpoint = 0;  // the newest one's number; 0: none
  SnapshotNumber snapshot = 0;    // the files hold all commits up to this number
  std::vector<Segment> segments;
  std::vector<std::string> cuts;  // as Recovery's
};
// Reads all of the log, but makes no rows of it. Changes nothing. kCorrupt: what is wrong.
Status verify_log(const Folders& folders, Log* report);

// A column that a commit wrote: its bytes as the row has them; of an addition the
// 8 bytes of what was added.
struct LoggedColumn {
  std::string name;  // empty: bytes that no column describes
  ColumnType type = ColumnType::kBytes;
  std::vector<std::byte> bytes;
};
struct LoggedChange {
  enum class Kind : uint8_t { kColumns, kRow, kRemove, kAdd };
  Kind kind = Kind::kRow;
  uint32_t table = 0;
  std::string table_name;     // empty: the table's schema was not found
  uint32_t group = 0;         // the commit group
  uint64_t key = 0;
  uint64_t sequence = 0;      // of the group
  uint64_t bytes = 0;
  std::vector<LoggedColumn> columns;  // without the schema: one, of all bytes
};
struct LoggedRecord {
  std::string file;
  uint64_t offset = 0;        // of its frame
  SnapshotNumber number = 0;
  bool counts = true;         // false: void, as it was not whole in all files
  bool made_table = false;    // `schema` was made, with id `table`
  uint32_t table = 0;
  Schema schema;
  std::vector<LoggedChange> changes;  // else
};
// Shows each record of the log with numbers from `first` to `last`, file by file. `places`:
// the data folders; or one file of a log, which is shown as it stands, and behind it folders:
// where its own folder does not describe a table, these are looked at. `visit` returns false
// to end it. Changes nothing.
Status dump_log(const Folders& places, SnapshotNumber first, SnapshotNumber last, FunctionRef<bool(const LoggedRecord&)> visit);
// The names of the tables that these files describe, in the order of their ids. As dump_log().
Status logged_tables(const Folders& places, std::vector<std::string>* names);

}  // namespace elider::files
