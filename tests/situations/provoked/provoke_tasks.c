// SPDX-License-Identifier: BSD-2-Clause
// Threads, processes, namespaces, System V, and what belongs to a user.
#include "tests/situations/provoked/provoke.h"

// Threads or processes. Some end after a refusal, because a guest that cannot start any cannot be recorded.
static pthread_t threads[65536];
static pid_t children[65536];
void give_back(long made, int kept_free) {
  for (long i = made - 1; i >= 0 && i >= made - kept_free; --i) {
    if (threads[i]) pthread_cancel(threads[i]);
    if (children[i]) kill(children[i], SIGKILL);
  }
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
}

static void* wait_for_ever(void* nothing) {
  pause();
  return nothing;
}
int make_thread(long i) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  return pthread_create(&threads[i % 65536], &attributes, wait_for_ever, NULL);
}
int make_process(long i) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    _exit(0);
  }
  if (child > 0) children[i % 65536] = child;
  return errno_of(child);
}
int make_zombie(long i) {
  (void)i;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return errno_of(child);
}
static int in_namespace(int flags) {
  int ready[2];
  char byte = 0;
  if (pipe(ready) < 0) return errno;
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    byte = (char)errno_of(unshare(flags));
    if (write(ready[1], &byte, 1) != 1 || byte) _exit(1);
    pause();
    _exit(0);
  }
  const long got = read(ready[0], &byte, 1);
  close(ready[0]);
  close(ready[1]);
  return got == 1 ? byte : EIO;
}
int network_namespace(long i) {
  (void)i;
  return in_namespace(CLONE_NEWNET);
}

int make_shm(long i) {
  (void)i;
  const int id = shmget(IPC_PRIVATE, kMiB, IPC_CREAT | 0600);
  if (id < 0) return errno;
  char* const memory = shmat(id, NULL, 0);
  if (memory == (void*)-1) return errno;
  memset(memory, 1, kMiB);
  return errno_of(shmdt(memory));
}
int make_small_shm(long i) {
  (void)i;
  return errno_of(shmget(IPC_PRIVATE, kPage, IPC_CREAT | 0600));
}
int make_sem(long i) {
  (void)i;
  return errno_of(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
}
int make_queue(long i) {
  (void)i;
  return errno_of(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
}
int send_message(long i) {
  static int queue = -1;
  struct {
    long type;
    char text[8000];
  } message = {.type = 1};
  if (i % 2 == 0) queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  return queue < 0 ? errno : errno_of(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT));
}
int add_key(long i) {
  char name[32];
  snprintf(name, sizeof name, "key-%ld", i);
  return errno_of(syscall(SYS_add_key, "user", name, "secret", 6L, -4L /* the user's keyring */));
}
int setup_aio(long i) {
  (void)i;
  aio_context_t context = 0;
  return errno_of(syscall(SYS_io_setup, 128L, &context));
}
int setup_ring(long i) {
  (void)i;
  struct {
    uint32_t words[30];
  } parameters = {{0}};
  return errno_of(syscall(SYS_io_uring_setup, 4096L, &parameters));
}
int make_timer(long i) {
  (void)i;
  timer_t timer;
  return errno_of(timer_create(CLOCK_MONOTONIC, NULL, &timer));
}
int queue_signal(long i) {
  static sigset_t set;
  if (i == 0) {
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
  }
  return errno_of(sigqueue(getpid(), SIGRTMIN, (union sigval){0}));
}
int lock_byte(long i) {
  static int file = -1;
  if (file < 0) file = open("/tmp/locked", O_RDWR | O_CREAT, 0600);
  struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * i, .l_len = 1};
  return errno_of(fcntl(file, F_SETLK, &lock));
}
int make_map(int type, uint32_t value_size, uint32_t entries) {
  union bpf_attr attributes = {.map_type = (uint32_t)type, .key_size = 4, .value_size = value_size, .max_entries = entries};
  return errno_of(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}
int bpf_map(long i) {
  (void)i;
  return make_map(BPF_MAP_TYPE_ARRAY, 1024, 1024);
}
int bpf_percpu_map(long i) {
  (void)i;
  return make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 8, 65536);
}
