// The durable heap: maps and queues of byte strings, their rollback, and what a file contains later.
#include "tests/c/check.h"

#include "elider/c_heap.h"

static elider_error *error;

#define TRY(call)                                        \
  do {                                                   \
    const elider_code code = (call);                     \
    if (code != ELIDER_OK) return code;                  \
  } while (0)

enum { kKeys = 2000 };

static void make(int i, char *key, char *value) {
  sprintf(key, "key %05d", i);
  memset(value, 'a' + i % 26, (size_t)(i % 300));
  value[i % 300] = '\0';
}

static elider_code fill(elider_heap_transaction *txn, void *kind) {
  elider_heap_map *map;
  TRY(elider_heap_find_map(txn, *(int *)kind == ELIDER_HEAP_HASHED ? "hashed" : "ordered", *(int *)kind, &map, error));
  for (int i = 0; i < kKeys; ++i) {
    char key[16], value[301];
    make(i, key, value);
    TRY(elider_heap_put(map, key, strlen(key), "another value", 13, error));
    TRY(elider_heap_put(map, key, strlen(key), value, strlen(value), error));
  }
  for (int i = 0; i < kKeys; i += 3) {
    char key[16], value[301];
    make(i, key, value);
    TRY(elider_heap_remove(map, key, strlen(key), error));
    CHECK(elider_heap_remove(map, key, strlen(key), error) == ELIDER_NOT_FOUND);
  }
  TRY(elider_heap_put(map, NULL, 0, "empty key", 9, error));
  return ELIDER_OK;
}

static elider_code count_entries(const void *key, size_t key_size, const void *data, size_t size, void *context) {
  (void)key, (void)key_size, (void)data, (void)size;
  ++*(uint64_t *)context;
  return ELIDER_OK;
}
static elider_code expect_key_10(const void *key, size_t key_size, const void *data, size_t size, void *context) {
  (void)data, (void)size;
  CHECK(is_text(key, key_size, "key 00010"));
  ++*(uint64_t *)context;
  return ELIDER_STOP;
}

static elider_code check_map(elider_heap_transaction *txn, void *kind) {
  elider_heap_map *map;
  TRY(elider_heap_find_map(txn, *(int *)kind == ELIDER_HEAP_HASHED ? "hashed" : "ordered", *(int *)kind, &map, error));
  uint64_t expected = 1;
  const void *data;
  size_t size;
  for (int i = 0; i < kKeys; ++i) {
    char key[16], value[301];
    make(i, key, value);
    const elider_code code = elider_heap_get(map, key, strlen(key), &data, &size, error);
    CHECK(code == (i % 3 == 0 ? ELIDER_NOT_FOUND : ELIDER_OK));
    if (code == ELIDER_OK) CHECK(is_text(data, size, value));
    expected += i % 3 == 0 ? 0 : 1;
  }
  TRY(elider_heap_get(map, "", 0, &data, &size, error));
  CHECK(is_text(data, size, "empty key"));
  uint64_t count, visited = 0;
  TRY(elider_heap_count(map, &count, error));
  CHECK(count == expected);
  TRY(elider_heap_visit(map, NULL, 0, count_entries, &visited, error));
  CHECK(visited == expected);
  CHECK(elider_heap_visit(map, "key 00009", 9, expect_key_10, &visited, error) ==
        (*(int *)kind == ELIDER_HEAP_ORDERED ? ELIDER_OK : ELIDER_INVALID_ARGUMENT));
  return ELIDER_OK;
}

static elider_code use_queue(elider_heap_transaction *txn, void *context) {
  (void)context;
  elider_heap_queue *queue;
  TRY(elider_heap_find_queue(txn, "work", &queue, error));
  char element[64];
  for (int i = 0; i < 500; ++i) TRY(elider_heap_push(queue, element, (size_t)sprintf(element, "element %d", i), error));
  const void *data;
  size_t size;
  for (int i = 0; i < 499; ++i) TRY(elider_heap_pop(queue, &data, &size, error));
  CHECK(is_text(data, size, "element 498"));
  TRY(elider_heap_front(queue, &data, &size, error));
  CHECK(is_text(data, size, "element 499"));
  uint64_t count;
  TRY(elider_heap_queue_count(queue, &count, error));
  CHECK(count == 1);
  TRY(elider_heap_pop(queue, &data, &size, error));
  CHECK(elider_heap_pop(queue, &data, &size, error) == ELIDER_NOT_FOUND);
  return ELIDER_OK;
}

