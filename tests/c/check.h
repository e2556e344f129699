// CHECK, for the tests of the C interface: prints what failed, and ends the program.
#ifndef ELIDER_TESTS_C_CHECK_H
#define ELIDER_TESTS_C_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elider/c.h"

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition);        \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

// Checks that a call returns this code. `error` is the variable that the call fills.
#define CODE(expected, call)                                                                                          \
  do {                                                                                                                \
    const elider_code its_code = (call);                                                                              \
    if (its_code != (expected)) {                                                                                     \
      fprintf(stderr, "FAILED: %s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, elider_code_name(its_code),           \
              elider_error_message(error));                                                                           \
      exit(1);                                                                                                        \
    }                                                                                                                 \
  } while (0)
#define OK(call) CODE(ELIDER_OK, call)
// Checks that a call returns this code, and that the message contains these words.
#define SAYS(expected, words, call)                                                                                   \
  do {                                                                                                                \
    CODE(expected, call);                                                                                             \
    if (strstr(elider_error_message(error), words) == NULL) {                                                         \
      fprintf(stderr, "FAILED: %s:%d: %s says: %s\n", __FILE__, __LINE__, #call, elider_error_message(error));        \
      exit(1);                                                                                                        \
    }                                                                                                                 \
  } while (0)

static inline bool is_text(const void *data, size_t size, const char *text) {
  return size == strlen(text) && memcmp(data, text, size) == 0;
}
static inline elider_key name_key(const char *text) { return elider_bytes(text, strlen(text)); }
static inline elider_value text_of(const char *text) { return elider_text(text, strlen(text)); }

#endif
