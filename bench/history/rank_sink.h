// RankSink records each committed transaction's position in the engine's commit order (its rank).
// It also forwards transactions to a history file, if there is one. It does not forward
// transactions that run before begin(), because they read values that earlier runs wrote, and those
// writes are not part of this history.
//
// The engine reports a transaction on the thread that ran it, before it returns the transaction's
// result. Therefore, the last rank stored for a thread is that of the transaction that the thread
// has just committed.
// Thread safety: that of HistorySink; last() belongs to the calling thread.
#pragma once

#include "bench/history/elle_record.h"
#include "elider/history.h"

namespace elider::bench {

class RankSink : public HistorySink {
 public:
  explicit RankSink(HistorySink* next) : next_(next) {}

  void on_table(uint32_t position, const Schema& schema) override {
    if (next_ != nullptr) next_->on_table(position, schema);
  }
  void on_transaction(const HistoryTransaction& transaction) override {
    if (transaction.committed) last() = {transaction.snapshot, transaction.order, transaction.read_only, true};
    if (next_ != nullptr && begun_) next_->on_transaction(transaction);
  }
  // Starts to forward transactions. Call it before you start the threads whose transactions are
  // recorded.
  void begin() { begun_ = true; }

  // Returns the rank of the transaction that the calling thread committed last.
  static CommitRank& last() {
    thread_local CommitRank rank;
    return rank;
  }

 private:
  HistorySink* const next_;  // may be null
  bool begun_ = false;       // constant while threads run
};

}  // namespace elider::bench
