// SPDX-License-Identifier: BSD-2-Clause
// Additions for the third set of situations: quotas, memory of other kinds, namespaces without processes.
#include "tests/situations/provoked/provoke.h"

int make_semaphores(long i) {
  (void)i;
  return errno_of(semget(IPC_PRIVATE, 100, IPC_CREAT | 0600));
}
int reserve_shm(long i) {  // counts against kernel.shmall though no page is touched
  (void)i;
  return errno_of(shmget(IPC_PRIVATE, 4 * kMiB, IPC_CREAT | 0600));
}
int add_large_key(long i) {
  static char payload[3000];
  char name[32];
  snprintf(name, sizeof name, "certificate-%ld", i);
  return errno_of(syscall(SYS_add_key, "user", name, payload, sizeof payload, -4L /* the user's keyring */));
}
int make_mqueue(long i) {
  char name[32];
  snprintf(name, sizeof name, "/jobs-%ld", i);
  return errno_of(mq_open(name, O_RDWR | O_CREAT, 0600, NULL));
}

int fill_memfd(long i) {  // a deleted file that is held open
  static char data[kMiB];
  const int file = memfd_create("buffer", 0);
  memset(data, (int)i + 1, sizeof data);
  return file < 0 ? errno : write(file, data, sizeof data) < (ssize_t)sizeof data ? ENOMEM : 0;
}
int take_memory_of_node(long i) {  // of node 1, as numactl --membind does
  const unsigned long nodes = 2;
  if (i == 0 && syscall(SYS_set_mempolicy, 2L /* MPOL_BIND */, &nodes, 8L) < 0) return errno;
  return take_memory(i);
}
int reserve_huge_page(long i) {  // reserved in the pool, not touched
  (void)i;
  return is_mapped(mmap(NULL, 2 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0));
}
// A worker of a database: a process that reads all of the shared buffers, which gives it page tables for them.
int make_worker(long i) {
  enum { kShared = 48 * kMiB };
  static char* memory;
  if (i == 0) {
    memory = mmap(NULL, kShared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno;
    memset(memory, 1, kShared);
  }
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    volatile char sum = 0;
    for (long at = 0; at < kShared; at += kPage) sum = (char)(sum + memory[at]);
    pause();
    _exit(0);
  }
  return errno_of(child);
}
// Two pipes are filled page by page in turn, and when there are $PROVOKE_PAIRS the second ones are closed: every second page
// of the allocated memory is free.
int make_holes(long i) {
  static char data[kPage];
  static int closed[256][2];
  int kept[2];
  if (i >= 256 || pipe2(kept, O_NONBLOCK) < 0 || pipe2(closed[i], O_NONBLOCK) < 0) return errno;
  fcntl(kept[1], F_SETPIPE_SZ, kMiB);
  fcntl(closed[i][1], F_SETPIPE_SZ, kMiB);
  while (write(kept[1], data, sizeof data) > 0 && write(closed[i][1], data, sizeof data) > 0) continue;
  for (long j = 0; i + 1 == atol(getenv("PROVOKE_PAIRS")) && j <= i; ++j) {
    close(closed[j][0]);
    close(closed[j][1]);
  }
  return 0;
}

int perf_ring(long i) {
  (void)i;
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000000000};
  const int event = (int)syscall(SYS_perf_event_open, &attributes, 0L, -1L, -1L, 0L);
  if (event < 0) return errno;
  return is_mapped(mmap(NULL, kPage + 2 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0));
}
int bpf_ring(long i) {
  (void)i;
  union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_RINGBUF, .max_entries = kMiB};
  return errno_of(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}
int keep_network_namespace(long i) {  // held by a descriptor; no process is in it
  (void)i;
  if (unshare(CLONE_NEWNET) < 0) return errno;
  return errno_of(open("/proc/self/ns/net", O_RDONLY));
}

int write_log(long i) {
  static int file = -1;
  static char line[kPage];
  if (file < 0) file = open(getenv("PROVOKE_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (write(file, line, sizeof line) < 0) return errno;
  return i % 200 ? 0 : errno_of(fsync(file));
}

// Removes all System V objects, which outlive their creators, and ends: Debian's busybox has no ipcrm.
int remove_segments(long i) {
  static const char* const kFiles[] = {"/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg"};
  for (int kind = 0; kind < 3; ++kind) {
    FILE* const file = fopen(kFiles[kind], "r");
    char line[256];
    int id;
    while (file && fgets(line, sizeof line, file)) {
      if (sscanf(line, "%*d %d", &id) != 1) continue;  // the names of the columns
      if (kind == 0) shmctl(id, IPC_RMID, NULL);
      if (kind == 1) semctl(id, 0, IPC_RMID);
      if (kind == 2) msgctl(id, IPC_RMID, NULL);
    }
    if (file) fclose(file);
  }
  exit((int)i);
}
