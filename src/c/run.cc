// Transactions of the C interface: run by a callback, in groups, and interactive; and snapshots.
#include "c/handles.h"

using elider::ActiveTransaction;
using elider::GroupPolicy;
using elider::Status;
using elider::Transaction;
using elider::c::entry;
using elider::c::InUse;
using elider::c::refuse_null;
using elider::c::report;

static_assert(ELIDER_DURABILITY_GROUP == static_cast<int>(elider::Durability::kGroup));

namespace {

Status read_policy(const elider_policy* given, GroupPolicy* policy) {
  elider_policy copy;
  if (Status status = elider::c::read_struct(given, "elider_policy", &copy); !status.ok()) return status;
  if (static_cast<unsigned>(copy.durability) > ELIDER_DURABILITY_GROUP)
    return Status::invalid_argument("elider_policy.durability is " + std::to_string(static_cast<int>(copy.durability)) +
                                    ", which is not an elider_durability");
  if (copy.snapshot != nullptr && !copy.read_only)
    return Status::invalid_argument("elider_policy.snapshot is set, but not elider_policy.read_only");
  policy->read_only = copy.read_only;
  policy->in_order = copy.in_order;
  policy->attempts_max = copy.attempts_max;
  policy->deadline_us = copy.deadline_us;
  policy->durability = static_cast<elider::Durability>(copy.durability);
  policy->procedure_id = copy.procedure_id;
  policy->commit_number = copy.commit_number;
  policy->snapshot = copy.snapshot == nullptr ? nullptr : &copy.snapshot->held;
  policy->size = copy.group_size;
  return {};
}

// A transaction of elider_begin().
struct Interactive : elider_transaction {
  Interactive(elider_database* its_database, ActiveTransaction begun, const GroupPolicy& its_policy)
      : elider_transaction(its_database, begun.operator->()), active(std::move(begun)), policy(its_policy), use(*its_database) {
    interactive = true;
  }
  // Call it after each change of `active`.
  void adopt() {
    txn = active.operator->();
    doomed = Status();
  }

  ActiveTransaction active;
  const GroupPolicy policy;
  const InUse use;
};

Interactive* interactive_of(elider_transaction* transaction) {
  return transaction != nullptr && transaction->interactive ? static_cast<Interactive*>(transaction) : nullptr;
}
Status refuse_interactive(const elider_transaction* transaction) {
  if (transaction == nullptr) return refuse_null("the transaction");
  return Status::invalid_argument("the transaction belongs to elider_run() or elider_run_group(), which ends it");
}

}  // namespace

extern "C" {

elider_code elider_run(elider_database* database, elider_procedure procedure, void* context, const elider_policy* policy,
                       elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr || procedure == nullptr) return refuse_null("the database or the procedure");
    const elider::c::Running running(*database);
    const auto body = [&](Transaction& txn) -> Status {
      elider_transaction transaction(database, &txn);
      const elider_code code = procedure(&transaction, context);
      return code == ELIDER_OK && transaction.doomed.ok() ? Status() : transaction.answer(code);
    };
    if (policy == nullptr) return database->database.run(body);
    GroupPolicy its;
    if (Status status = read_policy(policy, &its); !status.ok()) return status;
    return its.read_only ? database->database.run_read_only(body, its) : database->database.run(body, its);
  });
}

elider_code elider_fail(elider_transaction* transaction, elider_code code, const char* message) {
  if (transaction == nullptr || code == ELIDER_OK) return code;
  try {
    const std::string words = message == nullptr ? "" : message;
    if (code == ELIDER_ROLLED_BACK) transaction->last = Status::rollback(words);
    else if (code > ELIDER_OK && static_cast<int>(code) < elider::kCodeCount)
      transaction->last = Status(static_cast<elider::Code>(code), elider::Cause::kUser, Status(), words);
  } catch (...) {
    transaction->last = elider::c::caught();  // the code stays; the message is lost
  }
  return code;
}

