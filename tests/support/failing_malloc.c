/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: of the process's allocations, number MEMSTAT_TEST_FAIL_AT (from 1) and the
 * MEMSTAT_TEST_FAIL_COUNT - 1 after it fail, as they do when a limit is reached or the machine has no memory left. At its
 * end the process writes how many allocations there were to the descriptor MEMSTAT_TEST_FAIL_REPORT. Of glibc only. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static atomic_ulong made;
static unsigned long first = 0; /* 0: none fails */
static unsigned long count = 1;
static pid_t of_process;

static unsigned long number_of(const char* name, unsigned long otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

__attribute__((constructor)) static void prepare(void) {
  count = number_of("MEMSTAT_TEST_FAIL_COUNT", 1);
  of_process = getpid();
  atomic_store(&made, 0);
  first = number_of("MEMSTAT_TEST_FAIL_AT", 0);
}

__attribute__((destructor)) static void report(void) {
  const unsigned long descriptor = number_of("MEMSTAT_TEST_FAIL_REPORT", 0);
  char text[32];
  if (descriptor == 0 || getpid() != of_process) return;
  const int size = snprintf(text, sizeof text, "%lu\n", atomic_load(&made));
  if (write((int)descriptor, text, (size_t)size) < 0) return;
}

static int must_fail(void) {
  const unsigned long number = atomic_fetch_add(&made, 1) + 1;
  if (first == 0 || number < first || number - first >= count) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) { return must_fail() ? NULL : __libc_malloc(size); }
void* calloc(size_t members, size_t size) { return must_fail() ? NULL : __libc_calloc(members, size); }
void* realloc(void* old, size_t size) { return must_fail() ? NULL : __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { return must_fail() ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return must_fail() ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) {
  if (must_fail()) return ENOMEM;
  *result = __libc_memalign(alignment, size);
  return *result == NULL ? ENOMEM : 0;
}
