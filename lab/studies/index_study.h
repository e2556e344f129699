// IndexStudy: a single index without tables and transactions, to measure the cost of indexes
// (elider-lab index). Databases do not need this header.
//
// It maps each key to a handle that is computed from the key. So a lookup can check that it found
// the right handle. Keys are numbers, 16 bytes, or up to 1024 bytes. The caller owns the bytes,
// which must not move while the study exists.
// Thread safety: one thread at a time may use a session. Several sessions may run concurrently if
// the policy allows it. The other functions require that no session runs.
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
    // Returns the number of keys that were found with the right handle.
    virtual uint64_t look_up(std::span<const StudyKey> keys) = 0;
    // Like look_up(), with overlapped cache misses.
    virtual uint64_t look_up_together(std::span<const StudyKey> keys) = 0;
    // Returns the number of inserted keys. It is smaller than the number of keys if some existed,
    // or if memory is exhausted.
    virtual uint64_t insert(std::span<const StudyKey> keys) = 0;
    // Finds or inserts each key, as a put does (DBX, section 4: get-with-insert). Returns the
    // number of keys that have the right handle afterwards. It is smaller than the number of keys
    // if memory is exhausted.
    virtual uint64_t find_or_insert(std::span<const StudyKey> keys) = 0;
    // Returns the number of removed keys.
    virtual uint64_t remove(std::span<const StudyKey> keys) = 0;
    // Scans up to `length` entries, starting at each of the given keys. Returns the number of
    // visited entries, or 0 if the index is not ordered.
    virtual uint64_t scan(std::span<const StudyKey> from, uint64_t length) = 0;
  };

  //   kUnsupported      this build does not have the policy, or not this index for such keys; the
  //                     message says which
  //   kInvalidArgument  the backend is kAutomatic, which is not allowed here
  static Result<std::unique_ptr<IndexStudy>> make(KeyIndex kind, StudyKeys keys, SyncPolicy sync, HtmBackend htm = HtmBackend::kNone);

  virtual ~IndexStudy() = default;
  virtual std::unique_ptr<Session> session() = 0;
  virtual uint64_t size() const = 0;
  // The size of the index and its nodes, rounded up as by the allocator. Does not include the
  // callers' keys.
  virtual uint64_t memory_bytes() const = 0;
  // Checks every invariant of the index. Must be called only while no session writes.
  virtual Status verify() const = 0;
};

}  // namespace elider
