/* SPDX-License-Identifier: BSD-2-Clause */
/* The minimum cost of a poll: reads the files that memstatd reads, as a plain program would, and does nothing with them.
 * tests/bench/poll_cost.py makes the list and runs both at the same time. Usage: plain_poll LIST SECONDS. A line of LIST is
 * "k PATH", kept open and read from its start, "o PATH", opened each time, or empty, after which the program sleeps for
 * SECONDS. Prints the CPU time of each poll, in ns, until it is killed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 65536, kSmall = 256 };

struct file {
  int is_kept;
  int fd; /* -1: not kept open */
  char* path;
};

static struct file files[kMost];
static char text[1 << 20];

static long long cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* A vanished file costs only the failed open. */
static void read_file(const struct file* file) {
  const int fd = file->is_kept ? file->fd : open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return;
  off_t at = 0;
  ssize_t size;
  /* The kernel clears as many bytes as a read of /proc/sys requests. */
  const size_t room = strncmp(file->path, "/proc/sys/", 10) == 0 ? kSmall : sizeof text;
  while ((size = pread(fd, text, room, at)) > 0) at += size;
  if (!file->is_kept) close(fd);
}

static int read_list(const char* name) {
  FILE* list = fopen(name, "r");
  char line[4096];
  int count = 0;
  if (list == NULL) return -1;
  while (count < kMost && fgets(line, sizeof line, list) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    struct file* file = &files[count++];
    file->fd = -1;
    if (line[0] == '\0') continue;
    file->path = strdup(line + 2);
    file->is_kept = line[0] == 'k';
    for (int i = 0; file->is_kept && i < count - 1; ++i) {
      if (files[i].is_kept && strcmp(files[i].path, file->path) == 0) file->fd = files[i].fd;
    }
    if (file->is_kept && file->fd < 0) file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
  }
  fclose(list);
  return count;
}

int main(int argc, char** argv) {
  const int count = argc == 3 ? read_list(argv[1]) : -1;
  if (count <= 0) return 2;
  const double seconds = atof(argv[2]);
  const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  for (;;) {
    long long begin = cpu_ns();
    for (int i = 0; i < count; ++i) {
      if (files[i].path != NULL) {
        read_file(&files[i]);
        continue;
      }
      printf("%lld\n", cpu_ns() - begin);
      fflush(stdout);
      nanosleep(&pause, NULL);
      begin = cpu_ns();
    }
  }
}
