// RankSink: learns from the engine where each committed transaction stands in the commit order, and
// passes every transaction on to a history file if there is one, but for those before begin(): what
// looks at the rows of earlier runs reads what this history does not tell of.
//
// The engine reports a transaction on the thread that ran it, before that thread gets its result.
// So what the sink noted last for a thread is the transaction that the thread has just ended.
// Thread safety: as HistorySink; last() is of the calling thread.
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

  // Of the transaction this thread committed last.
  static CommitRank& last() {
    thread_local CommitRank rank;
    return rank;
  }

 private:
  HistorySink* const next_;  // may be null
  bool begun_ = false;       // constant once threads run
};

}  // namespace elider::bench
