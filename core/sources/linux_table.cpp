// SPDX-License-Identifier: BSD-2-Clause
// The kernel's bounded tables, one type each: entries in use, limit, and refused entries. Only tables that the kernel itself
// counts are included. Each has its own file, and a kernel without the file lacks the table:
//
//   files           fs/file-nr "allocated free max" (fs/file_table.c); free has been 0 since 2.6
//   inodes          fs/inode-state "all unused ..." (fs/inode.c)
//   dentries        fs/dentry-state "all unused age want negative ..." (fs/dcache.c); negative is 0 before 5.0
//   conntrack       net/stat/nf_conntrack, whose column `entries` repeats the total in each line; if it is missing,
//                   net/netfilter/nf_conntrack_count (nf_conntrack_standalone.c)
//   arp_cache, ndisc_cache  net/stat/*: a line of names, then a line per CPU in hexadecimal (net/core/neighbour.c); the
//                   column `entries` repeats the total in each line
//   threads         loadavg "0.00 0.00 0.00 running/all last" (fs/proc/loadavg.c)
//   keys            key-users, a line per user: "uid: usage keys/instantiated keys/limit bytes/limit" (security/keys/proc.c)
//   aio_events      fs/aio-nr (fs/aio.c)
//   ptys            kernel/pty/nr (drivers/tty/pty.c); pty/max is one more than the maximum (fs/devpts/inode.c)
//   sysv_shm, sysv_sem, sysv_semaphores, sysv_msg  sysvipc/*: a line of names, then a line per object (ipc/*.c)
//   tcp_orphans, tcp_time_wait  the line TCP of net/sockstat (net/ipv4/proc.c)
//   committed       meminfo, where vm.overcommit_memory is 2: otherwise the kernel computes a limit that it does not apply
//   accept_queues   ListenOverflows of net/netstat; the limit, net.core.somaxconn, is of each listener
//   process_maps, socket_receive_buffers, socket_send_buffers  a limit of each process or socket, which nothing counts
//
// The kernel counts watches of epoll, inotify and fanotify per user, but no file shows the counts. Only the limit per user
// is exported. The slab caches eventpoll_epi, inotify_inode_mark and fanotify_*_mark contain the watches of all users. The
// kernel reports no entry size, so only tables counted in bytes have bytes.
#include <algorithm>
#include <cerrno>
#include <limits>

#include "core/collect/plan_reader.h"
#include "core/model/table_metrics.h"
#include "core/parse/header_table.h"
#include "core/parse/sysv_ipc.h"
#include "core/source.h"

