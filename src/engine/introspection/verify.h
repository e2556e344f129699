// Database::verify(): checks all invariants of a table.
//
// Thread safety: no other thread may write to the table. The calling worker must be inside the
// epoch (base/worker.h).
#pragma once

#include "elider/status.h"
#include "txn/any_table.h"

namespace elider::detail {

// Checks the invariants of the indexes themselves, every row block in the key index (verify_row),
// and every entry of every secondary index (verify_entry).
//   kInvalidArgument  an invariant does not hold; the message says which
Status verify_table(txn::AnyTable& table);

}  // namespace elider::detail
