// Tables of each kind of keys and rows: reads, writes, and what comes back.
#include "tests/c/check.h"

static elider_error *error;

struct account {
  int64_t balance;
  uint32_t owner;
  uint32_t visits;
};

static void add_to_balance(void *row, size_t size, void *context) {
  CHECK(size == sizeof(struct account));
  ((struct account *)row)->balance += *(int64_t *)context;
}

static void fixed_rows(elider_database *db) {
  elider_schema *schema = elider_schema_new("accounts", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_FIXED);
  elider_schema_row_bytes(schema, sizeof(struct account));
  elider_schema_fixed_column(schema, "balance", ELIDER_TYPE_INT64, offsetof(struct account, balance), 8, 0);
  elider_schema_fixed_column(schema, "owner", ELIDER_TYPE_UINT32, offsetof(struct account, owner), 4, 0);
  elider_schema_fixed_column(schema, "visits", ELIDER_TYPE_UINT32, offsetof(struct account, visits), 4, 1);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_table *again;
  OK(elider_create_table(db, schema, &again, error));
  CHECK(again == table && elider_table_rows(table) == ELIDER_ROWS_FIXED && elider_table_columns(table) == 3);
  elider_schema_free(schema);
  uint32_t visits;
  OK(elider_column_position(table, "visits", &visits, error));
  CHECK(visits == 2);
  elider_column_info info = {.size = sizeof info};
  OK(elider_table_column(table, 1, &info, error));
  CHECK(strcmp(info.name, "owner") == 0 && info.type == ELIDER_TYPE_UINT32);
  const char *const names[] = {"balance"};
  const elider_columns *balance;
  OK(elider_find_columns(table, names, 1, &balance, error));

  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  struct account one = {100, 7, 0};
  OK(elider_insert(txn, table, elider_number(1), &one, sizeof one, error));
  SAYS(ELIDER_DUPLICATE_KEY, "accounts", elider_insert(txn, table, elider_number(1), &one, sizeof one, error));
  const void *data = &one;
  uint64_t number = 0;
  CHECK(elider_error_key(error, &data, NULL, &number) && data == NULL && number == 1);
  CHECK(strcmp(elider_error_table(error), "accounts") == 0 && !elider_error_retryable(error));
  CHECK(elider_error_code(error) == ELIDER_DUPLICATE_KEY);
  one.balance = 200;
  OK(elider_put(txn, table, elider_number(2), &one, sizeof one, error));
  OK(elider_commit(txn, NULL, error));
  elider_transaction_free(txn);

  OK(elider_begin(db, NULL, &txn, error));
  int64_t amount = 5;
  OK(elider_edit(txn, table, elider_number(1), balance, add_to_balance, &amount, error));
  OK(elider_add(txn, table, elider_number(2), visits, elider_int64(3), error));
  SAYS(ELIDER_INVALID_ARGUMENT, "visits", elider_add(txn, table, elider_number(2), visits, elider_int64(INT64_MAX), error));
  SAYS(ELIDER_INVALID_ARGUMENT, "column 9", elider_add(txn, table, elider_number(2), 9, elider_int64(1), error));
  one.balance = 300;
  OK(elider_write(txn, table, elider_number(2), balance, &one, sizeof one, error));
  OK(elider_commit(txn, NULL, error));
  elider_transaction_free(txn);

  OK(elider_begin(db, NULL, &txn, error));
  const elider_key keys[] = {elider_number(1), elider_number(3), elider_number(2)};
  elider_row rows[3];
  OK(elider_multi_get(txn, table, keys, 3, NULL, rows, error));
  CHECK(((const struct account *)rows[0].data)->balance == 105 && rows[0].key.size_or_number == 1);
  CHECK(rows[1].data == NULL && rows[1].key.size_or_number == 3);
  CHECK(((const struct account *)rows[2].data)->balance == 300 && ((const struct account *)rows[2].data)->visits == 3);
  uint64_t version;
  OK(elider_row_version(txn, table, elider_number(3), &version, error));
  CHECK(version == 0);
  OK(elider_remove(txn, table, elider_number(1), error));
  CODE(ELIDER_NOT_FOUND, elider_get(txn, table, elider_number(1), NULL, rows, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "bytes", elider_put(txn, table, elider_number(1), &one, 3, error));
  elider_transaction_free(txn);
}

static void values(elider_database *db) {
  elider_schema *schema = elider_schema_new("pages", ELIDER_KEYS_BYTES, ELIDER_ROWS_VALUES);
  elider_schema_row_bytes(schema, 5000);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_schema_free(schema);
  CHECK(elider_table_keys(table) == ELIDER_KEYS_BYTES && elider_table_rows(table) == ELIDER_ROWS_VALUES);
  CHECK(strcmp(elider_table_name(table), "pages") == 0);
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  OK(elider_put(txn, table, name_key(""), "empty key", 9, error));
  OK(elider_put(txn, table, name_key("a/1"), NULL, 0, error));
  OK(elider_put(txn, table, name_key("a/2"), "two", 3, error));
  elider_row row;
  OK(elider_get(txn, table, elider_bytes(NULL, 0), NULL, &row, error));
  CHECK(is_text(row.data, row.size, "empty key") && row.key.data != NULL && row.key.size_or_number == 0);
  OK(elider_get(txn, table, name_key("a/1"), NULL, &row, error));
  CHECK(row.size == 0 && is_text(row.key.data, row.key.size_or_number, "a/1"));
  char large[6000] = {0};
  SAYS(ELIDER_INVALID_ARGUMENT, "pages", elider_put(txn, table, name_key("b"), large, sizeof large, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "1024", elider_put(txn, table, elider_bytes(large, 1025), "x", 1, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "pages", elider_put(txn, table, elider_number(4), "x", 1, error));
  OK(elider_commit(txn, NULL, error));
  elider_transaction_free(txn);
}

static void described_rows(elider_database *db) {
  static const char kText[] = "none";
  elider_schema *schema = elider_schema_new("orders", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(schema, "customer", ELIDER_TYPE_TEXT, 0, NULL, 0);
  elider_schema_column(schema, "quantity", ELIDER_TYPE_INT32, 0, NULL, 0);
  elider_schema_column(schema, "price", ELIDER_TYPE_DECIMAL, ELIDER_NULLABLE, NULL, 2);
  elider_schema_column(schema, "weight", ELIDER_TYPE_DOUBLE, ELIDER_NULLABLE, NULL, 0);
  const elider_value none = elider_text(kText, 4);
  elider_schema_column(schema, "note", ELIDER_TYPE_TEXT, 0, &none, 0);
  elider_schema_column(schema, "id", ELIDER_TYPE_UUID, ELIDER_NULLABLE, NULL, 0);
  elider_schema_column(schema, "large", ELIDER_TYPE_UINT64, ELIDER_NULLABLE, NULL, 0);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_schema_free(schema);
  CHECK(elider_table_columns(table) == 7 && elider_table_rows(table) == ELIDER_ROWS_DESCRIBED);
  uint32_t quantity;
  OK(elider_column_position(table, "quantity", &quantity, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "nothing", elider_column_position(table, "nothing", &quantity, error));
  elider_column_info info = {.size = sizeof info};
  OK(elider_table_column(table, 2, &info, error));
  CHECK(strcmp(info.name, "price") == 0 && info.scale == 2 && info.flags == ELIDER_NULLABLE && !info.dropped);

  elider_builder *row = elider_builder_new(table);
  const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  OK(elider_set(row, 0, text_of("Ada"), error));
  OK(elider_set(row, 1, elider_int64(-5), error));
  OK(elider_set(row, 2, elider_decimal(1250, 2), error));
  OK(elider_set(row, 5, elider_uuid(uuid), error));
  OK(elider_set(row, 6, elider_uint64(UINT64_MAX), error));
  OK(elider_insert_row(txn, table, elider_number(17), row, error));
  const uint32_t columns[] = {1, 3};
  const elider_value changes[] = {elider_int64(4), elider_double(1.5)};
  OK(elider_update(txn, table, elider_number(17), row, columns, changes, 2, error));

  elider_row read;
  OK(elider_get(txn, table, elider_number(17), NULL, &read, error));
  elider_value value;
  OK(elider_row_value(table, &read, 2, &value, error));
  CHECK(value.kind == ELIDER_DECIMAL && value.integer == 1250 && value.scale == 2);
  OK(elider_row_value(table, &read, 5, &value, error));
  CHECK(value.kind == ELIDER_UUID && memcmp(value.uuid, uuid, 16) == 0);
  OK(elider_row_value(table, &read, 6, &value, error));
  CHECK(value.kind == ELIDER_UINT64 && (uint64_t)value.integer == UINT64_MAX);
  int64_t number;
  double weight;
  bool null = true;
  OK(elider_row_int64(table, &read, 1, &number, &null, error));
  CHECK(number == 4 && !null);
  OK(elider_row_double(table, &read, 3, &weight, NULL, error));
  CHECK(weight == 1.5);
  const void *data;
  size_t size;
  OK(elider_row_bytes(table, &read, 4, &data, &size, NULL, error));
  CHECK(is_text(data, size, "none"));
  SAYS(ELIDER_INVALID_ARGUMENT, "customer", elider_row_int64(table, &read, 0, &number, NULL, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "99", elider_row_int64(table, &read, 99, &number, NULL, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "large", elider_row_int64(table, &read, 6, &number, NULL, error));

  // A copy of the row with another customer.
  OK(elider_builder_edit(row, &read, error));
  OK(elider_set(row, 0, text_of("Grace"), error));
  OK(elider_set(row, 2, elider_null(), error));
  OK(elider_put_row(txn, table, elider_number(18), row, error));
  OK(elider_get(txn, table, elider_number(18), NULL, &read, error));
  OK(elider_row_bytes(table, &read, 0, &data, &size, NULL, error));
  CHECK(is_text(data, size, "Grace"));
  OK(elider_row_value(table, &read, 2, &value, error));
  CHECK(value.kind == ELIDER_NULL);

  // Mistakes, each of which the builder keeps until the next row.
  OK(elider_builder_begin(row, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "quantity", elider_set(row, 1, text_of("five"), error));
  SAYS(ELIDER_INVALID_ARGUMENT, "quantity", elider_insert_row(txn, table, elider_number(19), row, error));
  OK(elider_builder_begin(row, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "UTF-8", elider_set(row, 0, elider_text("\xff", 1), error));
  OK(elider_builder_begin(row, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "quantity", elider_set(row, 1, elider_int64(INT64_MAX), error));
  OK(elider_builder_begin(row, error));
  OK(elider_set(row, 0, text_of("Ada"), error));
  SAYS(ELIDER_INVALID_ARGUMENT, "quantity", elider_insert_row(txn, table, elider_number(19), row, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "orders", elider_put(txn, table, elider_number(19), "no row", 6, error));
  read = (elider_row){.data = "no row", .size = 6};
  CODE(ELIDER_CORRUPT, elider_row_value(table, &read, 0, &value, error));
  read.data = NULL;
  CODE(ELIDER_INVALID_ARGUMENT, elider_row_value(table, &read, 0, &value, error));
  OK(elider_commit(txn, NULL, error));
  elider_transaction_free(txn);
  elider_builder_free(row);
}

static void tuple_keys(elider_database *db) {
  elider_schema *schema = elider_schema_new("events", ELIDER_KEYS_TUPLES, ELIDER_ROWS_VALUES);
  elider_schema_key_field(schema, ELIDER_TYPE_TEXT, 0);
  elider_schema_key_field(schema, ELIDER_TYPE_TIMESTAMP, ELIDER_DESCENDING);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_schema_free(schema);
  CHECK(elider_table_keys(table) == ELIDER_KEYS_TUPLES);
  elider_tuple *tuple = elider_tuple_new();
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  elider_key key;
  for (int i = 0; i < 3; ++i) {
    elider_tuple_clear(tuple);
    OK(elider_tuple_add(tuple, text_of("eu"), false, error));
    OK(elider_tuple_add(tuple, elider_timestamp(i), true, error));
    OK(elider_tuple_key(tuple, &key, error));
    OK(elider_put(txn, table, key, &i, sizeof i, error));
  }
  elider_tuple_reader *reader = elider_tuple_reader_new();
  elider_value value;
  bool more, descending;
  OK(elider_tuple_begin(reader, key.data, key.size_or_number, error));
  OK(elider_tuple_next(reader, &value, &descending, &more, error));
  CHECK(more && !descending && value.kind == ELIDER_TEXT && is_text(value.data, value.size, "eu"));
  OK(elider_tuple_next(reader, &value, &descending, &more, error));
  CHECK(more && descending && value.kind == ELIDER_TIMESTAMP && value.integer == 2);
  OK(elider_tuple_next(reader, &value, &descending, &more, error));
  CHECK(!more);
  OK(elider_tuple_begin(reader, "\x01", 1, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_tuple_next(reader, &value, &descending, &more, error));
  elider_tuple_reader_free(reader);

  // The newest first, by the prefix ("eu").
  elider_tuple_clear(tuple);
  OK(elider_tuple_add(tuple, text_of("eu"), false, error));
  OK(elider_tuple_key(tuple, &key, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "events", elider_put(txn, table, key, "x", 1, error));
  elider_range range = elider_prefix(key.data, key.size_or_number);
  elider_cursor *cursor;
  OK(elider_cursor_open(table, &range, NULL, &cursor, error));
  elider_row rows[4];
  size_t count;
  OK(elider_cursor_next(cursor, txn, rows, 4, &count, error));
  CHECK(count == 3);
  int first;
  memcpy(&first, rows[0].data, sizeof first);
  CHECK(first == 2);
  elider_cursor_free(cursor);
  // A prefix of another type, and mistakes in tuples.
  elider_tuple_clear(tuple);
  OK(elider_tuple_add(tuple, elider_int64(1), false, error));
  OK(elider_tuple_key(tuple, &key, error));
  range = elider_prefix(key.data, key.size_or_number);
  SAYS(ELIDER_INVALID_ARGUMENT, "events", elider_cursor_open(table, &range, NULL, &cursor, error));
  elider_tuple_clear(tuple);
  CODE(ELIDER_INVALID_ARGUMENT, elider_tuple_add(tuple, elider_decimal(1, 0), false, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_tuple_key(tuple, &key, error));
  elider_tuple_clear(tuple);
  elider_tuple_add(tuple, elider_text("\xff", 1), false, error);
  SAYS(ELIDER_INVALID_ARGUMENT, "UTF-8", elider_tuple_key(tuple, &key, error));
  elider_tuple_clear(tuple);
  OK(elider_tuple_add(tuple, (elider_value){.kind = ELIDER_TUPLE}, false, error));
  OK(elider_tuple_add(tuple, elider_bool(true), false, error));
  OK(elider_tuple_add(tuple, (elider_value){.kind = ELIDER_TUPLE_END}, false, error));
  OK(elider_tuple_key(tuple, &key, error));
  elider_tuple_free(tuple);
  elider_transaction_free(txn);
}

int main(void) {
  error = elider_error_new();
  elider_database *db;
  OK(elider_open(NULL, NULL, &db, error));
  fixed_rows(db);
  values(db);
  described_rows(db);
  tuple_keys(db);
  elider_table *tables[2];
  size_t count;
  OK(elider_tables(db, tables, 2, &count, error));
  CHECK(count == 4 && strcmp(elider_table_name(tables[1]), "pages") == 0);
  OK(elider_verify(db, error));
  OK(elider_close(db, error));
  elider_error_free(error);
  return 0;
}
