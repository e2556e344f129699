// order_adds(): reorders the versions of additions to follow the commit order.
//
// Additions commute. If no transaction has read a value between two additions, their order cannot
// be observed, and the additions do not conflict. The engine uses this: calls of chopped procedures
// add in any order (src/txn/chopping). A sequence of consecutive additions in an item's chain ends
// with one whose version a committed transaction has read. Within a sequence, order_adds() assigns
// the same versions again, in the order of the transactions.
// Thread safety: a pure function of the history.
#pragma once

#include "tools/check_history/model.h"

namespace elider::check {

void order_adds(RecordedHistory* history);

}  // namespace elider::check
