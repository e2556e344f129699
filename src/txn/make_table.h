// make_table(): makes a table for a sync policy (TableMaker). It is compiled once per policy.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <memory>

#include "txn/store.h"
#include "txn/table.h"

namespace elider::txn {

template <class Sync>
std::unique_ptr<AnyTable> make_table(const Schema& schema, uint32_t id, const Store& store, uint32_t protocol_bytes) {
  const KeyKind keys = index::ByteIndexOf<Sync>::kind_of(schema, store.options);
  return std::make_unique<Table<Sync>>(schema, keys, id, store.id, store.options.block_threshold_bytes, protocol_bytes);
}

}  // namespace elider::txn
