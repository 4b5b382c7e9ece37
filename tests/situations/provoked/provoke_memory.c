// SPDX-License-Identifier: BSD-2-Clause
// Memory and files; at the end, what healthy machines do.
#include "tests/situations/provoked/provoke.h"

int take_memory(long i) {
  (void)i;
  char* const memory = mmap(NULL, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  for (int at = 0; at < kMiB; at += kPage) memset(memory + at, (int)(i + at), kPage);
  return 0;
}
int lock_memory(long i) {
  const int error = take_memory(i);
  return error ? error : errno_of(mlockall(MCL_CURRENT));
}
int take_counted(
    long i) {  // 256 KiB; their number is in $PROVOKE_FILE, which is there already, for who outlives this process
  static int file = -1;
  char number[32];
  enum { kSize = 256 << 10 };
  char* const memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  for (int at = 0; at < kSize; at += kPage) memset(memory + at, (int)(i + at), kPage);
  if (file < 0) file = open(getenv("PROVOKE_FILE"), O_WRONLY);
  const int size = snprintf(number, sizeof number, "%ld\n", i + 1);
  return errno_of(pwrite(file, number, (size_t)size, 0));
}
int lock_file(long i) {  // the i-th MiB of $PROVOKE_FILE
  const int file = open(getenv("PROVOKE_FILE"), O_RDONLY);
  void* const memory = mmap(NULL, kMiB, PROT_READ, MAP_SHARED, file, i * kMiB);
  if (memory == MAP_FAILED) return errno;
  close(file);
  return errno_of(mlock(memory, kMiB));
}
int reserve_memory(long i) {  // committed, not touched
  (void)i;
  return is_mapped(mmap(NULL, 16 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
int take_page_table(long i) {  // the page that is read is the zero page: only the table is new
  (void)i;
  volatile char* const memory = mmap(NULL, 16 * 2 * kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  madvise((void*)memory, 16 * 2 * kMiB, MADV_NOHUGEPAGE);
  for (long at = 0; at < 16; ++at) (void)memory[at * 2 * kMiB];
  return 0;
}
int split_map(long i) {  // neighbours of different protection do not merge
  return is_mapped(mmap(NULL, kPage, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
int take_huge_page(long i) {
  (void)i;
  char* const memory = mmap(NULL, 2 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (memory == MAP_FAILED) return errno;
  memset(memory, 1, kPage);
  return 0;
}
// Takes pages without a reservation, as databases with MAP_NORESERVE do; a process that gets none dies of SIGBUS.
int take_unreserved_huge_page(long i) {
  (void)i;
  const pid_t child = fork();
  if (child == 0) {
    char* const memory =
        mmap(NULL, 2 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(1);
    memory[0] = 1;
    pause();
  }
  int status = 0;
  usleep(20000);
  return waitpid(child, &status, WNOHANG) == child ? EFAULT : 0;
}
int take_huge_pages_lazily(long i) {  // transparent ones, of which one page is used
  (void)i;
  char* const memory = mmap(NULL, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  char* const page = (char*)(((uintptr_t)memory + 2 * kMiB - 1) & ~(uintptr_t)(2 * kMiB - 1));
  madvise(page, 2 * kMiB, MADV_HUGEPAGE);
  page[0] = 1;
  return 0;
}
// A working set that is larger than memory: pages are touched again and again.
int thrash(long i) {
  static char* memory;
  static long size;
  if (memory == NULL) {
    size = atol(getenv("PROVOKE_MIB")) * kMiB;
    memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  const long step = size / 4;
  for (long at = 0; at < step; at += kPage) memory[(i * step + at) % size] = (char)(i + at * 31 / kPage);
  return 0;
}

int write_file(long i) {  // 1 MiB more of it
  static int file = -1;
  static char data[kMiB];
  (void)i;
  const char* const name = getenv("PROVOKE_FILE");
  if (file < 0) file = open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
  const ssize_t done = write(file, data, sizeof data);
  return done < 0 ? errno : done < (ssize_t)sizeof data ? ENOSPC : 0;
}
int read_file(long i) {
  static int file = -1;
  static char data[kMiB];
  if (file < 0) file = open(getenv("PROVOKE_FILE"), O_RDONLY);
  const long size = lseek(file, 0, SEEK_END) / kMiB;
  return size <= 0 ? EIO : errno_of(pread(file, data, sizeof data, i % size * kMiB));
}
int make_file(long i) {
  char name[256];
  snprintf(name, sizeof name, "%s/%ld", getenv("PROVOKE_FILE"), i);
  return errno_of(close(creat(name, 0600)));
}
int look_for_missing(long i) {
  char name[256];
  struct stat status;
  snprintf(name, sizeof name, "%s/missing-%ld", getenv("PROVOKE_FILE"), i);
  return stat(name, &status) == 0 ? EEXIST : 0;
}
// Harmless ones: allocated and freed at once.
int churn_socket(long i) {
  int pair[2];
  const int error = tcp_pair(pair);
  if (error) return error;
  (void)i;
  close(pair[0]);
  return errno_of(close(pair[1]));
}
int churn_process(long i) {
  const int error = make_zombie(i);
  return error ? error : errno_of(wait(NULL));
}
int churn_files(long i) {
  char name[64];
  snprintf(name, sizeof name, "/disk/churn-%ld", i % 200);
  const int file = open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || write(file, name, sizeof name) < 0) return errno;
  close(file);
  return i % 3 ? 0 : errno_of(unlink(name));
}
// A working memory that rises and falls, with a period of PROVOKE_PERIOD things.
int wave(long i) {
  static char* memory;
  const long period = atol(getenv("PROVOKE_PERIOD")), size = atol(getenv("PROVOKE_MIB")) * kMiB;
  if (memory == NULL) memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const long step = size / period;
  const long at = i % (2 * period);
  if (at < period)
    memset(memory + at * step, 1, (size_t)step);
  else
    madvise(memory + (2 * period - 1 - at) * step, (size_t)step, MADV_DONTNEED);
  return 0;
}
int sawtooth(long i) {
  static char* memory;
  const long period = atol(getenv("PROVOKE_PERIOD")), size = atol(getenv("PROVOKE_MIB")) * kMiB;
  if (memory == NULL) memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const long step = size / period;
  if (i % period == 0) madvise(memory, (size_t)size, MADV_DONTNEED);
  memset(memory + i % period * step, 1, (size_t)step);
  return 0;
}
int do_nothing(long i) {
  (void)i;
  return 0;
}
