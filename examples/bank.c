// Transfers between accounts, with the C interface (docs/c.md).
// [begin]
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "elider/c.h"

static elider_error *error;

// Ends the program if a call failed.
static void must(elider_code code) {
  if (code == ELIDER_OK) return;
  fprintf(stderr, "%s\n", elider_error_message(error));
  exit(1);
}
// [end]

// [transfer]
struct transfer {
  elider_table *accounts;
  elider_builder *row;
  uint32_t balance;  // the position of the column
  uint64_t from, to;
  int64_t amount;
};

static elider_code add(elider_transaction *txn, const struct transfer *it, uint64_t account, int64_t amount) {
  elider_row row;
  int64_t balance;
  elider_code code = elider_get(txn, it->accounts, elider_number(account), NULL, &row, error);
  if (code == ELIDER_OK) code = elider_row_int64(it->accounts, &row, it->balance, &balance, NULL, error);
  if (code != ELIDER_OK) return code;
  if (balance + amount < 0) return elider_fail(txn, ELIDER_ROLLED_BACK, "not enough money");
  const elider_value changed = elider_int64(balance + amount);
  return elider_update(txn, it->accounts, elider_number(account), it->row, &it->balance, &changed, 1, error);
}

static elider_code transfer(elider_transaction *txn, void *context) {
  const struct transfer *it = context;
  const elider_code code = add(txn, it, it->from, -it->amount);
  return code == ELIDER_OK ? add(txn, it, it->to, it->amount) : code;
}
// [end]

// [visit]
static elider_code print_account(const elider_row *row, void *accounts) {
  const void *owner;
  size_t size;
  int64_t balance;
  elider_code code = elider_row_bytes(accounts, row, 0, &owner, &size, NULL, NULL);
  if (code == ELIDER_OK) code = elider_row_int64(accounts, row, 1, &balance, NULL, NULL);
  if (code == ELIDER_OK) printf("%" PRIu64 " %.*s %" PRId64 "\n", row->key.size_or_number, (int)size, (const char *)owner, balance);
  return code;
}
// [end]

int main(void) {
  // [open]
  error = elider_error_new();
  elider_database *db;
  must(elider_open(NULL, NULL, &db, error));  // in memory; otherwise the name of a folder

  elider_schema *schema = elider_schema_new("accounts", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_DESCRIBED);
  elider_schema_column(schema, "owner", ELIDER_TYPE_TEXT, 0, NULL, 0);
  elider_schema_column(schema, "balance", ELIDER_TYPE_INT64, 0, NULL, 0);
  const char *const by_owner[] = {"owner"};
  elider_schema_index(schema, "by_owner", by_owner, NULL, 1, 0);
  elider_table *accounts;
  must(elider_create_table(db, schema, &accounts, error));
  elider_schema_free(schema);
  // [end]

  // [interactive]
  elider_builder *row = elider_builder_new(accounts);
  elider_transaction *txn;
  elider_code code = elider_begin(db, NULL, &txn, error);
  while (code == ELIDER_OK) {
    elider_builder_begin(row, error);
    elider_set(row, 0, elider_text("Ada", 3), error);
    elider_set(row, 1, elider_int64(100), error);
    code = elider_put_row(txn, accounts, elider_number(1), row, error);
    elider_set(row, 0, elider_text("Grace", 5), error);
    if (code == ELIDER_OK) code = elider_put_row(txn, accounts, elider_number(2), row, error);
    if (code == ELIDER_OK) code = elider_commit(txn, NULL, error);
    if (code == ELIDER_OK) break;
    code = elider_retry(txn, code, error);
  }
  must(code);
  elider_transaction_free(txn);
  // [end]

  // [run]
  struct transfer it = {.accounts = accounts, .row = row, .from = 1, .to = 2, .amount = 30};
  must(elider_column_position(accounts, "balance", &it.balance, error));
  must(elider_run(db, transfer, &it, NULL, error));
  it.amount = 1000;
  if (elider_run(db, transfer, &it, NULL, error) != ELIDER_OK) printf("%s\n", elider_error_message(error));
  // [end]

  // [index]
  elider_index *index;
  must(elider_find_index(accounts, "by_owner", &index, error));
  must(elider_begin(db, NULL, &txn, error));
  const elider_value grace = elider_text("Grace", 5);
  const elider_index_range range = elider_index_prefix(&grace, 1);
  must(elider_scan_index(txn, index, &range, NULL, print_account, accounts, error));
  // [end]
  // [cursor]
  elider_cursor *cursor;
  must(elider_cursor_open(accounts, NULL, NULL, &cursor, error));
  elider_row page[100];
  size_t count;
  do {
    must(elider_cursor_next(cursor, txn, page, 100, &count, error));
    for (size_t i = 0; i < count; ++i) must(print_account(&page[i], accounts));
  } while (count != 0);
  elider_cursor_free(cursor);
  elider_transaction_free(txn);
  // [end]

  // [close]
  elider_builder_free(row);
  must(elider_close(db, error));
  elider_error_free(error);
  // [end]
  return 0;
}
