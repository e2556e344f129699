#include "txn/pointer_map.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/random.h"

namespace elider::txn {
namespace {

TEST(PointerMap, AgreesWithAMapThroughGrowthAndClearing) {
  constexpr size_t kAddresses = 4096;
  const auto memory = std::make_unique<uint64_t[]>(kAddresses);
  PointerMap map;
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::map<const void*, uint32_t> model;
    const uint64_t inserts = round % 5 == 0 ? 3000 : random.next() % 100;  // sometimes more than the initial size
    for (uint32_t i = 0; i < inserts; ++i) {
      const void* address = &memory[random.next() % kAddresses];
      if (uint32_t* position = map.find_position(address)) {
        ASSERT_TRUE(model.contains(address));
        *position = model[address] = i;
      } else {
        ASSERT_TRUE(model.emplace(address, i).second);
        map.insert(address, i);
      }
    }
    for (size_t i = 0; i < kAddresses; ++i) {
      const auto found = model.find(&memory[i]);
      ASSERT_EQ(map.find(&memory[i]), found == model.end() ? PointerMap::kNone : found->second) << "round " << round;
    }
    map.clear();
    ASSERT_EQ(map.find(&memory[0]), PointerMap::kNone);
  }
}

}  // namespace
}  // namespace elider::txn
