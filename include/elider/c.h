// The C interface of elider: an in-memory, serializable, durable transactional database. docs/c.md
// is an introduction. elider/c_heap.h has the durable heap. Link with the library elider_c, which
// contains everything and exports only the functions of these two headers.
//
// Errors. A function that can fail returns an elider_code and takes an elider_error as its last
// argument, where it describes the failure. Pass NULL if the program does not need the description.
// An elider_error is made once and can be used for any number of calls. A wrong argument, such as a
// null handle, a transaction that has ended, or a column that does not exist, is an error
// (ELIDER_INVALID_ARGUMENT or ELIDER_FINISHED). No function throws, prints or keeps state in the
// thread. A pointer that was freed, or that does not come from this library, is not detected.
//
// Memory. The library copies keys, rows and names that it is given before the function returns.
// What a read returns (elider_row) belongs to the library. It is valid until the transaction ends
// or, in a visitor, until the visitor returns, or, from a cursor, until the next call with this
// cursor. An object that a function ..._new() or ..._open() returns belongs to the program, which
// frees it with the matching function. That function accepts NULL. Tables, columns and indexes
// belong to the database, and are valid until elider_close(), even if they are dropped.
//
// Threads. Any number of threads may use a database, a table, columns, an index, a sequence and a
// snapshot at the same time. Only one thread at a time may use a transaction, a cursor, a builder,
// a tuple, options, a schema or an error, but different threads may use it one after another.
// Threads need not be registered. After fork(), only the parent may use an open database.
//
// Callbacks run in the thread that makes the call, if nothing else is said. They must return
// normally, without longjmp(). They must not close the database or free the objects in use.
#ifndef ELIDER_C_H
#define ELIDER_C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ELIDER_API __attribute__((visibility("default")))
#else
#define ELIDER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The version of this header. A later version has more functions, values, and members at the end of
// structs, and changes nothing else.
#define ELIDER_C_VERSION 1
// The version of the library that the program runs with. It must be at least ELIDER_C_VERSION.
ELIDER_API uint32_t elider_c_version(void);
// The version of elider, such as "0.1.0".
ELIDER_API const char *elider_version(void);

// Enumerations are integers of 32 bits, so that another value is an error, and not undefined.

typedef struct elider_error elider_error;
typedef struct elider_options elider_options;
typedef struct elider_database elider_database;
typedef struct elider_schema elider_schema;
typedef struct elider_table elider_table;
typedef struct elider_columns elider_columns;
typedef struct elider_index elider_index;
typedef struct elider_transaction elider_transaction;
typedef struct elider_cursor elider_cursor;
typedef struct elider_builder elider_builder;
typedef struct elider_tuple elider_tuple;
typedef struct elider_tuple_reader elider_tuple_reader;
typedef struct elider_snapshot elider_snapshot;
typedef struct elider_sequence elider_sequence;
typedef struct elider_touches elider_touches;

// -- errors ---------------------------------------------------------------------------------------

// docs/errors.md describes the codes.
typedef int32_t elider_code;
enum {
  ELIDER_OK = 0,
  ELIDER_NOT_FOUND = 1,
  ELIDER_DUPLICATE_KEY = 2,
  ELIDER_CONFLICT = 3,
  ELIDER_INVALID_ARGUMENT = 4,
  ELIDER_SCHEMA_MISMATCH = 5,
  ELIDER_MEMORY_LIMIT = 6,
  ELIDER_DEADLINE = 7,
  ELIDER_ROLLED_BACK = 8,
  ELIDER_PROCEDURE_THREW = 9,
  ELIDER_UNSUPPORTED = 10,
  ELIDER_FINISHED = 11,
  ELIDER_IO_ERROR = 12,
  ELIDER_CORRUPT = 13,
  ELIDER_STOP = 100  // only a visitor returns it: the scan ends, and returns ELIDER_OK
};

// Why a transaction could not commit.
typedef int32_t elider_cause;
enum {
  ELIDER_CAUSE_NONE = 0,
  ELIDER_CAUSE_READ_CHANGED = 1,
  ELIDER_CAUSE_READ_LOCKED = 2,
  ELIDER_CAUSE_WRITE_CHANGED = 3,
  ELIDER_CAUSE_WRITE_LOCKED = 4,
  ELIDER_CAUSE_PHANTOM = 5,
  ELIDER_CAUSE_ROW_REMOVED = 6,
  ELIDER_CAUSE_MEMORY_LIMIT = 7,
  ELIDER_CAUSE_DEADLINE = 8,
  ELIDER_CAUSE_USER = 9,
  ELIDER_CAUSE_EXCEPTION = 10,
  ELIDER_CAUSE_CLAIMED = 11
};

// The name of a code, such as "not found". It is valid for ever.
ELIDER_API const char *elider_code_name(elider_code code);

