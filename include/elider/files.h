// Files: functions that inspect, copy and repair the files of a database that is not open. The
// command-line tools use these functions.
//
// The functions do not need schemas, because the files describe tables and columns. The files do
// not contain the key functions of secondary indexes, so these functions ignore such indexes;
// opening the database with its schemas rebuilds them.
//
// The functions refuse a folder that a database has open, and a database cannot open a folder while
// a function uses it (kInvalidArgument). Functions that only read can share a folder: check,
// recover with dry_run, backup, restore, verify_log, dump_log and logged_tables. When dump_log or
// logged_tables reads a single file, it does not lock the file. Relative paths are resolved once,
// at the beginning of the call.
//
// `folders` has the same meaning as Options::data_folders. A pointer to a result may be null if the
// caller does not need the result. Messages contain the absolute path of the file and the offset.
// All functions may return:
//   kIoError      a file operation failed; the message names the file
//   kMemoryLimit  the process does not have enough memory
//   kCorrupt      a file is damaged; the message says where
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
using Tell = std::function<void(const RecoveryProgress&)>;  // called periodically; may be empty
inline constexpr SnapshotNumber kNewest = ~uint64_t{0};

// Recovers the state as of commit number `to_snapshot`, as opening the database would. Permanently
// removes later commits, and writes that a crash left incomplete. If `dry_run` is true, the folders
// are not changed.
//   kInvalidArgument  the files do not contain that state; the message says which states they
//                     contain
Status recover(const Folders& folders, SnapshotNumber to_snapshot, bool dry_run, const Tell& tell, Recovery* report);

// Takes a checkpoint, so that the database can next be opened without reading a log.
Status checkpoint(const Folders& folders, const Tell& tell, Recovery* report, Statistics::Checkpoints* taken);

// Writes the state of the folders as one checkpoint to the folder `to`, which is created if it is
// missing and must be empty otherwise. If backup() fails, it removes what it has written. If that
// fails as well, the remaining files are either a complete database or are refused when they are
// opened.
Status backup(const Folders& folders, const std::string& to, const Tell& tell, Recovery* report);

struct Copied {
  uint64_t files = 0, bytes = 0;
};
// Checks all files of `folders` and copies them to the folder `to`, which is created if it is
// missing and must be empty otherwise. If restore() fails, it cleans up like backup().
Status restore(const Folders& folders, const std::string& to, Copied* copied);

struct Checked {
  Recovery recovery;
  uint64_t checkpoints = 0;         // number of checkpoints, all of which were checked
  std::vector<std::string> tables;  // tables whose rows were loaded and compared with their key index
  std::vector<std::string> unchecked_indexes;  // 'table'.'index' of secondary indexes, which files do not contain
};
// Reads all files, loads all rows into memory and compares the key indexes with the rows. Does not
// change the files.
Status check(const Folders& folders, const Tell& tell, Checked* report);

// -- the log --------------------------------------------------------------------------------------

struct Segment {
  std::string file;
  uint64_t bytes = 0, whole_bytes = 0;  // the bytes after whole_bytes are incomplete because of a crash
  uint64_t frames = 0, records = 0;
  SnapshotNumber first_number = 0, last_number = 0;  // of the segment's records; 0 if the segment is empty
  SnapshotNumber cut = 0;                        // records with larger numbers are void; kNewest if all are valid
};
struct Log {
  SnapshotNumber checkpoint = 0;  // the number of the newest checkpoint; 0 if none
  SnapshotNumber snapshot = 0;    // the files contain all commits up to this number
  std::vector<Segment> segments;
  std::vector<std::string> cuts;  // see Recovery::cuts
};
// Reads and checks the whole log without loading rows. Does not change the files.
Status verify_log(const Folders& folders, Log* report);

// A column that a commit wrote. `bytes` has its new contents or, for an addition, the 8 bytes of
// the addend.
struct LoggedColumn {
  std::string name;  // empty for bytes that no column describes
  ColumnType type = ColumnType::kBytes;
  std::vector<std::byte> bytes;
};
struct LoggedChange {
  enum class Kind : uint8_t { kColumns, kRow, kRemove, kAdd };
  Kind kind = Kind::kRow;
  uint32_t table = 0;
  std::string table_name;     // empty if the table's schema was not found
  uint32_t group = 0;         // the column group
  uint64_t key = 0;
  bool byte_key = false;  // the key is `key_bytes` instead of `key`
  bool tuple_key = false; // the key is a byte key that the table's schema describes as a tuple
  std::string key_bytes;
  uint64_t version_number = 0;  // of the column group after this change
  uint64_t bytes = 0;
  std::vector<LoggedColumn> columns;  // one column with all bytes if the schema was not found
};
struct LoggedRecord {
  std::string file;
  uint64_t offset = 0;        // the offset of its frame
  SnapshotNumber number = 0;
  bool counts = true;         // false if the record is void, because an earlier part of the log is missing in another file
  bool made_table = false;    // the record creates, changes or drops the table with id `table`
  uint32_t table_version = 0; // how often the table had been changed; 0: the record creates it
  bool dropped = false;       // the record drops the table; `schema` then contains only its name
  uint32_t table = 0;
  Schema schema;
  std::vector<LoggedChange> changes;  // the changes of a commit
};
// Calls visit() for each record of the log with a number from `first` to `last`, file by file,
// until visit() returns false. `places` are either the data folders, or a single log file followed
// by any number of folders. In a single file, all records count as valid, and the folders provide
// the schemas of tables that the file's own folder does not describe. dump_log() does not change
// the files.
Status dump_log(const Folders& places, SnapshotNumber first, SnapshotNumber last, FunctionRef<bool(const LoggedRecord&)> visit);
// Returns the names of the tables that these files describe, in the order of their ids. `places`
// are as in dump_log().
Status logged_tables(const Folders& places, std::vector<std::string>* names);

}  // namespace elider::files
