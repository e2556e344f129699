// Transactions by a callback, interactive ones, groups, snapshots and durability.
#include <pthread.h>

#include "tests/c/check.h"

static elider_error *error;
static elider_database *db;
static elider_table *table;

static uint64_t read_number(elider_transaction *txn, uint64_t key) {
  elider_row row;
  if (elider_get(txn, table, elider_number(key), NULL, &row, NULL) != ELIDER_OK) return 0;
  uint64_t number;
  memcpy(&number, row.data, sizeof number);
  return number;
}
static elider_code increment(elider_transaction *txn, void *key) {
  elider_row row;
  uint64_t number = 0;
  elider_code code = elider_get(txn, table, elider_number(*(uint64_t *)key), NULL, &row, NULL);
  if (code == ELIDER_OK) memcpy(&number, row.data, sizeof number);
  else if (code != ELIDER_NOT_FOUND) return code;
  ++number;
  return elider_put(txn, table, elider_number(*(uint64_t *)key), &number, sizeof number, NULL);
}

enum { kThreads = 4, kRounds = 500 };
static void *increment_often(void *key) {
  elider_error *its = elider_error_new();
  for (int i = 0; i < kRounds; ++i) CHECK(elider_run(db, increment, key, NULL, its) == ELIDER_OK);
  // An interactive transaction does the same.
  for (int i = 0; i < kRounds; ++i) {
    elider_transaction *txn;
    elider_code code = elider_begin(db, NULL, &txn, its);
    while (code == ELIDER_OK) {
      code = increment(txn, key);
      if (code == ELIDER_OK) code = elider_commit(txn, NULL, its);
      if (code == ELIDER_OK) break;
      code = elider_retry(txn, code, its);
    }
    CHECK(code == ELIDER_OK);
    elider_transaction_free(txn);
  }
  elider_error_free(its);
  return NULL;
}

static elider_code get_missing(elider_transaction *txn, void *context) {
  (void)context;
  elider_row row;
  return elider_get(txn, table, elider_number(404), NULL, &row, NULL);
}
static elider_code refuse(elider_transaction *txn, void *context) {
  uint64_t key = 77;
  CHECK(increment(txn, &key) == ELIDER_OK);
  return elider_fail(txn, ELIDER_ROLLED_BACK, (const char *)context);
}
static elider_code return_number(elider_transaction *txn, void *context) {
  (void)txn;
  return (elider_code) * (int *)context;
}
static elider_code close_inside(elider_transaction *txn, void *context) {
  (void)context;
  CHECK(elider_close(db, NULL) == ELIDER_INVALID_ARGUMENT);
  CHECK(elider_commit(txn, NULL, NULL) == ELIDER_INVALID_ARGUMENT);
  CHECK(elider_retry(txn, ELIDER_CONFLICT, NULL) == ELIDER_INVALID_ARGUMENT);
  elider_rollback(txn);
  elider_transaction_free(txn);
  CHECK(elider_attempt(txn) == 1);
  return ELIDER_OK;
}

static void touch_key(elider_touches *touches, size_t call, void *context) {
  (void)context;
  elider_touch_row(touches, table, elider_number(1000 + call));
  elider_touch_range(touches, table, elider_number(1000 + call));
  elider_touch_row(touches, table, name_key("a key of the wrong kind"));
}
static elider_code call_of_group(elider_transaction *txn, size_t call, void *context) {
  (void)context;
  if (call == 3) return get_missing(txn, NULL);
  uint64_t key = 1000 + call;
  return increment(txn, &key);
}

static void told_durable(elider_code code, elider_error *its, void *context) {
  CHECK(elider_error_message(its) != NULL);
  __atomic_store_n((int *)context, code == ELIDER_OK ? 1 : 2, __ATOMIC_RELEASE);
}

