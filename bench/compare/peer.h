// Peer: a store that `bench compare` runs a workload on: elider itself, RocksDB, LMDB, SQLite. All run
// behind this one face, with one driver and the same inputs, so that a ratio compares the stores alone.
//
// Every store runs serializably: each transaction's reads are part of what its commit checks, or it holds the
// store's only write lock. With --data each keeps a log, too: all return from a commit once it is on the disk
// (group), or all before (async). What each is opened with stands in its file.
// Thread safety: a Peer is opened, loaded and closed by one thread, and makes a client for each; a
// client belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/ycsb/workload.h"
#include "elider/key.h"
#include "elider/status.h"

namespace elider::bench {

struct CompareOptions {
  YcsbOptions ycsb;                  // resolved for each mix in turn; its counters must be kept
  std::vector<std::string> mixes;    // --mix
  std::vector<std::string> peers;    // --peers
  uint32_t repeat = 3;               // --repeat, 1 to 100
  std::string folder;                // --dir: where files of peers go; empty: /dev/shm or a temporary folder
};

// None: all are without durability.
inline Durability durability_of(const CompareOptions& options) {
  return options.ycsb.common.data.logs() ? options.ycsb.common.data.durability : Durability::kNone;
}

struct PeerOperation {
  Key key = 0;
  bool modifies = false;  // read-modify-write: the counter rises by one, the whole value is written
};

class PeerClient {
 public:
  virtual ~PeerClient() = default;
  // Runs all operations as one transaction, tried again until it commits. Values read are checked.
  virtual Status run(std::span<const PeerOperation> operations) = 0;
  // The sum of the counters of keys 0 to records - 1. No transaction may be running.
  virtual Result<uint64_t> sum_counters(uint64_t records) = 0;
};

class Peer {
 public:
  virtual ~Peer() = default;
  // Its version and settings in some words, for the report.
  virtual std::string about() const = 0;
  // Keys 0 to records - 1, counters 0.
  virtual Status load(uint64_t records) = 0;
  virtual Result<std::unique_ptr<PeerClient>> client() = 0;
};

// kUnsupported: it was not there when this program was built; the message names the Debian package.
Result<std::unique_ptr<Peer>> open_elider(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_rocksdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_lmdb(const CompareOptions& options);
Result<std::unique_ptr<Peer>> open_sqlite(const CompareOptions& options);

// A folder of its own for one peer's files, removed with everything in it.
class ScratchFolder {
 public:
  // Below --data, or options.folder. kInvalidArgument: it cannot be made, or its file system has less than
  // `bytes_needed` free; the message names it and --dir.
  static Result<std::unique_ptr<ScratchFolder>> make(const CompareOptions& options, const std::string& peer, uint64_t bytes_needed);
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
