// SPDX-License-Identifier: BSD-2-Clause
// Provokes trouble in a guest: makes NUMBER things of a KIND, all at once or PER_SECOND, and keeps them until it is killed.
// A thing that the kernel refuses is asked for again each second.
//
//     provoke KIND NUMBER [PER_SECOND]
//
// The first refusal and the end are one line each on standard output: what was verified.
// $PROVOKE_LEAVE: gives back so many threads or processes after the first refusal, and asks no more.
// $PROVOKE_UID: drops to that user first, since root may exceed some limits.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMiB = 1 << 20, kPage = 4096 };

static int errno_of(long result) { return result < 0 ? errno : 0; }
static int is_mapped(void* memory) { return memory == MAP_FAILED ? errno : 0; }

// Of each kind: makes one thing; 0 or an errno.

static int open_null(long i) {
  (void)i;
  return errno_of(open("/dev/null", O_RDONLY));
}
static int make_eventfd(long i) {
  (void)i;
  return errno_of(eventfd(0, 0));
}
static int make_epoll(long i) {
  (void)i;
  return errno_of(epoll_create1(0));
}
static int make_timerfd(long i) {
  (void)i;
  return errno_of(timerfd_create(CLOCK_MONOTONIC, 0));
}
static int make_memfd(long i) {
  (void)i;
  return errno_of(memfd_create("m", 0));
}
static int make_pipe(long i) {
  (void)i;
  int ends[2];
  return errno_of(pipe(ends));
}
static int make_inotify(long i) {
  (void)i;
  return errno_of(inotify_init1(0));
}
static int open_pty(long i) {
  (void)i;
  return errno_of(open("/dev/ptmx", O_RDWR | O_NOCTTY));
}
static int make_unix_socket(long i) {
  (void)i;
  return errno_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int fill_pipe(long i) {
  (void)i;
  int ends[2];
  static char data[kPage];
  if (pipe2(ends, O_NONBLOCK) < 0) return errno;
  fcntl(ends[1], F_SETPIPE_SZ, kMiB);
  while (write(ends[1], data, sizeof data) > 0) continue;
  return 0;
}

static int epoll_watch(long i) {
  static int instance = -1, target = -1;
  if (i % 400 == 0) instance = epoll_create1(0);
  target = eventfd(0, 0);
  struct epoll_event event = {.events = EPOLLIN};
  if (target < 0 || instance < 0) return errno;
  return errno_of(epoll_ctl(instance, EPOLL_CTL_ADD, target, &event));
}

static int watch_directory(long i) {
  static int instance = -1;
  char name[64];
  if (instance < 0) instance = inotify_init1(0);
  snprintf(name, sizeof name, "/tmp/watched/%ld", i);
  mkdir("/tmp/watched", 0777);
  mkdir(name, 0777);
  return errno_of(inotify_add_watch(instance, name, IN_CREATE));
}

static int queue_notifications(long i) {
  static int instance = -1;
  char name[64];
  if (instance < 0) {
    instance = inotify_init1(0);
    mkdir("/tmp/queued", 0777);
    inotify_add_watch(instance, "/tmp/queued", IN_CREATE | IN_DELETE);
  }
  snprintf(name, sizeof name, "/tmp/queued/%ld-a-file-with-a-long-name-that-fills-the-queue", i);
  close(creat(name, 0600));
  return errno_of(unlink(name));
}

// Data that nobody reads, in a pair of sockets for each thing.
static int send_unread(int family, int type) {
  int pair[2];
  static char data[32768];
  if (socketpair(family, type | SOCK_NONBLOCK, 0, pair) < 0) return errno;
  const int size = kMiB;
  setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  while (send(pair[0], data, sizeof data, MSG_DONTWAIT) > 0) continue;
  return 0;
}
static int unread_unix(long i) {
  (void)i;
  return send_unread(AF_UNIX, SOCK_STREAM);
}
static int unread_unix_datagrams(long i) {
  (void)i;
  return send_unread(AF_UNIX, SOCK_DGRAM);
}

static struct sockaddr_in address_of(int socket) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  getsockname(socket, (struct sockaddr*)&address, &size);
  return address;
}

