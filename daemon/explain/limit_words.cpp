// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/limit_words.h"

#include <algorithm>
#include <array>

#include "daemon/explain/known_types.h"

namespace memstat {
namespace {

constexpr std::array kLimitWords{
    LimitWord{"linux", "socket", "TCP", "net.ipv4.tcp_mem", "sysctl",
              "third number; buffers stop growing from the second on"},
    LimitWord{"linux", "socket", "UDP", "net.ipv4.udp_mem", "sysctl",
              "first number: above it only sockets below udp_rmem_min get more"},
    LimitWord{"linux", "socket", "SCTP", "net.sctp.sctp_mem", "sysctl"},
    LimitWord{"linux", "socket", "FRAG", "net.ipv4.ipfrag_high_thresh", "sysctl", "in each network namespace"},
    LimitWord{"linux", "socket", "FRAG6", "net.ipv6.ip6frag_high_thresh", "sysctl", "in each network namespace"},
    LimitWord{"linux", "table", "files", "fs.file-max", "sysctl", "CAP_SYS_ADMIN may exceed it"},
    LimitWord{"linux", "table", "threads", "kernel.threads-max, kernel.pid_max", "sysctl",
              "holds for root, too; 300 pids are reserved"},
    LimitWord{"linux", "table", "conntrack", "net.netfilter.nf_conntrack_max", "sysctl", "in each network namespace"},
    LimitWord{"linux", "table", "arp_cache", "net.ipv4.neigh.default.gc_thresh3", "sysctl",
              "of all namespaces; permanent entries do not count"},
    LimitWord{"linux", "table", "ndisc_cache", "net.ipv6.neigh.default.gc_thresh3", "sysctl",
              "of all namespaces; permanent entries do not count"},
    LimitWord{"linux", "table", "aio_events", "fs.aio-max-nr", "sysctl", "counts what io_setup asked for, used or not"},
    LimitWord{"linux", "table", "ptys", "kernel.pty.max", "sysctl", "one is kept back"},
    LimitWord{"linux", "table", "sysv_shm", "kernel.shmmni, kernel.shmall", "sysctl",
              "in each IPC namespace; shmall counts sizes"},
    LimitWord{"linux", "table", "sysv_sem", "kernel.sem", "sysctl", "fourth number"},
    LimitWord{"linux", "table", "sysv_semaphores", "kernel.sem", "sysctl", "second number"},
    LimitWord{"linux", "table", "sysv_msg", "kernel.msgmni", "sysctl", "in each IPC namespace"},
    LimitWord{"linux", "table", "tcp_orphans", "net.ipv4.tcp_max_orphans", "sysctl",
              "stuck ones are reset from a quarter of it on"},
    LimitWord{"linux", "table", "tcp_time_wait", "net.ipv4.tcp_max_tw_buckets", "sysctl",
              "above it connections end early, nothing fails"},
    LimitWord{"linux", "memcg", "*", "memory.max", "file of the control group", "a parent's limit holds, too"},
    LimitWord{"linux", "zswap", "*", "zswap.max_pool_percent", "module parameter", "once full, closed until 90 % of it"},
    LimitWord{"freebsd", "uma", "mbuf", "kern.ipc.nmbufs", "sysctl, only upwards"},
    LimitWord{"freebsd", "uma", "mbuf_cluster", "kern.ipc.nmbclusters", "sysctl, only upwards",
              "mbuf_packet has no limit of its own: each item holds a cluster"},
    LimitWord{"freebsd", "uma", "mbuf_packet", "kern.ipc.nmbclusters", "sysctl, only upwards",
              "no limit of its own: each item holds an mbuf_cluster"},
    LimitWord{"freebsd", "uma", "mbuf_jumbo_page", "kern.ipc.nmbjumbop", "sysctl, only upwards",
              "refused without waiting; callers fall back to clusters"},
    LimitWord{"freebsd", "uma", "mbuf_jumbo_9k", "kern.ipc.nmbjumbo9", "sysctl, only upwards"},
    LimitWord{"freebsd", "uma", "mbuf_jumbo_16k", "kern.ipc.nmbjumbo16", "sysctl, only upwards"},
    LimitWord{"freebsd", "uma", "socket", "kern.ipc.maxsockets", "sysctl, only upwards",
              "cached items count; at most kern.maxfiles"},
    LimitWord{"freebsd", "uma", "unpcb", "kern.ipc.maxsockets", "sysctl, only upwards", "cached items count"},
    LimitWord{"freebsd", "uma", "tcp_inpcb", "kern.ipc.maxsockets", "sysctl, only upwards", "cached items count"},
    LimitWord{"freebsd", "uma", "udp_inpcb", "kern.ipc.maxsockets", "sysctl, only upwards", "cached items count"},
    LimitWord{"freebsd", "uma", "tcpreass", "net.inet.tcp.reass.maxsegments", "loader.conf",
              "a refused segment is sent again"},
    LimitWord{"freebsd", "uma", "syncache", "net.inet.tcp.syncache.cachelimit", "loader.conf",
              "in each VNET; when full, SYN cookies answer"},
    LimitWord{"freebsd", "uma", "hostcache", "net.inet.tcp.hostcache.cachelimit", "loader.conf",
              "when full, the oldest entry goes"},
    LimitWord{"freebsd", "uma", "ipq", "net.inet.ip.maxfrags", "sysctl", "when full, the oldest queue is reused"},
    LimitWord{"freebsd", "uma", "pf states", "set limit states", "pf.conf", "timeouts shrink from 60 % on"},
    LimitWord{"freebsd", "uma", "pf source nodes", "set limit src-nodes", "pf.conf"},
    LimitWord{"freebsd", "uma", "pf frag entries", "set limit frags", "pf.conf"},
    LimitWord{"freebsd", "uma", "pf table entries", "set limit table-entries", "pf.conf"},
    LimitWord{"freebsd", "uma", "IPFW dynamic states data", "net.inet.ip.fw.dyn_max", "sysctl"},
    LimitWord{"freebsd", "uma", "IPFW parent dynamic states", "net.inet.ip.fw.dyn_parent_max", "sysctl"},
    LimitWord{"freebsd", "uma", "DEVCTL", "hw.bus.devctl_queue", "sysctl", "when full, the oldest event goes"},
    LimitWord{"freebsd", "uma", "swblk", "kern.maxswzone", "loader.conf",
              "when full, processes are killed: out of swap space"},
    LimitWord{"freebsd", "uma", "swpctrie", "kern.maxswzone", "loader.conf",
              "when full, processes are killed: out of swap space"},
    LimitWord{"freebsd", "table", "files", "kern.maxfiles", "sysctl", "users stop 5 % earlier; root stops one below it"},
    LimitWord{"freebsd", "table", "processes", "kern.maxproc", "loader.conf", "users stop 10 earlier"},
    LimitWord{"freebsd", "table", "sockets", "kern.ipc.maxsockets", "sysctl, only upwards",
              "the zone socket counts cached items, too"},
    LimitWord{"freebsd", "table", "vnodes", "kern.maxvnodes", "sysctl", "never refuses: requests wait up to a second"},
    LimitWord{"freebsd", "table", "pipe_buffers", "kern.ipc.maxpipekva", "loader.conf",
              "from 50 % on new pipes are small; 2 % are kept for root"},
    LimitWord{"freebsd", "table", "sf_bufs", "kern.ipc.nsfbufs", "loader.conf"},
    LimitWord{"freebsd", "table", "buffer_space", "vfs.maxbufspace", "loader.conf", "when full, buffers are reused"},
    LimitWord{"freebsd", "table", "buffer_headers", "kern.nbuf", "loader.conf", "when full, buffers are reused"},
    LimitWord{"freebsd", "table", "aio_jobs", "vfs.aio.max_aio_queue", "sysctl"},
    LimitWord{"freebsd", "table", "inotify_watches", "vfs.inotify.max_watches", "sysctl"},
    LimitWord{"freebsd", "table", "user_wired", "vm.max_user_wired", "sysctl", "pages that are shared count each time"},
    LimitWord{"freebsd", "table", "kmem", "vm.kmem_size", "loader.conf", "never refuses: caches are drained above it"},
    LimitWord{"freebsd", "table", "kernel_address_space", "vm.kmem_size", "loader.conf",
              "a high-water mark; means nothing on 64 bits"},
    LimitWord{"freebsd", "table", "swap_reservations", "vm.overcommit", "sysctl", "holds with bit 0 set and bit 2 not"},
    LimitWord{"freebsd", "table", "sysv_shm", "kern.ipc.shmmni, kern.ipc.shmall", "loader.conf; shmall: sysctl"},
    LimitWord{"freebsd", "table", "sysv_sem", "kern.ipc.semmni", "loader.conf"},
    LimitWord{"freebsd", "table", "sysv_semaphores", "kern.ipc.semmns", "loader.conf"},
    LimitWord{"freebsd", "table", "sysv_msg", "kern.ipc.msgmni", "loader.conf"},
    LimitWord{"freebsd", "table", "sysv_messages", "kern.ipc.msgtql", "loader.conf"},
};

}  // namespace

const LimitWord* limit_word(std::string_view os, std::string_view allocator, std::string_view type) {
  const auto found = std::find_if(kLimitWords.begin(), kLimitWords.end(), [&](const LimitWord& word) {
    return word.os == os && word.allocator == allocator && matches_pattern(word.type, type);
  });
  return found == kLimitWords.end() ? nullptr : &*found;
}

}  // namespace memstat
