// Peer: a store that `bench compare` runs a workload on: elider itself, RocksDB, LMDB or SQLite.
// All stores implement this interface, and run with one driver and the same inputs, so that a ratio
// compares only the stores.
//
// Every store runs serializably. A transaction satisfies one of three conditions: its commit checks
// each read; or it does not write, and all its reads are of one snapshot; or it holds the store's
// only write lock. With --data each store also keeps a log. Then either all stores return from a
// commit after it is on disk (group), or all return before (async). The file of each store
// describes how the store is opened.
// Thread safety: one thread opens, loads and closes a Peer, and creates a client for each thread. A
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
  YcsbOptions ycsb;                    // of all workloads; a peer is opened with the options of the workload that it runs
  std::vector<std::string> workloads;  // --workload; empty: the mixes
  std::vector<std::string> mixes;      // --mix
  std::vector<std::string> peers;      // --peers
  uint32_t repeat = 3;                 // --repeat, 1 to 100
  std::string folder;                  // --dir: the folder for the peers' files; empty: /dev/shm or a temporary folder
  std::string scratch;                 // the run's own folder (ScratchFolder::of_run), which the caller creates and removes
};

// The durability of all stores. kNone: all of them run without a log.
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
  // Runs all operations as one transaction, and retries it until it commits. Checks the values that
  // it reads. An insert checks that its key is absent. An update writes the whole value without
  // reading it.
  virtual Status run(std::span<const Operation> operations) = 0;
  // The sum of the counters of these keys. Also checks every byte of their values. No transaction
  // may be running.
  virtual Result<uint64_t> sum_counters(const KeySeries& keys) = 0;
  // The number of rows. No transaction may be running.
  virtual Result<uint64_t> count_rows() = 0;
};

class Peer {
 public:
  virtual ~Peer() = default;
  // The store's version and settings in a few words, for the report.
  virtual std::string about() const = 0;
  // Loads keys 0 to records - 1 with counters 0. Does nothing if the peer is resumed.
  virtual Status load(uint64_t records) = 0;
  // Whether the peer continues with the rows of an earlier run (--resume).
  virtual bool resumed() const { return false; }
  virtual Result<std::unique_ptr<PeerClient>> client() = 0;
};

// kUnsupported: the program was built without this store; the message names the Debian package.
Result<std::unique_ptr<Peer>> open_elider(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_rocksdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_lmdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_sqlite(const CompareOptions& options);

// A folder for the files of one run, or of one peer of it. It is empty when it is created, and is
// removed with all its contents.
class ScratchFolder {
 public:
  // The folder is below --data, or options.folder, or a place with enough room. kInvalidArgument:
  // it cannot be created; the message names the option and the folder.
  static Result<std::unique_ptr<ScratchFolder>> of_run(const CompareOptions& options);
  // The folder is below options.scratch. kInvalidArgument: it cannot be created, or its file system
  // has less than `bytes_needed` free.
  static Result<std::unique_ptr<ScratchFolder>> of_peer(const CompareOptions& options, const std::string& peer, uint64_t bytes_needed);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The status of a peer that this program was built without.
Status built_without(const std::string& peer, const std::string& package);

}  // namespace elider::bench