// Returns NULL if the process is out of memory.
ELIDER_API elider_error *elider_error_new(void);
ELIDER_API void elider_error_free(elider_error *error);
// The following functions describe the last failure that was stored in the error. What they return
// is valid until the error is used again or freed. A call that succeeds does not change the error.
ELIDER_API elider_code elider_error_code(const elider_error *error);
ELIDER_API elider_cause elider_error_cause(const elider_error *error);
// True if a retry of the same transaction with the same input can succeed.
ELIDER_API bool elider_error_retryable(const elider_error *error);
// "" if the failure does not concern a table.
ELIDER_API const char *elider_error_table(const elider_error *error);
// The key that the failure concerns. Sets *data and *size to a byte key, or *data to NULL and
// *number to a number key. Returns false if the failure does not concern a key.
// Each pointer may be NULL.
ELIDER_API bool elider_error_key(const elider_error *error, const void **data, size_t *size, uint64_t *number);
// A sentence for people, which names the table, the column and the key.
ELIDER_API const char *elider_error_message(elider_error *error);

// Frees what a function has returned with the words "free it with elider_free()".
ELIDER_API void elider_free(void *memory);

// -- keys, values and ranges ----------------------------------------------------------------------

// A key of a table of numbers has `data` NULL, and the number. A key of a table of bytes or tuples
// has the bytes and their number. Keys have at most 1,024 bytes.
typedef struct elider_key {
  const void *data;
  uint64_t size_or_number;
} elider_key;
static inline elider_key elider_number(uint64_t number) {
  elider_key key = {NULL, number};
  return key;
}
static inline elider_key elider_bytes(const void *data, size_t size) {
  elider_key key = {size == 0 ? "" : data, size};
  return key;
}

// The kind of a value. ELIDER_TUPLE and ELIDER_TUPLE_END occur only in tuples.
typedef int32_t elider_kind;
enum {
  ELIDER_NULL = 0,
  ELIDER_BOOL = 1,
  ELIDER_INT64 = 2,   // an integer in the range of int64_t
  ELIDER_UINT64 = 3,  // an integer above that range; functions accept both kinds for any integer
  ELIDER_FLOAT = 4,
  ELIDER_DOUBLE = 5,
  ELIDER_TIMESTAMP = 6,  // microseconds since 1970-01-01 00:00 UTC
  ELIDER_TEXT = 7,       // UTF-8, also the text of a JSON column
  ELIDER_BYTES = 8,
  ELIDER_UUID = 9,
  ELIDER_DECIMAL = 10, // integer / 10^scale
  ELIDER_TUPLE = 11,
  ELIDER_TUPLE_END = 12
};

// A value of a column, or a field of a tuple. The kind determines which members are used.
typedef struct elider_value {
  elider_kind kind;
  int32_t scale;    // ELIDER_DECIMAL
  int64_t integer;  // ELIDER_BOOL, _INT64, _UINT64 (the same 64 bits), _TIMESTAMP, _DECIMAL
  double real;      // ELIDER_FLOAT, ELIDER_DOUBLE
  const void *data; // ELIDER_TEXT, ELIDER_BYTES
  size_t size;
  uint8_t uuid[16]; // ELIDER_UUID
} elider_value;
static inline elider_value elider_value_of(elider_kind kind, int64_t integer, double real, const void *data, size_t size) {
  elider_value value = {kind, 0, integer, real, data, size, {0}};
  return value;
}
static inline elider_value elider_null(void) { return elider_value_of(ELIDER_NULL, 0, 0, NULL, 0); }
static inline elider_value elider_bool(bool on) { return elider_value_of(ELIDER_BOOL, on ? 1 : 0, 0, NULL, 0); }
static inline elider_value elider_int64(int64_t number) { return elider_value_of(ELIDER_INT64, number, 0, NULL, 0); }
static inline elider_value elider_uint64(uint64_t number) { return elider_value_of(ELIDER_UINT64, (int64_t)number, 0, NULL, 0); }
static inline elider_value elider_float(float number) { return elider_value_of(ELIDER_FLOAT, 0, (double)number, NULL, 0); }
static inline elider_value elider_double(double number) { return elider_value_of(ELIDER_DOUBLE, 0, number, NULL, 0); }
static inline elider_value elider_timestamp(int64_t us) { return elider_value_of(ELIDER_TIMESTAMP, us, 0, NULL, 0); }
static inline elider_value elider_text(const char *text, size_t size) { return elider_value_of(ELIDER_TEXT, 0, 0, text, size); }
static inline elider_value elider_blob(const void *data, size_t size) { return elider_value_of(ELIDER_BYTES, 0, 0, data, size); }
static inline elider_value elider_uuid(const uint8_t bytes[16]) {
  elider_value value = elider_value_of(ELIDER_UUID, 0, 0, NULL, 0);
  for (int i = 0; i < 16; ++i) value.uuid[i] = bytes[i];
  return value;
}
static inline elider_value elider_decimal(int64_t units, int32_t scale) {
  elider_value value = elider_value_of(ELIDER_DECIMAL, units, 0, NULL, 0);
  value.scale = scale;
  return value;
}

