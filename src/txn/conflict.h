// Conflict: the change because of which a validation failed.
#pragma once

#include "elider/status.h"
#include "storage/table.h"

namespace elider::txn {

struct Conflict {
  Cause cause;
  detail::TableBase* table;
  detail::KeyRef key;

  // Sets the conflict. Always returns false, so that a validation can return the result of this
  // call.
  bool found(Cause its_cause, detail::TableBase* its_table, detail::KeyRef its_key) {
    *this = {its_cause, its_table, its_key};
    return false;
  }
};

}  // namespace elider::txn
