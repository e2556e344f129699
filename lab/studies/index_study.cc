// Single indexes, for studies (index_study.h).
#include "lab/studies/index_study.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "base/worker.h"
#include "elider/hardware.h"
#include "htm/detect.h"
#include "index/policies.h"
#include "index/scan.h"
#include "lab/policies/exclusive.h"
#include "sync/elided.h"
#include "sync/optimistic.h"

ELIDER_INDEXES_OF_POLICY(extern, sync::Optimistic)
ELIDER_INDEXES_OF_POLICY(extern, sync::Latched)
ELIDER_INDEXES_OF_POLICY(extern, sync::SingleThreaded)
ELIDER_INDEXES_OF_POLICY(extern, sync::Elided<elider::htm::None>)
#if ELIDER_HAVE_RTM
ELIDER_INDEXES_OF_POLICY(extern, sync::Elided<elider::htm::Rtm>)
#endif

namespace elider {

namespace {

using index::Direction;
using index::Handle;
using StudyKey = IndexStudy::StudyKey;

constexpr size_t kBatch = 64;

// A B+-tree of byte keys finds the key of an entry through its handle. Here, the row is the key
// that the caller owns, so a comparison of keys misses the cache less often than in a table.
template <class Index>
inline constexpr bool kKeysInRows = false;
template <class Sync>
inline constexpr bool kKeysInRows<index::BTree<Sync, index::ByteKey>> = true;

template <class Index>
Handle handle_of(StudyKey key) {
  return kKeysInRows<Index> ? key.number() : key.number() << 1 | 1;
}

template <class Key>
Key index_key(StudyKey key) {
  if constexpr (std::is_same_v<Key, index::SecondaryKey>) {
    const auto half = [&](uint32_t begin) {
      uint64_t number = 0;
      for (uint32_t i = begin; i < begin + 8; ++i) number = number << 8 | std::to_integer<uint64_t>(key.bytes()->data()[i]);
      return number;
    };
    return {half(0), half(8)};
  } else {
    return index::key_of<Key>(key);
  }
}

// A hash table of byte keys compares each key that it finds in a row. This session inserts rows,
// each of which is a copy of its key.
template <class Index>
class HashedBytesSession final : public IndexStudy::Session {
 public:
  HashedBytesSession(Index& index, Workers& workers) : index_(index), workers_(workers), worker_(*workers.acquire()) {}
  ~HashedBytesSession() override { workers_.release(&worker_); }

  uint64_t look_up(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    uint64_t found = 0;
    for (const StudyKey key : keys) found += find(key) != index::kNoHandle;
    return found;
  }
  uint64_t look_up_together(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    uint64_t found = 0;
    for (size_t begin = 0; begin < keys.size(); begin += kBatch) {
      const size_t count = std::min(kBatch, keys.size() - begin);
      Handle handles[kBatch];
      index_.multi_get(keys.data() + begin, count, handles, nullptr, {});
      for (size_t i = 0; i < count; ++i) found += handles[i] != index::kNoHandle;
    }
    return found;
  }
  uint64_t insert(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    uint64_t inserted = 0;
    for (const StudyKey key : keys) inserted += insert(key).inserted;
    return inserted;
  }
  uint64_t find_or_insert(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    uint64_t there = 0;
    for (const StudyKey key : keys) there += find(key) != index::kNoHandle || insert(key).handle != index::kNoHandle;
    return there;
  }
  uint64_t remove(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    uint64_t removed = 0;
    for (const StudyKey key : keys) {
      const Handle row = find(key);
      if (row == index::kNoHandle || !index_.remove(worker_, {key.bytes()}, row)) continue;
      worker_.retire_memory(reinterpret_cast<void*>(row), row_bytes(key), MemoryPart::kRows);
      ++removed;
    }
    return removed;
  }
  uint64_t scan(std::span<const StudyKey>, uint64_t) override { return 0; }

 private:
  static size_t row_bytes(StudyKey key) { return sizeof(index::KeyBytes) + key.bytes()->size; }
  Handle find(StudyKey key) {
    index::Witness witness;
    return index_.get({key.bytes()}, witness);
  }
  index::InsertResult insert(StudyKey key) {
    void* const row = worker_.allocate(row_bytes(key), MemoryPart::kRows);
    if (row == nullptr) return {};
    std::memcpy(row, key.bytes(), row_bytes(key));
    const index::InsertResult result = index_.get_or_insert(worker_, {key.bytes()}, reinterpret_cast<Handle>(row));
    if (!result.inserted) worker_.free(row, row_bytes(key), MemoryPart::kRows);
    return result;
  }

  Index& index_;
  Workers& workers_;
  Worker& worker_;
};

template <class Index>
class SessionOf final : public IndexStudy::Session {
 public:
  SessionOf(Index& index, Workers& workers) : index_(index), workers_(workers), worker_(*workers.acquire()) {}
  ~SessionOf() override { workers_.release(&worker_); }