// A range of keys: the keys k with from <= k < to. The flags say which bounds apply.
enum {
  ELIDER_FROM = 1,     // `from` is a bound
  ELIDER_AFTER = 2,    // `from` is a bound, and does not belong to the range itself
  ELIDER_TO = 4,       // `to` is a bound
  ELIDER_THROUGH = 8,  // `to` is a bound, and belongs to the range itself
  ELIDER_PREFIX = 16   // the keys begin with the bytes of `to`. Only ELIDER_AFTER can be added
};
typedef struct elider_range {
  elider_key from, to;
  uint32_t flags;
} elider_range;
static inline elider_range elider_between(elider_key from, elider_key to) {
  elider_range range = {from, to, ELIDER_FROM | ELIDER_TO};
  return range;
}
static inline elider_range elider_from(elider_key from) {
  elider_range range = {from, {NULL, 0}, ELIDER_FROM};
  return range;
}
// The byte keys that begin with these bytes. In a table of tuples, the bytes are those of an
// elider_tuple with the first fields.
static inline elider_range elider_prefix(const void *data, size_t size) {
  elider_range range = {{NULL, 0}, {size == 0 ? "" : data, size}, ELIDER_PREFIX};
  return range;
}

// A row that was read. `data` is NULL for a row that does not exist (elider_multi_get()).
typedef struct elider_row {
  elider_key key;
  const void *data;
  size_t size;
  // A visitor of an index gets the row's position in the index. Otherwise they are NULL and 0.
  const void *position;
  size_t position_size;
} elider_row;

// -- tuples ---------------------------------------------------------------------------------------

// An elider_tuple encodes a list of values as bytes. memcmp() orders these bytes as the lists are
// ordered. docs/formats.md, "Tuple encoding", describes them. A tuple has at most 1,024 bytes.
// Returns NULL if the process is out of memory.
ELIDER_API elider_tuple *elider_tuple_new(void);
ELIDER_API void elider_tuple_free(elider_tuple *tuple);
ELIDER_API void elider_tuple_clear(elider_tuple *tuple);
// Adds a field. ELIDER_TUPLE begins a nested tuple, and ELIDER_TUPLE_END ends it.
// Tuples cannot contain an ELIDER_DECIMAL. elider_tuple_key() returns the first failure, which some
// calls of this function do not report.
//   ELIDER_INVALID_ARGUMENT  the tuple is too long, text is not UTF-8, or tuples nest too deeply
ELIDER_API elider_code elider_tuple_add(elider_tuple *tuple, elider_value value, bool descending, elider_error *error);
// Sets *key to the tuple as a key, which is valid until the tuple is changed or freed.
ELIDER_API elider_code elider_tuple_key(elider_tuple *tuple, elider_key *key, elider_error *error);

// Reads the fields of a tuple. Returns NULL if the process is out of memory.
ELIDER_API elider_tuple_reader *elider_tuple_reader_new(void);
ELIDER_API void elider_tuple_reader_free(elider_tuple_reader *reader);
// Begins with a tuple of at most 1,024 bytes, which are copied.
ELIDER_API elider_code elider_tuple_begin(elider_tuple_reader *reader, const void *data, size_t size, elider_error *error);
// Reads the next field. Sets *more to false at the end. Text is valid until the next call.
ELIDER_API elider_code elider_tuple_next(elider_tuple_reader *reader, elider_value *value, bool *descending, bool *more,
                                         elider_error *error);

// -- options and opening --------------------------------------------------------------------------

// Returns NULL if the process is out of memory.
ELIDER_API elider_options *elider_options_new(void);
ELIDER_API void elider_options_free(elider_options *options);
// Sets an option of docs/options.md to a value that is given as text: "durability", "group".
//   ELIDER_INVALID_ARGUMENT  the option does not exist, or the value is not allowed
ELIDER_API elider_code elider_options_set(elider_options *options, const char *name, const char *text, elider_error *error);
// Sets *text to the value of an option as text; free it with elider_free().
ELIDER_API elider_code elider_options_text(const elider_options *options, const char *name, char **text, elider_error *error);

