// order_adds(): writes that only add change places, so that their versions follow the commit order.
//
// Adds commute: where nobody has seen what stood between two of them, no reader can tell which came
// first, and they conflict with each other no more than two reads do. The engine makes use of that
// (calls of chopped procedures add in any order, src/txn/chopping). Of each item's chain the adds
// that follow each other, up to one whose version a committed transaction has read, are given the
// same versions in the order of their transactions.
// Thread safety: a pure function of the history.
#pragma once

#include "tools/check_history/model.h"

namespace elider::check {

void order_adds(RecordedHistory* history);

}  // namespace elider::check
