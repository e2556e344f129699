// build_indexes(): builds the secondary indexes of recovered tables, which files do not contain.
//
// Thread safety: no other thread may use the tables.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/worker.h"
#include "elider/status.h"
#include "txn/any_table.h"

namespace elider::recovery {

// Builds the secondary indexes of all tables from the rows, in several threads. Calls progress(rows
// done, total rows), if given.
//   kProcedureThrew   a key function threw
//   kSchemaMismatch   two rows have the same value in a unique index
//   kMemoryLimit      memory is exhausted
Status build_indexes(std::span<txn::AnyTable* const> tables, Workers& workers, uint32_t threads,
                     const std::function<void(uint64_t, uint64_t)>& progress);

}  // namespace elider::recovery
