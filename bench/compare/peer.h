// Peer: a store that `bench compare` runs a workload on: elider itself, RocksDB, LMDB or SQLite.
// All stores implement this interface, and run with one driver and the same inputs, so that a ratio
// compares only the stores.
//
// Every store runs serializably. Either commit checks each read of a transaction, or all reads are
// of one snapshot because the transaction does not write, or the transaction holds the only write
// lock of the store. With --data each store also keeps a log. Then either all stores return from a
// commit after it is on the disk (group), or all return before (async). The file of each store says
// how it is opened.
// Thread safety: one thread opens, loads and closes a Peer, and creates a client for each thread; a
// client belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/ycsb/operation.h"
#include "bench/ycsb/workload.h"
#include "elider/key.h"
#include "elider/status.h"

namespace elider::bench {

struct CompareOptions {
  YcsbOptions ycsb;                    // of all workloads; a peer is opened with those of the workload that it runs
  std::vector<std::string> workloads;  // --workload; empty: the mixes
  std::vector<std::string> mixes;      // --mix
  std::vector<std::string> peers;      // --peers
  uint32_t repeat = 3;                 // --repeat, 1 to 100
  std::string folder;                  // --dir: where files of peers go; empty: /dev/shm or a temporary folder
  std::string scratch;                 // the run's own folder (ScratchFolder::of_run), which whoever runs it makes and removes
};

// None: all are without durability.
inline Durability durability_of(const CompareOptions& options) {
  return options.ycsb.common.data.logs() ? options.ycsb.common.data.durability : Durability::kNone;
}

// Keys first, first + step, first + 2 * step, ...: `count` of them.
struct KeySeries {
  Key first = 0;
  uint64_t step = 1;
  uint64_t count = 0;
  Key operator[](uint64_t position) const { return first + position * step; }
};

class PeerClient {
 public:
  virtual ~PeerClient() = default;
  // Runs all operations as one transaction, tried again until it commits. Values read are checked.
  // An insert finds that its key is absent; an update writes the whole value unread.
  virtual Status run(std::span<const Operation> operations) = 0;
  // The sum of these keys' counters, every byte of their values compared. No
  // transaction may be running.
  virtual Result<uint64_t> sum_counters(const KeySeries& keys) = 0;
  // How many rows there are. No transaction may be running.
  virtual Result<uint64_t> count_rows() = 0;
};

class Peer {
 public:
  virtual ~Peer() = default;
  // Its version and settings in some words, for the report.
  virtual std::string about() const = 0;
  // Keys 0 to records - 1, counters 0; nothing where it is resumed.
  virtual Status load(uint64_t records) = 0;
  // Whether it goes on with what it found (--resume).
  virtual bool resumed() const { return false; }
  virtual Result<std::unique_ptr<PeerClient>> client() = 0;
};

// kUnsupported: it was not there when this program was built; the message names the Debian package.
Result<std::unique_ptr<Peer>> open_elider(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_rocksdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_lmdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_sqlite(const CompareOptions& options);

// A folder for files of one run, or of one peer of it: empty when it is made,
// removed with everything in it.
class ScratchFolder {
 public:
  // Below --data, or options.folder, or where there is room. kInvalidArgument: it cannot be made;
  // the message names the option and the folder.
  static Result<std::unique_ptr<ScratchFolder>> of_run(const CompareOptions& options);
  // Below options.scratch. kInvalidArgument: as before, or its file system has less
  // than `bytes_needed` free.
  static Result<std::unique_ptr<ScratchFolder>> of_peer(const CompareOptions& options, const std::string& peer, uint64_t bytes_needed);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// What an opener says of a peer that this program was built without.
Status built_without(const std::string& peer, const std::string& package);

}  // namespace elider::bench