// Opens the database in a folder, or a new one in memory if `folder` is NULL. `options` may be
// NULL. The option data_folders takes several folders; then `folder` must be NULL.
ELIDER_API elider_code elider_open(const char *folder, const elider_options *options, elider_database **database, elider_error *error);
// Waits until all commits are durable, and closes the database. Afterwards the handle is freed,
// unless the result is ELIDER_INVALID_ARGUMENT. No other thread may use the database meanwhile.
//   ELIDER_INVALID_ARGUMENT  a transaction, cursor or snapshot of the database is not freed, or
//                            this thread is inside elider_run(); nothing happened
//   ELIDER_IO_ERROR          the last commits may not be durable; the database is closed
ELIDER_API elider_code elider_close(elider_database *database, elider_error *error);

// -- schemas --------------------------------------------------------------------------------------

typedef int32_t elider_keys;
enum { ELIDER_KEYS_NUMBERS = 0, ELIDER_KEYS_BYTES = 1, ELIDER_KEYS_TUPLES = 2 };
typedef int32_t elider_rows;
enum {
  ELIDER_ROWS_DESCRIBED = 0,  // columns of any types, built with an elider_builder
  ELIDER_ROWS_VALUES = 1,     // byte strings
  ELIDER_ROWS_FIXED = 2       // byte strings of one size, such as a C struct, perhaps with columns
};
// The types of columns of described rows and of fields of tuple keys.
typedef int32_t elider_type;
enum {
  ELIDER_TYPE_BOOL = 0,
  ELIDER_TYPE_INT8 = 1,
  ELIDER_TYPE_INT16 = 2,
  ELIDER_TYPE_INT32 = 3,
  ELIDER_TYPE_INT64 = 4,
  ELIDER_TYPE_UINT8 = 5,
  ELIDER_TYPE_UINT16 = 6,
  ELIDER_TYPE_UINT32 = 7,
  ELIDER_TYPE_UINT64 = 8,
  ELIDER_TYPE_FLOAT = 9,
  ELIDER_TYPE_DOUBLE = 10,
  ELIDER_TYPE_TIMESTAMP = 11,
  ELIDER_TYPE_TEXT = 12,
  ELIDER_TYPE_BYTES = 13,
  ELIDER_TYPE_UUID = 14,
  ELIDER_TYPE_DECIMAL = 15,  // not in keys
  ELIDER_TYPE_JSON = 16      // not in keys
};
enum {
  ELIDER_NULLABLE = 1,    // of a column; of a field of a tuple key: null comes first
  ELIDER_DESCENDING = 2,  // of a field of a tuple key, and of a column of an index
  ELIDER_NULL_LAST = 4,   // of a field of a tuple key: may be null, which comes last
  ELIDER_UNIQUE = 8,      // of an index
  ELIDER_RANKED = 16      // of an index
};

// Describes a table. A function that changes a schema returns nothing; elider_create_table()
// reports the first mistake. Returns NULL if the process is out of memory.
ELIDER_API elider_schema *elider_schema_new(const char *table, elider_keys keys, elider_rows rows);
ELIDER_API void elider_schema_free(elider_schema *schema);
// The kind of the key index: "btree", "hash" or "art". By default "btree" for numbers, else "art".
ELIDER_API void elider_schema_key_index(elider_schema *schema, const char *kind);
// Appends a field of a tuple key.
ELIDER_API void elider_schema_key_field(elider_schema *schema, elider_type type, unsigned flags);
// Appends a column of described rows. `default_value` may be NULL. `scale` is for decimals.
ELIDER_API void elider_schema_column(elider_schema *schema, const char *name, elider_type type, unsigned flags,
                                     const elider_value *default_value, int scale);
// The size of fixed rows, or the maximum size of values and described rows, up to 16 MiB (fixed
// rows: 1 MiB). By default 1 MiB. Fixed rows need it.
ELIDER_API void elider_schema_row_bytes(elider_schema *schema, size_t bytes);
// Appends a column of fixed rows: `type` is ELIDER_TYPE_INT8 to _DOUBLE, or _BYTES. Columns have
// the positions 0, 1 and so on. `group` is the column group, 0 to 3; usually 0.
ELIDER_API void elider_schema_fixed_column(elider_schema *schema, const char *name, elider_type type, size_t offset, size_t size,
                                           unsigned group);
// Adds an index by columns. `flags` has ELIDER_UNIQUE and ELIDER_RANKED; `column_flags` has
// ELIDER_DESCENDING for each column, or is NULL.
ELIDER_API void elider_schema_index(elider_schema *schema, const char *name, const char *const *columns, const unsigned *column_flags,
                                    size_t count, unsigned flags);

// Creates the table, or returns the existing one if its schema is the same.
ELIDER_API elider_code elider_create_table(elider_database *database, const elider_schema *schema, elider_table **table,
                                           elider_error *error);
ELIDER_API elider_code elider_find_table(elider_database *database, const char *name, elider_table **table, elider_error *error);
// Sets *count to the number of tables, and the elements of `tables`, which has room for `room`.
ELIDER_API elider_code elider_tables(elider_database *database, elider_table **tables, size_t room, size_t *count, elider_error *error);

