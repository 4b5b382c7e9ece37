// SPDX-License-Identifier: BSD-2-Clause
// Control group metrics that the daemon reads too, and those of files that are read in turn.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kMemcgPartBytes =
    gauge_metric("memstat_memcg_part_bytes", Tier::kFull,
                 "Bytes of a control group and its children now, by part; part kernel includes kernel_stack, "
                 "pagetables, percpu, "
                 "vmalloc and slab, part file includes shmem, file_dirty and inactive_file.",
                 {"group", "part"});

inline constexpr SystemMetric kMemcgRefaults =
    counter_metric("memstat_memcg_refaulted_pages_total", Tier::kFull,
                   "Pages of a control group and its children, since it was created, that had to be read again soon after "
                   "reclaim took them, by kind.",
                   {"group", "kind"});

inline constexpr SystemMetric kMemcgEvents =
    counter_metric("memstat_memcg_events_total", Tier::kFull,
                   "Times since the control group was created that it reached its low or high threshold or its limit, "
                   "ran out of memory, or lost a process to that.",
                   {"group", "event"});

inline constexpr SystemMetric kMemcgKernelBytes =
    gauge_metric("memstat_memcg_kernel_bytes", Tier::kDefault,
                 "Bytes of kernel memory that a control group and its children use now: slab, page tables, stacks, "
                 "sockets and others.",
                 {"group"});

inline constexpr SystemMetric kMemcgReclaimableBytes =
    gauge_metric("memstat_memcg_reclaimable_kernel_bytes", Tier::kDefault,
                 "Bytes of memstat_memcg_kernel_bytes that the kernel can reclaim when memory is short, "
                 "such as cached directory entries.",
                 {"group"});

inline constexpr SystemMetric kMemcgAnonymousBytes =
    gauge_metric("memstat_memcg_anonymous_bytes", Tier::kDefault,
                 "Bytes of anonymous memory that a control group and its children use now.", {"group"});

inline constexpr SystemMetric kMemcgPeakBytes = gauge_metric(
    "memstat_memcg_peak_bytes", Tier::kFull,
    "Highest usage in bytes of a control group with a limit and its children since it was created, as read when "
    "memstatd started and after each kill.",
    {"group"});

inline constexpr SystemMetric kMemcgHighBytes = gauge_metric(
    "memstat_memcg_high_bytes", Tier::kDefault,
    "Bytes above which the kernel slows the control group down and reclaims its memory; absent when not set.", {"group"});

inline constexpr SystemMetric kMemcgContainer = gauge_metric(
    "memstat_memcg_container", Tier::kDefault,
    "1 for each control group that is a pod or a container, with what its path says of it; a pod has no container_id.",
    {"group", "pod_uid", "container_id", "runtime"});

inline constexpr SystemMetric kMemcgGroupsLeftOut =
    gauge_metric("memstat_memcg_groups_left_out", Tier::kMinimal,
                 "Control groups seen at the last read but not listed, because others matter more or they cannot be read.");

inline constexpr SystemMetric kMemcgBytesLeftOut =
    gauge_metric("memstat_memcg_left_out_bytes", Tier::kMinimal,
                 "Bytes of the control groups that could be read but are not listed; the listed groups above them include "
                 "these bytes. Each is looked at in turn.");

inline constexpr SystemMetric kMemcgHeadroom =
    gauge_metric("memstat_memcg_headroom_bytes", Tier::kDefault,
                 "Bytes that a control group can still allocate now until the kernel kills a process at its limit (max) or "
                 "slows it down (high), for groups with a limit of their own or above them.",
                 {"group", "until"});

inline constexpr SystemMetric kMemcgHeadroomUncertain = gauge_metric(
    "memstat_memcg_headroom_uncertain", Tier::kDefault,
    "1 for each control group whose headroom is not known within 8 MiB or 5 %, by reason.", {"group", "until", "reason"});

inline constexpr SystemMetric kMemcgHeadroomSetBy = gauge_metric(
    "memstat_memcg_headroom_set_by", Tier::kDefault,
    "1 for the control group above, or the machine, that decides the headroom of a group; absent if its own limit does.",
    {"group", "until", "by"});

inline constexpr SystemMetric kMemcgTasks = gauge_metric(
    "memstat_memcg_tasks", Tier::kDefault, "Threads of all processes of a control group and its children now.", {"group"});

inline constexpr SystemMetric kMemcgTasksLimit =
    gauge_metric("memstat_memcg_tasks_limit", Tier::kDefault,
                 "Threads that the control group and its children may have; absent when not set.", {"group"});

inline constexpr SystemMetric kMemcgLocalEvents =
    counter_metric("memstat_memcg_local_events_total", Tier::kFull,
                   "Times since the control group was created that it reached a threshold or its limit, ran out of memory, "
                   "or lost a process to that, without those of its children.",
                   {"group", "event"});

inline constexpr SystemMetric kMemcgPressure = counter_metric(
    "memstat_memcg_pressure_stall_seconds_total", Tier::kFull,
    "Seconds, since the control group was created, during which some or all of its runnable tasks waited for memory.",
    {"group", "kind"}, ValueFormat::kDouble);

inline constexpr SystemMetric kMemcgSwapBytes = gauge_metric(
    "memstat_memcg_swap_bytes", Tier::kFull, "Bytes of swap that a control group and its children use now.", {"group"});

inline constexpr SystemMetric kMemcgSwapLimit =
    gauge_metric("memstat_memcg_swap_limit_bytes", Tier::kFull,
                 "Bytes of swap that a control group and its children may use; absent when not set.", {"group"});

inline constexpr SystemMetric kMemcgSwapEvents = counter_metric(
    "memstat_memcg_swap_events_total", Tier::kFull,
    "Times since the control group was created that it reached a bound of its swap, or got no swap.", {"group", "event"});

inline constexpr SystemMetric kMemcgBothBytes =
    gauge_metric("memstat_memcg_memory_and_swap_bytes", Tier::kFull,
                 "Bytes of memory and swap together that a control group of version 1 and its children use now.", {"group"});

inline constexpr SystemMetric kMemcgBothLimit = gauge_metric(
    "memstat_memcg_memory_and_swap_limit_bytes", Tier::kFull,
    "Bytes of memory and swap together that a control group of version 1 may use; absent when not set.", {"group"});

inline constexpr SystemMetric kMemcgDying =
    gauge_metric("memstat_memcg_dying_descendants", Tier::kFull,
                 "Control groups below the group now that were removed but still hold memory.", {"group"});

inline constexpr SystemMetric kMemcgOomWaiting =
    gauge_metric("memstat_memcg_oom_waiting", Tier::kFull,
                 "1 while tasks of a control group of version 1 wait because it is out of memory, else 0.", {"group"});

inline constexpr SystemMetric kMemcgKernelHits = counter_metric(
    "memstat_memcg_kernel_limit_hits_total", Tier::kFull,
    "Times since a control group of version 1 was created that its kernel memory reached its limit.", {"group"});

}  // namespace memstat
