// SPDX-License-Identifier: BSD-2-Clause
// Queues and tables of the network that the third set fills.
#include "tests/situations/provoked/provoke.h"

int send_to_new_address6(long i) {
  static int sender = -1;
  if (sender < 0) sender = socket(AF_INET6, SOCK_DGRAM, 0);
  struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
  char name[64];
  snprintf(name, sizeof name, "fd00:9::%lx:%lx", 1 + i / 65536, i % 65536);
  inet_pton(AF_INET6, name, &address.sin6_addr);
  const int error = errno_of(sendto(sender, "x", 1, MSG_DONTWAIT, (struct sockaddr*)&address, sizeof address));
  return error == EAGAIN ? 0 : error;
}

// The first fragment of a datagram whose rest never comes.
int send_fragment(long i) {
  static int sender = -1;
  if (sender < 0) sender = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  struct {
    struct iphdr header;
    char data[1400];
  } packet = {.header = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP}};
  packet.header.id = htons((uint16_t)(i + 1));
  packet.header.frag_off = htons(0x2000);  // more fragments
  packet.header.saddr = htonl(INADDR_LOOPBACK + (uint32_t)(i / 60000) + 1);
  packet.header.daddr = htonl(INADDR_LOOPBACK);
  packet.header.tot_len = htons(sizeof packet);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return errno_of(sendto(sender, &packet, sizeof packet, MSG_DONTWAIT, (struct sockaddr*)&address, sizeof address));
}

int connect_unaccepted(long i) {  // to a server that does not accept
  static int listener = -1;
  static struct sockaddr_in address = {.sin_family = AF_INET};
  if (i == 0) {
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr*)&address, sizeof address);
    listen(listener, 8);
    socklen_t size = sizeof address;
    getsockname(listener, (struct sockaddr*)&address, &size);
  }
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (client < 0) return errno;
  const int error = errno_of(connect(client, (struct sockaddr*)&address, sizeof address));
  return error == EINPROGRESS ? 0 : error;
}

int leave_in_close_wait(long i) {  // the peer has closed, the server has not
  (void)i;
  int pair[2];
  const int error = tcp_pair(pair);
  return error ? error : errno_of(close(pair[0]));
}

int netlink_overrun(long i) {  // a small queue that nobody reads
  (void)i;
  const int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE), size = kPage;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR};
  if (sock < 0) return errno;
  setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return errno_of(bind(sock, (struct sockaddr*)&address, sizeof address));
}

int send_descriptor(long i) {  // an open file that is only in a queue that nobody reads
  static int pair[2];
  if (i % 200 == 0) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0) return errno;
    const int size = kMiB;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  }
  const int file = open("/dev/null", O_RDONLY);
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof file)];
  } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof file)}};
  memcpy(CMSG_DATA(&control.header), &file, sizeof file);
  struct iovec data = {.iov_base = "x", .iov_len = 1};
  const struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  const int error = errno_of(sendmsg(pair[0], &message, MSG_DONTWAIT));
  close(file);
  return error;
}