// What a table is. The name is the one with which it was found or created.
ELIDER_API const char *elider_table_name(const elider_table *table);
ELIDER_API elider_keys elider_table_keys(const elider_table *table);
ELIDER_API elider_rows elider_table_rows(const elider_table *table);
// The number of columns, including dropped ones.
ELIDER_API size_t elider_table_columns(const elider_table *table);
typedef struct elider_column_info {
  size_t size;       // of this struct; the caller sets it
  const char *name;  // valid until the database is closed
  elider_type type;
  unsigned flags;    // ELIDER_NULLABLE
  int scale;
  bool dropped;
} elider_column_info;
ELIDER_API elider_code elider_table_column(const elider_table *table, size_t column, elider_column_info *info, elider_error *error);
// Sets *column to the position of a column, which never changes. Look it up once.
ELIDER_API elider_code elider_column_position(const elider_table *table, const char *name, uint32_t *column, elider_error *error);
// Columns of a table of fixed rows, to read or write only these.
ELIDER_API elider_code elider_find_columns(elider_table *table, const char *const *names, size_t count, const elider_columns **columns,
                                           elider_error *error);
ELIDER_API elider_code elider_find_index(elider_table *table, const char *name, elider_index **index, elider_error *error);

// Changes of tables while transactions run (docs/schema-changes.md). They are not part of a
// transaction, and the calling thread must not have an open one. `wait_us` 0: 10 seconds.
ELIDER_API elider_code elider_drop_table(elider_database *database, const char *table, uint64_t wait_us, elider_error *error);
ELIDER_API elider_code elider_rename_table(elider_database *database, const char *table, const char *name, elider_error *error);
ELIDER_API elider_code elider_add_column(elider_database *database, const char *table, const char *name, elider_type type,
                                         unsigned flags, const elider_value *default_value, int scale, elider_error *error);
ELIDER_API elider_code elider_rename_column(elider_database *database, const char *table, const char *column, const char *name,
                                            elider_error *error);
ELIDER_API elider_code elider_drop_column(elider_database *database, const char *table, const char *column, elider_error *error);
// Creates an index of existing rows. `progress` may be NULL. It returns false to give up
// (ELIDER_ROLLED_BACK), and must not use the database. A ranked index can only be in a schema.
typedef bool (*elider_progress)(uint64_t visited, uint64_t all, void *context);
ELIDER_API elider_code elider_create_index(elider_database *database, const char *table, const char *name, const char *const *columns,
                                           const unsigned *column_flags, size_t count, unsigned flags, uint64_t wait_us,
                                           elider_progress progress, void *context, elider_error *error);
ELIDER_API elider_code elider_drop_index(elider_database *database, const char *table, const char *name, elider_error *error);

// -- transactions ---------------------------------------------------------------------------------

typedef int32_t elider_durability;
enum {
  ELIDER_DURABILITY_DEFAULT = 0,
  ELIDER_DURABILITY_NONE = 1,
  ELIDER_DURABILITY_ASYNC = 2,
  ELIDER_DURABILITY_GROUP = 3
};

// How to run a transaction. Set `size` to sizeof(elider_policy), and the rest to 0 for defaults. A
// NULL policy has the defaults.
typedef struct elider_policy {
  size_t size;
  bool read_only;
  bool in_order;           // of a group: a call that conflicts is repeated before the next one runs
  uint32_t attempts_max;   // 0: no limit
  uint64_t deadline_us;    // 0: no limit
  elider_durability durability;
  uint32_t procedure_id;   // of elider_procedure_id()
  uint64_t *commit_number; // receives the number of the commit, for elider_wait_durable()
  elider_snapshot *snapshot;  // of a read-only transaction; NULL: the newest
  uint32_t group_size;     // calls of a group that are looked up together; 0: 32
} elider_policy;

// The body of a transaction. To commit, it returns ELIDER_OK. Otherwise its writes are undone, and
// elider_run() returns the code. The body should return the code of the operation that failed: the
// transaction then reports the table, the key and the cause, and runs the body again after a
// conflict. A body may run several times, so it should change nothing but the database.
// The transaction is valid until the body returns.
typedef elider_code (*elider_procedure)(elider_transaction *transaction, void *context);
ELIDER_API elider_code elider_run(elider_database *database, elider_procedure procedure, void *context, const elider_policy *policy,
                                  elider_error *error);
// Returns `code`, with a message for the error of elider_run(). A body can return its result.
ELIDER_API elider_code elider_fail(elider_transaction *transaction, elider_code code, const char *message);

