// Fails each allocation of a sequence of calls in its turn. Each call then succeeds, or returns
// ELIDER_MEMORY_LIMIT or NULL, and the database stays intact.
#include "tests/c/check.h"

void fail_allocation(uint64_t count);  // allocations_more.cc
bool allocation_failed(void);

static elider_error *error;

// elider_create_table() tries an index with generated rows, and says so if it cannot build one.
static bool is_about_memory(elider_code code) {
  return code == ELIDER_MEMORY_LIMIT ||
         (code == ELIDER_INVALID_ARGUMENT && strstr(elider_error_message(error), "could not be built") != NULL);
}

// Stops the sequence at the first call that fails.
#define TRY(call)                                                                                          \
  do {                                                                                                     \
    const elider_code code = (call);                                                                       \
    if (code != ELIDER_OK) {                                                                               \
      CHECK(elider_error_code(error) == code && elider_error_message(error)[0] != '\0');                   \
      if (!is_about_memory(code)) {                                                                        \
        fprintf(stderr, "%s: %s\n", #call, elider_error_message(error));                                   \
        exit(1);                                                                                           \
      }                                                                                                    \
      goto end;                                                                                            \
    }                                                                                                      \
  } while (0)
#define MAKE(object)               \
  do {                             \
    if ((object) == NULL) goto end; \
  } while (0)

static bool opening(void) {
  elider_database *db = NULL;
  elider_options *options = NULL;
  bool done = false;
  MAKE(options = elider_options_new());
  TRY(elider_options_set(options, "workers_max", "8", error));
  TRY(elider_open(NULL, options, &db, error));
  done = true;
end:
  CHECK(done || allocation_failed());
  allocation_failed();
  elider_options_free(options);
  OK(elider_close(db, error));
  return done;
}

static elider_code read_rows(elider_transaction *txn, void *context) {
  elider_row row;
  const elider_code code = elider_get(txn, context, name_key("a key that is not short at all"), NULL, &row, error);
  return code == ELIDER_NOT_FOUND ? ELIDER_OK : code;
}
static elider_code see(const elider_row *row, void *context) { return (void)row, (void)context, ELIDER_OK; }

static bool working(elider_database *db, int number) {
  static const char *const kColumns[] = {"text"};
  char name[32];
  snprintf(name, sizeof name, "t%d", number);
  elider_schema *schema = NULL;
  elider_builder *row = NULL;
  elider_transaction *txn = NULL;
  elider_cursor *cursor = NULL;
  elider_snapshot *snapshot = NULL;
  elider_tuple *tuple = NULL;
  elider_table *table = NULL;
  elider_index *index;
  elider_row rows[2];
  elider_value value;
  size_t count;
  uint64_t counted;
  char *json = NULL;
  bool done = false;
  MAKE(schema = elider_schema_new(name, ELIDER_KEYS_BYTES, ELIDER_ROWS_DESCRIBED));
  const elider_value text = text_of("a default that does not fit into a small string");
  elider_schema_column(schema, "text", ELIDER_TYPE_TEXT, 0, &text, 0);
  elider_schema_column(schema, "number", ELIDER_TYPE_INT64, ELIDER_NULLABLE, NULL, 0);
  elider_schema_index(schema, "by_text", kColumns, NULL, 1, 0);
  TRY(elider_create_table(db, schema, &table, error));
  TRY(elider_find_index(table, "by_text", &index, error));
  MAKE(row = elider_builder_new(table));
  TRY(elider_begin(db, NULL, &txn, error));
  TRY(elider_set(row, 0, text_of("some text of this row, which is a long one"), error));
  TRY(elider_insert_row(txn, table, name_key("a key that is not short at all"), row, error));
  TRY(elider_scan(txn, table, NULL, NULL, see, NULL, error));
  TRY(elider_get(txn, table, name_key("a key that is not short at all"), NULL, &rows[0], error));
  TRY(elider_row_value(table, &rows[0], 0, &value, error));
  TRY(elider_commit(txn, NULL, error));
  TRY(elider_run(db, read_rows, table, NULL, error));
  elider_transaction_free(txn);
  txn = NULL;
  TRY(elider_begin(db, NULL, &txn, error));
  elider_index_range range = elider_index_prefix(&text, 1);
  TRY(elider_scan_index(txn, index, &range, NULL, see, NULL, error));
  TRY(elider_count(txn, index, &range, 0, &counted, error));
  TRY(elider_cursor_open(table, NULL, NULL, &cursor, error));
  TRY(elider_cursor_next(cursor, txn, rows, 2, &count, error));
  TRY(elider_snapshot_open(db, &snapshot, error));
  MAKE(tuple = elider_tuple_new());
  TRY(elider_tuple_add(tuple, text, false, error));
  TRY(elider_statistics_json(db, &json, error));
  TRY(elider_add_column(db, name, "more", ELIDER_TYPE_TEXT, 0, &text, 0, error));
  done = true;
end:
  CHECK(done || allocation_failed());
  allocation_failed();
  elider_free(json);
  elider_tuple_free(tuple);
  elider_snapshot_free(snapshot);
  elider_cursor_free(cursor);
  elider_transaction_free(txn);
  elider_builder_free(row);
  elider_schema_free(schema);
  return done;
}

// If this number of sequences succeed one after another, every allocation has failed once.
enum { kWhole = 100 };

int main(void) {
  error = elider_error_new();
  int failures = 0, whole = 0;
  for (uint64_t count = 1; whole < kWhole; ++count) {
    fail_allocation(count);
    const bool done = opening();
    failures += done ? 0 : 1;
    whole = done ? whole + 1 : 0;
  }
  printf("%d calls failed in elider_open()\n", failures);
  CHECK(failures >= 2);
  elider_database *db;
  OK(elider_open(NULL, NULL, &db, error));
  CHECK(working(db, 0));  // so that what is made once is there
  int number = 0;
  failures = whole = 0;
  for (uint64_t count = 1; whole < kWhole; ++count) {
    fail_allocation(count);
    const bool done = working(db, ++number);
    failures += done ? 0 : 1;
    whole = done ? whole + 1 : 0;
  }
  CHECK(failures > 30);
  OK(elider_verify(db, error));
  CHECK(working(db, ++number));
  OK(elider_close(db, error));
  elider_error_free(error);
  printf("%d calls failed\n", failures);
  return 0;
}
