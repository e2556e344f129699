// order_adds(): reassigns the versions of additions so that they follow the commit order.
//
// Additions commute. If no transaction has read a value between two additions, their order cannot
// be observed, and the additions do not conflict. The engine relies on this: calls of chopped
// procedures add in any order (src/txn/chopping). order_adds() divides the additions in an item's
// chain (model.h) into sequences. A sequence ends before another kind of write, and after an
// addition whose version a committed transaction has read. Within a sequence, the same versions are
// reassigned to the additions in the commit order of their transactions.
// Thread safety: a pure function of the history.
#pragma once

#include "tools/check_history/model.h"

namespace elider::check {

void order_adds(RecordedHistory* history);

}  // namespace elider::check
