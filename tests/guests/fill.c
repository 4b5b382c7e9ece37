// SPDX-License-Identifier: BSD-2-Clause
// Fills one of the kernel's tables, or memory of one kind, prints how far it came, and keeps it: fill KIND COUNT.
// Static, for the guests of tests/guests/run. Prints "filled N, refused M", then waits to be killed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int child(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  return pid;
}

static int key(int number) {
  char name[32];
  snprintf(name, sizeof name, "fill-%d", number);
  return (int)syscall(SYS_add_key, "user", name, "x", 1, -4 /* KEY_SPEC_USER_KEYRING */);
}

static int event_context(void) {
  aio_context_t context = 0;
  return (int)syscall(SYS_io_setup, 1, &context);
}

// A datagram to another address or port each time: an entry of a table of connections or of neighbours.
static int datagram(const char* network, int number) {
  static int file = -1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)(2000 + number))};
  if (file < 0) file = socket(AF_INET, SOCK_DGRAM, 0);
  inet_pton(AF_INET, network, &to.sin_addr);
  if (strcmp(network, "127.0.0.1") != 0) to.sin_addr.s_addr = htonl(ntohl(to.sin_addr.s_addr) + (unsigned)number);
  return (int)sendto(file, "x", 1, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to);
}

static int datagram_6(int number) {
  static int file = -1;
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(2000)};
  if (file < 0) file = socket(AF_INET6, SOCK_DGRAM, 0);
  inet_pton(AF_INET6, "fd09::1:0", &to.sin6_addr);
  to.sin6_addr.s6_addr32[3] = htonl(ntohl(to.sin6_addr.s6_addr32[3]) + (unsigned)number);
  return (int)sendto(file, "x", 1, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to);
}

static int watched_directory(int number) {
  static int file = -1;
  char name[32];
  if (file < 0) file = inotify_init();
  snprintf(name, sizeof name, "/tmp/watched-%d", number);
  mkdir(name, 0700);
  return inotify_add_watch(file, name, IN_CREATE);
}

// MiB of memory of this process.
static int megabyte(int flags) {
  char* const memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (memory == MAP_FAILED) return -1;
  memset(memory, 1, 1 << 20);
  return 0;
}

// MiB that compress to half of it.
static int half_random_megabyte(void) {
  static unsigned long long state = 88172645463325252ULL;
  char* const memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  for (int at = 0; at < 1 << 20; at += at % 4096 == 2040 ? 2056 : 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    memcpy(memory + at, &state, sizeof state);
  }
  return 0;
}

static int huge_page(void) {
  char* const memory = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (memory == MAP_FAILED) return -1;
  *memory = 1;
  return 0;
}

static int transparent_page(void) {
  char* const memory = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  char* const aligned = memory + (-(unsigned long)memory & ((2 << 20) - 1));
  madvise(aligned, 2 << 20, MADV_HUGEPAGE);
  memset(aligned, 1, 2 << 20);
  return 0;
}

// MiB that the kernel holds for descriptors of this process.

static void write_much(int file) {
  static char block[65536];
  while (send(file, block, sizeof block, MSG_DONTWAIT) > 0) {
  }
}

static void make_large(int file) {
  const int bytes = 1 << 20;
  setsockopt(file, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
  setsockopt(file, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
}

static int full_pipe(void) {
  static char block[65536];
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0 || fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0) return -1;
  while (write(ends[1], block, sizeof block) > 0) {
  }
  return 0;
}

static int full_unix_socket(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
  make_large(ends[0]);
  write_much(ends[0]);
  return 0;
}

static int full_tcp_socket(void) {
  static int listener = -1;
  static struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t length = sizeof at;
  if (listener < 0) {
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    make_large(listener);
    if (bind(listener, (struct sockaddr*)&at, sizeof at) != 0 || listen(listener, 16) != 0) return -1;
    getsockname(listener, (struct sockaddr*)&at, &length);
  }
  const int from = socket(AF_INET, SOCK_STREAM, 0);
  make_large(from);
  if (connect(from, (struct sockaddr*)&at, sizeof at) != 0) return -1;
  const int to = accept(listener, NULL, NULL);
  for (int i = 0; i < 50; ++i) {
    write_much(from);
    usleep(1000);
  }
  return to;
}

static int packet_ring(void) {
  const struct tpacket_req ring = {.tp_block_size = 65536, .tp_block_nr = 16, .tp_frame_size = 2048, .tp_frame_nr = 512};
  const int file = socket(AF_PACKET, SOCK_RAW, 0);
  return file < 0 ? -1 : setsockopt(file, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring);
}

static int bpf_array(void) {
  union bpf_attr wanted = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4096, .max_entries = 256};
  return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &wanted, sizeof wanted);
}

static int take(const char* kind, int number) {
  if (strcmp(kind, "files") == 0) return open("/dev/null", O_RDONLY);
  if (strcmp(kind, "ptys") == 0) return open("/dev/pts/ptmx", O_RDWR);
  if (strcmp(kind, "threads") == 0) return child();
  if (strcmp(kind, "sysv_shm") == 0) return shmget(IPC_PRIVATE, 4096, 0600);
  if (strcmp(kind, "sysv_sem") == 0) return semget(IPC_PRIVATE, 1, 0600);
  if (strcmp(kind, "sysv_msg") == 0) return msgget(IPC_PRIVATE, 0600);
  if (strcmp(kind, "keys") == 0) return key(number);
  if (strcmp(kind, "aio_events") == 0) return event_context();
  if (strcmp(kind, "conntrack") == 0) return datagram("127.0.0.1", number);
  if (strcmp(kind, "arp_cache") == 0) return datagram("10.9.0.2", number);
  if (strcmp(kind, "ndisc_cache") == 0) return datagram_6(number);
  if (strcmp(kind, "inotify_watches") == 0) return watched_directory(number);
  if (strcmp(kind, "idle_sockets") == 0) return socket(AF_UNIX, SOCK_STREAM, 0);
  if (strcmp(kind, "hugetlb") == 0) return huge_page();
  if (strcmp(kind, "memory") == 0) return megabyte(0);
  if (strcmp(kind, "locked") == 0) return megabyte(MAP_LOCKED);
  if (strcmp(kind, "half_random") == 0) return half_random_megabyte();
  if (strcmp(kind, "transparent") == 0) return transparent_page();
  if (strcmp(kind, "pipes") == 0) return full_pipe();
  if (strcmp(kind, "unix_sockets") == 0) return full_unix_socket();
  if (strcmp(kind, "tcp_sockets") == 0) return full_tcp_socket();
  if (strcmp(kind, "packet_rings") == 0) return packet_ring();
  if (strcmp(kind, "bpf_arrays") == 0) return bpf_array();
  fprintf(stderr, "fill: no table %s\n", kind);
  exit(2);
}

int main(int count, char** words) {
  const struct rlimit many = {65536, 65536};
  if (count < 3) return 2;
  setrlimit(RLIMIT_NOFILE, &many);
  int refused = 0;
  int filled = 0;
  for (int i = 0; i < atoi(words[2]); ++i) {
    if (take(words[1], i) < 0) {
      ++refused;
    } else {
      ++filled;
    }
  }
  printf("filled %d, refused %d\n", filled, refused);
  fflush(stdout);
  // Unanswered entries vanish after seconds, so neighbours are requested again and again.
  while (strcmp(words[1], "arp_cache") == 0 || strcmp(words[1], "ndisc_cache") == 0) {
    usleep(100000);
    for (int i = 0; i < atoi(words[2]); ++i) take(words[1], i);
  }
  for (;;) pause();
}
