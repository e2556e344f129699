// Pointers to the functions of libc that the runtime replaces. Thread safety: all threads may use
// the pointers after find_real_functions() has returned.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

namespace elider::emulator {

struct RealFunctions {
  int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  int (*pthread_join)(pthread_t, void**);
  int (*pthread_mutex_lock)(pthread_mutex_t*);
  int (*pthread_mutex_trylock)(pthread_mutex_t*);
  int (*pthread_mutex_unlock)(pthread_mutex_t*);
  int (*pthread_cond_wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*pthread_cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*pthread_cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*pthread_cond_signal)(pthread_cond_t*);
  int (*pthread_cond_broadcast)(pthread_cond_t*);
  int (*pthread_rwlock_rdlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_tryrdlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_wrlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_trywrlock)(pthread_rwlock_t*);
  int (*pthread_rwlock_unlock)(pthread_rwlock_t*);
  int (*sched_yield)();
  int (*nanosleep)(const timespec*, timespec*);
  int (*clock_nanosleep)(clockid_t, int, const timespec*, timespec*);
  int (*usleep)(unsigned);
  long (*syscall)(long, ...);
};

extern RealFunctions real;

// Sets all pointers, if they are not set yet. Called when the process starts, or earlier by the
// first replacement function that runs.
void find_real_functions();
// Reads the options from ELIDER_HTM_EMULATOR (options.cc).
void configure_from_environment();

}  // namespace elider::emulator
