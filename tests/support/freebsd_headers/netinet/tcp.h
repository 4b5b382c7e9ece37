// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 have in struct tcp_info, as far as it is used.
#pragma once

#define tcp_info tcp_info_of_linux
#include_next <netinet/tcp.h>
#undef tcp_info

struct tcp_info {
  u_int32_t tcpi_snd_wnd;
};
