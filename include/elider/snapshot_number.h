// SnapshotNumber: which state of a database (DBX, section 5.4): the one that holds all commits up
// to this number and no others. Every commit that writes has one; commits that do not depend on
// each other may share it. 0: none.
#pragma once

#include <cstdint>

namespace elider {

using SnapshotNumber = uint64_t;

}  // namespace elider
