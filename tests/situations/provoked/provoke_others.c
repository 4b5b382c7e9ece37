// SPDX-License-Identifier: BSD-2-Clause
// Additions for the fourth set of situations: floods, fragments of IPv6, pinned and broken memory, the remains of a peak.
#include <linux/io_uring.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>

#include "tests/situations/provoked/provoke.h"

static uint32_t sum_of(const void* data, size_t size, uint32_t sum) {
  for (size_t at = 0; at + 1 < size; at += 2) {
    uint16_t word;
    memcpy(&word, (const char*)data + at, sizeof word);
    sum += word;
  }
  return sum;
}

// A request for a connection from an address that never answers, to a server of this machine that listens on
// $PROVOKE_NETWORK.
int flood_with_syn(long i) {
  enum { kPort = 8080 };
  static int sender = -1;
  const in_addr_t server = inet_addr(getenv("PROVOKE_NETWORK"));
  if (i == 0) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(kPort)};
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr*)&here, sizeof here) < 0 || listen(listener, 64) < 0) return errno;
    sender = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  }
  struct {
    struct iphdr ip;
    struct tcphdr tcp;
  } packet = {.ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP, .tot_len = htons(sizeof packet)}};
  packet.ip.saddr = htonl(ntohl(server) + 2 + (uint32_t)(i % 200));
  packet.ip.daddr = server;
  packet.tcp.source = htons((uint16_t)(1024 + i / 200 % 60000));
  packet.tcp.dest = htons(kPort);
  packet.tcp.seq = htonl((uint32_t)i);
  packet.tcp.doff = 5;
  packet.tcp.syn = 1;
  packet.tcp.window = htons(8192);
  const uint16_t rest[] = {htons(IPPROTO_TCP), htons(sizeof packet.tcp)};
  uint32_t sum = sum_of(&packet.tcp, sizeof packet.tcp, sum_of(rest, sizeof rest, sum_of(&packet.ip.saddr, 8, 0)));
  sum = (sum & 0xffff) + (sum >> 16);
  packet.tcp.check = (uint16_t) ~(sum + (sum >> 16));
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = server};
  return errno_of(sendto(sender, &packet, sizeof packet, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to));
}

int send_fragment6(long i) {  // the first one of a datagram whose rest never comes
  static int sender = -1;
  if (sender < 0) sender = socket(AF_INET6, SOCK_RAW, IPPROTO_RAW);
  struct {
    struct ip6_hdr header;
    struct ip6_frag fragment;
    char data[1200];
  } packet = {.header = {.ip6_src = IN6ADDR_LOOPBACK_INIT, .ip6_dst = IN6ADDR_LOOPBACK_INIT}};
  packet.header.ip6_flow = htonl(6U << 28);
  packet.header.ip6_nxt = IPPROTO_FRAGMENT;
  packet.header.ip6_hlim = 64;
  packet.header.ip6_plen = htons(sizeof packet - sizeof packet.header);
  packet.fragment.ip6f_nxt = IPPROTO_UDP;
  packet.fragment.ip6f_offlg = IP6F_MORE_FRAG;
  packet.fragment.ip6f_ident = htonl((uint32_t)i + 1);
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  const int error = errno_of(sendto(sender, &packet, sizeof packet, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to));
  return error == ENOBUFS ? 0 : error;
}

int udp6_slow_reader(long i) {  // 200 datagrams more into each of four queues that are full
  static char data[1000];
  static struct sockaddr_in6 to[4];
  static int sender = -1;
  for (int j = 0; i == 0 && j < 4; ++j) {
    to[j] = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof to[j];
    const int receiver = socket(AF_INET6, SOCK_DGRAM, 0);
    if (bind(receiver, (struct sockaddr*)&to[j], size) < 0) return errno;
    getsockname(receiver, (struct sockaddr*)&to[j], &size);
    sender = socket(AF_INET6, SOCK_DGRAM, 0);
  }
  for (int k = 0; k < 800; ++k) sendto(sender, data, sizeof data, MSG_DONTWAIT, (struct sockaddr*)&to[k % 4], sizeof to[0]);
  return 0;
}

int tcp_slow_client(long i) {  // what is sent stays in the server's queue
  static char data[65536];
  int pair[2];
  const int error = tcp_pair(pair), small = kPage, large = kMiB / 2;
  (void)i;
  if (error) return error;
  setsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  setsockopt(pair[1], SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof large);
  while (send(pair[1], data, sizeof data, MSG_DONTWAIT) > 0) continue;
  return 0;
}

int pin_buffer(long i) {  // 4 MiB that are registered with an io_uring, as RDMA and virtual machines pin memory
  enum { kSize = 4 * kMiB };
  struct io_uring_params parameters = {.flags = 0};
  const int ring = (int)syscall(SYS_io_uring_setup, 4L, &parameters);
  char* const memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (ring < 0 || memory == MAP_FAILED) return errno;
  memset(memory, (int)i + 1, kSize);
  struct iovec buffer = {.iov_base = memory, .iov_len = kSize};
  return errno_of(syscall(SYS_io_uring_register, ring, (long)IORING_REGISTER_BUFFERS, &buffer, 1L));
}

int break_memory(long i) {  // a page of a process, which dies of it
  const pid_t child = fork();
  (void)i;
  if (child == 0) {
    char* const page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
    _exit(madvise(page, kPage, MADV_HWPOISON) < 0 ? errno : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int open_and_close(long i) {  // all but each sixteenth file are closed again at $PROVOKE_PEAK
  static int files[200000];
  const long peak = atol(getenv("PROVOKE_PEAK"));
  if (i >= 200000) return EFBIG;
  files[i] = open("/dev/null", O_RDONLY);
  for (long j = 0; i + 1 == peak && j <= i; ++j) {
    if (j % 16) close(files[j]);
  }
  return errno_of(files[i]);
}

int make_prefork(long i) {  // a worker with 2 MiB of its own
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int error = take_memory(i) | take_memory(i);
    for (;;) error ? _exit(error) : (void)pause();
  }
  return errno_of(child);
}

// A MiB of which that part of each page does not compress.
static int take_mixed_memory(long i, size_t random_bytes) {
  uint64_t* const memory = mmap(NULL, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if ((void*)memory == MAP_FAILED) return errno;
  uint64_t state = 88172645463325252ULL + (uint64_t)i;
  for (size_t at = 0; at < kMiB / sizeof *memory; ++at) {
    if (at * sizeof *memory % kPage >= random_bytes) continue;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    memory[at] = state;
  }
  return 0;
}
int take_random_memory(long i) { return take_mixed_memory(i, kPage); }
int take_half_random_memory(long i) { return take_mixed_memory(i, kPage / 2); }

int read_mapped(long i) {  // the i-th MiB of $PROVOKE_MIB of a mapped file, round and round
  static volatile char* memory;
  const long size = atol(getenv("PROVOKE_MIB"));
  if (memory == NULL) {
    const int file = open(getenv("PROVOKE_FILE"), O_RDONLY);
    memory = mmap(NULL, (size_t)size * kMiB, PROT_READ, MAP_SHARED, file, 0);
    if ((void*)memory == MAP_FAILED) return errno;
  }
  for (long at = 0; at < kMiB; at += kPage) (void)memory[i % size * kMiB + at];
  return 0;
}

int bpf_hash(long i) {
  union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 64, .max_entries = 65536};
  (void)i;
  return errno_of(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}