// Runs calls 0 to calls - 1, each as a transaction, and overlaps their cache misses
// (docs/groups.md). `touch` names in advance the rows that a call will access, and may be NULL.
// `outcomes` is NULL, or receives a code for each call. Returns the first code that is not
// ELIDER_OK.
typedef void (*elider_touch)(elider_touches *touches, size_t call, void *context);
typedef elider_code (*elider_group_procedure)(elider_transaction *transaction, size_t call, void *context);
ELIDER_API elider_code elider_run_group(elider_database *database, size_t calls, elider_touch touch, elider_group_procedure procedure,
                                        void *context, elider_code *outcomes, const elider_policy *policy, elider_error *error);
// These functions give hints, which do not change results.
ELIDER_API void elider_touch_row(elider_touches *touches, const elider_table *table, elider_key key);
ELIDER_API void elider_touch_range(elider_touches *touches, const elider_table *table, elider_key from);

// Interactive transactions, for programs and languages in which a callback is inconvenient:
//
//   code = elider_begin(database, NULL, &transaction, error);
//   while (code == ELIDER_OK) {
//     code = work(transaction);
//     if (code == ELIDER_OK) code = elider_commit(transaction, NULL, error);
//     if (code == ELIDER_OK) break;
//     code = elider_retry(transaction, code, error);
//   }
//   elider_transaction_free(transaction);
ELIDER_API elider_code elider_begin(elider_database *database, const elider_policy *policy, elider_transaction **transaction,
                                    elider_error *error);
// Afterwards the transaction has ended, even if the commit failed. The handle stays, for
// elider_retry() and elider_transaction_free(). `commit_number` may be NULL.
ELIDER_API elider_code elider_commit(elider_transaction *transaction, uint64_t *commit_number, elider_error *error);
// Returns ELIDER_OK if `failed` is ELIDER_CONFLICT and the policy allows another attempt. It has
// then waited for a short time, and the transaction has begun again. Otherwise the transaction has
// ended, and the result is `failed` or, after the last attempt, ELIDER_DEADLINE.
ELIDER_API elider_code elider_retry(elider_transaction *transaction, elider_code failed, elider_error *error);
ELIDER_API void elider_rollback(elider_transaction *transaction);
// Rolls back what is open. Call it also after a commit.
ELIDER_API void elider_transaction_free(elider_transaction *transaction);
// The number of the attempt, from 1. 0 if the transaction is NULL.
ELIDER_API uint32_t elider_attempt(const elider_transaction *transaction);

// A state of the database that any number of read-only transactions can read (elider_policy).
ELIDER_API elider_code elider_snapshot_open(elider_database *database, elider_snapshot **snapshot, elider_error *error);
ELIDER_API void elider_snapshot_free(elider_snapshot *snapshot);
ELIDER_API uint64_t elider_snapshot_number(const elider_snapshot *snapshot);
// Moves to a newer state. Returns false if that is not possible now.
ELIDER_API bool elider_snapshot_advance(elider_snapshot *snapshot);

// The number for elider_policy.procedure_id, so that statistics count transactions by this name.
ELIDER_API uint32_t elider_procedure_id(elider_database *database, const char *name);

// -- reading and writing rows ---------------------------------------------------------------------
// docs/tables.md describes the operations. A failure with ELIDER_CONFLICT, _MEMORY_LIMIT,
// _PROCEDURE_THREW or _FINISHED ends the attempt: return it from the body.

// Reads a row. `columns` may be NULL; otherwise the row has the layout of a whole row, and only
// these columns are filled in.
//   ELIDER_NOT_FOUND  the key does not exist
ELIDER_API elider_code elider_get(elider_transaction *transaction, elider_table *table, elider_key key, const elider_columns *columns,
                                  elider_row *row, elider_error *error);
// Reads many rows, and overlaps the cache misses. rows[i].data is NULL if keys[i] does not exist.
ELIDER_API elider_code elider_multi_get(elider_transaction *transaction, elider_table *table, const elider_key *keys, size_t count,
                                        const elider_columns *columns, elider_row *rows, elider_error *error);
// Sets *version to the version of the row, or to 0 if the key does not exist.
ELIDER_API elider_code elider_row_version(elider_transaction *transaction, elider_table *table, elider_key key, uint64_t *version,
                                          elider_error *error);
// Inserts a row. ELIDER_DUPLICATE_KEY: the key, or a value of a unique index, exists.
ELIDER_API elider_code elider_insert(elider_transaction *transaction, elider_table *table, elider_key key, const void *row, size_t size,
                                     elider_error *error);
// Inserts or replaces a row.
ELIDER_API elider_code elider_put(elider_transaction *transaction, elider_table *table, elider_key key, const void *row, size_t size,
                                  elider_error *error);
