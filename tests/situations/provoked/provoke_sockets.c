// SPDX-License-Identifier: BSD-2-Clause
// Sockets, their queues, and addresses.
#include "tests/situations/provoked/provoke.h"

// Data that nobody reads, in one pair of sockets per object.
static int send_unread(int family, int type) {
  int pair[2];
  static char data[32768];
  if (socketpair(family, type | SOCK_NONBLOCK, 0, pair) < 0) return errno;
  const int size = kMiB;
  setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  while (send(pair[0], data, sizeof data, MSG_DONTWAIT) > 0) continue;
  return 0;
}
int unread_unix(long i) {
  (void)i;
  return send_unread(AF_UNIX, SOCK_STREAM);
}
int unread_unix_datagrams(long i) {
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

int tcp_pair(int pair[2]) {
  struct sockaddr_in address = address_of(tcp_listener());
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (pair[0] < 0) return errno;
  if (connect(pair[0], (struct sockaddr*)&address, sizeof address) < 0) return errno;
  pair[1] = accept4(tcp_listener(), NULL, NULL, SOCK_NONBLOCK);
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  return errno_of(pair[1]);
}

int tcp_idle(long i) {
  (void)i;
  int pair[2];
  return tcp_pair(pair);
}

int tcp_unread(long i) {
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

// Closed with data that the peer does not accept: the kernel keeps the socket without a file.
int tcp_orphan(long i) {
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

int udp_unread(long i) {
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
int udp_slow_reader(long i) {
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

// Datagrams to always new addresses: neighbours or tracked connections.
int send_to_new_address(long i) {
  static int sender = -1;
  if (sender < 0) sender = socket(AF_INET, SOCK_DGRAM, 0);
  const char* const base = getenv("PROVOKE_NETWORK");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(1024 + i % 60000))};
  address.sin_addr.s_addr = htonl(ntohl(inet_addr(base ? base : "127.0.0.0")) + (uint32_t)(i + 2));
  return errno_of(sendto(sender, "x", 1, MSG_DONTWAIT, (struct sockaddr*)&address, sizeof address));
}

int packet_ring(long i) {
  (void)i;
  const int sock = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  if (sock < 0) return errno;
  struct tpacket_req request = {.tp_block_size = kMiB, .tp_block_nr = 8, .tp_frame_size = 2048, .tp_frame_nr = 4096};
  return errno_of(setsockopt(sock, SOL_PACKET, PACKET_RX_RING, &request, sizeof request));
}
