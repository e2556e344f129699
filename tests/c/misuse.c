// Wrong calls of each function: they return an error, and the message says what is wrong.
#include "tests/c/check.h"

static elider_error *error;

static elider_code never(elider_transaction *txn, void *context) { return (void)txn, (void)context, ELIDER_OK; }
static elider_code never_of_group(elider_transaction *txn, size_t call, void *context) {
  return (void)txn, (void)call, (void)context, ELIDER_OK;
}
static elider_code never_see(const elider_row *row, void *context) { return (void)row, (void)context, ELIDER_OK; }
static void never_change(void *row, size_t size, void *context) { (void)row, (void)size, (void)context; }
static void never_told(elider_code code, elider_error *its, void *context) { (void)code, (void)its, (void)context; }

#define NULL_REFUSED(call) SAYS(ELIDER_INVALID_ARGUMENT, "null pointer", call)

static void without_handles(elider_database *db, elider_table *table, elider_transaction *txn) {
  const elider_key key = elider_number(1);
  elider_row row;
  elider_value value;
  elider_table *found;
  elider_index *index;
  const elider_columns *columns;
  elider_cursor *cursor;
  uint64_t number;
  uint32_t position;
  size_t size;
  int64_t integer;
  double real;
  const void *data;
  char *text;
  bool more;
  elider_key its_key;
  NULL_REFUSED(elider_options_set(NULL, "durability", "async", error));
  NULL_REFUSED(elider_options_text(NULL, "durability", &text, error));
  NULL_REFUSED(elider_open(NULL, NULL, NULL, error));
  NULL_REFUSED(elider_create_table(NULL, NULL, &found, error));
  NULL_REFUSED(elider_find_table(NULL, "x", &found, error));
  NULL_REFUSED(elider_find_table(db, NULL, &found, error));
  NULL_REFUSED(elider_find_table(db, "x", NULL, error));
  NULL_REFUSED(elider_tables(NULL, NULL, 0, &size, error));
  NULL_REFUSED(elider_tables(db, NULL, 3, &size, error));
  NULL_REFUSED(elider_table_column(NULL, 0, NULL, error));
  NULL_REFUSED(elider_column_position(NULL, "x", &position, error));
  NULL_REFUSED(elider_find_columns(table, NULL, 1, &columns, error));
  NULL_REFUSED(elider_find_index(NULL, "x", &index, error));
  NULL_REFUSED(elider_drop_table(NULL, "x", 0, error));
  NULL_REFUSED(elider_drop_table(db, NULL, 0, error));
  NULL_REFUSED(elider_rename_table(db, "x", NULL, error));
  NULL_REFUSED(elider_add_column(db, NULL, "x", ELIDER_TYPE_BOOL, 0, NULL, 0, error));
  NULL_REFUSED(elider_rename_column(db, "x", "y", NULL, error));
  NULL_REFUSED(elider_drop_column(db, "x", NULL, error));
  NULL_REFUSED(elider_create_index(db, "x", "y", NULL, NULL, 1, 0, 0, NULL, NULL, error));
  NULL_REFUSED(elider_drop_index(db, "x", NULL, error));
  NULL_REFUSED(elider_run(NULL, never, NULL, NULL, error));
  NULL_REFUSED(elider_run(db, NULL, NULL, NULL, error));
  NULL_REFUSED(elider_run_group(NULL, 1, NULL, never_of_group, NULL, NULL, NULL, error));
  NULL_REFUSED(elider_begin(NULL, NULL, &txn, error));
  NULL_REFUSED(elider_begin(db, NULL, NULL, error));
  NULL_REFUSED(elider_commit(NULL, NULL, error));
  NULL_REFUSED(elider_retry(NULL, ELIDER_CONFLICT, error));
  NULL_REFUSED(elider_snapshot_open(NULL, NULL, error));
  NULL_REFUSED(elider_get(NULL, table, key, NULL, &row, error));
  NULL_REFUSED(elider_get(txn, NULL, key, NULL, &row, error));
  NULL_REFUSED(elider_get(txn, table, key, NULL, NULL, error));
  NULL_REFUSED(elider_multi_get(txn, table, NULL, 1, NULL, &row, error));
  NULL_REFUSED(elider_row_version(txn, table, key, NULL, error));
  NULL_REFUSED(elider_insert(txn, table, key, NULL, 8, error));
  NULL_REFUSED(elider_put(NULL, table, key, "x", 1, error));
  NULL_REFUSED(elider_remove(txn, NULL, key, error));
  NULL_REFUSED(elider_write(txn, table, key, NULL, NULL, 8, error));
  NULL_REFUSED(elider_edit(txn, table, key, NULL, NULL, NULL, error));
  NULL_REFUSED(elider_add(NULL, table, key, 0, elider_int64(1), error));
  NULL_REFUSED(elider_builder_begin(NULL, error));
  NULL_REFUSED(elider_builder_edit(NULL, &row, error));
  NULL_REFUSED(elider_set(NULL, 0, elider_null(), error));
  NULL_REFUSED(elider_insert_row(txn, table, key, NULL, error));
  NULL_REFUSED(elider_put_row(txn, table, key, NULL, error));
  NULL_REFUSED(elider_update(txn, table, key, NULL, NULL, NULL, 0, error));
  NULL_REFUSED(elider_row_value(NULL, &row, 0, &value, error));
  NULL_REFUSED(elider_row_value(table, NULL, 0, &value, error));
  NULL_REFUSED(elider_row_int64(table, &row, 0, NULL, NULL, error));
  NULL_REFUSED(elider_row_int64(NULL, &row, 0, &integer, NULL, error));
  NULL_REFUSED(elider_row_double(NULL, &row, 0, &real, NULL, error));
  NULL_REFUSED(elider_row_bytes(NULL, &row, 0, &data, &size, NULL, error));
  NULL_REFUSED(elider_scan(txn, table, NULL, NULL, NULL, NULL, error));
  NULL_REFUSED(elider_scan(NULL, table, NULL, NULL, never_see, NULL, error));
  NULL_REFUSED(elider_scan_rows(txn, table, NULL, NULL, NULL, error));
  NULL_REFUSED(elider_scan_index(txn, NULL, NULL, NULL, never_see, NULL, error));
  NULL_REFUSED(elider_count(txn, NULL, NULL, 0, &number, error));
  NULL_REFUSED(elider_index_position(txn, NULL, key, &row, &size, error));
  NULL_REFUSED(elider_rank(txn, NULL, key, &number, error));
  NULL_REFUSED(elider_cursor_open(NULL, NULL, NULL, &cursor, error));
  NULL_REFUSED(elider_cursor_open_index(NULL, NULL, NULL, &cursor, error));
  NULL_REFUSED(elider_cursor_copy(NULL, &cursor, error));
  NULL_REFUSED(elider_cursor_next(NULL, txn, &row, 1, &size, error));
  NULL_REFUSED(elider_sequence_find(db, NULL, 0, 0, NULL, error));
  NULL_REFUSED(elider_sequence_next(NULL, &number, error));
  NULL_REFUSED(elider_sequence_at_least(NULL, 1, error));
  NULL_REFUSED(elider_wait_durable(NULL, 0, error));
  NULL_REFUSED(elider_when_durable(NULL, 0, never_told, NULL, error));
  NULL_REFUSED(elider_when_durable(db, 0, NULL, NULL, error));
  NULL_REFUSED(elider_checkpoint(NULL, error));
  NULL_REFUSED(elider_backup(db, NULL, error));
  NULL_REFUSED(elider_statistics_json(db, NULL, error));
  NULL_REFUSED(elider_verify(NULL, error));
  NULL_REFUSED(elider_tuple_add(NULL, elider_null(), false, error));
  NULL_REFUSED(elider_tuple_key(NULL, &its_key, error));
  NULL_REFUSED(elider_tuple_begin(NULL, "", 0, error));
  NULL_REFUSED(elider_tuple_next(NULL, &value, NULL, &more, error));
  OK(elider_close(NULL, error));
  elider_error_free(NULL);
  elider_options_free(NULL);
  elider_schema_free(NULL);
  elider_cursor_free(NULL);
  elider_builder_free(NULL);
  elider_tuple_free(NULL);
  elider_tuple_clear(NULL);
  elider_tuple_reader_free(NULL);
  elider_snapshot_free(NULL);
  elider_transaction_free(NULL);
  elider_rollback(NULL);
  elider_free(NULL);
  elider_schema_key_index(NULL, "art");
  elider_schema_key_field(NULL, ELIDER_TYPE_BOOL, 0);
  elider_schema_column(NULL, "x", ELIDER_TYPE_BOOL, 0, NULL, 0);
  elider_schema_row_bytes(NULL, 8);
  elider_schema_fixed_column(NULL, "x", ELIDER_TYPE_INT64, 0, 8, 0);
  elider_schema_index(NULL, "x", NULL, NULL, 0, 0);
  elider_touch_row(NULL, table, key);
  elider_touch_range(NULL, table, key);
  CHECK(elider_builder_new(NULL) == NULL && elider_attempt(NULL) == 0 && elider_procedure_id(NULL, "x") == 0);
  CHECK(elider_table_columns(NULL) == 0 && strcmp(elider_table_name(NULL), "") == 0 && !elider_snapshot_advance(NULL));
  CHECK(elider_snapshot_number(NULL) == 0 && elider_table_keys(NULL) == ELIDER_KEYS_NUMBERS && elider_table_rows(NULL) == ELIDER_ROWS_VALUES);
  CHECK(elider_error_code(NULL) == ELIDER_OK && strcmp(elider_error_message(NULL), "") == 0 && !elider_error_retryable(NULL));
  CHECK(!elider_error_key(NULL, NULL, NULL, NULL) && elider_error_cause(NULL) == ELIDER_CAUSE_NONE);
  // Without an error, the code alone comes back.
  CHECK(elider_get(NULL, table, key, NULL, &row, NULL) == ELIDER_INVALID_ARGUMENT);
}

