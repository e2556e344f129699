// RankSink: learns from the engine the place of each committed transaction in the commit order, and
// passes transactions on to a history file if there is one. It does not pass on transactions before
// begin(): they look at the rows of earlier runs, so they read values whose writes are not in this
// history.
//
// The engine reports a transaction on the thread that ran it, before that thread gets the result.
// So the last rank that the sink has stored for a thread is that of the transaction that the thread
// has just ended.
// Thread safety: as HistorySink; last() belongs to the calling thread.
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
  // Before the threads whose transactions are the history.
  void begin() { begun_ = true; }

  // The rank of the transaction that this thread committed last.
  static CommitRank& last() {
    thread_local CommitRank rank;
    return rank;
  }

 private:
  HistorySink* const next_;  // may be null
  bool begun_ = false;       // constant once threads run
};

}  // namespace elider::bench
