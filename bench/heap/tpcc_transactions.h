// The five transactions of TPC-C on a durable heap, with the inputs and outputs of
// bench/tpcc/transactions.h. Order-Status and Stock-Level only read. Sums of money are changed by a
// read and a write, because a heap does not have commutative additions.
// Thread safety: outputs and scratch memory belong to one thread.
#pragma once

#include "bench/heap/tpcc_tables.h"
#include "bench/tpcc/transactions.h"

namespace elider::bench {

// Returns Status::rollback() if the last item does not exist.
Status new_order(HeapTransaction& txn, HeapPtr<TpccHeap> root, const tpcc::NewOrderInput& input, tpcc::NewOrderOutput* output);
Status payment(HeapTransaction& txn, HeapPtr<TpccHeap> root, const tpcc::PaymentInput& input, tpcc::Scratch& scratch,
               tpcc::PaymentOutput* output);
Status delivery(HeapTransaction& txn, HeapPtr<TpccHeap> root, const tpcc::DeliveryInput& input, tpcc::DeliveryOutput* output);
Status order_status(const HeapReader& reader, HeapPtr<TpccHeap> root, const tpcc::OrderStatusInput& input, tpcc::Scratch& scratch,
                    tpcc::OrderStatusOutput* output);
Status stock_level(const HeapReader& reader, HeapPtr<TpccHeap> root, const tpcc::StockLevelInput& input, tpcc::StockLevelOutput* output);

}  // namespace elider::bench
