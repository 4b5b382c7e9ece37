// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <kvm.h>, as far as it is used. Compiled, never linked.
#pragma once

#include <nlist.h>
#include <sys/types.h>

typedef struct __kvm kvm_t;

extern "C" {
char* kvm_geterr(kvm_t*);
int kvm_nlist(kvm_t*, struct nlist*);
ssize_t kvm_read(kvm_t*, unsigned long, void*, size_t);
}