static int tcp_listener(void) {
  static int listener = -1;
  if (listener >= 0) return listener;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  listener = socket(AF_INET, SOCK_STREAM, 0);
  bind(listener, (struct sockaddr*)&address, sizeof address);
  listen(listener, 4096);
  return listener;
}

static int tcp_pair(int pair[2]) {
  struct sockaddr_in address = address_of(tcp_listener());
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (pair[0] < 0) return errno;
  if (connect(pair[0], (struct sockaddr*)&address, sizeof address) < 0) return errno;
  pair[1] = accept4(tcp_listener(), NULL, NULL, SOCK_NONBLOCK);
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  return errno_of(pair[1]);
}

static int tcp_idle(long i) {
  (void)i;
  int pair[2];
  return tcp_pair(pair);
}

static int tcp_unread(long i) {
  static char data[65536];
  static int senders[65536];
  int pair[2];
  const int error = tcp_pair(pair);
  if (error) return error;
  const int size = 8 * kMiB;
  setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  setsockopt(pair[1], SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
  senders[i % 65536] = pair[0];
  for (long j = 0; j <= i && j < 65536; ++j) {
    for (int k = 0; k < 64 && send(senders[j], data, sizeof data, MSG_DONTWAIT) > 0; ++k) continue;
  }
  return 0;
}

// Closed with data that the peer does not take: the kernel keeps the socket without a file.
static int tcp_orphan(long i) {
  (void)i;
  static char data[65536];
  int pair[2];
  const int error = tcp_pair(pair);
  if (error) return error;
  const int size = kPage;
  setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);  // little, so that memory of TCP stays free
  setsockopt(pair[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  while (send(pair[0], data, sizeof data, MSG_DONTWAIT) > 0) continue;
  return errno_of(close(pair[0]));
}

static int udp_unread(long i) {
  static char data[1400];
  (void)i;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
  if (receiver < 0 || sender < 0) return errno;
  const int size = 4 * kMiB;
  setsockopt(receiver, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
  bind(receiver, (struct sockaddr*)&address, sizeof address);
  address = address_of(receiver);
  for (int k = 0; k < 4000; ++k) sendto(sender, data, sizeof data, MSG_DONTWAIT, (struct sockaddr*)&address, sizeof address);
  return errno_of(close(sender));
}

// One slow reader: 500 datagrams more into a queue that is full.
static int udp_slow_reader(long i) {
  static char data[1400];
  static int receiver = -1, sender = -1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (i == 0) {
    receiver = socket(AF_INET, SOCK_DGRAM, 0);
    sender = socket(AF_INET, SOCK_DGRAM, 0);
    bind(receiver, (struct sockaddr*)&address, sizeof address);
  }
  address = address_of(receiver);
  for (int k = 0; k < 500; ++k) sendto(sender, data, sizeof data, MSG_DONTWAIT, (struct sockaddr*)&address, sizeof address);
  return 0;
}

// Datagrams to ever new addresses: neighbours or tracked connections.
static int send_to_new_address(long i) {
  static int sender = -1;
  if (sender < 0) sender = socket(AF_INET, SOCK_DGRAM, 0);
  const char* const base = getenv("PROVOKE_NETWORK");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(1024 + i % 60000))};
  address.sin_addr.s_addr = htonl(ntohl(inet_addr(base ? base : "127.0.0.0")) + (uint32_t)(i + 2));
  return errno_of(sendto(sender, "x", 1, MSG_DONTWAIT, (struct sockaddr*)&address, sizeof address));
}

static int netlink_unread(long i) {
  (void)i;
  const int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (sock < 0) return errno;
  const int size = 4 * kMiB;
  setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
  return errno_of(bind(sock, (struct sockaddr*)&address, sizeof address));
}

static int packet_ring(long i) {
  (void)i;
  const int sock = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  if (sock < 0) return errno;
  struct tpacket_req request = {.tp_block_size = kMiB, .tp_block_nr = 8, .tp_frame_size = 2048, .tp_frame_nr = 4096};
  return errno_of(setsockopt(sock, SOL_PACKET, PACKET_RX_RING, &request, sizeof request));
}

// Threads or processes, of which some end again after a refusal: a guest without any could not be recorded.
static pthread_t threads[65536];
static pid_t children[65536];
static void give_back(long made, int kept_free) {
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
static int make_thread(long i) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  return pthread_create(&threads[i % 65536], &attributes, wait_for_ever, NULL);
}
static int make_process(long i) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    _exit(0);
  }
  if (child > 0) children[i % 65536] = child;
  return errno_of(child);
}
static int make_zombie(long i) {
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
static int network_namespace(long i) {
  (void)i;
  return in_namespace(CLONE_NEWNET);
}
static int user_namespace(long i) {
  (void)i;
  return in_namespace(CLONE_NEWUSER);
}

static int make_shm(long i) {
  (void)i;
  const int id = shmget(IPC_PRIVATE, kMiB, IPC_CREAT | 0600);
  if (id < 0) return errno;
  char* const memory = shmat(id, NULL, 0);
  if (memory == (void*)-1) return errno;
  memset(memory, 1, kMiB);
  return errno_of(shmdt(memory));
}
static int make_small_shm(long i) {
  (void)i;
  return errno_of(shmget(IPC_PRIVATE, kPage, IPC_CREAT | 0600));
}
static int make_sem(long i) {
  (void)i;
  return errno_of(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
}
static int make_queue(long i) {
  (void)i;
  return errno_of(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
}
static int send_message(long i) {
  static int queue = -1;
  struct {
    long type;
    char text[8000];
  } message = {.type = 1};
  if (i % 2 == 0) queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  return queue < 0 ? errno : errno_of(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT));
}
static int add_key(long i) {
  char name[32];
  snprintf(name, sizeof name, "key-%ld", i);
  return errno_of(syscall(SYS_add_key, "user", name, "secret", 6L, -4L /* the user's keyring */));
}
static int setup_aio(long i) {
  (void)i;
  aio_context_t context = 0;
  return errno_of(syscall(SYS_io_setup, 128L, &context));
}
static int setup_ring(long i) {
  (void)i;
  struct {
    uint32_t words[30];
  } parameters = {{0}};
  return errno_of(syscall(SYS_io_uring_setup, 4096L, &parameters));
}
static int make_timer(long i) {
  (void)i;
  timer_t timer;
  return errno_of(timer_create(CLOCK_MONOTONIC, NULL, &timer));
}
static int queue_signal(long i) {
  static sigset_t set;
  if (i == 0) {
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
  }
  return errno_of(sigqueue(getpid(), SIGRTMIN, (union sigval){0}));
}
static int lock_byte(long i) {
  static int file = -1;
  if (file < 0) file = open("/tmp/locked", O_RDWR | O_CREAT, 0600);
  struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * i, .l_len = 1};
  return errno_of(fcntl(file, F_SETLK, &lock));
}
static int make_map(int type, uint32_t value_size, uint32_t entries) {
  union bpf_attr attributes = {.map_type = (uint32_t)type, .key_size = 4, .value_size = value_size, .max_entries = entries};
  return errno_of(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}
static int bpf_map(long i) {
  (void)i;
  return make_map(BPF_MAP_TYPE_ARRAY, 1024, 1024);
}
static int bpf_percpu_map(long i) {
  (void)i;
  return make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 8, 65536);
}

static int take_memory(long i) {
  (void)i;
  char* const memory = mmap(NULL, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  for (int at = 0; at < kMiB; at += kPage) memset(memory + at, (int)(i + at), kPage);
  return 0;
}
static int lock_memory(long i) {
  const int error = take_memory(i);
  return error ? error : errno_of(mlockall(MCL_CURRENT));
}
static int reserve_memory(long i) {  // committed, not touched
  (void)i;
  return is_mapped(mmap(NULL, 16 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
static int take_page_table(long i) {  // the page that is read is the zero page: only the table is new
  (void)i;
  volatile char* const memory = mmap(NULL, 16 * 2 * kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  madvise((void*)memory, 16 * 2 * kMiB, MADV_NOHUGEPAGE);
  for (long at = 0; at < 16; ++at) (void)memory[at * 2 * kMiB];
  return 0;
}
static int split_map(long i) {  // neighbours of different protection do not merge
  return is_mapped(mmap(NULL, kPage, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
static int take_huge_page(long i) {
  (void)i;
  char* const memory = mmap(NULL, 2 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (memory == MAP_FAILED) return errno;
  memset(memory, 1, kPage);
  return 0;
}
// Takes pages without a reservation, as databases with MAP_NORESERVE do; what does not get one dies of SIGBUS.
static int take_unreserved_huge_page(long i) {
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
static int take_huge_pages_lazily(long i) {  // transparent ones, of which one page is used
  (void)i;
  char* const memory = mmap(NULL, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  char* const page = (char*)(((uintptr_t)memory + 2 * kMiB - 1) & ~(uintptr_t)(2 * kMiB - 1));
  madvise(page, 2 * kMiB, MADV_HUGEPAGE);
  page[0] = 1;
  return 0;
}
// A working set that is larger than memory: pages are touched again and again.
static int thrash(long i) {
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

static int write_file(long i) {  // 1 MiB more of it
  static int file = -1;
  static char data[kMiB];
  (void)i;
  const char* const name = getenv("PROVOKE_FILE");
  if (file < 0) file = open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
  const ssize_t done = write(file, data, sizeof data);
  return done < 0 ? errno : done < (ssize_t)sizeof data ? ENOSPC : 0;
}
static int read_file(long i) {
  static int file = -1;
  static char data[kMiB];
  if (file < 0) file = open(getenv("PROVOKE_FILE"), O_RDONLY);
  const long size = lseek(file, 0, SEEK_END) / kMiB;
  return size <= 0 ? EIO : errno_of(pread(file, data, sizeof data, i % size * kMiB));
}
static int make_file(long i) {
  char name[256];
  snprintf(name, sizeof name, "%s/%ld", getenv("PROVOKE_FILE"), i);
  return errno_of(close(creat(name, 0600)));
}
static int look_for_missing(long i) {
  char name[256];
  struct stat status;
  snprintf(name, sizeof name, "%s/missing-%ld", getenv("PROVOKE_FILE"), i);
  return stat(name, &status) == 0 ? EEXIST : 0;
}
static int mount_tmpfs(long i) {
  char name[64];
  snprintf(name, sizeof name, "/tmp/mounts/%ld", i);
  mkdir("/tmp/mounts", 0777);
  mkdir(name, 0777);
  return errno_of(mount("tmpfs", name, "tmpfs", 0, "size=4k"));
}
static int make_group(long i) {
  char name[128];
  snprintf(name, sizeof name, "/sys/fs/cgroup/made/%ld", i);
  mkdir("/sys/fs/cgroup/made", 0755);
  return errno_of(mkdir(name, 0755));
}
// A group that is removed while a file that it wrote stays in memory: its structures stay, too.
static int dying_group(long i) {
  char name[128], procs[160], file[64];
  make_group(i);
  snprintf(name, sizeof name, "/sys/fs/cgroup/made/%ld", i);
  snprintf(procs, sizeof procs, "%s/cgroup.procs", name);
  snprintf(file, sizeof file, "/tmp/of-group-%ld", i);
  const pid_t child = fork();
  if (child == 0) {
    const int join = open(procs, O_WRONLY);
    if (join < 0 || write(join, "0", 1) != 1) _exit(1);
    const int made = creat(file, 0600);
    _exit(write(made, procs, sizeof procs) > 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (int tries = 0; tries < 100 && rmdir(name) < 0; ++tries) usleep(1000);
  return status ? EIO : 0;
}

// Calm ones: made and given back at once.
static int churn_socket(long i) {
  int pair[2];
  const int error = tcp_pair(pair);
  if (error) return error;
  (void)i;
  close(pair[0]);
  return errno_of(close(pair[1]));
}
static int churn_process(long i) {
  const int error = make_zombie(i);
  return error ? error : errno_of(wait(NULL));
}
static int churn_files(long i) {
  char name[64];
  snprintf(name, sizeof name, "/disk/churn-%ld", i % 200);
  const int file = open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || write(file, name, sizeof name) < 0) return errno;
  close(file);
  return i % 3 ? 0 : errno_of(unlink(name));
}
// A working memory that rises and falls, with a period of PROVOKE_PERIOD things.
static int wave(long i) {
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
static int sawtooth(long i) {
  static char* memory;
  const long period = atol(getenv("PROVOKE_PERIOD")), size = atol(getenv("PROVOKE_MIB")) * kMiB;
  if (memory == NULL) memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const long step = size / period;
  if (i % period == 0) madvise(memory, (size_t)size, MADV_DONTNEED);
  memset(memory + i % period * step, 1, (size_t)step);
  return 0;
}
static int do_nothing(long i) {
  (void)i;
  return 0;
}

static const struct {
  const char* name;
  int (*make)(long);
} kKinds[] = {
    {"open", open_null},
    {"eventfd", make_eventfd},
    {"epoll", make_epoll},
    {"timerfd", make_timerfd},
    {"memfd", make_memfd},
    {"pipe", make_pipe},
    {"full_pipe", fill_pipe},
    {"inotify", make_inotify},
    {"pty", open_pty},
    {"unix_socket", make_unix_socket},
    {"epoll_watch", epoll_watch},
    {"watch", watch_directory},
    {"notifications", queue_notifications},
    {"unread_unix", unread_unix},
    {"unread_unix_datagrams", unread_unix_datagrams},
    {"tcp_idle", tcp_idle},
    {"tcp_unread", tcp_unread},
    {"tcp_orphan", tcp_orphan},
    {"udp_unread", udp_unread},
    {"udp_slow_reader", udp_slow_reader},
    {"send_to_new_address", send_to_new_address},
    {"netlink_unread", netlink_unread},
    {"packet_ring", packet_ring},
    {"thread", make_thread},
    {"process", make_process},
    {"zombie", make_zombie},
    {"network_namespace", network_namespace},
    {"user_namespace", user_namespace},
    {"shm", make_shm},
    {"small_shm", make_small_shm},
    {"sem", make_sem},
    {"queue", make_queue},
    {"message", send_message},
    {"key", add_key},
    {"aio", setup_aio},
    {"ring", setup_ring},
    {"timer", make_timer},
    {"signal", queue_signal},
    {"lock", lock_byte},
    {"bpf_map", bpf_map},
    {"bpf_percpu_map", bpf_percpu_map},
    {"memory", take_memory},
    {"locked", lock_memory},
    {"reserved", reserve_memory},
    {"page_table", take_page_table},
    {"map", split_map},
    {"huge", take_huge_page},
    {"huge_unreserved", take_unreserved_huge_page},
    {"thp", take_huge_pages_lazily},
    {"thrash", thrash},
    {"write", write_file},
    {"read", read_file},
    {"file", make_file},
    {"missing", look_for_missing},
    {"mount", mount_tmpfs},
    {"group", make_group},
    {"dying_group", dying_group},
    {"churn_socket", churn_socket},
    {"churn_process", churn_process},
    {"churn_files", churn_files},
    {"wave", wave},
    {"sawtooth", sawtooth},
    {"nothing", do_nothing},
};

static void be_unlimited(void) {
  const struct rlimit files = {1 << 20, 1 << 20}, all = {RLIM_INFINITY, RLIM_INFINITY};
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