ELIDER_API elider_code elider_remove(elider_transaction *transaction, elider_table *table, elider_key key, elider_error *error);
// Overwrites the given columns with those of `row`, which has the size of a whole fixed row.
ELIDER_API elider_code elider_write(elider_transaction *transaction, elider_table *table, elider_key key, const elider_columns *columns,
                                    const void *row, size_t size, elider_error *error);
// Lets `change` modify the given columns of a fixed row, with a single lookup. It must not use the
// transaction. `columns` NULL: all.
typedef void (*elider_change)(void *row, size_t size, void *context);
ELIDER_API elider_code elider_edit(elider_transaction *transaction, elider_table *table, elider_key key, const elider_columns *columns,
                                   elider_change change, void *context, elider_error *error);
// Adds to a numeric column of a fixed row at commit. Additions do not conflict with each other. The
// value is an ELIDER_INT64 or ELIDER_UINT64, which must be in the range of the column, or an
// ELIDER_FLOAT or ELIDER_DOUBLE for a column of that type.
ELIDER_API elider_code elider_add(elider_transaction *transaction, elider_table *table, elider_key key, uint32_t column,
                                  elider_value delta, elider_error *error);

// Described rows. A builder builds rows of one table, one after the other. Returns NULL if the
// table does not have described rows, or the process is out of memory.
ELIDER_API elider_builder *elider_builder_new(elider_table *table);
ELIDER_API void elider_builder_free(elider_builder *builder);
// Begins a row of defaults and nulls, as a new builder has.
ELIDER_API elider_code elider_builder_begin(elider_builder *builder, elider_error *error);
// Begins with the columns of a row that was read.
ELIDER_API elider_code elider_builder_edit(elider_builder *builder, const elider_row *row, elider_error *error);
// Sets a column. The first failure is kept: later calls, and writes of the row, return it.
//   ELIDER_INVALID_ARGUMENT  the column does not exist; the value does not fit; text is not UTF-8
ELIDER_API elider_code elider_set(elider_builder *builder, uint32_t column, elider_value value, elider_error *error);
ELIDER_API elider_code elider_insert_row(elider_transaction *transaction, elider_table *table, elider_key key, elider_builder *builder,
                                         elider_error *error);
ELIDER_API elider_code elider_put_row(elider_transaction *transaction, elider_table *table, elider_key key, elider_builder *builder,
                                      elider_error *error);
// Reads a row, sets some of its columns, and writes it. The builder is only memory for the row.
ELIDER_API elider_code elider_update(elider_transaction *transaction, elider_table *table, elider_key key, elider_builder *builder,
                                     const uint32_t *columns, const elider_value *values, size_t count, elider_error *error);
// Reads a column of a described row. Text and bytes are valid as long as the row or, if they are a
// default, as the database.
ELIDER_API elider_code elider_row_value(elider_table *table, const elider_row *row, uint32_t column, elider_value *value,
                                        elider_error *error);
// These read a column as one type, and are faster. If the column is null, *null is true; if `null`
// is NULL, that is ELIDER_INVALID_ARGUMENT. elider_row_bytes() reads text, JSON and bytes.
ELIDER_API elider_code elider_row_int64(elider_table *table, const elider_row *row, uint32_t column, int64_t *number, bool *null,
                                        elider_error *error);
ELIDER_API elider_code elider_row_double(elider_table *table, const elider_row *row, uint32_t column, double *number, bool *null,
                                         elider_error *error);
ELIDER_API elider_code elider_row_bytes(elider_table *table, const elider_row *row, uint32_t column, const void **data, size_t *size,
                                        bool *null, elider_error *error);

// -- scans ----------------------------------------------------------------------------------------

// Set `size` to sizeof(elider_scan_options), and the rest to 0 for defaults. NULL has the defaults.
typedef struct elider_scan_options {
  size_t size;
  uint64_t limit;  // 0: no limit
  uint64_t skip;   // the rows to skip first; only for ranked indexes
  bool reverse;
  const elider_columns *columns;  // of fixed rows; NULL: all
} elider_scan_options;

// Receives each row. It returns ELIDER_OK to continue, ELIDER_STOP to end the scan, and any other
// code to end it with this code. It may use the transaction.
typedef elider_code (*elider_visitor)(const elider_row *row, void *context);
// `range` NULL: all rows.
//   ELIDER_UNSUPPORTED  the table is hashed
ELIDER_API elider_code elider_scan(elider_transaction *transaction, elider_table *table, const elider_range *range,
                                   const elider_scan_options *options, elider_visitor visit, void *context, elider_error *error);
// Visits all rows in no particular order, in a read-only transaction, also of a hashed table. Only
// `columns` is used of the options.
ELIDER_API elider_code elider_scan_rows(elider_transaction *transaction, elider_table *table, const elider_scan_options *options,
                                        elider_visitor visit, void *context, elider_error *error);

