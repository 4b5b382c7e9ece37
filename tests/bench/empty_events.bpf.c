// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// Programs that do nothing, on the tracepoints of core/events/bpf/slab_events.bpf.c: what attaching alone costs.
#include "core/events/bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

SEC("raw_tp/kmem_cache_alloc")
int on_kmem_cache_alloc(void* arguments) { return 0; }
SEC("raw_tp/kmem_cache_free")
int on_kmem_cache_free(void* arguments) { return 0; }
SEC("raw_tp/kmalloc")
int on_kmalloc(void* arguments) { return 0; }
SEC("raw_tp/kfree")
int on_kfree(void* arguments) { return 0; }

char terms[] SEC("license") = "Dual BSD/GPL";
