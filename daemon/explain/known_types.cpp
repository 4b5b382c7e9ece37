// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/known_types.h"

#include <array>
#include <cstddef>

namespace memstat {
namespace {

constexpr std::string_view kCachedInodes =
    "The kernel gives unused inodes back when memory is short; vm.vfs_cache_pressure says how willingly, and "
    "echo 2 > /proc/sys/vm/drop_caches shows how many were unused.";
constexpr std::string_view kSizeClass =
    "The size class does not say who allocates: type call_site does where the kernel has allocation profiling (Linux 6.10, "
    "CONFIG_MEM_ALLOC_PROFILING), and else slab_debug=U for this cache and its alloc_traces in /sys/kernel/debug/slab.";
constexpr std::string_view kThreads =
    "Count threads and processes: ps -eLf | wc -l; find who starts them and does not wait.";
constexpr std::string_view kDescriptors =
    "A program may leak descriptors: compare fs.file-nr with ls /proc/PID/fd | wc -l of the suspects.";
constexpr std::string_view kMappings =
    "Look for the process with the most lines in /proc/PID/maps; vm.max_map_count bounds each.";
constexpr std::string_view kSockets = "See ss -s for sockets by state and ss -tanp for the processes that hold them.";
constexpr std::string_view kPacketsWait =
    "Data waits in sockets or in a driver: see Recv-Q and Send-Q in ss -an, and the drops of ip -s link.";
constexpr std::string_view kMbufs =
    "Data waits in socket buffers or in a driver: netstat -m shows the totals and netstat -x the sockets.";
constexpr std::string_view kSoftUpdates =
    "Metadata is changed faster than the disk takes it: see sysctl debug.softdep, and the load of the disk in gstat.";
constexpr std::string_view kFollowsIo = "It follows the input and output that is under way: see iostat -x.";

constexpr std::array kKnown{
    // Linux: slab caches.
    KnownType{
        "slab", "dentry", "A name in a directory that was looked up, also one that does not exist (a negative dentry).",
        "Unused ones are given back when memory is short. Programs that ask for many names that do not exist fill it: see "
        "alert MemstatNegativeDentries and /proc/sys/fs/dentry-state."},
    KnownType{"slab", "inode_cache",
              "An inode in memory of a file system without a cache of its own: pipes, sysfs, anonymous inodes and others.",
              kCachedInodes},
    KnownType{
        "slab", "proc_inode_cache", "An inode in memory of /proc.",
        "Programs that walk through /proc make them; they are given back when memory is short, or when processes end."},
    KnownType{"slab", "sock_inode_cache", "A socket as an inode, one for each socket of a program.", kSockets},
    KnownType{"slab", "shmem_inode_cache", "An inode of tmpfs, /dev/shm, System V shared memory or memfd_create(2).",
              "They stay until the file is removed and closed: see df -i of each tmpfs."},
    KnownType{"slab", "ext4_inode_cache", "An inode in memory of ext4.", kCachedInodes},
    KnownType{"slab", "xfs_inode", "An inode in memory of XFS.", kCachedInodes},
    KnownType{"slab", "btrfs_inode", "An inode in memory of Btrfs.", kCachedInodes},
    KnownType{"slab", "nfs_inode_cache", "An inode in memory of the NFS client.", kCachedInodes},
    KnownType{"slab", "fuse_inode", "An inode in memory of a FUSE file system.", kCachedInodes},
    KnownType{"slab", "lsm_inode_cache", "What security modules (SELinux and others) store for one inode in memory.",
              "It follows the inode caches: see those."},
    KnownType{"slab", "*_inode_cache", "An inode in memory of the file system in the name.", kCachedInodes},
    KnownType{"slab", "kernfs_node_cache", "A file or directory of sysfs or of the control groups' file system.",
              "It follows the number of devices and control groups: find /sys/fs/cgroup -type d | wc -l."},
    KnownType{"slab", "radix_tree_node", "A node of the trees that index the page cache, and of others.",
              "It follows the page cache, and stays for a while after pages left it, to remember which were evicted."},
    KnownType{"slab", "buffer_head", "What is known of one disk block in the page cache.",
              "It follows the page cache of file systems that use it, such as ext4, and is freed with those pages."},
    KnownType{"slab", "jbd2_journal_head", "A block of ext4 that is part of a transaction of the journal.", kFollowsIo},
    KnownType{"slab", "bio-*", "A request for input or output of block devices.", kFollowsIo},
    KnownType{"slab", "biovec-*", "The list of the pages of a request for input or output.", kFollowsIo},
    KnownType{"slab", "filp", "An open file: what a descriptor leads to.", kDescriptors},
    KnownType{"slab", "files_cache", "The table of descriptors of a process.", kThreads},
    KnownType{"slab", "eventpoll_epi", "A descriptor that epoll(7) watches.", kDescriptors},
    KnownType{"slab", "inotify_inode_mark", "A watch of inotify(7).",
              "fs.inotify.max_user_watches bounds each user; each watch keeps its inode in memory."},
    KnownType{"slab", "file_lock_cache", "A lock of a file by flock(2) or fcntl(2).",
              "See /proc/locks for the processes that hold them."},
    KnownType{"slab", "seq_file", "A file of /proc or of another such file system that is open for reading.", kDescriptors},
    KnownType{"slab", "names_cache", "A buffer for a path while a system call uses it.",
              "It is freed with the system call: growth means many calls at once, or a leak in the kernel."},
    KnownType{"slab", "task_struct", "A thread, of a program or of the kernel.", kThreads},
    KnownType{"slab", "signal_cache", "What the threads of one process share: signals, limits, times.", kThreads},
    KnownType{"slab", "sighand_cache", "The signal handlers of a process.", kThreads},
    KnownType{"slab", "task_delay_info", "How long a thread waited for what (delay accounting).", kThreads},
    KnownType{"slab", "pid", "The number of a process, thread, group or session.", kThreads},
    KnownType{"slab", "cred_jar", "Credentials: user, groups and capabilities, shared by what has the same.", kThreads},
    KnownType{"slab", "cred", "Credentials: user, groups and capabilities, shared by what has the same.", kThreads},
    KnownType{"slab", "mm_struct", "The address space of a process.", kThreads},
    KnownType{"slab", "vm_area_struct", "One mapping of an address space: a line of /proc/PID/maps.", kMappings},
    KnownType{"slab", "vma_lock", "The lock of one mapping of an address space.", kMappings},
    KnownType{"slab", "maple_node", "A node of the trees in which address spaces keep their mappings.", kMappings},
    KnownType{"slab", "anon_vma", "The way from anonymous pages back to the mappings that may hold them.", kMappings},
    KnownType{"slab", "anon_vma_chain", "A link between a mapping and an anon_vma; forks multiply them.", kMappings},
    KnownType{"slab", "kmalloc-cg-*",
              "Memory of this size class that is charged to a control group (kmalloc, since Linux 5.14).", kSizeClass},
    KnownType{"slab", "kmalloc-rcl-*",
              "Memory of this size class that the kernel can reclaim (kmalloc), such as long file names.",
              "It follows dentry and the inode caches: look at those first."},
    KnownType{"slab", "kmalloc-rnd-*",
              "One of several caches of a size class, chosen by the caller (CONFIG_RANDOM_KMALLOC_CACHES, Linux 6.6).",
              kSizeClass},
    KnownType{"slab", "kmalloc-*", "Memory of this size class, for whatever the kernel allocates by kmalloc.", kSizeClass},
    KnownType{"slab", "dma-kmalloc-*", "Memory of this size class from the zone DMA, for old devices.", kSizeClass},
    KnownType{"slab", "msg_msg-*", "A message of a System V or POSIX message queue, by size class (Linux 6.11).",
              "See ipcs -q and /dev/mqueue for queues that no program empties."},
    KnownType{"slab", "memdup_user-*", "A copy of a program's data that a system call made, by size class (Linux 6.11).",
              kSizeClass},
    KnownType{"slab", "skbuff_head_cache", "The head of a network packet.", kPacketsWait},
    KnownType{"slab", "skbuff_fclone_cache", "The head of a packet that is sent, with room for its copy (TCP).",
              kPacketsWait},
    KnownType{"slab", "skbuff_small_head", "The data of a small network packet (Linux 6.3).", kPacketsWait},
    KnownType{"slab", "skbuff_ext_cache", "What is stored beside a packet, for IPsec, bridges or MPTCP.", kPacketsWait},
    KnownType{"slab", "request_sock_*", "A connection that is being established: its SYN has arrived.",
              "Many of them are a flood of SYN or a listener that does not accept: nstat -az TcpExtListenOverflows."},
    KnownType{"slab", "tw_sock_*", "A closed connection in the state TIME-WAIT.",
              "Each lasts a minute; net.ipv4.tcp_max_tw_buckets bounds them. Connections that are reused do not need it."},
    KnownType{"slab", "TCP*", "A TCP socket.", kSockets},
    KnownType{"slab", "UDP*", "A UDP socket.", kSockets},
    KnownType{"slab", "RAW*", "A raw socket.", kSockets},
    KnownType{"slab", "PING*", "A socket for ICMP echo.", kSockets},
    KnownType{"slab", "MPTCP*", "A Multipath TCP socket.", kSockets},
    KnownType{
        "slab", "nf_conntrack", "A connection that netfilter tracks.",
        "net.netfilter.nf_conntrack_max bounds them; conntrack -L shows them, and the timeouts say how long they stay."},
    KnownType{"slab", "ip_fib_*", "A part of the table of IPv4 routes.",
              "Count the routes: ip route show table all | wc -l."},
    KnownType{"slab", "ip6_dst_cache", "A route of IPv6, also one for a single destination.", "See ip -6 route show cache."},
    KnownType{"slab", "mem_cgroup", "A control group of memory, also one that was removed and still has pages.",
              "nr_dying_descendants of cgroup.stat counts the removed; they go when their last page is freed."},
    KnownType{"slab", "net_namespace", "A network namespace.",
              "See lsns -t net; containers that were not cleaned up keep theirs."},
    KnownType{"slab", "vmap_area", "One area of the vmalloc address space.", "See the types of vmalloc: each is a caller."},
    KnownType{"slab", "proc_dir_entry", "An entry of /proc that a part of the kernel has made, none of a process.",
              "They come with drivers, file systems and network namespaces."},
    KnownType{"slab", "key_jar", "A key of the kernel's keyrings.", "See /proc/keys and /proc/key-users."},
    KnownType{"slab", "perf_event", "A counter that perf_event_open(2) made.", "See which monitoring programs run."},
    KnownType{"slab", "zs_handle", "A compressed object of zsmalloc: zram, or zswap.",
              "It follows what is swapped: see zramctl."},
    KnownType{"slab", "io_kiocb", "A request of io_uring.", kFollowsIo},
    KnownType{"slab", "posix_timers_cache", "A timer that timer_create(2) made.", "See /proc/PID/timers of the suspects."},
    KnownType{"slab", "sigqueue", "A queued signal, or the one that a timer has in reserve.",
              "ulimit -i bounds each user; SigQ in /proc/PID/status has how many are queued."},
    KnownType{"slab", "kmem_cache", "A slab cache itself.",
              "It grows with modules and file systems; caches that are like another are merged."},
    KnownType{"slab", "kmem_cache_node", "The part of a slab cache for one NUMA node.", "It follows kmem_cache."},
    // Linux: other allocators.
    KnownType{
        "page", "node *", "A zone of the page allocator on one NUMA node.",
        "That a healthy zone is nearly full is normal: the page cache uses what is free. See alerts MemstatZoneBelowMin and "
        "MemstatMemoryLow for when it is not."},
    KnownType{"percpu", "percpu",
              "The per-CPU allocator: one copy for each CPU of counters of control groups, networks and BPF.",
              "It follows the number of CPUs, control groups, network interfaces and BPF maps."},
    KnownType{"hugetlb", "*iB", "The pool of huge pages of this size, reserved by vm.nr_hugepages.",
              "Pages of the pool that no program uses are lost to all others: lower vm.nr_hugepages."},
    KnownType{"zswap", "zswap", "The compressed cache of pages on their way to swap.",
              "It follows swapping; its failures are pages that did not compress or had no room, and went to swap."},
    KnownType{"memcg", "/*", "A control group with what its processes use, those below it included.",
              "See memory.stat of the group: anon is the programs', file the page cache, slab the kernel's."},
    KnownType{"socket", "TCP*", "The buffers of all TCP sockets, bounded by net.ipv4.tcp_mem.", kPacketsWait},
    KnownType{"socket", "UDP*", "The buffers of all UDP sockets, bounded by net.ipv4.udp_mem.", kPacketsWait},
    KnownType{"socket", "*", "The sockets of this protocol and the memory of their buffers.", kSockets},
    KnownType{"table", "conntrack", "Connections that netfilter tracks, bounded by net.netfilter.nf_conntrack_max.",
              "When it is full, packets are dropped: raise the limit or shorten the timeouts."},
    KnownType{"table", "files", "Open files of the whole machine, bounded by fs.file-max.", kDescriptors},
    KnownType{"table", "threads", "Threads of the whole machine, bounded by kernel.threads-max and kernel.pid_max.",
              kThreads},
    KnownType{"table", "arp_cache", "IPv4 neighbours, bounded by net.ipv4.neigh.default.gc_thresh3.",
              "Large flat networks, or a scan, fill it: ip -4 neigh | wc -l."},
    KnownType{"table", "ndisc_cache", "IPv6 neighbours, bounded by net.ipv6.neigh.default.gc_thresh3.",
              "Large flat networks, or a scan, fill it: ip -6 neigh | wc -l."},
    // FreeBSD: zones of uma(9).
    KnownType{"uma", "mbuf", "A network buffer of 256 bytes: its head, and small data.", kMbufs},
    KnownType{"uma", "mbuf_cluster", "A cluster of 2 KiB for network data, bounded by kern.ipc.nmbclusters.", kMbufs},
    KnownType{"uma", "mbuf_packet", "An mbuf with a cluster: the memory is that of zones mbuf and mbuf_cluster.", kMbufs},
    KnownType{"uma", "mbuf_jumbo_page", "A network buffer of one page, bounded by kern.ipc.nmbjumbop.", kMbufs},
    KnownType{"uma", "mbuf_jumbo_9k", "A network buffer of 9 KiB, bounded by kern.ipc.nmbjumbo9.", kMbufs},
    KnownType{"uma", "mbuf_jumbo_16k", "A network buffer of 16 KiB, bounded by kern.ipc.nmbjumbo16.", kMbufs},
    KnownType{"uma", "* Bucket", "An array of free items with which uma(9) fills the caches of CPUs.",
              "Its failures are routine: then an item is freed the slow way."},
    KnownType{"uma", "malloc-*", "The zone behind one size class of malloc(9).",
              "The types of malloc show what uses it; do not add both up."},
    KnownType{"uma", "pcpu-*", "Memory with a copy for each CPU, mostly counters.",
              "It follows the number of network interfaces, routes, zones and rules of pf."},
    KnownType{"uma", "VNODE", "A file or directory that is in memory, bounded by kern.maxvnodes.",
              "It is a cache: up to the bound it grows and is reused."},
    KnownType{"uma", "*VFS Cache", "A name in a directory that was looked up (S: short, L: long, TS: with a time).",
              "It is a cache that follows the vnodes, names that do not exist included: sysctl vfs.cache."},
    KnownType{"uma", "FFS inode", "An inode in memory of UFS.", "It follows the vnodes: see VNODE."},
    KnownType{"uma", "FFS1 dinode", "The inode as the disk has it, of UFS1.", "It follows the vnodes: see VNODE."},
    KnownType{"uma", "FFS2 dinode", "The inode as the disk has it, of UFS2.", "It follows the vnodes: see VNODE."},
    KnownType{"uma", "DIRHASH", "A part of the index of a large directory of UFS, bounded by vfs.ufs.dirhash_maxmem.",
              "It is a cache: up to the bound it grows."},
    KnownType{"uma", "TMPFS node", "A file or directory of tmpfs.",
              "They stay until they are removed: see df -i of each tmpfs."},
    KnownType{"uma", "Files", "An open file, bounded by kern.maxfiles.",
              "Find the processes that hold them: fstat | awk '{print $2}' | sort | uniq -c."},
    KnownType{"uma", "PROC", "A process, bounded by kern.maxproc.",
              "Count processes by name, those that were not waited for included: ps ax."},
    KnownType{"uma", "THREAD", "A thread of a program or of the kernel.", "See procstat -ta | wc -l and who starts them."},
    KnownType{"uma", "VMSPACE", "The address space of a process.", "It follows the processes."},
    KnownType{"uma", "MAP ENTRY", "One mapping of an address space.", "See procstat -v PID of the suspects."},
    KnownType{"uma", "VM OBJECT", "A thing that pages belong to: a file, anonymous memory, a device.",
              "It follows files and mappings."},
    KnownType{"uma", "RADIX NODE", "A node of the trees that index the pages of an object.",
              "It follows the memory that files and programs use."},
    KnownType{"uma", "swblk", "Where in swap the pages of an object are, bounded by kern.maxswzone.",
              "It follows what is swapped: swapinfo."},
    KnownType{"uma", "swpctrie", "A node of the trees that find swap blocks, bounded by kern.maxswzone.",
              "It follows what is swapped: swapinfo."},
    KnownType{"uma", "pipe", "A pipe between programs.",
              "Their buffers are bounded by kern.ipc.maxpipekva: see kern.ipc.pipekva."},
    KnownType{"uma", "socket", "A socket, bounded by kern.ipc.maxsockets.", "Find the processes that hold them: sockstat."},
    KnownType{"uma", "tcp_inpcb", "A TCP connection, bounded by kern.ipc.maxsockets.",
              "See netstat -an -p tcp by state, and sockstat."},
    KnownType{"uma", "udp_inpcb", "A UDP socket's addresses, bounded by kern.ipc.maxsockets.",
              "Find the processes that hold them: sockstat -P udp."},
    KnownType{"uma", "unpcb", "A socket of the Unix domain, bounded by kern.ipc.maxsockets.",
              "Find the processes that hold them: sockstat -u."},
    KnownType{"uma", "syncache", "A connection that is being established, bounded by net.inet.tcp.syncache.cachelimit.",
              "Many of them are a flood of SYN: netstat -s -p tcp, syncache."},
    KnownType{"uma", "hostcache", "What TCP remembers of another host, bounded by net.inet.tcp.hostcache.cachelimit.",
              "It is a cache: up to the bound it grows."},
    KnownType{"uma", "KNOTE", "An event that a program waits for by kqueue(2).",
              "It follows descriptors that servers watch."},
    KnownType{"uma", "pf states", "A connection that pf tracks, bounded by set limit states of pf.conf(5).",
              "When it is full, new connections are dropped: pfctl -si, and pfctl -ss for the list."},
    KnownType{"uma", "pf *", "A part of the packet filter's tables, bounded by set limit of pf.conf(5).",
              "See pfctl -sm and pfctl -si."},
    KnownType{"uma", "pbuf", "A buffer for paging and for direct input and output.",
              "That threads wait for one is how it works; see SLEEP."},
    KnownType{"uma", "g_bio", "A request for input or output on its way through GEOM.",
              "It follows the load of the disks: gstat."},
    KnownType{"uma", "NAMEI", "A buffer for a path while a system call uses it.",
              "It is freed with the system call: growth means many calls at once, or a leak in the kernel."},
    KnownType{"uma", "vmem btag", "The record of one range of kernel addresses.",
              "It follows large allocations of the kernel."},
    KnownType{"uma", "kstack_cache", "The kernel stack of a thread, kept for the next one.",
              "It follows the threads: see THREAD."},
    KnownType{"uma", "UMA *", "What uma(9) itself needs for its zones.", "It follows the other zones."},
    // FreeBSD: types of malloc(9).
    KnownType{"malloc", "devbuf", "Memory of device drivers.",
              "See which driver was attached or updated last: devinfo, dmesg."},
    KnownType{"malloc", "temp", "Memory that parts of the kernel need for a moment.",
              "It is freed soon: growth is a leak of some part of the kernel."},
    KnownType{"malloc", "solaris", "Memory of ZFS that is in no zone of its own.",
              "It follows the ARC: see vfs.zfs.arc.max."},
    KnownType{"malloc", "inodedep", "An inode whose change soft updates still have to write.", kSoftUpdates},
    KnownType{"malloc", "pagedep", "A directory block whose change soft updates still have to write.", kSoftUpdates},
    KnownType{"malloc", "newblk", "A block that soft updates have allocated and not yet written.", kSoftUpdates},
    KnownType{"malloc", "softdep", "The tables of soft updates of each file system.", kSoftUpdates},
    KnownType{"malloc", "vfscache", "The hash table of the name cache.",
              "It is made at boot; its names are in zones *VFS Cache."},
    KnownType{"malloc", "filedesc", "Tables of descriptors of processes with many of them.",
              "See zone Files for how to find the processes that hold them."},
    KnownType{"malloc", "kqueue", "A kqueue(2) and its table of events.", "See zone KNOTE."},
    KnownType{"malloc", "routetbl", "Routes.", "Count them: netstat -rn | wc -l."},
    KnownType{"malloc", "lltable", "Neighbours: entries of ARP and of IPv6 neighbour discovery.",
              "See arp -an and ndp -an."},
    KnownType{"malloc", "ifaddr", "Addresses of network interfaces.",
              "It follows interfaces and their addresses: ifconfig."},
    KnownType{"malloc", "pcb", "Tables of protocols for their sockets.", "It is made at boot and with each VNET jail."},
    KnownType{"malloc", "sysctloid", "A sysctl that was made while the kernel ran.",
              "It follows devices, zones and interfaces."},
    KnownType{"malloc", "acpica", "Memory of the ACPI interpreter.",
              "It is nearly all made at boot; growth is a fault of firmware or driver."},
    KnownType{"malloc", "subproc", "Parts of processes, such as their tables of signals.", "It follows the processes."},
    KnownType{"malloc", "tmpfs name", "Names of files in tmpfs.",
              "They stay until the files are removed: see df -i of each tmpfs."},
    KnownType{"malloc", "sendfile", "A sendfile(2) that is under way.", "It follows the connections of servers."},
    KnownType{"malloc", "bounce", "Buffers in memory that old devices can reach.",
              "See sysctl hw.busdma for the device that needs them."},
};

}  // namespace

std::span<const KnownType> known_types() { return kKnown; }

bool matches_pattern(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= star + tail.size() && name.starts_with(pattern.substr(0, star)) && name.ends_with(tail);
}

}  // namespace memstat
