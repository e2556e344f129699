// The C interface of the durable heap (elider/heap.h, docs/heap.md): a file with maps and queues of
// byte strings. After a crash, the file contains either all changes of a transaction or none of
// them. The rules of elider/c.h for errors, memory, threads and callbacks also apply here.
#ifndef ELIDER_C_HEAP_H
#define ELIDER_C_HEAP_H

#include "elider/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// All threads may use a heap at the same time.
typedef struct elider_heap elider_heap;
typedef struct elider_heap_options elider_heap_options;
// A transaction, and the maps and queues that it has found, are valid until its body returns. Only
// the thread of the body may use them.
typedef struct elider_heap_transaction elider_heap_transaction;
typedef struct elider_heap_map elider_heap_map;
typedef struct elider_heap_queue elider_heap_queue;

// Returns NULL if the process is out of memory.
ELIDER_API elider_heap_options *elider_heap_options_new(void);
ELIDER_API void elider_heap_options_free(elider_heap_options *options);
// Sets an option of the durable heap (docs/options.md) to a value that is given as text.
ELIDER_API elider_code elider_heap_options_set(elider_heap_options *options, const char *name, const char *text, elider_error *error);

// Opens the heap in a file, or creates one of `bytes` bytes (0: 1 MiB), which grows as needed.
// `options` may be NULL. elider_heap_close() frees the heap.
ELIDER_API elider_code elider_heap_open(const char *path, uint64_t bytes, const elider_heap_options *options, elider_heap **heap,
                                        elider_error *error);
// Waits until all commits are durable, and closes the heap. No thread may use it meanwhile. The
// handle is freed, unless this thread is inside a body (ELIDER_INVALID_ARGUMENT).
ELIDER_API elider_code elider_heap_close(elider_heap *heap, elider_error *error);
// Waits until all commits are durable.
ELIDER_API elider_code elider_heap_persist(elider_heap *heap, elider_error *error);
// Checks the file of a heap that is not open. ELIDER_CORRUPT: it is damaged.
ELIDER_API elider_code elider_heap_check(const char *path, elider_error *error);

// The body of a transaction, which may run several times. If it does not return ELIDER_OK, all its
// changes are undone, and the call returns its code.
typedef elider_code (*elider_heap_procedure)(elider_heap_transaction *transaction, void *context);
ELIDER_API elider_code elider_heap_run(elider_heap *heap, elider_heap_procedure procedure, void *context, elider_error *error);
// Runs a body that only reads, on a single state. Commits wait for it, so it should be short.
ELIDER_API elider_code elider_heap_read(elider_heap *heap, elider_heap_procedure procedure, void *context, elider_error *error);

// Finds a map by its name, which has 1 to 255 bytes, or creates it, unless the transaction only
// reads. A hashed map has keys of any length. An ordered map keeps its keys in order.
//   ELIDER_NOT_FOUND        the map does not exist, and the transaction only reads
//   ELIDER_SCHEMA_MISMATCH  the name belongs to another kind of object
typedef int32_t elider_heap_map_kind;
enum { ELIDER_HEAP_HASHED = 0, ELIDER_HEAP_ORDERED = 1 };
#define ELIDER_HEAP_ORDERED_KEY_MAX 119  // the bytes of a key of an ordered map
ELIDER_API elider_code elider_heap_find_map(elider_heap_transaction *transaction, const char *name, elider_heap_map_kind kind,
                                            elider_heap_map **map, elider_error *error);
// Sets *data and *size to the value of a key. The value is a copy, which is valid until the body
// returns.
ELIDER_API elider_code elider_heap_get(elider_heap_map *map, const void *key, size_t key_size, const void **data, size_t *size,
                                       elider_error *error);
// Inserts the key, or replaces its value.
ELIDER_API elider_code elider_heap_put(elider_heap_map *map, const void *key, size_t key_size, const void *data, size_t size,
                                       elider_error *error);
// ELIDER_NOT_FOUND: the map does not have the key.
ELIDER_API elider_code elider_heap_remove(elider_heap_map *map, const void *key, size_t key_size, elider_error *error);
ELIDER_API elider_code elider_heap_count(elider_heap_map *map, uint64_t *count, elider_error *error);
// Visits the entries: those of an ordered map in order, from the key `from` on (NULL: all). The
// visitor returns ELIDER_OK, ELIDER_STOP or a code, like an elider_visitor, and must not change the
// map. An entry is valid until the visitor returns.
typedef elider_code (*elider_heap_visitor)(const void *key, size_t key_size, const void *data, size_t size, void *context);
ELIDER_API elider_code elider_heap_visit(elider_heap_map *map, const void *from, size_t from_size, elider_heap_visitor visit,
                                         void *context, elider_error *error);

// Finds or creates a first-in, first-out queue, like elider_heap_find_map().
ELIDER_API elider_code elider_heap_find_queue(elider_heap_transaction *transaction, const char *name, elider_heap_queue **queue,
                                              elider_error *error);
ELIDER_API elider_code elider_heap_push(elider_heap_queue *queue, const void *data, size_t size, elider_error *error);
// Takes the first element, of which *data is a copy, or only reads it.
//   ELIDER_NOT_FOUND  the queue is empty
ELIDER_API elider_code elider_heap_pop(elider_heap_queue *queue, const void **data, size_t *size, elider_error *error);
ELIDER_API elider_code elider_heap_front(elider_heap_queue *queue, const void **data, size_t *size, elider_error *error);
ELIDER_API elider_code elider_heap_queue_count(elider_heap_queue *queue, uint64_t *count, elider_error *error);

#ifdef __cplusplus
}
#endif
#endif
