// SnapshotNumber: identifies a state of a database (DBX, section 5.4). The state contains all
// commits up to this number and no others. Every commit that writes has a number; commits that do
// not depend on each other may share a number. 0 means none.
#pragma once

#include <cstdint>

namespace elider {

using SnapshotNumber = uint64_t;

}  // namespace elider
