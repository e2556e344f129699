// Peer: a store that `bench compare` runs a workload on: elider itself, RocksDB, LMDB or SQLite.
// All stores implement this interface, and run with the same driver and the same inputs. A ratio
// therefore compares only the stores.
//
// All transactions are serializable, for one of three reasons: the commit checks each read, the
// transaction only reads one snapshot, or it holds the store's only write lock. With --data, each
// store also keeps a log. In all stores, a commit then returns either after it is on disk
// (--durability group) or earlier (async). Each store's source file (peer_*.cc) describes how the
// store is opened. Thread safety: one thread opens, loads and closes a Peer, and creates a client
// for each thread. A client belongs to one thread.
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
  YcsbOptions ycsb;                    // the options of all workloads; a peer is opened with those of the workload that it runs
  std::vector<std::string> workloads;  // --workload; empty: the mixes
  std::vector<std::string> mixes;      // --mix
  std::vector<std::string> peers;      // --peers
  uint32_t repeat = 3;                 // --repeat, 1 to 100
  std::string folder;                  // --dir: the folder for the peers' files; empty: /dev/shm or a temporary folder
  std::string scratch;                 // the run's own folder (ScratchFolder::of_run), which the caller creates and removes
};

// Returns the durability of all stores. With kNone, they run without a log.
inline Durability durability_of(const CompareOptions& options) {
  return options.ycsb.common.data.logs() ? options.ycsb.common.data.durability : Durability::kNone;
}

// The `count` keys first, first + step, first + 2 * step, and so on.
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
  // Returns the sum of the counters of `keys`. Also checks every byte of their values. No
  // transaction may be running.
  virtual Result<uint64_t> sum_counters(const KeySeries& keys) = 0;
  // Returns the number of rows. No transaction may be running.
  virtual Result<uint64_t> count_rows() = 0;
};

class Peer {
 public:
  virtual ~Peer() = default;
  // Returns the store's version and settings in a few words, for the report.
  virtual std::string about() const = 0;
  // Loads the keys 0 to records - 1 with the counter 0. Does nothing if resumed() is true.
  virtual Status load(uint64_t records) = 0;
  // Returns true if the peer continues with the rows of an earlier run (--resume).
  virtual bool resumed() const { return false; }
  virtual Result<std::unique_ptr<PeerClient>> client() = 0;
};

// Each function opens a store. It fails with kUnsupported if the program was built without this
// store; the message names the Debian package.
Result<std::unique_ptr<Peer>> open_elider(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_rocksdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_lmdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_sqlite(const CompareOptions& options);

// A new folder for the files of a run, or of one of its peers. The destructor removes the folder
// with all its contents.
class ScratchFolder {
 public:
  // Creates the run's folder below --data if given, otherwise below options.folder if given, and
  // otherwise in /dev/shm or, if that is too small, in the temporary folder. Fails with
  // kInvalidArgument if it cannot be created; the message names the option and the folder.
  static Result<std::unique_ptr<ScratchFolder>> of_run(const CompareOptions& options);
  // Creates a peer's folder in options.scratch. Fails with kInvalidArgument if it cannot be
  // created, or if its file system has less than `bytes_needed` free.
  static Result<std::unique_ptr<ScratchFolder>> of_peer(const CompareOptions& options, const std::string& peer, uint64_t bytes_needed);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Returns the error for a peer that is not part of this build.
Status built_without(const std::string& peer, const std::string& package);

}  // namespace elider::bench
