// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <nlist.h>, as far as it is used. Compiled, never linked.
#pragma once

struct nlist {
  const char* n_name;
  unsigned char n_type;
  char n_other;
  short n_desc;
  unsigned long n_value;
};