static void runs(void) {
  uint64_t key = 1;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, increment_often, &key) == 0);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  CHECK(read_number(txn, 1) == 2 * kThreads * kRounds);
  elider_transaction_free(txn);

  // What a body returns, run() returns, with the table and the key of the operation that failed.
  SAYS(ELIDER_NOT_FOUND, "404", elider_run(db, get_missing, NULL, NULL, error));
  CHECK(strcmp(elider_error_table(error), "numbers") == 0);
  SAYS(ELIDER_ROLLED_BACK, "too expensive", elider_run(db, refuse, "too expensive", NULL, error));
  CHECK(elider_error_cause(error) == ELIDER_CAUSE_USER);
  int number = ELIDER_UNSUPPORTED;
  CODE(ELIDER_UNSUPPORTED, elider_run(db, return_number, &number, NULL, error));
  number = 4711;
  SAYS(ELIDER_INVALID_ARGUMENT, "4711", elider_run(db, return_number, &number, NULL, error));
  number = ELIDER_CONFLICT;
  elider_policy policy = {.size = sizeof policy, .attempts_max = 3};
  CODE(ELIDER_DEADLINE, elider_run(db, return_number, &number, &policy, error));
  OK(elider_run(db, close_inside, NULL, NULL, error));
  policy = (elider_policy){.size = sizeof policy, .read_only = true};
  CODE(ELIDER_INVALID_ARGUMENT, elider_run(db, increment, &key, &policy, error));
}

static void retries(void) {
  // A conflict that this thread makes itself, with two transactions.
  elider_transaction *slow;
  elider_policy policy = {.size = sizeof policy, .attempts_max = 2};
  OK(elider_begin(db, &policy, &slow, error));
  uint64_t key = 1;
  CHECK(elider_attempt(slow) == 1);
  CHECK(increment(slow, &key) == ELIDER_OK);
  OK(elider_run(db, increment, &key, NULL, error));
  CODE(ELIDER_CONFLICT, elider_commit(slow, NULL, error));
  CHECK(elider_error_retryable(error) && elider_error_cause(error) == ELIDER_CAUSE_WRITE_CHANGED);
  CODE(ELIDER_FINISHED, increment(slow, &key));
  OK(elider_retry(slow, ELIDER_CONFLICT, error));
  CHECK(elider_attempt(slow) == 2);
  CHECK(increment(slow, &key) == ELIDER_OK);
  OK(elider_run(db, increment, &key, NULL, error));
  CODE(ELIDER_CONFLICT, elider_commit(slow, NULL, error));
  CODE(ELIDER_DEADLINE, elider_retry(slow, ELIDER_CONFLICT, error));
  CODE(ELIDER_FINISHED, increment(slow, &key));
  CODE(ELIDER_FINISHED, elider_commit(slow, NULL, error));
  elider_transaction_free(slow);
  // A failure that a retry does not help ends the transaction.
  OK(elider_begin(db, NULL, &slow, error));
  CODE(ELIDER_NOT_FOUND, get_missing(slow, NULL));
  SAYS(ELIDER_NOT_FOUND, "404", elider_retry(slow, ELIDER_NOT_FOUND, error));
  CODE(ELIDER_FINISHED, increment(slow, &key));
  CODE(ELIDER_INVALID_ARGUMENT, elider_retry(slow, ELIDER_OK, error));
  elider_transaction_free(slow);
}

