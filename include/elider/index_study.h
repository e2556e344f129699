// IndexStudy: one index by itself, without tables and transactions, for studies of what indexes
// cost (elider bench index). A database needs none of this.
//
// It maps each key to a handle made of the key, so that a lookup can tell whether it found the
// right one. Keys are numbers, 16 bytes or bytes of any length up to 1024; bytes belong to the
// caller and stay where they are as long as the study.
// Thread safety: sessions by one thread each, several at a time where the policy allows it;
// everything else while no session works.
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
    // How many of the keys were found with their handles.
    virtual uint64_t look_up(std::span<const StudyKey> keys) = 0;
    // The same with the cache misses of all overlapped.
    virtual uint64_t look_up_together(std::span<const StudyKey> keys) = 0;
    // How many were inserted: fewer if some were there, or there is no memory.
    virtual uint64_t insert(std::span<const StudyKey> keys) = 0;
    // What a put asks of an index: each key is found, or else inserted (DBX, section 4:
    // get-with-insert). How many have their handles afterwards; fewer if there is no memory.
    virtual uint64_t find_or_insert(std::span<const StudyKey> keys) = 0;
    // How many were removed.
    virtual uint64_t remove(std::span<const StudyKey> keys) = 0;
    // How many entries scans met, one from each key on, of `length` at the most. 0: there is no
    // order.
    virtual uint64_t scan(std::span<const StudyKey> from, uint64_t length) = 0;
  };

  //   kUnsupported      this build has no such policy, or no such index for such keys; the message
  //                     says which
  //   kInvalidArgument  kAutomatic for a backend, which stands for no one here
  static Result<std::unique_ptr<IndexStudy>> make(KeyIndex kind, StudyKeys keys, SyncPolicy sync, HtmBackend htm = HtmBackend::kNone);

  virtual ~IndexStudy() = default;
  virtual std::unique_ptr<Session> session() = 0;
  virtual uint64_t size() const = 0;
  // Of the index and its nodes, as the allocator rounds them; not of the callers' keys.
  virtual uint64_t memory_bytes() const = 0;
  // Every invariant of the index; only while nobody writes.
  virtual Status verify() const = 0;
};

}  // namespace elider
