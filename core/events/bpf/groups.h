/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Part of slab_caches.bpf.c: the page counters of control groups, which a poll would open by name. Files of the groups print
 * the same members (mm/memcontrol.c, mm/memcontrol-v1.c). The walk goes from group to group below the root, as the kernel's
 * own walks do, under the RCU lock that the iterator holds. Removed groups stay in the tree as long as memory is charged to
 * them, so the number of steps is limited. */
#pragma once

typedef struct {
  long counter;
} atomic_long_t;
struct page_counter {
  atomic_long_t usage;
  unsigned long failcnt;
  unsigned long max;
} KERNEL_TYPE;
struct kernfs_node {
  __u64 id;
} KERNEL_TYPE;
struct cgroup {
  struct kernfs_node* kn;
} KERNEL_TYPE;
struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct list_head sibling;
  struct list_head children;
  unsigned int flags;
  struct cgroup_subsys_state* parent;
} KERNEL_TYPE;
struct mem_cgroup {
  struct cgroup_subsys_state css;
  struct page_counter memory;
  struct page_counter memsw; /* of version 1 */
  struct page_counter kmem;
  struct page_counter tcpmem;
  atomic_long_t memory_events[1];
  int under_oom; /* of version 1 */
} KERNEL_TYPE;
struct css_set {
  struct cgroup_subsys_state* subsys[1];
} KERNEL_TYPE;
struct task_struct {
  struct css_set* cgroups;
} KERNEL_TYPE;
enum cgroup_subsys_id { memory_cgrp_id };

enum { kGroupOnline = 2, kGroupSteps = 1024, kGroupStepsAtOnce = 8, kPassesWithoutGroups = 64 }; /* CSS_ONLINE */

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct memstat_groups);
} groups SEC(".maps");

struct {
  __u64 root, at;
  __u64 goes_up;
  __u64 memory, memsw, kmem, tcpmem, events; /* in struct mem_cgroup */
  __u64 is_done;
  __u64 passes_left; /* without a walk, since the last one found too many groups */
} group_walk;

PLACE(place_of_memory, mem_cgroup, memory)
PLACE(place_of_memsw, mem_cgroup, memsw)
PLACE(place_of_kmem, mem_cgroup, kmem)
PLACE(place_of_tcpmem, mem_cgroup, tcpmem)
PLACE(place_of_events, mem_cgroup, memory_events)

static __always_inline void note_counter(struct memstat_page_counter* to, __u64 group, __u64 place) {
  const __u64 counter = group + place;
  to->usage = word_at(counter + bpf_core_field_offset(struct page_counter, usage));
  to->failures = word_at(counter + bpf_core_field_offset(struct page_counter, failcnt));
  to->limit = word_at(counter + bpf_core_field_offset(struct page_counter, max));
}

enum { kMaxEvents = 16 };

/* The counts only grow, so their sum changes when one of them does. */
static __always_inline __u64 events_of(__u64 group) {
  const __u64 count = bpf_core_field_size(((struct mem_cgroup*)0)->memory_events) / sizeof(atomic_long_t);
  __u64 sum = 0;
#pragma nounroll
  for (__u32 i = 0; i < kMaxEvents && i < count; ++i) sum += word_at(group + group_walk.events + 8 * i);
  const int is_under_oom = HAS(mem_cgroup, under_oom) && AT(mem_cgroup, group)->under_oom != 0;
  return 2 * sum + is_under_oom;
}

static __always_inline void note_group(struct memstat_groups* all, struct cgroup_subsys_state* state) {
  const __u64 group = number_of(state) - bpf_core_field_offset(struct mem_cgroup, css);
  const __u32 count = all->count;
  if (count >= MEMSTAT_GROUPS) return;
  struct memstat_group* to = &all->groups[count];
  to->id = state->cgroup->kn->id;
  to->events = events_of(group);
  note_counter(&to->memory, group, group_walk.memory);
  if (HAS(mem_cgroup, memsw)) note_counter(&to->both, group, group_walk.memsw);
  if (HAS(mem_cgroup, kmem)) note_counter(&to->kernel, group, group_walk.kmem);
  if (HAS(mem_cgroup, tcpmem)) note_counter(&to->tcp, group, group_walk.tcpmem);
  all->count = count + 1;
}

/* One step down, aside or up. */
static __always_inline long step_to_group(struct memstat_groups* all) {
  const __u64 sibling = bpf_core_field_offset(struct cgroup_subsys_state, sibling);
  const __u64 children = group_walk.at + bpf_core_field_offset(struct cgroup_subsys_state, children);
  struct cgroup_subsys_state* state = AT(cgroup_subsys_state, group_walk.at);
  if (!group_walk.goes_up) {
    if (group_walk.at != group_walk.root && (state->flags & kGroupOnline) != 0) note_group(all, state);
    const __u64 first = number_of(state->children.next);
    if (first != children && first != 0) {
      group_walk.at = first - sibling;
      return 0;
    }
  }
  if (group_walk.at == group_walk.root || group_walk.at == 0) return 1;
  const __u64 parent = number_of(state->parent);
  const __u64 next = number_of(state->sibling.next);
  group_walk.goes_up = next == parent + bpf_core_field_offset(struct cgroup_subsys_state, children);
  group_walk.at = group_walk.goes_up ? parent : next - sibling;
  return 0;
}

static long step_to_groups(__u64 index, void* unused) {
  __u32 first = 0;
  struct memstat_groups* all = bpf_map_lookup_elem(&groups, &first);
  if (!all) return 1;
#pragma nounroll
  for (int i = 0; i < kGroupStepsAtOnce && !group_walk.is_done; ++i) group_walk.is_done = step_to_group(all);
  return group_walk.is_done != 0;
}

static __noinline int look_at_groups(void) {
  __u32 first = 0;
  struct memstat_groups* all = bpf_map_lookup_elem(&groups, &first);
  if (!all) return 0;
  all->count = all->is_whole = 0;
  if (group_walk.passes_left != 0) return --group_walk.passes_left;
  group_walk.memory = place_of_memory();
  if (HAS(mem_cgroup, memsw)) group_walk.memsw = place_of_memsw();
  if (HAS(mem_cgroup, kmem)) group_walk.kmem = place_of_kmem();
  if (HAS(mem_cgroup, tcpmem)) group_walk.tcpmem = place_of_tcpmem();
  group_walk.events = place_of_events();
  const __u64 task = bpf_get_current_task();
  const __u64 set = number_of(AT(task_struct, task)->cgroups);
  __u64 state = word_at(set + bpf_core_field_offset(struct css_set, subsys) +
                        8 * bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
#pragma nounroll
  for (int i = 0; i < 64; ++i) {
    const __u64 parent = state == 0 ? 0 : number_of(AT(cgroup_subsys_state, state)->parent);
    if (parent == 0) break;
    state = parent;
  }
  if (state == 0) return 0;
  group_walk.root = group_walk.at = state;
  group_walk.goes_up = group_walk.is_done = 0;
  bpf_loop(kGroupSteps / kGroupStepsAtOnce, step_to_groups, 0, 0);
  if (!group_walk.is_done) group_walk.passes_left = kPassesWithoutGroups;
  all->is_whole = group_walk.is_done && all->count < MEMSTAT_GROUPS;
  return 0;
}
