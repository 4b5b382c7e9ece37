// SPDX-License-Identifier: BSD-2-Clause
// What the causes of memstatctl why mean for alerts. tests/end_to_end/finding_alerts_test.py compares every name with the
// program's.
local kinds = {
  integrity: ['bad_page', 'checker_bug', 'kernel_oops', 'machine_check', 'memory_error', 'memory_poisoned'],
  // Memory of the machine is short.
  shortage: [
    'direct_reclaim', 'domain_exhausted', 'freebsd_oom_page_wait', 'freebsd_oom_reclaim', 'freebsd_oom_swap_metadata', 'kswapd_gave_up',
    'machine_oom_kill', 'memory_low', 'memory_stalls', 'no_victim', 'page_daemon_short', 'reclaim_thrash', 'swap_full', 'swap_thrash',
    'victim_stuck', 'zone_short',
  ],
  // What takes the memory. A finding of these takes over the severity of the shortage that it explains.
  growth: [
    'bpf_memory', 'cgroup_dying', 'cgroups_left', 'file_leak', 'kmalloc_leak', 'kqueue_growth', 'malloc_growth', 'memory_growth', 'network_namespace_growth',
    'notify_queue', 'other_growth', 'packets_held', 'page_table_growth', 'percpu_growth', 'slab_fragmented', 'slab_large', 'slab_leak',
    'thread_growth', 'unaccounted_growth', 'unaccounted_large', 'vfs_pinned', 'vmalloc_growth', 'zone_growth',
  ],
  programs: ['anonymous_growth', 'locked_memory', 'shared_memory_growth', 'shared_memory_large', 'sysv_shm_unattached', 'unevictable_memory'],
  kernelParts: [
    'arc_stuck', 'balloon_inflated', 'compressed_large', 'gpu_memory_large', 'hugetlb_unused', 'kernel_memory_large', 'kernel_stacks_large',
    'kmalloc_large', 'laundry_large', 'memory_lost', 'page_tables_large', 'percpu_large', 'pinned_memory', 'pv_entries_large', 'rcu_backlog',
    'shadow_nodes', 'sockets_large', 'tracing_large', 'unswappable_large', 'vmalloc_large', 'zone_idle', 'zram_full', 'negative_dentries',
  ],
  sockets: ['fragments6_full', 'fragments_full', 'socket_memory_growth', 'tcp_memory_full', 'tcp_pressure', 'tcp_segments_waiting_full', 'udp_memory_full'],
  // A table, a zone or a pool of the machine is full.
  limits: [
    'aio_full', 'aio_jobs_full', 'commit_limit_full', 'conntrack_full', 'devctl_full', 'files_full', 'ipfw_full', 'mbuf_limit',
    'message_queues_full', 'messages_full', 'neighbours6_full', 'neighbours_full', 'open_files_full', 'orphans_full', 'pf_full',
    'pipe_buffers_full', 'processes_full', 'ptys_full', 'semaphore_sets_full', 'semaphores_full', 'shm_segments_full', 'socket_zone_full',
    'sockets_full', 'swap_metadata_full', 'syncache_full', 'sysv_msg_full', 'sysv_sem_full', 'sysv_sem_sets_full', 'sysv_shm_full', 'table_full',
    'tcp_reassembly_full', 'threads_full', 'user_wired_full', 'vnode_waits', 'zone_full',
  ],
  // Also about a limit, but not all of the machine fails.
  refusals: [
    'accept_queue_full', 'allocation_waits', 'atomic_failures', 'bounce_buffers_full', 'cma_exhausted', 'conntrack_evicts', 'contiguous_memory_gone',
    'hugetlb_exhausted', 'inotify_full', 'jail_limit_full', 'kmem_soft_limit', 'limit_reached', 'neighbours6_collected', 'neighbours_collected', 'page_allocation_failed',
    'percpu_failed', 'process_threads_full', 'refused_in_freebsd_log', 'refused_in_log', 'requests_refused', 'slab_allocation_failed', 'syn_cache_full',
    'syn_cache_no_memory', 'table_growth', 'time_wait_full', 'vmalloc_failed', 'zone_cached', 'zswap_full',
  ],
  contiguous: ['compaction_fails', 'fragmentation', 'huge_pages_short'],
  // Kills that are not the machine's shortage of memory.
  partialKills: ['cgroup_oom_kill', 'kill_requested', 'numa_bound_oom'],
  groups: [
    'cgroup_full', 'cgroup_kernel_limit', 'cgroup_oom_kill', 'cgroup_oom_off', 'cgroup_sockets_throttled', 'cgroup_swap_full', 'cgroup_thrash',
    'cgroup_throttled',
  ],
  groupGrowth: ['cgroup_growth'],
  groupTasks: ['cgroup_tasks_full'],
  quotas: [
    'epoll_watches_full', 'fanotify_marks_full', 'inotify_instances_full', 'inotify_watches_full', 'key_quota_full', 'mounts_full', 'mqueue_full',
    'namespaces_full', 'pipe_quota', 'pipes_full', 'process_files_full', 'process_maps_full', 'resource_limit_full', 'user_signals_full',
    'user_tasks_full',
  ],
  // No threshold sees them.
  alone: [
    'audit_backlog', 'device_held', 'files_without_descriptor', 'kernel_warning', 'killed_before', 'leak_reported', 'listen_overflow',
    'memory_error_injected', 'module_leak', 'namespaces_left', 'netlink_queue', 'numa_node_full', 'page_pool_leak', 'program_kill', 'rcu_stall',
    'sockets_elsewhere', 'source_down', 'swap_io_error', 'syn_cookies', 'syn_queue_full', 'tcp_receive_dropped', 'thp_bloat', 'tmpfs_full', 'udp_buffer_full',
    'unread_queues', 'unrecognized_line', 'writers_throttled', 'zombies',
  ],
};
local type = ['allocator', 'type'];
{
  kinds: kinds,
  // Findings of these that are failing now wake somebody, unless they are about a control group or a mount. All others wait
  // for the morning, like the threshold alerts about them: a part of the machine fails, or a single line of the log says so.
  wakes: kinds.integrity + kinds.shortage + kinds.growth + kinds.programs + kinds.kernelParts + kinds.limits
         + ['tcp_memory_full', 'rcu_stall', 'swap_io_error'],
  // Threshold alerts, and the causes whose findings repeat them if they are at least as severe and agree in the labels `by`
  // of the same host.
  repeated: [
    { alerts: ['MemstatCheckerBug', 'MemstatKernelOops', 'MemstatBadPage', 'MemstatMachineCheck', 'MemstatCorruptedMemory'], by: [], causes: kinds.integrity },
    {
      alerts: [
        'MemstatMemoryVeryLow', 'MemstatMemoryLow', 'MemstatMemoryPressureHigh', 'MemstatMemoryPressure', 'MemstatMemoryPressureSome',
        'MemstatOutOfMemoryKill', 'MemstatMemoryShortfall', 'MemstatZoneBelowMin', 'MemstatThrashing',
      ],
      by: [],
      causes: kinds.shortage + kinds.growth + kinds.programs + kinds.kernelParts,
    },
    // The finding knows that the machine had memory left, so it also replaces an alert that is more severe.
    { alerts: ['MemstatOutOfMemoryKill'], by: [], causes: kinds.partialKills, fromSeverity: 'warning' },
    {
      alerts: ['MemstatKernelShareHigh', 'MemstatKernelMemoryGoneInFourHours', 'MemstatKernelMemoryGoneInADay'],
      by: [],
      causes: kinds.growth + kinds.programs + kinds.kernelParts + kinds.sockets,
    },
    { alerts: ['MemstatUnaccountedGrowth'], by: [], causes: ['unaccounted_growth', 'unaccounted_large'] },
    { alerts: ['MemstatNegativeDentries'], by: [], causes: ['negative_dentries'] },
    { alerts: ['MemstatCompactionFails', 'MemstatCompactionStalls'], by: [], causes: kinds.contiguous + ['page_allocation_failed'] },
    { alerts: ['MemstatLeakFast', 'MemstatLeakSuspected', 'MemstatLeakSlow'], by: type, causes: kinds.growth },
    {
      alerts: [
        'MemstatLimitHit', 'MemstatFileHandles', 'MemstatNearLimit', 'MemstatSoftLimit', 'MemstatLimitWaits', 'MemstatAllocationFailures',
        'MemstatLimitWithinFourHours', 'MemstatLimitWithinADay',
      ],
      by: type,
      causes: kinds.limits + kinds.refusals + kinds.sockets + kinds.growth,
    },
    { alerts: ['MemstatSocketPressure'], by: ['type'], causes: kinds.sockets + ['requests_refused', 'limit_reached'] },
    { alerts: ['MemstatUserQuota'], by: ['type'], causes: kinds.quotas + ['inotify_full'] },
    { alerts: ['MemstatControlGroupOutOfMemory', 'MemstatControlGroupAtLimit'], by: ['type'], causes: kinds.groups + kinds.partialKills },
    {
      alerts: [
        'MemstatControlGroupThrottled', 'MemstatControlGroupHeadroom', 'MemstatControlGroupKernelMemory', 'MemstatControlGroupKernelGrowth', 'MemstatControlGroupKernelSlowGrowth',
      ],
      by: ['group'],
      causes: kinds.groups + kinds.groupGrowth,
    },
    { alerts: ['MemstatControlGroupTasks'], by: ['group'], causes: kinds.groupTasks },
  ],
}