static void schemas(elider_database *db) {
  elider_table *table;
  struct {
    elider_schema *schema;
    const char *words;
  } cases[12];
  size_t count = 0;
  cases[count].schema = elider_schema_new(NULL, ELIDER_KEYS_NUMBERS, ELIDER_ROWS_VALUES);
  cases[count++].words = "null pointer";
  cases[count].schema = elider_schema_new("t", (elider_keys)7, ELIDER_ROWS_VALUES);
  cases[count++].words = "does not exist";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_TUPLES, ELIDER_ROWS_VALUES);
  cases[count++].words = "elider_schema_key_field";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_VALUES);
  elider_schema_key_index(cases[count].schema, "tree");
  cases[count++].words = "'tree'";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_VALUES);
  elider_schema_column(cases[count].schema, "c", ELIDER_TYPE_BOOL, 0, NULL, 0);
  cases[count++].words = "described";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(cases[count].schema, "c", (elider_type)99, 0, NULL, 0);
  cases[count++].words = "99";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(cases[count].schema, "c", ELIDER_TYPE_DECIMAL, 0, NULL, 40);
  cases[count++].words = "scale 40";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(cases[count].schema, "c", ELIDER_TYPE_BOOL, ELIDER_UNIQUE, NULL, 0);
  cases[count++].words = "flags";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_FIXED);
  cases[count++].words = "row";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_VALUES);
  elider_schema_row_bytes(cases[count].schema, (size_t)1 << 40);
  cases[count++].words = "bytes";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  const char *const columns[] = {"missing"};
  elider_schema_column(cases[count].schema, "c", ELIDER_TYPE_BOOL, 0, NULL, 0);
  elider_schema_index(cases[count].schema, "i", columns, NULL, 1, 0);
  cases[count++].words = "missing";
  cases[count].schema = elider_schema_new("t", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_FIXED);
  elider_schema_row_bytes(cases[count].schema, 8);
  elider_schema_fixed_column(cases[count].schema, "c", ELIDER_TYPE_INT64, 4, 8, 0);
  cases[count++].words = "'c'";
  for (size_t i = 0; i < count; ++i) {
    SAYS(ELIDER_INVALID_ARGUMENT, cases[i].words, elider_create_table(db, cases[i].schema, &table, error));
    CHECK(table == NULL);
    elider_schema_free(cases[i].schema);
  }
}