static elider_code put_and_fail(elider_heap_transaction *txn, void *context) {
  (void)context;
  elider_heap_map *map;
  TRY(elider_heap_find_map(txn, "ordered", ELIDER_HEAP_ORDERED, &map, error));
  TRY(elider_heap_put(map, "lost", 4, "lost", 4, error));
  const char long_key[ELIDER_HEAP_ORDERED_KEY_MAX + 1] = {0};
  CHECK(elider_heap_put(map, long_key, sizeof long_key, "x", 1, error) == ELIDER_INVALID_ARGUMENT);
  CHECK(elider_heap_close(*(elider_heap **)context, error) == ELIDER_INVALID_ARGUMENT);
  const void *data;
  size_t size;
  return elider_heap_get(map, "missing", 7, &data, &size, error);
}
static elider_code write_in_read(elider_heap_transaction *txn, void *context) {
  (void)context;
  elider_heap_map *map;
  CHECK(elider_heap_find_map(txn, "no map", ELIDER_HEAP_HASHED, &map, error) == ELIDER_NOT_FOUND);
  CHECK(elider_heap_find_map(txn, "hashed", ELIDER_HEAP_ORDERED, &map, error) == ELIDER_SCHEMA_MISMATCH);
  CHECK(elider_heap_find_map(txn, "hashed", 7, &map, error) == ELIDER_INVALID_ARGUMENT);
  TRY(elider_heap_find_map(txn, "hashed", ELIDER_HEAP_HASHED, &map, error));
  return elider_heap_put(map, "x", 1, "x", 1, error);
}
static elider_code check_lost(elider_heap_transaction *txn, void *context) {
  (void)context;
  elider_heap_map *map;
  TRY(elider_heap_find_map(txn, "ordered", ELIDER_HEAP_ORDERED, &map, error));
  const void *data;
  size_t size;
  return elider_heap_get(map, "lost", 4, &data, &size, error);
}

int main(void) {
  error = elider_error_new();
  char folder[] = "c_heap_XXXXXX", path[64], command[128];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/test.heap", folder);
  elider_heap_options *options = elider_heap_options_new();
  OK(elider_heap_options_set(options, "capacity_bytes", "1G", error));
  SAYS(ELIDER_INVALID_ARGUMENT, "nothing", elider_heap_options_set(options, "nothing", "1", error));
  elider_heap *heap;
  OK(elider_heap_open(path, 0, options, &heap, error));
  int kinds[] = {ELIDER_HEAP_HASHED, ELIDER_HEAP_ORDERED};
  for (int i = 0; i < 2; ++i) OK(elider_heap_run(heap, fill, &kinds[i], error));
  OK(elider_heap_run(heap, use_queue, NULL, error));
  CODE(ELIDER_NOT_FOUND, elider_heap_run(heap, put_and_fail, &heap, error));
  CODE(ELIDER_NOT_FOUND, elider_heap_read(heap, check_lost, NULL, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_heap_read(heap, write_in_read, NULL, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_heap_run(NULL, fill, NULL, error));
  CODE(ELIDER_INVALID_ARGUMENT, elider_heap_get(NULL, "x", 1, NULL, NULL, error));
  OK(elider_heap_persist(heap, error));
  OK(elider_heap_close(heap, error));
  OK(elider_heap_check(path, error));
  OK(elider_heap_open(path, 0, options, &heap, error));
  for (int i = 0; i < 2; ++i) OK(elider_heap_read(heap, check_map, &kinds[i], error));
  OK(elider_heap_close(heap, error));
  OK(elider_heap_close(NULL, error));
  elider_heap_options_free(options);
  elider_error_free(error);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}