// A range of an index by columns: the rows from those whose first columns have the values `first`
// to those with `last`, inclusive. A bound without values is open. With the same values, it is a
// prefix. A row's position (elider_row.position, elider_index_position()) further restricts it.
typedef struct elider_index_range {
  const elider_value *first;
  size_t first_count;
  const elider_value *last;
  size_t last_count;
  const void *after;   // only what comes after this position; NULL: no limit
  size_t after_size;
  const void *before;  // only what comes before this position; NULL: no limit
  size_t before_size;
} elider_index_range;
static inline elider_index_range elider_index_prefix(const elider_value *values, size_t count) {
  elider_index_range range = {values, count, values, count, NULL, 0, NULL, 0};
  return range;
}
// `range` NULL: the whole index, in each of these functions.
ELIDER_API elider_code elider_scan_index(elider_transaction *transaction, elider_index *index, const elider_index_range *range,
                                         const elider_scan_options *options, elider_visitor visit, void *context, elider_error *error);
// Counts the rows of a range, but at most `limit` (0: no limit).
ELIDER_API elider_code elider_count(elider_transaction *transaction, elider_index *index, const elider_index_range *range,
                                    uint64_t limit, uint64_t *count, elider_error *error);
#define ELIDER_POSITION_BYTES_MAX 1024
// Writes the position of the row with this key to `position`, which has ELIDER_POSITION_BYTES_MAX
// bytes, and its size to *size.
ELIDER_API elider_code elider_index_position(elider_transaction *transaction, elider_index *index, elider_key key, void *position,
                                             size_t *size, elider_error *error);
// Sets *rank to the number of rows before the row with this key, in a ranked index.
ELIDER_API elider_code elider_rank(elider_transaction *transaction, elider_index *index, elider_key key, uint64_t *rank,
                                   elider_error *error);

// Cursors return rows page by page. A cursor continues after the last row that it returned, in the
// same transaction or in a later one. If elider_run() repeats a body, the cursor goes back to where
// the attempt began. To go back after elider_retry(), use a copy that was made before.
ELIDER_API elider_code elider_cursor_open(elider_table *table, const elider_range *range, const elider_scan_options *options,
                                          elider_cursor **cursor, elider_error *error);
ELIDER_API elider_code elider_cursor_open_index(elider_index *index, const elider_index_range *range,
                                                const elider_scan_options *options, elider_cursor **cursor, elider_error *error);
ELIDER_API elider_code elider_cursor_copy(const elider_cursor *cursor, elider_cursor **copy, elider_error *error);
// Reads up to `room` rows. Sets *count to 0 only at the end of the range.
ELIDER_API elider_code elider_cursor_next(elider_cursor *cursor, elider_transaction *transaction, elider_row *rows, size_t room,
                                          size_t *count, elider_error *error);
ELIDER_API void elider_cursor_free(elider_cursor *cursor);

// -- sequences ------------------------------------------------------------------------------------

// Finds or creates a sequence of unique numbers (elider/sequence.h). `start` and `chunk` 0: the
// defaults. The database owns the handle.
ELIDER_API elider_code elider_sequence_find(elider_database *database, const char *name, uint64_t start, uint32_t chunk,
                                            elider_sequence **sequence, elider_error *error);
ELIDER_API elider_code elider_sequence_next(elider_sequence *sequence, uint64_t *number, elider_error *error);
ELIDER_API elider_code elider_sequence_at_least(elider_sequence *sequence, uint64_t number, elider_error *error);

// -- durability and looking inside ----------------------------------------------------------------

// Waits until the commits up to this number are on the disk. UINT64_MAX: all that exist now.
ELIDER_API elider_code elider_wait_durable(elider_database *database, uint64_t commit_number, elider_error *error);
// Calls `told` once with the result of elider_wait_durable(), immediately or later from a thread of
// the log, but never after elider_close() has returned. `told` must return quickly, and must not
// use the database. The error belongs to the library, and describes a code that is not ELIDER_OK.
typedef void (*elider_told)(elider_code code, elider_error *error, void *context);
ELIDER_API elider_code elider_when_durable(elider_database *database, uint64_t commit_number, elider_told told, void *context,
                                           elider_error *error);
ELIDER_API elider_code elider_checkpoint(elider_database *database, elider_error *error);
// Copies the database to an empty or new folder.
ELIDER_API elider_code elider_backup(elider_database *database, const char *folder, elider_error *error);
// Sets *json to the statistics of docs/metrics.md; free it with elider_free().
ELIDER_API elider_code elider_statistics_json(elider_database *database, char **json, elider_error *error);
// Checks every index and row. No transaction may run.
ELIDER_API elider_code elider_verify(elider_database *database, elider_error *error);

#ifdef __cplusplus
}
#endif
#endif
