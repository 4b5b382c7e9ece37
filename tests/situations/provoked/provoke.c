// SPDX-License-Identifier: BSD-2-Clause
// Provokes trouble in a guest: makes NUMBER things of a KIND, all at once or PER_SECOND, and keeps them until it is killed.
// A thing that the kernel refuses is requested again each second.
//
//     provoke KIND NUMBER [PER_SECOND]
//
// The first refusal and the end are one line each on standard output: what was verified. $PROVOKE_LEAVE: ends that many
// threads or processes after the first refusal, and requests no more. $PROVOKE_FILES: its limit of open files. $PROVOKE_UID:
// drops to that user first, since root may exceed some limits.
#include "tests/situations/provoked/provoke.h"

static const struct {
  const char* name;
  int (*make)(long);
} kKinds[] = {
#define PROVOKE_ROW(name, make) {#name, make},
    PROVOKE_KINDS(PROVOKE_ROW)};

static void be_unlimited(void) {
  const rlim_t most = getenv("PROVOKE_FILES") ? (rlim_t)atol(getenv("PROVOKE_FILES")) : 1 << 20;
  const struct rlimit files = {most, most}, all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_NOFILE, &files);
  setrlimit(RLIMIT_MEMLOCK, &all);
  setrlimit(RLIMIT_NPROC, &all);
  setrlimit(RLIMIT_SIGPENDING, &all);
  setrlimit(RLIMIT_MSGQUEUE, &all);
}

int main(int count, char** words) {
  if (count < 3) return 2;
  int (*make)(long) = NULL;
  for (size_t i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (strcmp(kKinds[i].name, words[1]) == 0) make = kKinds[i].make;
  }
  if (make == NULL) return 2;
  be_unlimited();
  if (getenv("PROVOKE_UID") && setuid((uid_t)atoi(getenv("PROVOKE_UID"))) < 0) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  const long number = atol(words[2]), per_second = count > 3 ? atol(words[3]) : 0;
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  int is_refused = 0;
  for (long i = 0; i < number;) {
    const int error = make(i);
    if (error && !is_refused) printf("%s: refused after %ld: %s\n", words[1], i, strerrorname_np(error));
    is_refused |= error;
    if (error) {
      if (getenv("PROVOKE_LEAVE")) {
        give_back(i, atoi(getenv("PROVOKE_LEAVE")));
        for (;;) pause();
      }
      sleep(1);
      continue;
    }
    ++i;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double ahead = per_second ? (double)i / (double)per_second -
                                          ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9)
                                    : 0;
    if (ahead > 0) usleep((useconds_t)(ahead * 1e6));
  }
  printf("%s: made %ld\n", words[1], number);
  for (;;) pause();
}