static void structs(elider_database *db, elider_table *table, elider_transaction *txn) {
  elider_policy policy = {0};
  SAYS(ELIDER_INVALID_ARGUMENT, "sizeof", elider_run(db, never, NULL, &policy, error));
  policy.size = sizeof policy;
  policy.durability = (elider_durability)9;
  SAYS(ELIDER_INVALID_ARGUMENT, "durability", elider_run(db, never, NULL, &policy, error));
  // A caller that knows less, and one that knows more.
  policy = (elider_policy){.size = offsetof(elider_policy, durability), .durability = (elider_durability)9};
  OK(elider_run(db, never, NULL, &policy, error));
  struct {
    elider_policy policy;
    uint64_t newer;
  } larger = {.policy = {.size = sizeof larger}};
  OK(elider_run(db, never, NULL, &larger.policy, error));
  larger.newer = 1;
  SAYS(ELIDER_UNSUPPORTED, "elider_policy", elider_run(db, never, NULL, &larger.policy, error));
  elider_scan_options options = {0};
  SAYS(ELIDER_INVALID_ARGUMENT, "sizeof", elider_scan(txn, table, NULL, &options, never_see, NULL, error));
  elider_column_info info = {0};
  SAYS(ELIDER_INVALID_ARGUMENT, "sizeof", elider_table_column(table, 0, &info, error));
}

