/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The kernel's structs with the members that several programs read. They are relocated to the running kernel's when a
 * program is loaded (CO-RE), so building needs no kernel. */
#pragma once

#include "core/events/bpf/kernel_calls.h"
#include "core/events/bpf/kernel_types.h"

#define FOUND_IN_KERNEL __attribute__((preserve_access_index))

struct kmem_cache {
  unsigned int flags;
  unsigned int size;
  unsigned int object_size;
  unsigned int allocflags;
  const char* name;
} FOUND_IN_KERNEL;

#ifdef MEMSTAT_OWNER_OF_OBJECT
static struct kmem_cache* (*const get_kmem_cache)(__u64 address) = (void*)kGetKmemCache;
#endif

struct kernfs_node {
  struct kernfs_node* __parent; /* Linux 6.15 and later */
  const char* name;
  __u64 id;
} FOUND_IN_KERNEL;

struct cgroup {
  struct kernfs_node* kn;
} FOUND_IN_KERNEL;

struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent;
} FOUND_IN_KERNEL;

enum cgroup_subsys_id { memory_cgrp_id = 4 }; /* the value in the running kernel is looked up when programs are loaded */

struct css_set {
  struct cgroup_subsys_state* subsys[16];
  struct cgroup* dfl_cgrp;
} FOUND_IN_KERNEL;

struct task_struct {
  struct css_set* cgroups;
  char comm[16];
} FOUND_IN_KERNEL;