  uint64_t look_up(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    typename Index::Hint hint;
    index::Witness witness;
    uint64_t found = 0;
    for (const StudyKey key : keys) found += index_.get(index_key<Key>(key), hint, witness) == handle_of<Index>(key);
    return found;
  }
  uint64_t look_up_together(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    uint64_t found = 0;
    for (size_t begin = 0; begin < keys.size(); begin += kBatch) {
      const size_t count = std::min(kBatch, keys.size() - begin);
      Handle handles[kBatch];
      if constexpr (std::is_same_v<Key, index::SecondaryKey>) {
        Key made[kBatch];
        for (size_t i = 0; i < count; ++i) made[i] = index_key<Key>(keys[begin + i]);
        index_.multi_get(made, count, handles, nullptr, {});
      } else if constexpr (std::is_same_v<Key, index::ByteKey>) {
        index_.multi_get(keys.data() + begin, count, handles, nullptr, {});
      } else {
        index_.multi_get(reinterpret_cast<const Key*>(keys.data() + begin), count, handles, nullptr, {});
      }
      for (size_t i = 0; i < count; ++i) found += handles[i] == handle_of<Index>(keys[begin + i]);
    }
    return found;
  }
  uint64_t insert(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    typename Index::Hint hint;
    uint64_t inserted = 0;
    for (const StudyKey key : keys) inserted += index_.get_or_insert(worker_, index_key<Key>(key), handle_of<Index>(key), hint).inserted;
    return inserted;
  }
  uint64_t find_or_insert(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    typename Index::Hint hint;
    uint64_t there = 0;
    for (const StudyKey key : keys)
      there += index_.get_or_insert(worker_, index_key<Key>(key), handle_of<Index>(key), hint).handle == handle_of<Index>(key);
    return there;
  }
  uint64_t remove(std::span<const StudyKey> keys) override {
    const Inside inside(worker_);
    uint64_t removed = 0;
    for (const StudyKey key : keys) removed += index_.remove(worker_, index_key<Key>(key), handle_of<Index>(key));
    return removed;
  }
  uint64_t scan([[maybe_unused]] std::span<const StudyKey> from, [[maybe_unused]] uint64_t length) override {
    uint64_t met = 0;
    if constexpr (Index::kOrdered) {
      const Inside inside(worker_);
      for (const StudyKey key : from) {
        uint64_t left = length;
        index::scan_leaves(
            index_, index::Range<Key>{index_key<Key>(key), {{}, true}}, Direction::kForward, length, [](const auto&, const auto&) {},
            [](Handle) {}, [&](const Key&, Handle) { return ++met, --left != 0; });
      }
    }
    return met;
  }

 private:
  using Key = typename Index::Key;
  Index& index_;
  Workers& workers_;
  Worker& worker_;
};

template <class Index>
class StudyOf final : public IndexStudy {
 public:
  template <class... Arguments>
  explicit StudyOf(Arguments... arguments) : index_(arguments...) {}

  std::unique_ptr<Session> session() override {
    if constexpr (!Index::kOrdered && std::is_same_v<typename Index::Key, index::ByteKey>)
      return std::make_unique<HashedBytesSession<Index>>(index_, workers_);
    else
      return std::make_unique<SessionOf<Index>>(index_, workers_);
  }
  uint64_t size() const override { return index_.size(); }
  uint64_t memory_bytes() const override { return sizeof(Index) + memory_.used_bytes(MemoryPart::kIndexes); }
  Status verify() const override { return index_.verify(); }

 private:
  Memory memory_;
  Workers workers_{memory_, 512, 1};
  Index index_;
};

template <class Sync>
std::unique_ptr<IndexStudy> make_study(KeyIndex kind, StudyKeys keys) {
  using namespace index;
  switch (kind) {
    case KeyIndex::kOrdered:
      if (keys == StudyKeys::kNumbers) return std::make_unique<StudyOf<BTree<Sync, Key>>>();
      if (keys == StudyKeys::kSixteenBytes) return std::make_unique<StudyOf<BTree<Sync, SecondaryKey>>>();
      return std::make_unique<StudyOf<BTree<Sync, ByteKey>>>();
    case KeyIndex::kHashed:
      if (keys == StudyKeys::kNumbers) return std::make_unique<StudyOf<HashTable<Sync, Key>>>();
      return std::make_unique<StudyOf<HashTable<Sync, ByteKey>>>(HashKeys<ByteKey>(RowKey{0}));
    case KeyIndex::kRadix:
      if (keys == StudyKeys::kNumbers) return std::make_unique<StudyOf<RadixTree<Sync, Key>>>();
      return std::make_unique<StudyOf<RadixTree<Sync, ByteKey>>>();
  }
  return nullptr;
}

std::unique_ptr<IndexStudy> make_elided(KeyIndex kind, StudyKeys keys, HtmBackend htm) {
  switch (htm) {
    case HtmBackend::kNone: return make_study<sync::Elided<htm::None>>(kind, keys);
#if ELIDER_HAVE_RTM
    case HtmBackend::kRtm: return htm::rtm_instructions_exist() ? make_study<sync::Elided<htm::Rtm>>(kind, keys) : nullptr;
#endif
    default: return nullptr;
  }
}

}  // namespace

Result<std::unique_ptr<IndexStudy>> IndexStudy::make(KeyIndex kind, StudyKeys keys, SyncPolicy sync, HtmBackend htm) {
  std::unique_ptr<IndexStudy> study;
  switch (sync) {
    case SyncPolicy::kAutomatic:
    case SyncPolicy::kOptimistic: study = make_study<sync::Optimistic>(kind, keys); break;
    case SyncPolicy::kLatched: study = make_study<sync::Latched>(kind, keys); break;
    case SyncPolicy::kSingleThreaded: study = make_study<sync::SingleThreaded>(kind, keys); break;
    case SyncPolicy::kElided:
      if (htm == HtmBackend::kAutomatic)
        return Status::invalid_argument("an index study needs an explicit backend of hardware transactions, not 'automatic'");
      study = make_elided(kind, keys, htm);
      break;
  }
  if (study == nullptr)
    return Status(Code::kUnsupported, "index '" + std::string(name_of(kind)) + "' cannot be studied with these keys and sync policy '" +
                                          std::string(name_of(sync)) + "'");
  return study;
}

}  // namespace elider
