// order_adds(): reorders the versions of additions to follow the commit order.
//
// Additions commute: if no transaction has read a value between two of them, their order cannot be
// observed, and they do not conflict. The engine uses this (calls of chopped procedures add in any
// order, src/txn/chopping). In each item's chain, consecutive additions, up to one whose version a
// committed transaction has read, get the same versions in the order of their transactions.
// Thread safety: a pure function of the history.
#pragma once

#include "tools/check_history/model.h"

namespace elider::check {

void order_adds(RecordedHistory* history);

}  // namespace elider::check
