#include "lab/index/lock_free.h"

#if defined(ELIDER_HAVE_URCU)
#include <urcu/urcu-qsbr.h>
// Must follow urcu-qsbr.h, which selects the flavor of RCU.
#include <urcu/rculfhash.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>
#endif

namespace elider::bench {

#if defined(ELIDER_HAVE_URCU)

namespace {

struct Entry {
  cds_lfht_node node;
  Key key;
  uint64_t handle;
};
Entry* entry_of(cds_lfht_node* node) { return node == nullptr ? nullptr : reinterpret_cast<Entry*>(node); }
static_assert(offsetof(Entry, node) == 0);

unsigned long hash_of(Key key) { return static_cast<unsigned long>((key ^ (key >> 32)) * 0x9e3779b97f4a7c15u); }
int matches(cds_lfht_node* node, const void* key) { return entry_of(node)->key == *static_cast<const Key*>(key); }

class LockFreeTable : public IndexStudy {
 public:
  explicit LockFreeTable(cds_lfht* table) : table_(table) {}
  ~LockFreeTable() override {
    urcu_qsbr_register_thread();
    std::vector<Entry*> entries;
    entries.reserve(size_.load());
    cds_lfht_iter at;
    cds_lfht_first(table_, &at);
    for (cds_lfht_node* node = cds_lfht_iter_get_node(&at); node != nullptr; node = cds_lfht_iter_get_node(&at)) {
      cds_lfht_next(table_, &at);
      if (cds_lfht_del(table_, node) == 0) entries.push_back(entry_of(node));
    }
    urcu_qsbr_synchronize_rcu();
    for (Entry* const entry : entries) delete entry;
    urcu_qsbr_unregister_thread();
    cds_lfht_destroy(table_, nullptr);
  }

  std::unique_ptr<IndexStudy::Session> session() override { return std::make_unique<Session>(*this); }
  uint64_t size() const override { return size_.load(); }
  // Counts each entry with the size that malloc rounds it up to, and one list node per bucket,
  // because there are about as many buckets as entries.
  uint64_t memory_bytes() const override { return size_.load() * (48 + sizeof(cds_lfht_node)); }
  Status verify() const override { return {}; }

 private:
  // A thread is registered as an RCU reader while its session exists. Each call ends with a
  // quiescent state.
  class Session : public IndexStudy::Session {
   public:
    explicit Session(LockFreeTable& table) : table_(table) { urcu_qsbr_register_thread(); }
    ~Session() override {
      free_removed();
      urcu_qsbr_unregister_thread();
    }
    uint64_t look_up(std::span<const StudyKey> keys) override {
      uint64_t found = 0;
      for (const StudyKey& key : keys) {
        const Entry* const entry = find(key.number());
        found += entry != nullptr && entry->handle == key.number();
      }
      urcu_qsbr_quiescent_state();
      return found;
    }
    // The table does not support batched lookups.
    uint64_t look_up_together(std::span<const StudyKey> keys) override { return look_up(keys); }
    uint64_t insert(std::span<const StudyKey> keys) override {
      uint64_t inserted = 0;
      for (const StudyKey& key : keys) inserted += add(key.number());
      table_.size_ += inserted;
      urcu_qsbr_quiescent_state();
      return inserted;
    }
    // The table does not have a get-or-insert operation that creates the entry only if necessary,
    // so a lookup precedes the insert.
    uint64_t find_or_insert(std::span<const StudyKey> keys) override {
      uint64_t inserted = 0;
      for (const StudyKey& key : keys)
        if (find(key.number()) == nullptr) inserted += add(key.number());
      table_.size_ += inserted;
      urcu_qsbr_quiescent_state();
      return keys.size();
    }
    uint64_t remove(std::span<const StudyKey> keys) override {
      uint64_t removed = 0;
      for (const StudyKey& key : keys) {
        Entry* const entry = find(key.number());
        if (entry == nullptr || cds_lfht_del(table_.table_, &entry->node) != 0) continue;
        removed_.push_back(entry);
        ++removed;
      }
      table_.size_ -= removed;
      urcu_qsbr_quiescent_state();
      if (removed_.size() >= kRemovedMax) free_removed();
      return removed;
    }
    uint64_t scan(std::span<const StudyKey>, uint64_t) override { return 0; }

   private:
    static constexpr size_t kRemovedMax = 4096;
    Entry* find(Key key) const {
      cds_lfht_iter at;
      cds_lfht_lookup(table_.table_, hash_of(key), matches, &key, &at);
      return entry_of(cds_lfht_iter_get_node(&at));
    }
    bool add(Key key) {
      auto* const entry = new Entry{{}, key, key};
      cds_lfht_node_init(&entry->node);
      const bool added = cds_lfht_add_unique(table_.table_, hash_of(key), matches, &key, &entry->node) == &entry->node;
      if (!added) delete entry;
      return added;
    }
    void free_removed() {
      if (removed_.empty()) return;
      urcu_qsbr_synchronize_rcu();
      for (Entry* const entry : removed_) delete entry;
      removed_.clear();
    }

    LockFreeTable& table_;
    std::vector<Entry*> removed_;
  };

  cds_lfht* const table_;
  std::atomic<uint64_t> size_{0};
};

}  // namespace

Result<std::unique_ptr<IndexStudy>> make_lock_free_table([[maybe_unused]] uint64_t records) {
  const auto buckets = static_cast<unsigned long>(std::bit_ceil(std::max<uint64_t>(records, 1024)));
  cds_lfht* const table =
      cds_lfht_new_flavor(buckets, buckets, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, &urcu_qsbr_flavor, nullptr);
  if (table == nullptr) return Status(Code::kMemoryLimit, "not enough memory for liburcu's table");
  return std::unique_ptr<IndexStudy>(std::make_unique<LockFreeTable>(table));
}

#else

Result<std::unique_ptr<IndexStudy>> make_lock_free_table([[maybe_unused]] uint64_t records) {
  return Status(Code::kUnsupported,
                "this build does not include the lock-free table, because liburcu (Debian's liburcu-dev) was not found");
}

#endif

}  // namespace elider::bench
