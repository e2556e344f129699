// In place of the optimistic engine, where this program is linked: ordered tables
// have keys that are bytes.
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "tests/byte_keys/byte_keyed.h"
#include "tests/model/model.h"

#include "engine/registry.h"

namespace elider::test {
namespace {
#if !ELIDER_TEST_RADIX_BYTES
// In this index a split changes the list of leaves, and every scan has that list as its second
// witness (sorted_leaves.h).
[[maybe_unused]] const bool set = own_splits_are_phantoms = true;
#endif
}  // namespace
}  // namespace elider::test

namespace elider::detail {

std::unique_ptr<Engine> make_optimistic(const Options& options) {
  return std::make_unique<EngineOf<test::ByteKeyedSync, test::ByteKeyedOcc>>(options, SyncPolicy::kOptimistic);
}

}  // namespace elider::detail