static void groups_and_snapshots(void) {
  elider_code outcomes[40];
  SAYS(ELIDER_NOT_FOUND, "404", elider_run_group(db, 40, touch_key, call_of_group, NULL, outcomes, NULL, error));
  for (int i = 0; i < 40; ++i) CHECK(outcomes[i] == (i == 3 ? ELIDER_NOT_FOUND : ELIDER_OK));
  elider_policy policy = {.size = sizeof policy, .in_order = true, .group_size = 8};
  CODE(ELIDER_NOT_FOUND, elider_run_group(db, 40, NULL, call_of_group, NULL, NULL, &policy, error));
  policy.group_size = 1 << 20;
  CODE(ELIDER_INVALID_ARGUMENT, elider_run_group(db, 40, NULL, call_of_group, NULL, outcomes, &policy, error));
  CHECK(outcomes[0] == ELIDER_INVALID_ARGUMENT);

  elider_snapshot *snapshot;
  OK(elider_snapshot_open(db, &snapshot, error));
  CHECK(elider_snapshot_number(snapshot) != 0);
  uint64_t key = 1001, number;
  uint64_t commit = 0;
  policy = (elider_policy){.size = sizeof policy, .commit_number = &commit};
  OK(elider_run(db, increment, &key, &policy, error));
  CHECK(commit != 0);
  policy = (elider_policy){.size = sizeof policy, .read_only = true, .snapshot = snapshot};
  elider_transaction *txn;
  OK(elider_begin(db, &policy, &txn, error));
  CHECK(read_number(txn, 1001) == 2);
  SAYS(ELIDER_INVALID_ARGUMENT, "not freed", elider_close(db, error));
  elider_transaction_free(txn);
  CHECK(elider_snapshot_advance(snapshot));
  OK(elider_begin(db, &policy, &txn, error));
  CHECK(read_number(txn, 1001) == 3);
  elider_transaction_free(txn);
  policy.read_only = false;
  SAYS(ELIDER_INVALID_ARGUMENT, "read_only", elider_begin(db, &policy, &txn, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "not freed", elider_close(db, error));
  elider_snapshot_free(snapshot);

  OK(elider_wait_durable(db, commit, error));
  OK(elider_wait_durable(db, UINT64_MAX, error));
  int told = 0;
  OK(elider_when_durable(db, commit, told_durable, &told, error));
  OK(elider_begin(db, NULL, &txn, error));
  key = 2000;
  CHECK(increment(txn, &key) == ELIDER_OK);
  OK(elider_commit(txn, &number, error));
  elider_transaction_free(txn);
  int told_later = 0;
  OK(elider_when_durable(db, number, told_durable, &told_later, error));
  OK(elider_wait_durable(db, number, error));
  while (__atomic_load_n(&told_later, __ATOMIC_ACQUIRE) == 0) sched_yield();
  CHECK(told == 1 && told_later == 1);
}

static void statistics(void) {
  const uint32_t id = elider_procedure_id(db, "counting");
  CHECK(id != 0);
  elider_policy policy = {.size = sizeof policy, .procedure_id = id};
  uint64_t key = 1;
  OK(elider_run(db, increment, &key, &policy, error));
  char *json;
  OK(elider_statistics_json(db, &json, error));
  CHECK(strstr(json, "\"counting\"") != NULL && strstr(json, "\"numbers\"") != NULL);
  elider_free(json);
  elider_sequence *sequence;
  OK(elider_sequence_find(db, "ids", 100, 0, &sequence, error));
  uint64_t number;
  OK(elider_sequence_next(sequence, &number, error));
  CHECK(number == 100);
  OK(elider_sequence_at_least(sequence, 5000, error));
  OK(elider_sequence_next(sequence, &number, error));
  CHECK(number >= 5000);
}

int main(void) {
  error = elider_error_new();
  char folder[] = "c_transactions_XXXXXX", backup[64];
  CHECK(mkdtemp(folder) != NULL);
  elider_options *options = elider_options_new();
  OK(elider_options_set(options, "durability", "async", error));
  SAYS(ELIDER_INVALID_ARGUMENT, "durability", elider_options_set(options, "durability", "often", error));
  SAYS(ELIDER_INVALID_ARGUMENT, "nothing", elider_options_set(options, "nothing", "1", error));
  char *text;
  OK(elider_options_text(options, "durability", &text, error));
  CHECK(strcmp(text, "async") == 0);
  elider_free(text);
  OK(elider_open(folder, options, &db, error));
  elider_database *second;
  SAYS(ELIDER_INVALID_ARGUMENT, folder, elider_open(folder, options, &second, error));
  CHECK(second == NULL);
  elider_schema *schema = elider_schema_new("numbers", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_FIXED);
  elider_schema_row_bytes(schema, sizeof(uint64_t));
  OK(elider_create_table(db, schema, &table, error));
  runs();
  retries();
  groups_and_snapshots();
  statistics();
  OK(elider_checkpoint(db, error));
  snprintf(backup, sizeof backup, "%s/backup", folder);
  CODE(ELIDER_INVALID_ARGUMENT, elider_backup(db, folder, error));
  OK(elider_close(db, error));

  // What was committed is there again.
  OK(elider_open(folder, options, &db, error));
  OK(elider_find_table(db, "numbers", &table, error));
  SAYS(ELIDER_NOT_FOUND, "other", elider_find_table(db, "other", &(elider_table *){NULL}, error));
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  CHECK(read_number(txn, 1) == 2 * kThreads * kRounds + 3 && read_number(txn, 77) == 0);
  elider_transaction_free(txn);
  OK(elider_close(db, error));
  elider_options_free(options);
  elider_schema_free(schema);
  elider_error_free(error);
  char remove[128];
  snprintf(remove, sizeof remove, "rm -rf '%s'", folder);
  return system(remove);
}
