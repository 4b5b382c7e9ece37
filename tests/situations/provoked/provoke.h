// SPDX-License-Identifier: BSD-2-Clause
// What the parts of provoke share. A function of a kind makes the thing with that number; it returns 0 or an errno.
#pragma once
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMiB = 1 << 20, kPage = 4096 };

static inline int errno_of(long result) { return result < 0 ? errno : 0; }
static inline int is_mapped(void* memory) { return memory == MAP_FAILED ? errno : 0; }

// Kinds by name.
#define PROVOKE_KINDS(KIND)                            \
  KIND(open, open_null)                                \
  KIND(eventfd, make_eventfd)                          \
  KIND(epoll, make_epoll)                              \
  KIND(timerfd, make_timerfd)                          \
  KIND(memfd, make_memfd)                              \
  KIND(pipe, make_pipe)                                \
  KIND(full_pipe, fill_pipe)                           \
  KIND(inotify, make_inotify)                          \
  KIND(pty, open_pty)                                  \
  KIND(unix_socket, make_unix_socket)                  \
  KIND(epoll_watch, epoll_watch)                       \
  KIND(watch, watch_directory)                         \
  KIND(notifications, queue_notifications)             \
  KIND(unread_unix, unread_unix)                       \
  KIND(unread_unix_datagrams, unread_unix_datagrams)   \
  KIND(tcp_idle, tcp_idle)                             \
  KIND(tcp_unread, tcp_unread)                         \
  KIND(tcp_orphan, tcp_orphan)                         \
  KIND(udp_unread, udp_unread)                         \
  KIND(udp_slow_reader, udp_slow_reader)               \
  KIND(send_to_new_address, send_to_new_address)       \
  KIND(packet_ring, packet_ring)                       \
  KIND(thread, make_thread)                            \
  KIND(process, make_process)                          \
  KIND(zombie, make_zombie)                            \
  KIND(network_namespace, network_namespace)           \
  KIND(shm, make_shm)                                  \
  KIND(small_shm, make_small_shm)                      \
  KIND(sem, make_sem)                                  \
  KIND(queue, make_queue)                              \
  KIND(message, send_message)                          \
  KIND(key, add_key)                                   \
  KIND(aio, setup_aio)                                 \
  KIND(ring, setup_ring)                               \
  KIND(timer, make_timer)                              \
  KIND(signal, queue_signal)                           \
  KIND(lock, lock_byte)                                \
  KIND(bpf_map, bpf_map)                               \
  KIND(bpf_percpu_map, bpf_percpu_map)                 \
  KIND(memory, take_memory)                            \
  KIND(locked, lock_memory)                            \
  KIND(counted, take_counted)                          \
  KIND(locked_file, lock_file)                         \
  KIND(reserved, reserve_memory)                       \
  KIND(page_table, take_page_table)                    \
  KIND(map, split_map)                                 \
  KIND(huge, take_huge_page)                           \
  KIND(huge_unreserved, take_unreserved_huge_page)     \
  KIND(thp, take_huge_pages_lazily)                    \
  KIND(thrash, thrash)                                 \
  KIND(write, write_file)                              \
  KIND(read, read_file)                                \
  KIND(file, make_file)                                \
  KIND(missing, look_for_missing)                      \
  KIND(mount, mount_tmpfs)                             \
  KIND(group, make_group)                              \
  KIND(dying_group, dying_group)                       \
  KIND(churn_socket, churn_socket)                     \
  KIND(churn_process, churn_process)                   \
  KIND(churn_files, churn_files)                       \
  KIND(wave, wave)                                     \
  KIND(sawtooth, sawtooth)                             \
  KIND(semaphores, make_semaphores)                    \
  KIND(reserved_shm, reserve_shm)                      \
  KIND(large_key, add_large_key)                       \
  KIND(mqueue, make_mqueue)                            \
  KIND(filled_memfd, fill_memfd)                       \
  KIND(memory_of_node, take_memory_of_node)            \
  KIND(huge_reserved, reserve_huge_page)               \
  KIND(worker, make_worker)                            \
  KIND(holes, make_holes)                              \
  KIND(perf_ring, perf_ring)                           \
  KIND(bpf_ring, bpf_ring)                             \
  KIND(kept_network_namespace, keep_network_namespace) \
  KIND(log, write_log)                                 \
  KIND(send_to_new_address6, send_to_new_address6)     \
  KIND(fragment, send_fragment)                        \
  KIND(unaccepted, connect_unaccepted)                 \
  KIND(close_wait, leave_in_close_wait)                \
  KIND(netlink_overrun, netlink_overrun)               \
  KIND(descriptor, send_descriptor)                    \
  KIND(syn, flood_with_syn)                            \
  KIND(fragment6, send_fragment6)                      \
  KIND(udp6_slow_reader, udp6_slow_reader)             \
  KIND(tcp_slow_client, tcp_slow_client)               \
  KIND(pinned, pin_buffer)                             \
  KIND(broken, break_memory)                           \
  KIND(peak, open_and_close)                           \
  KIND(prefork, make_prefork)                          \
  KIND(random, take_random_memory)                     \
  KIND(half_random, take_half_random_memory)           \
  KIND(mapped, read_mapped)                            \
  KIND(bpf_hash, bpf_hash)                             \
  KIND(no_segments, remove_segments)                   \
  KIND(slow_pipe, make_slow_pipe)                      \
  KIND(wide_pipe, make_wide_pipe)                      \
  KIND(large_ring, setup_large_ring)                   \
  KIND(process_key, add_process_key)                   \
  KIND(bound_namespace, bind_network_namespace)        \
  KIND(sparse, read_sparse)                            \
  KIND(tcp_stream, stream_tcp)                         \
  KIND(audit, overflow_audit)                          \
  KIND(no_audit, end_audit)                            \
  KIND(emptied, empty_table)                           \
  KIND(map_peak, split_and_join)                       \
  KIND(soft_offline, give_up_page)                     \
  KIND(locked_segment, lock_segment)                   \
  KIND(bpf_lru, bpf_lru)                               \
  KIND(bpf_percpu_hash, bpf_percpu_hash)               \
  KIND(large_set, make_large_set)                      \
  KIND(disk_file, keep_disk_file)                      \
  KIND(mapped_file, map_and_close)                     \
  KIND(scanned, watch_unread)                          \
  KIND(left_namespace, leave_namespace)                \
  KIND(routes, join_routes)                            \
  KIND(udp_bursts, udp_bursts)                         \
  KIND(capture, capture_unread)                        \
  KIND(wide_table, make_wide_table)                    \
  KIND(ring_file, open_for_ring)                       \
  KIND(pidfd, open_own_pidfd)                          \
  KIND(attribute, set_large_attribute)                 \
  KIND(ended_unread, end_unread)                       \
  KIND(nothing, do_nothing)

#define PROVOKE_DECLARE(name, make) int make(long i);
PROVOKE_KINDS(PROVOKE_DECLARE)

// Makes a BPF map with keys of 4 bytes; returns 0 or an errno.
int make_map(int type, uint32_t value_size, uint32_t entries);
// A connected pair of TCP sockets that do not block.
int tcp_pair(int pair[2]);
// Ends that many of the last threads and processes, so that others can start.
void give_back(long made, int kept_free);