static void kinds(elider_database *db, elider_table *table, elider_transaction *txn) {
  elider_row row;
  elider_table *orders;
  elider_schema *schema = elider_schema_new("orders", ELIDER_KEYS_BYTES, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(schema, "note", ELIDER_TYPE_TEXT, ELIDER_NULLABLE, NULL, 0);
  OK(elider_create_table(db, schema, &orders, error));
  elider_schema_free(schema);
  schema = elider_schema_new("orders", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(schema, "note", ELIDER_TYPE_TEXT, ELIDER_NULLABLE, NULL, 0);
  elider_table *other;
  SAYS(ELIDER_SCHEMA_MISMATCH, "orders", elider_create_table(db, schema, &other, error));
  elider_schema_free(schema);
  elider_builder *builder = elider_builder_new(orders);
  SAYS(ELIDER_INVALID_ARGUMENT, "orders", elider_put_row(txn, orders, elider_number(1), builder, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "numbers", elider_put_row(txn, table, elider_number(1), builder, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "column 5", elider_set(builder, 5, elider_null(), error));
  OK(elider_builder_begin(builder, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "kind", elider_set(builder, 0, (elider_value){.kind = 99}, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_set(builder, 0, elider_text(NULL, 4), error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_set(builder, 0, elider_decimal(1, 77), error));
  elider_builder_free(builder);
  CHECK(elider_builder_new(table) == NULL);
  SAYS(ELIDER_INVALID_ARGUMENT, "orders", elider_edit(txn, orders, name_key("x"), NULL, never_change, NULL, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "numbers", elider_get(txn, table, name_key("x"), NULL, &row, error));
  const elider_key keys[] = {elider_number(1), name_key("x")};
  elider_row rows[2];
  SAYS(ELIDER_INVALID_ARGUMENT, "numbers", elider_multi_get(txn, table, keys, 2, NULL, rows, error));
  // A table of another database.
  elider_database *second;
  OK(elider_open(NULL, NULL, &second, error));
  schema = elider_schema_new("numbers", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_FIXED);
  elider_schema_row_bytes(schema, 8);
  OK(elider_create_table(second, schema, &other, error));
  elider_schema_free(schema);
  SAYS(ELIDER_INVALID_ARGUMENT, "another database", elider_get(txn, other, elider_number(1), NULL, &row, error));
  OK(elider_close(second, error));
}

int main(void) {
  error = elider_error_new();
  CHECK(elider_c_version() >= ELIDER_C_VERSION && strchr(elider_version(), '.') != NULL);
  CHECK(strcmp(elider_code_name(ELIDER_NOT_FOUND), "not found") == 0 && elider_code_name((elider_code)77) != NULL);
  elider_database *db;
  OK(elider_open(NULL, NULL, &db, error));
  elider_schema *schema = elider_schema_new("numbers", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_FIXED);
  elider_schema_row_bytes(schema, 8);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_schema_free(schema);
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  without_handles(db, table, txn);
  schemas(db);
  structs(db, table, txn);
  kinds(db, table, txn);
  // After its end, every operation of a transaction is refused.
  OK(elider_commit(txn, NULL, error));
  elider_row row;
  CODE(ELIDER_FINISHED, elider_get(txn, table, elider_number(1), NULL, &row, error));
  CODE(ELIDER_FINISHED, elider_scan(txn, table, NULL, NULL, never_see, NULL, error));
  CODE(ELIDER_FINISHED, elider_put(txn, table, elider_number(1), "12345678", 8, error));
  CODE(ELIDER_FINISHED, elider_commit(txn, NULL, error));
  elider_rollback(txn);
  SAYS(ELIDER_INVALID_ARGUMENT, "not freed", elider_close(db, error));
  elider_transaction_free(txn);
  OK(elider_close(db, error));
  elider_error_free(error);
  return 0;
}
