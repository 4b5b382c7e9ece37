// SPDX-License-Identifier: BSD-2-Clause
// What the sixth set of situations needs beside: what stays of a peak, queues of other kinds, and what holds memory without
// a name.

#include "tests/situations/provoked/provoke.h"

static const char* file_of(long i, const char* kind) {
  static char name[256];
  snprintf(name, sizeof name, "%s/%s-%ld", getenv("PROVOKE_FILE"), kind, i);
  return name;
}

// An allocator gives back what it had touched: the pages go, the tables that led to them stay.
int empty_table(long i) {
  enum { kSize = 16 * 2 * kMiB };
  (void)i;
  char* const memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  madvise(memory, kSize, MADV_NOHUGEPAGE);
  for (long at = 0; at < kSize; at += 2 * kMiB) memory[at] = 1;
  return errno_of(madvise(memory, kSize, MADV_DONTNEED));
}
int split_and_join(long i) {  // all but each sixteenth mapping are gone again at $PROVOKE_PEAK
  static char* maps[200000];
  const long peak = atol(getenv("PROVOKE_PEAK"));
  if (i >= 200000) return EFBIG;
  maps[i] = mmap(NULL, kPage, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (long j = 0; i + 1 == peak && j <= i; ++j) {
    if (j % 16) munmap(maps[j], kPage);
  }
  return is_mapped(maps[i]);
}
int give_up_page(long i) {  // a page with errors that were corrected: it is copied elsewhere and never used again
  (void)i;
  char* const page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return errno;
  page[0] = 1;
  return errno_of(madvise(page, kPage, 101 /* MADV_SOFT_OFFLINE */));
}
int lock_segment(long i) {  // as SHM_LOCK does for a database
  (void)i;
  const int id = shmget(IPC_PRIVATE, kMiB, IPC_CREAT | 0600);
  if (id < 0) return errno;
  char* const memory = shmat(id, NULL, 0);
  if (memory == (void*)-1) return errno;
  memset(memory, 1, kMiB);
  shmctl(id, IPC_RMID, NULL);
  return errno_of(shmctl(id, SHM_LOCK, NULL));
}

int bpf_lru(long i) {
  (void)i;
  return make_map(BPF_MAP_TYPE_LRU_HASH, 64, 32768);
}
int bpf_percpu_hash(long i) {
  (void)i;
  return make_map(BPF_MAP_TYPE_PERCPU_HASH, 256, 2048);
}
int make_large_set(long i) {  // 500 semaphores: a block of more than 8 KiB
  (void)i;
  return errno_of(semget(IPC_PRIVATE, 500, IPC_CREAT | 0600));
}

int keep_disk_file(long i) { return errno_of(creat(file_of(i, "kept"), 0600)); }
int map_and_close(long i) {  // an open file that only a mapping has
  const int file = open(file_of(i, "mapped"), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, kPage) < 0) return errno;
  const int error = is_mapped(mmap(NULL, kPage, PROT_READ, MAP_SHARED, file, 0));
  unlink(file_of(i, "mapped"));
  close(file);
  return error;
}
int watch_unread(long i) {  // a fanotify without a bound, of a directory in which files come and go
  static int instance = -1;
  if (instance < 0) {
    instance = fanotify_init(FAN_CLASS_NOTIF | FAN_UNLIMITED_QUEUE | FAN_REPORT_DFID_NAME | FAN_NONBLOCK, 0);
    if (instance < 0 || fanotify_mark(instance, FAN_MARK_ADD, FAN_CREATE | FAN_DELETE, AT_FDCWD, getenv("PROVOKE_FILE")) < 0)
      return errno;
  }
  const char* const name = file_of(i, "a-file-that-is-scanned-for-viruses");
  close(creat(name, 0600));
  return errno_of(unlink(name));
}
int leave_namespace(long i) {  // a network namespace that only a socket holds
  (void)i;
  if (unshare(CLONE_NEWNET) < 0) return errno;
  return errno_of(socket(AF_INET, SOCK_DGRAM, 0));
}

int join_routes(long i) {  // a small queue of routes' changes that nobody reads
  (void)i;
  const int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE), size = kPage;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_ROUTE};
  if (sock < 0) return errno;
  setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return errno_of(bind(sock, (struct sockaddr*)&address, sizeof address));
}
// A server of datagrams reads all, but not as fast as they come: 100 at once, into room for a dozen.
int udp_bursts(long i) {
  static char data[1200];
  static int receiver, sender;
  static struct sockaddr_in to = {.sin_family = AF_INET};
  if (i == 0) {
    const int size = 16384;
    socklen_t length = sizeof to;
    receiver = socket(AF_INET, SOCK_DGRAM, 0);
    sender = socket(AF_INET, SOCK_DGRAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(receiver, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(receiver, (struct sockaddr*)&to, sizeof to) < 0) return errno;
    getsockname(receiver, (struct sockaddr*)&to, &length);
  }
  for (int k = 0; k < 100; ++k) sendto(sender, data, sizeof data, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to);
  while (recv(receiver, data, sizeof data, MSG_DONTWAIT) > 0) continue;
  return 0;
}
// A capture without a ring that nobody reads: what goes through lo stays, 700 packets more.
int capture_unread(long i) {
  static char data[1400];
  static int capture = -1, sender = -1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (i == 0) {
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex("lo")};
    const int size = 256 * kMiB;
    capture = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    sender = socket(AF_INET, SOCK_DGRAM, 0);
    if (capture < 0 || setsockopt(capture, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0) return errno;
    if (bind(capture, (struct sockaddr*)&address, sizeof address) < 0) return errno;
  }
  for (int k = 0; k < 700; ++k) sendto(sender, data, sizeof data, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to);
  return 0;
}