namespace memstat::sources::linux_table {
namespace {

constexpr SystemMetric kTableUserLimit =
    gauge_metric("memstat_table_user_limit_objects", Tier::kDefault, "Maximum entries of one user in the table.", {"type"});

constexpr SystemMetric kTableUserUsedRatio = gauge_metric(
    "memstat_table_user_used_ratio", Tier::kDefault, "Share of the quota used by the user who is closest to it, 0 to 1.",
    {"type", "kind"}, ValueFormat::kDouble);

constexpr SystemMetric kHierarchyGroups = gauge_metric("memstat_cgroup_hierarchy_groups", Tier::kDefault,
                                                       "Control groups in the hierarchy of a version 1 controller now, "
                                                       "including removed ones that memory keeps: of memory, and "
                                                       "the most of any other.",
                                                       {"controller"});

constexpr SystemMetric kNegativeDentries =
    gauge_metric("memstat_negative_dentries", Tier::kDefault,
                 "Cached directory entries that record the absence of a file (negative dentries) now.");

constexpr std::string_view kUnifiedGroups = "/sys/fs/cgroup/cgroup.controllers";
/// Since 6.15 the kernel logs that programs should not read /proc/cgroups on a machine without version 1.
bool may_have_hierarchies(const RawBytes& raw, const ReaderState&) {
  return std::none_of(raw.files.begin(), raw.files.end(),
                      [](const RawFile& file) { return file.path == kUnifiedGroups && file.has_content(); });
}

// No file needs a privilege. Kept open: the table of files, which must be readable even when no file can be opened, and
// those where opening costs as much as reading. Seldom: counts without a limit, counts that hardly move, and settings.
constexpr PlannedFile kPlan[] = {
    {.path = "/proc/sys/fs/file-nr", .is_kept_open = true},
    {.path = "/proc/net/stat/nf_conntrack", .is_kept_open = true},
    {.path = "/proc/net/stat/arp_cache", .is_kept_open = true},
    {.path = "/proc/net/stat/ndisc_cache", .is_kept_open = true},
    {.path = "/proc/loadavg", .is_kept_open = true},
    {.path = "/proc/net/sockstat"},
    {.path = "/proc/net/netstat"},
    {.path = "/proc/meminfo", .is_kept_open = true},
    {.path = "/proc/sys/fs/inode-state", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/dentry-state", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/netfilter/nf_conntrack_count", .time = ReadTime::kSeldom},
    {.path = "/proc/key-users", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/aio-nr", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/pty/nr", .time = ReadTime::kSeldom},
    {.path = "/proc/sysvipc/shm", .time = ReadTime::kSeldom},
    {.path = "/proc/sysvipc/sem", .time = ReadTime::kSeldom},
    {.path = "/proc/sysvipc/msg", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/netfilter/nf_conntrack_max", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv4/neigh/default/gc_thresh2", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv4/neigh/default/gc_thresh3", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv6/neigh/default/gc_thresh2", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv6/neigh/default/gc_thresh3", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/threads-max", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/pid_max", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/aio-max-nr", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/pty/max", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/shmmni", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/shmall", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/sem", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/kernel/msgmni", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv4/tcp_max_orphans", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv4/tcp_max_tw_buckets", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/epoll/max_user_watches", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/inotify/max_user_watches", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/inotify/max_user_instances", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/fanotify/max_user_marks", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/fanotify/max_user_groups", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/vm/overcommit_memory", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/vm/max_map_count", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/core/somaxconn", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/core/rmem_max", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/core/wmem_max", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/fs/inode-state", .time = ReadTime::kSeldom},
    {.path = kUnifiedGroups, .time = ReadTime::kSeldom, .need = ReadNeed::kExtra},
    {.path = "/proc/cgroups", .time = ReadTime::kSeldom, .is_wanted = may_have_hierarchies},
};
constexpr auto kPaths = paths_of(kPlan);
using TableFiles = PlannedFiles<kPaths>;
using File = TableFiles::File;
using Number = TableFiles::Number;

/// Sets a limit: kernels express "unlimited" as the largest signed long.
void set_limit(StagedType& type, Field field, const Number& limit) {
  if (limit && *limit < static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) type.set(field, limit);
}

/// A table with one file each for count and limit.
struct CountedTable {
  std::string_view name;
  File count;
  File limit;
  /// Entries below the limit that not even root gets. The table is full without them, so they are not part of the exported
  /// limit.
  std::uint64_t kept_back;
};
constexpr CountedTable kCountedTables[] = {
    {.name = "aio_events", .count = "/proc/sys/fs/aio-nr", .limit = "/proc/sys/fs/aio-max-nr", .kept_back = 0},
    // devpts_new_index() counts the new one first, and rejects it if that reaches the limit.
    {.name = "ptys", .count = "/proc/sys/kernel/pty/nr", .limit = "/proc/sys/kernel/pty/max", .kept_back = 1},
};

void add_counted(TableFiles& files, const CountedTable& table, Staging& staging) {
  const Number count = files.number(table.count);
  if (!count) return;
  StagedType& type = staging.add(table.name);
  type.set(Field::kCount, count);
  const Number limit = files.number(table.limit);
  if (limit && *limit > table.kept_back) set_limit(type, Field::kCountLimit, *limit - table.kept_back);
}

void add_files(TableFiles& files, Staging& staging) {
  const Number allocated = files.number("/proc/sys/fs/file-nr", 0);
  const Number free = files.number("/proc/sys/fs/file-nr", 1);
  const Number most = files.number("/proc/sys/fs/file-nr", 2);
  if (!allocated || !free || !most) return;
  StagedType& type = staging.add("files");
  type.set(Field::kCount, *allocated - std::min(*allocated, *free));
  set_limit(type, Field::kCountLimit, most);
}

/// Inodes and dentries: both files begin with the total and the unused entries, which are cached until memory is needed.
void add_cached(TableFiles& files, std::string_view name, File file, Staging& staging) {
  const Number all = files.number(file, 0);
  const Number unused = files.number(file, 1);
  if (!all || !unused) return;
  StagedType& type = staging.add(name);
  const std::uint64_t free = std::min(*all, *unused);  // the two are counted separately
  type.set(Field::kCount, *all - free);
  type.set(Field::kFree, free);
}

void add_negative_dentries(TableFiles& files, Staging& staging) {
  if (const Number negative = files.number("/proc/sys/fs/dentry-state", 4))
    staging.statistics().add(kNegativeDentries, *negative);
}

/// Lines "controller hierarchy groups enabled"; hierarchy 0 is that of version 2.
void add_hierarchies(TableFiles& files, Staging& staging) {
  const auto text = files.text("/proc/cgroups");
  if (!text) return;
  Number memory;
  Number other;
  std::string_view rest = *text;
  std::string_view line;
  while (!rest.empty()) {
    const std::size_t offset = text->size() - rest.size();
    next_line(rest, line);
    std::string_view name;
    std::string_view hierarchy;
    std::string_view groups;
    if (!next_word(line, name) || name.front() == '#') continue;
    next_word(line, hierarchy);
    next_word(line, groups);
    const Number count = parse_u64(groups);
    if (!count || !parse_u64(hierarchy)) {
      return files.refuse("/proc/cgroups", offset, "expected a controller, its hierarchy and its number of groups");
    }
    if (hierarchy == "0") continue;
    Number& place = name == "memory" ? memory : other;
    place = std::max(place, count);
  }
  if (memory) staging.statistics().add(kHierarchyGroups, *memory, {"memory"});
  if (other) staging.statistics().add(kHierarchyGroups, *other, {"other"});
}

/// The column totals of a file with a header line; false if there is no such file, or it is damaged.
bool sum_file(TableFiles& files, File file, Digits digits, std::span<ColumnTotal> columns, std::size_t& rows) {
  const auto text = files.text(file);
  if (!text) return false;
  if (const auto offset = sum_columns(*text, digits, columns, rows)) {
    files.refuse(file, *offset, "expected a line of names, or a line of as many numbers");
    return false;
  }
  return true;
}

void add_event(std::string_view type, const ColumnTotal& column, Staging& staging) {
  if (column.is_present) staging.statistics().add(kTableEvents, column.sum, {type, column.name});
}

void add_conntrack(TableFiles& files, Staging& staging) {
  const Number count = files.number("/proc/sys/net/netfilter/nf_conntrack_count");
  if (!count) return;
  constexpr std::string_view kName = "conntrack";
  StagedType& type = staging.add(kName);
  type.set(Field::kCount, count);
  if (const Number limit = files.number("/proc/sys/net/netfilter/nf_conntrack_max"); limit && *limit != 0)
    set_limit(type, Field::kCountLimit, limit);
  std::array<ColumnTotal, 4> columns = {ColumnTotal{"insert_failed"}, {"drop"}, {"early_drop"}, {"entries"}};
  std::size_t rows = 0;
  if (!sum_file(files, "/proc/net/stat/nf_conntrack", Digits::kHexadecimal, columns, rows)) return;
  if (columns[3].is_present && rows != 0) type.set(Field::kCount, columns[3].first);  // read at each poll
  if (columns[1].is_present) type.set(Field::kFailures, columns[1].sum);
  add_event(kName, columns[0], staging);
  add_event(kName, columns[2], staging);
}

void add_neighbours(TableFiles& files, std::string_view name, File stat, File soft, File hard, Staging& staging) {
  std::array<ColumnTotal, 4> columns = {
      ColumnTotal{"entries"}, {"forced_gc_runs"}, {"unresolved_discards"}, {"table_fulls"}};
  std::size_t rows = 0;
  if (!sum_file(files, stat, Digits::kHexadecimal, columns, rows)) return;
  if (!columns[0].is_present || rows == 0) {
    files.refuse(stat, 0, "expected a column named entries and a line for each CPU");
    return;
  }
  StagedType& type = staging.add(name);
  type.set(Field::kCount, columns[0].first);
  if (columns[3].is_present) type.set(Field::kFailures, columns[3].sum);
  // Permanent neighbours, and entries learned by routing daemons (NTF_EXT_LEARNED), are in the table but do not count
  // against the limit (__neigh_create() in net/core/neighbour.c, since Linux commit 58956317c8de ("neighbor: Improve garbage
  // collection") (v5.0)). If the table exceeds the limit and no entry was ever refused, the excess is of that kind.
  const Number limit = files.number(hard);
  if (!limit || columns[0].first <= *limit || columns[3].sum != 0) set_limit(type, Field::kCountLimit, limit);
  if (const Number threshold = files.number(soft)) {
    staging.statistics().add(kTableSoftLimit, *threshold, {name});
  }
  add_event(name, columns[1], staging);
  add_event(name, columns[2], staging);
}

/// Smaller IDs are assigned only once, to the first processes (RESERVED_PIDS in kernel/pid.c).
constexpr std::uint64_t kReservedPids = 300;

/// Threads have two limits; the lower one applies.
void add_threads(TableFiles& files, Staging& staging) {
  const auto text = files.text("/proc/loadavg");
  if (!text) return;
  std::string_view rest = *text;
  std::string_view word;
  for (int place = 0; place < 4 && next_word(rest, word); ++place) {
  }
  const std::size_t slash = word.find('/');
  const Number count = slash == std::string_view::npos ? std::nullopt : parse_u64(word.substr(slash + 1));
  if (!count) {
    files.refuse("/proc/loadavg", 0, "expected running/all threads as the fourth word");
    return;
  }
  StagedType& type = staging.add("threads");
  type.set(Field::kCount, count);
  const Number threads_max = files.number("/proc/sys/kernel/threads-max");
  const Number pid_max = files.number("/proc/sys/kernel/pid_max");
  const Number numbers = pid_max && *pid_max > kReservedPids ? Number(*pid_max - kReservedPids) : pid_max;
  set_limit(type, Field::kCountLimit, threads_max && numbers ? std::min(threads_max, numbers) : threads_max);
}

/// Parses "used/limit".
struct Quota {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
};
std::optional<Quota> quota_of(std::string_view word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto used = parse_u64(word.substr(0, slash));
  const auto limit = parse_u64(word.substr(slash + 1));
  if (!used || !limit) return std::nullopt;
  return Quota{*used, *limit};
}
double ratio_of(const Quota& quota) {
  return quota.limit == 0 ? 0 : static_cast<double>(quota.used) / static_cast<double>(quota.limit);
}

/// Quotas are per user, so the table has no limit. The user closest to the quota is exported.
void add_keys(TableFiles& files, Staging& staging) {
  const auto text = files.text("/proc/key-users");
  if (!text) return;
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  double keys_ratio = 0;
  double bytes_ratio = 0;
  std::string_view rest = *text;
  std::string_view line;
  while (!rest.empty()) {
    const std::size_t offset = text->size() - rest.size();
    next_line(rest, line);
    std::array<std::string_view, 5> words;
    std::size_t count = 0;
    while (count < words.size() && next_word(line, words[count])) ++count;
    const auto all = quota_of(words[2]);
    const auto key_quota = quota_of(words[3]);
    const auto byte_quota = quota_of(words[4]);
    if (!all || !key_quota || !byte_quota || __builtin_add_overflow(keys, all->used, &keys) ||
        __builtin_add_overflow(bytes, byte_quota->used, &bytes)) {
      files.refuse("/proc/key-users", offset, "expected a user with keys and quotas");
      return;
    }
    keys_ratio = std::max(keys_ratio, ratio_of(*key_quota));
    bytes_ratio = std::max(bytes_ratio, ratio_of(*byte_quota));
  }
  StagedType& type = staging.add("keys");
  type.set(Field::kCount, keys);
  type.set(Field::kBytes, bytes);
  staging.statistics().add_double(kTableUserUsedRatio, keys_ratio, {"keys", "count"});
  staging.statistics().add_double(kTableUserUsedRatio, bytes_ratio, {"keys", "bytes"});
}

/// System V IPC objects. The total of `column` is their bytes, or parts that are counted separately.
StagedType* add_ipc(TableFiles& files, std::string_view name, File file, ColumnTotal& column, Staging& staging) {
  std::size_t rows = 0;
  if (!sum_file(files, file, Digits::kDecimal, {&column, 1}, rows)) return nullptr;
  if (!column.is_present) {
    files.refuse(file, 0, "expected a header line with a size column");
    return nullptr;
  }
  StagedType& type = staging.add(name);
  type.set(Field::kCount, rows);
  return &type;
}

void add_held_segments(TableFiles& files, Staging& staging) {
  HeldSegments held;
  if (const auto offset = read_held_segments(files.text("/proc/sysvipc/shm").value_or(""), held)) {
    return files.refuse("/proc/sysvipc/shm", *offset, "expected the numbers of nattch, rss and swap");
  }
  if (!held.is_known) return;
  StagedStatistics& statistics = staging.statistics();
  statistics.add(kSharedResident, held.resident, {"memory"});
  statistics.add(kSharedResident, held.swapped, {"swap"});
  statistics.add(kSharedUnattached, held.unattached);
  statistics.add(kSharedUnattachedBytes, held.unattached_bytes);
}

void add_system_v(TableFiles& files, std::uint64_t page_size, Staging& staging) {
  ColumnTotal size{"size"};
  if (StagedType* const type = add_ipc(files, "sysv_shm", "/proc/sysvipc/shm", size, staging)) {
    type->set(Field::kBytes, size.sum);
    set_limit(*type, Field::kCountLimit, files.number("/proc/sys/kernel/shmmni"));
    const Number pages = files.number("/proc/sys/kernel/shmall");
    std::uint64_t limit = 0;
    if (pages && !__builtin_mul_overflow(*pages, page_size, &limit)) set_limit(*type, Field::kBytesLimit, limit);
  }
  add_held_segments(files, staging);
  ColumnTotal semaphores{"nsems"};
  if (StagedType* const type = add_ipc(files, "sysv_sem", "/proc/sysvipc/sem", semaphores, staging)) {
    set_limit(*type, Field::kCountLimit, files.number("/proc/sys/kernel/sem", 3));
    StagedType& each = staging.add("sysv_semaphores");
    each.set(Field::kCount, semaphores.sum);
    set_limit(each, Field::kCountLimit, files.number("/proc/sys/kernel/sem", 1));
  }
  ColumnTotal bytes{"cbytes"};
  if (StagedType* const type = add_ipc(files, "sysv_msg", "/proc/sysvipc/msg", bytes, staging)) {
    type->set(Field::kBytes, bytes.sum);
    set_limit(*type, Field::kCountLimit, files.number("/proc/sys/kernel/msgmni"));
  }
}

/// Connections that no program has open: orphans with unsent data, and those in TIME-WAIT.
void add_tcp(TableFiles& files, Staging& staging) {
  const auto text = files.text("/proc/net/sockstat");
  if (!text) return;
  Number orphans;
  Number time_wait;
  std::string_view rest = *text;
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view key;
    std::string_view value;
    if (!next_word(line, key) || key != "TCP:") continue;
    while (next_word(line, key) && next_word(line, value)) {
      if (key == "orphan") orphans = parse_u64(value);
      if (key == "tw") time_wait = parse_u64(value);
    }
    if (!orphans || !time_wait) {
      const auto offset = static_cast<std::size_t>(line.data() - text->data());
      files.refuse("/proc/net/sockstat", std::min(offset, text->size()), "expected the numbers of orphan and tw");
      return;
    }
    break;
  }
  if (!orphans) return;
  StagedType& waiting_to_send = staging.add("tcp_orphans");
  waiting_to_send.set(Field::kCount, orphans);
  const Number most = files.number("/proc/sys/net/ipv4/tcp_max_orphans");
  set_limit(waiting_to_send, Field::kCountLimit, most);
  // A connection whose peer accepts no data or is unreachable counts fourfold (tcp_out_of_resources() in
  // net/ipv4/tcp_timer.c).
  if (most) staging.statistics().add(kTableSoftLimit, *most / 4, {"tcp_orphans"});
  StagedType& waiting = staging.add("tcp_time_wait");
  waiting.set(Field::kCount, time_wait);
  set_limit(waiting, Field::kCountLimit, files.number("/proc/sys/net/ipv4/tcp_max_tw_buckets"));
  const auto netstat = files.text("/proc/net/netstat");
  if (!netstat) return;
  KeyedNumber overflows{.key = "TCPTimeWaitOverflow", .value = {}};
  if (const auto offset = read_paired_numbers(*netstat, "TcpExt:", {&overflows, 1})) {
    files.refuse("/proc/net/netstat", *offset, "expected a line of names and a line of as many numbers");
    return;
  }
  waiting.set(Field::kFailures, overflows.value);
}

void add_user_limits(TableFiles& files, Staging& staging) {
  struct UserLimit {
    File file;
    std::string_view name;
  };
  constexpr UserLimit kUserLimits[] = {{"/proc/sys/fs/epoll/max_user_watches", "epoll_watches"},
                                       {"/proc/sys/fs/inotify/max_user_watches", "inotify_watches"},
                                       {"/proc/sys/fs/inotify/max_user_instances", "inotify_instances"},
                                       {"/proc/sys/fs/fanotify/max_user_marks", "fanotify_marks"},
                                       {"/proc/sys/fs/fanotify/max_user_groups", "fanotify_groups"}};
  for (const UserLimit& limit : kUserLimits) {
    if (const Number most = files.number(limit.file)) {
      staging.statistics().add(kTableUserLimit, *most, {limit.name});
    }
  }
}

/// In mode 2 the kernel refuses memory beyond the commit limit; in the others the limit means nothing.
void add_committed(TableFiles& files, Staging& staging) {
  constexpr std::uint64_t kNeverOvercommit = 2;
  if (files.number("/proc/sys/vm/overcommit_memory") != kNeverOvercommit) return;
  const auto text = files.text("/proc/meminfo");
  if (!text) return;
  std::array<KeyedNumber, 2> lines{KeyedNumber{.key = "CommitLimit", .value = {}}, {.key = "Committed_AS", .value = {}}};
  if (const auto offset = read_keyed_numbers(*text, lines)) {
    return files.refuse("/proc/meminfo", *offset, "expected a number of at most 64 bits after the name");
  }
  if (!lines[1].value) return;
  StagedType& type = staging.add("committed");
  type.set(Field::kBytes, lines[1].value);
  set_limit(type, Field::kBytesLimit, lines[0].value);
}

/// Connections refused because their listener's queue was full.
void add_accept_queues(TableFiles& files, Staging& staging) {
  const Number limit = files.number("/proc/sys/net/core/somaxconn");
  const auto netstat = files.text("/proc/net/netstat");
  if (!limit || !netstat) return;
  KeyedNumber overflows{.key = "ListenOverflows", .value = {}};
  if (const auto offset = read_paired_numbers(*netstat, "TcpExt:", {&overflows, 1})) {
    return files.refuse("/proc/net/netstat", *offset, "expected a line of names and a line of as many numbers");
  }
  StagedType& type = staging.add("accept_queues");
  type.set(Field::kFailures, overflows.value);
  set_limit(type, Field::kCountLimit, limit);
}

void add_single_limits(TableFiles& files, Staging& staging) {
  struct SingleLimit {
    File file;
    std::string_view name;
    Field field;
  };
  constexpr SingleLimit kSingleLimits[] = {{"/proc/sys/vm/max_map_count", "process_maps", Field::kCountLimit},
                                           {"/proc/sys/net/core/rmem_max", "socket_receive_buffers", Field::kBytesLimit},
                                           {"/proc/sys/net/core/wmem_max", "socket_send_buffers", Field::kBytesLimit}};
  for (const SingleLimit& limit : kSingleLimits) {
    if (const Number most = files.number(limit.file)) set_limit(staging.add(limit.name), limit.field, most);
  }
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  TableFiles files(raw);
  add_files(files, staging);
  add_cached(files, "inodes", "/proc/sys/fs/inode-state", staging);
  add_cached(files, "dentries", "/proc/sys/fs/dentry-state", staging);
  add_negative_dentries(files, staging);
  add_hierarchies(files, staging);
  add_conntrack(files, staging);
  add_neighbours(files, "arp_cache", "/proc/net/stat/arp_cache", "/proc/sys/net/ipv4/neigh/default/gc_thresh2",
                 "/proc/sys/net/ipv4/neigh/default/gc_thresh3", staging);
  add_neighbours(files, "ndisc_cache", "/proc/net/stat/ndisc_cache", "/proc/sys/net/ipv6/neigh/default/gc_thresh2",
                 "/proc/sys/net/ipv6/neigh/default/gc_thresh3", staging);
  add_threads(files, staging);
  add_keys(files, staging);
  for (const CountedTable& table : kCountedTables) add_counted(files, table, staging);
  add_system_v(files, raw.page_size, staging);
  add_tcp(files, staging);
  add_user_limits(files, staging);
  add_committed(files, staging);
  add_accept_queues(files, staging);
  add_single_limits(files, staging);
  if (files.error()) return *files.error();
  if (staging.types().empty()) return data_error(kPaths[0], 0, "no table was read");
  return {};
}

/// A dump, or a capture of a few files, may have only settings and meminfo, which are not tables.
Result<void> check(const RawBytes& raw) {
  const auto is_table = [](const RawFile& file) { return file.planned < File("/proc/meminfo") && file.has_content(); };
  if (std::any_of(raw.files.begin(), raw.files.end(), is_table)) return {};
  return system_error(kPaths[0], ENOENT);
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kCount,
     "file-nr, inode-state, dentry-state, entries of nf_conntrack, arp_cache and ndisc_cache, loadavg, key-users, "
     "aio-nr, pty/nr, sysvipc/*, orphan and tw of sockstat"},
    {Field::kFree, "unused ones of inode-state and dentry-state"},
    {Field::kBytes, "bytes of key-users, size of sysvipc/shm, resident or not, cbytes of sysvipc/msg, Committed_AS"},
    {Field::kCountLimit,
     "file-nr, nf_conntrack_max, gc_thresh3 unless permanent neighbours exceed it, the lower of threads-max and pid_max - "
     "300, aio-max-nr, pty/max - 1, shmmni, sem, msgmni, tcp_max_orphans, tcp_max_tw_buckets, somaxconn, max_map_count"},
    {Field::kBytesLimit, "shmall x page size, CommitLimit, rmem_max, wmem_max"},
    {Field::kFailures,
     "drop of net/stat/nf_conntrack, table_fulls of arp_cache and ndisc_cache, TCPTimeWaitOverflow and ListenOverflows of "
     "netstat"},
    {kTableSoftLimit, "gc_thresh2, tcp_orphans: tcp_max_orphans / 4"},
    {kTableUserLimit, "max_user_* of epoll, inotify and fanotify"},
    {kTableUserUsedRatio, "the quotas of key-users"},
    {kTableEvents, "columns of net/stat/*, by their names"},
    {kSharedResident, "rss and swap of sysvipc/shm"},
    {kSharedUnattached, "segments of sysvipc/shm whose nattch is 0"},
    {kSharedUnattachedBytes, "rss + swap of sysvipc/shm where nattch is 0"},
    {kNegativeDentries, "the fifth number of dentry-state"},
    {kHierarchyGroups, "num_cgroups of /proc/cgroups (v2: none)"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_table",
    .origin = origin_of<kPaths>(),
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kTable,
    .is_roster = true,
    .origins = kOrigins,
    .plan = kPlan,
    .notes =
        "needs no privilege; tables of the network, of System V IPC and of keys are those of the daemon's namespaces; root "
        "may exceed some limits, and permanent neighbours do not count against theirs; tables of modules that are loaded "
        "later are seen within four reads, and so are inodes, dentries, new limits, keys, AIO events, ptys and objects of "
        "System V IPC; the kernel does not report the number of epoll, inotify and fanotify watches of a user: only their "
        "limits are here, and the watches of all users are the objects of the slab caches eventpoll_epi, inotify_inode_mark "
        "and fanotify_*_mark; it does not report the connections of a listener, the mappings of a process and the bytes of "
        "a socket either: accept_queues, process_maps and socket_*_buffers have only the limit; in a container whose devpts "
        "has no reserve, pty/max is 1024 above the real maximum",
    .steps = planned_steps<kPlan, parse, check>(),
};

}  // namespace memstat::sources::linux_table