elider_code elider_run_group(elider_database* database, size_t calls, elider_touch touch, elider_group_procedure procedure, void* context,
                             elider_code* outcomes, const elider_policy* policy, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr || procedure == nullptr) return refuse_null("the database or the procedure");
    GroupPolicy its;
    if (Status status = read_policy(policy, &its); !status.ok()) return status;
    std::vector<Status> statuses(outcomes == nullptr ? 0 : calls);
    const elider::c::Running running(*database);
    const Status status = database->database.run_group(
        calls,
        [&](size_t call, elider::Touches& touches) {
          elider_touches handle{touches};
          if (touch != nullptr) touch(&handle, call, context);
        },
        [&](size_t call, Transaction& txn) -> Status {
          elider_transaction transaction(database, &txn);
          return transaction.answer(procedure(&transaction, call, context));
        },
        statuses, its);
    for (size_t i = 0; i < statuses.size(); ++i) outcomes[i] = static_cast<elider_code>(statuses[i].code());
    return status;
  });
}
void elider_touch_row(elider_touches* touches, const elider_table* table, elider_key key) {
  if (touches == nullptr || table == nullptr || !elider::c::check_kind(*table, key).ok()) return;
  elider::c::with_key(key, [&](const auto& its) { touches->touches.row(table->ref, its); });
}
void elider_touch_range(elider_touches* touches, const elider_table* table, elider_key from) {
  if (touches == nullptr || table == nullptr || !elider::c::check_kind(*table, from).ok()) return;
  elider::c::with_key(from, [&](const auto& its) { touches->touches.range(table->ref, its); });
}

elider_code elider_begin(elider_database* database, const elider_policy* policy, elider_transaction** transaction, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr || transaction == nullptr) return refuse_null("the database or the place for the transaction");
    *transaction = nullptr;
    GroupPolicy its;
    if (Status status = read_policy(policy, &its); !status.ok()) return status;
    auto begun = !its.read_only            ? database->database.begin()
                 : its.snapshot == nullptr ? database->database.begin_read_only()
                                           : database->database.begin_read_only(*its.snapshot);
    if (!begun.ok()) return begun.status();
    *transaction = new Interactive(database, *std::move(begun), its);
    return {};
  });
}

elider_code elider_commit(elider_transaction* transaction, uint64_t* commit_number, elider_error* error) {
  Interactive* const its = interactive_of(transaction);
  if (its == nullptr) return entry(error, [&] { return refuse_interactive(transaction); });
  return entry(error, [&]() -> Status {
    if (!its->doomed.ok()) {
      const Status doomed = its->doomed;
      its->active.rollback();
      its->adopt();
      return its->last = doomed;
    }
    uint64_t number = 0;
    Status status = its->active.commit(its->policy.durability, &number);
    its->adopt();
    if (!status.ok()) return its->last = status;
    if (commit_number != nullptr) *commit_number = number;
    if (its->policy.commit_number != nullptr) *its->policy.commit_number = number;
    return status;
  });
}

elider_code elider_retry(elider_transaction* transaction, elider_code failed, elider_error* error) {
  Interactive* const its = interactive_of(transaction);
  if (its == nullptr) return entry(error, [&] { return refuse_interactive(transaction); });
  return entry(error, [&]() -> Status {
    if (failed == ELIDER_OK) return Status::invalid_argument("elider_retry() was called with ELIDER_OK; it takes the code of a failure");
    const Status why = its->answer(failed);
    if (!why.retryable()) {
      its->active.rollback();
      its->adopt();
      return why;
    }
    Status status = its->active.begin_again(its->policy);
    its->adopt();
    its->last = status;
    return status;
  });
}

void elider_rollback(elider_transaction* transaction) {
  Interactive* const its = interactive_of(transaction);
  if (its == nullptr) return;
  its->active.rollback();
  its->adopt();
}
void elider_transaction_free(elider_transaction* transaction) { delete interactive_of(transaction); }
uint32_t elider_attempt(const elider_transaction* transaction) { return transaction == nullptr ? 0 : transaction->txn->attempt(); }

elider_code elider_snapshot_open(elider_database* database, elider_snapshot** snapshot, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr || snapshot == nullptr) return refuse_null("the database or the place for the snapshot");
    *snapshot = nullptr;
    auto held = database->database.hold_snapshot();
    if (!held.ok()) return held.status();
    *snapshot = new elider_snapshot{database, *std::move(held), InUse(*database)};
    return {};
  });
}
void elider_snapshot_free(elider_snapshot* snapshot) { delete snapshot; }
uint64_t elider_snapshot_number(const elider_snapshot* snapshot) { return snapshot == nullptr ? 0 : snapshot->held.number(); }
bool elider_snapshot_advance(elider_snapshot* snapshot) {
  bool moved = false;
  entry(nullptr, [&]() -> Status {
    moved = snapshot != nullptr && snapshot->held.advance();
    return {};
  });
  return moved;
}

uint32_t elider_procedure_id(elider_database* database, const char* name) {
  uint32_t id = 0;
  entry(nullptr, [&]() -> Status {
    if (database != nullptr && name != nullptr) id = database->database.procedure_id(name);
    return {};
  });
  return id;
}

}  // extern "C"
