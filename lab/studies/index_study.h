// IndexStudy: a single index without tables and transactions, to measure the cost of indexes
// (elider-lab index). Databases do not need this header.
//
// The index maps each key to a handle that is computed from the key, so a lookup can check that it
// found the right handle. A hash table of strings maps each key to a copy of it, with which the
// table compares the key. A key is a number, a string of 16 bytes, or a string of up to 1024 bytes.
// The caller owns the bytes of strings, and must keep them in place while the study exists. Thread
// safety: only one thread at a time may use a session. Different sessions may be used concurrently,
// except under SyncPolicy::kSingleThreaded. The other functions may be called only while no session
// is being used.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <memory>
#include <span>

#include "elider/key.h"
#include "elider/options.h"
#include "elider/schema.h"
#include "elider/status.h"

namespace elider {

enum class StudyKeys : uint8_t { kNumbers, kSixteenBytes, kBytes };

class IndexStudy {
 public:
  using StudyKey = detail::KeyRef;

  class Session {
   public:
    virtual ~Session() = default;
    // Looks up each key. Returns the number of keys that were found with the right handle.
    virtual uint64_t look_up(std::span<const StudyKey> keys) = 0;
    // Like look_up(), but looks up the keys in batches, so that cache misses overlap.
    virtual uint64_t look_up_together(std::span<const StudyKey> keys) = 0;
    // Inserts the keys and returns how many were inserted. Keys are not inserted if they exist
    // already, or if memory is exhausted.
    virtual uint64_t insert(std::span<const StudyKey> keys) = 0;
    // Looks up each key, and inserts it if it does not exist, as a put does (DBX, section 4:
    // get-with-insert). Returns the number of keys that have the right handle afterwards: all keys,
    // unless memory is exhausted.
    virtual uint64_t find_or_insert(std::span<const StudyKey> keys) = 0;
    // Removes the keys that exist, and returns how many were removed.
    virtual uint64_t remove(std::span<const StudyKey> keys) = 0;
    // Scans up to `length` entries from each of the given keys. Returns the total number of visited
    // entries, or 0 if the index is not ordered.
    virtual uint64_t scan(std::span<const StudyKey> from, uint64_t length) = 0;
  };

  //   kUnsupported      this build or machine cannot run the policy, or the index does not support
  //                     such keys
  //   kInvalidArgument  `sync` is kElided, but `htm` is kAutomatic
  static Result<std::unique_ptr<IndexStudy>> make(KeyIndex kind, StudyKeys keys, SyncPolicy sync, HtmBackend htm = HtmBackend::kNone);

  virtual ~IndexStudy() = default;
  virtual std::unique_ptr<Session> session() = 0;
  virtual uint64_t size() const = 0;
  // The memory that is allocated for the index and its nodes. Does not include the callers' keys.
  virtual uint64_t memory_bytes() const = 0;
  // Checks every invariant of the index. Call it only while no session writes.
  virtual Status verify() const = 0;
};

}  // namespace elider
