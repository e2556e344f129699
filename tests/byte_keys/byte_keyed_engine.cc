// In place of the optimistic engine, where this program is linked: ordered tables
// have keys that are bytes.
#include "index/all_operations.h"
#include "tests/byte_keys/byte_keyed.h"
#include "tests/model/model.h"

#include "engine/registration.h"

namespace elider::test {
namespace {
#if !ELIDER_TEST_RADIX_BYTES
// In this index a split changes the list of leaves, and every scan has that list as its second
// witness (sorted_leaves.h).
[[maybe_unused]] const bool set = own_splits_are_phantoms = true;
#endif
}  // namespace
}  // namespace elider::test

ELIDER_ENGINE(optimistic, combination_of<test::ByteKeyedSync, test::ByteKeyedOcc, SyncPolicy::kOptimistic>())
