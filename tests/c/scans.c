// Scans, cursors, indexes by columns, and changes of tables.
#include "tests/c/check.h"

static elider_error *error;
static elider_database *db;

struct seen {
  uint64_t keys[64];
  size_t count, stop_after;
  elider_code end;
  char position[ELIDER_POSITION_BYTES_MAX];
  size_t position_size;
};
static elider_code see(const elider_row *row, void *context) {
  struct seen *seen = context;
  seen->keys[seen->count++] = row->key.data == NULL ? row->key.size_or_number : row->key.size_or_number + 1000;
  if (row->position != NULL) memcpy(seen->position, row->position, seen->position_size = row->position_size);
  return seen->count == seen->stop_after ? seen->end : ELIDER_OK;
}
static bool saw(const struct seen *seen, size_t count, const uint64_t *keys) {
  return seen->count == count && memcmp(seen->keys, keys, count * sizeof *keys) == 0;
}
#define SAW(seen, ...) CHECK(saw(&(seen), sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__}))

static void number_scans(void) {
  elider_schema *schema = elider_schema_new("numbers", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_VALUES);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_schema_free(schema);
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  for (uint64_t key = 1; key <= 5; ++key) OK(elider_put(txn, table, elider_number(key * 10), &key, sizeof key, error));
  struct seen seen = {0};
  OK(elider_scan(txn, table, NULL, NULL, see, &seen, error));
  SAW(seen, 10, 20, 30, 40, 50);
  elider_range range = elider_between(elider_number(20), elider_number(40));
  seen = (struct seen){0};
  OK(elider_scan(txn, table, &range, NULL, see, &seen, error));
  SAW(seen, 20, 30);
  range.flags = ELIDER_AFTER | ELIDER_THROUGH;
  elider_scan_options options = {.size = sizeof options, .reverse = true, .limit = 5};
  seen = (struct seen){0};
  OK(elider_scan(txn, table, &range, &options, see, &seen, error));
  SAW(seen, 40, 30);
  range = elider_from(elider_number(UINT64_MAX));
  range.flags = ELIDER_AFTER;
  seen = (struct seen){0};
  OK(elider_scan(txn, table, &range, NULL, see, &seen, error));
  CHECK(seen.count == 0);
  // A visitor that ends the scan, and one that fails.
  seen = (struct seen){.stop_after = 2, .end = ELIDER_STOP};
  OK(elider_scan(txn, table, NULL, NULL, see, &seen, error));
  SAW(seen, 10, 20);
  seen = (struct seen){.stop_after = 1, .end = ELIDER_UNSUPPORTED};
  CODE(ELIDER_UNSUPPORTED, elider_scan(txn, table, NULL, NULL, see, &seen, error));
  range = elider_prefix("1", 1);
  SAYS(ELIDER_INVALID_ARGUMENT, "numbers", elider_scan(txn, table, &range, NULL, see, &seen, error));
  range = elider_from(name_key("bytes"));
  SAYS(ELIDER_INVALID_ARGUMENT, "numbers", elider_scan(txn, table, &range, NULL, see, &seen, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_scan_rows(txn, table, NULL, see, &seen, error));
  OK(elider_commit(txn, NULL, error));
  elider_transaction_free(txn);

  elider_policy policy = {.size = sizeof policy, .read_only = true};
  OK(elider_begin(db, &policy, &txn, error));
  seen = (struct seen){0};
  OK(elider_scan_rows(txn, table, NULL, see, &seen, error));
  CHECK(seen.count == 5);
  // A cursor, whose copy stays where it is.
  elider_cursor *cursor, *copy;
  OK(elider_cursor_open(table, NULL, NULL, &cursor, error));
  elider_row rows[2];
  size_t count;
  OK(elider_cursor_next(cursor, txn, rows, 2, &count, error));
  CHECK(count == 2 && rows[1].key.size_or_number == 20);
  OK(elider_cursor_copy(cursor, &copy, error));
  elider_transaction_free(txn);
  CHECK(rows[1].size == sizeof(uint64_t));
  SAYS(ELIDER_INVALID_ARGUMENT, "not freed", elider_close(db, error));
  OK(elider_begin(db, NULL, &txn, error));
  OK(elider_cursor_next(cursor, txn, rows, 2, &count, error));
  CHECK(count == 2 && rows[1].key.size_or_number == 40);
  OK(elider_cursor_next(cursor, txn, rows, 2, &count, error));
  CHECK(count == 1);
  OK(elider_cursor_next(cursor, txn, rows, 2, &count, error));
  CHECK(count == 0);
  OK(elider_cursor_next(copy, txn, rows, 1, &count, error));
  CHECK(count == 1 && rows[0].key.size_or_number == 30);
  CODE(ELIDER_INVALID_ARGUMENT, elider_cursor_next(copy, txn, rows, 0, &count, error));
  elider_cursor_free(copy);
  elider_cursor_free(cursor);
  elider_transaction_free(txn);
}

static void byte_scans(void) {
  elider_schema *schema = elider_schema_new("names", ELIDER_KEYS_BYTES, ELIDER_ROWS_VALUES);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_schema_free(schema);
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  const char *const names[] = {"a", "ab", "abc", "abcd", "b"};  // of different lengths, so that see() knows them
  for (size_t i = 0; i < 5; ++i) OK(elider_put(txn, table, name_key(names[i]), "", 0, error));
  struct seen seen = {0};
  elider_range range = elider_prefix("ab", 2);
  OK(elider_scan(txn, table, &range, NULL, see, &seen, error));
  SAW(seen, 1002, 1003, 1004);
  range.from = name_key("abc");
  range.flags |= ELIDER_AFTER;
  seen = (struct seen){0};
  OK(elider_scan(txn, table, &range, NULL, see, &seen, error));
  SAW(seen, 1004);
  range.flags = ELIDER_PREFIX | ELIDER_TO;
  CODE(ELIDER_INVALID_ARGUMENT, elider_scan(txn, table, &range, NULL, see, &seen, error));
  range = elider_between(name_key("ab"), name_key("abcd"));
  seen = (struct seen){0};
  OK(elider_scan(txn, table, &range, NULL, see, &seen, error));
  SAW(seen, 1002, 1003);
  range.flags = ELIDER_AFTER | ELIDER_THROUGH;
  seen = (struct seen){0};
  OK(elider_scan(txn, table, &range, NULL, see, &seen, error));
  SAW(seen, 1003, 1004);
  range = elider_from(elider_number(3));
  SAYS(ELIDER_INVALID_ARGUMENT, "names", elider_scan(txn, table, &range, NULL, see, &seen, error));
  elider_transaction_free(txn);
}

static elider_table *create_players(void) {
  elider_schema *schema = elider_schema_new("players", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(schema, "region", ELIDER_TYPE_TEXT, 0, NULL, 0);
  elider_schema_column(schema, "score", ELIDER_TYPE_INT32, 0, NULL, 0);
  const char *const columns[] = {"region", "score"};
  const unsigned flags[] = {0, ELIDER_DESCENDING};
  elider_schema_index(schema, "by_score", columns, flags, 2, ELIDER_RANKED);
  elider_table *table;
  OK(elider_create_table(db, schema, &table, error));
  elider_schema_free(schema);
  elider_builder *row = elider_builder_new(table);
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  for (int i = 1; i <= 6; ++i) {
    OK(elider_builder_begin(row, error));
    OK(elider_set(row, 0, text_of(i % 2 == 0 ? "eu" : "us"), error));
    OK(elider_set(row, 1, elider_int64(i * 10), error));
    OK(elider_insert_row(txn, table, elider_number((uint64_t)i), row, error));
  }
  OK(elider_commit(txn, NULL, error));
  elider_transaction_free(txn);
  elider_builder_free(row);
  return table;
}

static void indexes(void) {
  elider_table *table = create_players();
  elider_index *index;
  SAYS(ELIDER_NOT_FOUND, "by_name", elider_find_index(table, "by_name", &index, error));
  OK(elider_find_index(table, "by_score", &index, error));
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  struct seen seen = {0};
  OK(elider_scan_index(txn, index, NULL, NULL, see, &seen, error));
  SAW(seen, 6, 4, 2, 5, 3, 1);
  const elider_value eu = text_of("eu");
  elider_index_range range = elider_index_prefix(&eu, 1);
  elider_scan_options options = {.size = sizeof options, .reverse = true};
  seen = (struct seen){0};
  OK(elider_scan_index(txn, index, &range, &options, see, &seen, error));
  SAW(seen, 2, 4, 6);
  // From a position: the row with key 4, by the key and as the scan told it.
  char position[ELIDER_POSITION_BYTES_MAX];
  size_t size;
  OK(elider_index_position(txn, index, elider_number(4), position, &size, error));
  range.after = position;
  range.after_size = size;
  seen = (struct seen){0};
  OK(elider_scan_index(txn, index, &range, NULL, see, &seen, error));
  SAW(seen, 2);
  range.after = NULL;
  range.before = position;
  range.before_size = size;
  seen = (struct seen){0};
  OK(elider_scan_index(txn, index, &range, NULL, see, &seen, error));
  SAW(seen, 6);
  // Between values: in "us" from 50 to 30, in the order of the index.
  const elider_value first[] = {text_of("us"), elider_int64(50)}, last[] = {text_of("us"), elider_int64(30)};
  range = (elider_index_range){.first = first, .first_count = 2, .last = last, .last_count = 2};
  seen = (struct seen){0};
  OK(elider_scan_index(txn, index, &range, NULL, see, &seen, error));
  SAW(seen, 5, 3);
  OK(elider_index_position(txn, index, elider_number(3), position, &size, error));
  CHECK(seen.position_size == size && memcmp(seen.position, position, size) == 0);
  // An open end: everything from ("us", 30).
  range = (elider_index_range){.first = last, .first_count = 2};
  seen = (struct seen){0};
  OK(elider_scan_index(txn, index, &range, NULL, see, &seen, error));
  SAW(seen, 3, 1);
  uint64_t count;
  range = elider_index_prefix(&eu, 1);
  OK(elider_count(txn, index, &range, 0, &count, error));
  CHECK(count == 3);
  OK(elider_count(txn, index, NULL, 2, &count, error));
  CHECK(count == 2);
  OK(elider_rank(txn, index, elider_number(5), &count, error));
  CHECK(count == 3);
  CODE(ELIDER_NOT_FOUND, elider_rank(txn, index, elider_number(9), &count, error));
  options = (elider_scan_options){.size = sizeof options, .skip = 4, .limit = 1};
  seen = (struct seen){0};
  OK(elider_scan_index(txn, index, NULL, &options, see, &seen, error));
  SAW(seen, 3);
  elider_cursor *cursor;
  OK(elider_cursor_open_index(index, &range, NULL, &cursor, error));
  elider_row rows[8];
  size_t read;
  OK(elider_cursor_next(cursor, txn, rows, 8, &read, error));
  CHECK(read == 3 && rows[2].key.size_or_number == 2);
  elider_cursor_free(cursor);
  // Mistakes.
  const elider_value wrong[] = {elider_int64(1), elider_int64(2), elider_int64(3)};
  range = elider_index_prefix(wrong, 1);
  SAYS(ELIDER_INVALID_ARGUMENT, "by_score", elider_scan_index(txn, index, &range, NULL, see, &seen, error));
  range = elider_index_prefix(wrong, 3);
  SAYS(ELIDER_INVALID_ARGUMENT, "by_score", elider_scan_index(txn, index, &range, NULL, see, &seen, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "players", elider_rank(txn, index, name_key("x"), &count, error));
  elider_transaction_free(txn);
}

static bool go_on(uint64_t visited, uint64_t all, void *context) {
  CHECK(visited <= all + 1);
  ++*(int *)context;
  return true;
}
static bool give_up(uint64_t visited, uint64_t all, void *context) { return (void)visited, (void)all, (void)context, false; }

static void changes(void) {
  elider_table *table;
  OK(elider_find_table(db, "players", &table, error));
  const elider_value none = text_of("none");
  OK(elider_add_column(db, "players", "name", ELIDER_TYPE_TEXT, 0, &none, 0, error));
  SAYS(ELIDER_INVALID_ARGUMENT, "name", elider_add_column(db, "players", "name", ELIDER_TYPE_TEXT, 0, &none, 0, error));
  OK(elider_rename_column(db, "players", "name", "nick", error));
  uint32_t column;
  OK(elider_column_position(table, "nick", &column, error));
  CHECK(column == 2);
  const char *const columns[] = {"nick", "score"};
  int calls = 0;
  SAYS(ELIDER_ROLLED_BACK, "players",
       elider_create_index(db, "players", "by_nick", columns, NULL, 2, ELIDER_UNIQUE, 0, give_up, NULL, error));
  OK(elider_create_index(db, "players", "by_nick", columns, NULL, 2, ELIDER_UNIQUE, 0, go_on, &calls, error));
  CHECK(calls > 0);
  elider_index *index;
  OK(elider_find_index(table, "by_nick", &index, error));
  elider_transaction *txn;
  OK(elider_begin(db, NULL, &txn, error));
  struct seen seen = {0};
  OK(elider_scan_index(txn, index, NULL, NULL, see, &seen, error));
  SAW(seen, 1, 2, 3, 4, 5, 6);
  elider_builder *row = elider_builder_new(table);
  OK(elider_set(row, 0, text_of("eu"), error));
  OK(elider_set(row, 1, elider_int64(60), error));
  SAYS(ELIDER_DUPLICATE_KEY, "players", elider_insert_row(txn, table, elider_number(7), row, error));
  elider_builder_free(row);
  elider_transaction_free(txn);
  OK(elider_drop_index(db, "players", "by_nick", error));
  SAYS(ELIDER_NOT_FOUND, "by_nick", elider_drop_index(db, "players", "by_nick", error));
  OK(elider_begin(db, NULL, &txn, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_scan_index(txn, index, NULL, NULL, see, &seen, error));
  elider_transaction_free(txn);
  OK(elider_drop_column(db, "players", "nick", error));
  elider_column_info info = {.size = sizeof info};
  OK(elider_table_column(table, 2, &info, error));
  CHECK(info.dropped);
  OK(elider_rename_table(db, "players", "people", error));
  OK(elider_drop_table(db, "people", 0, error));
  OK(elider_begin(db, NULL, &txn, error));
  elider_row read;
  SAYS(ELIDER_NOT_FOUND, "dropped", elider_get(txn, table, elider_number(1), NULL, &read, error));
  elider_transaction_free(txn);
  SAYS(ELIDER_NOT_FOUND, "people", elider_drop_table(db, "people", 0, error));
}

int main(void) {
  error = elider_error_new();
  OK(elider_open(NULL, NULL, &db, error));
  number_scans();
  byte_scans();
  indexes();
  changes();
  OK(elider_verify(db, error));
  OK(elider_close(db, error));
  elider_error_free(error);
  return 0;
}
