// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's bounded kernel tables and arenas, with their limits. Each comes from a few integer sysctls: kern.openfiles,
// kern.maxfiles (sys/kern/kern_descrip.c), kern.maxproc (kern_fork.c), kern.nbuf and vfs.* (vfs_bio.c, vfs_subr.c,
// vfs_aio.c, vfs_inotify.c), kern.maxthread (kern_thread.c), kern.threads.* (kern_thr.c), kern.ipc.* (uipc_socket.c,
// sys_pipe.c, uipc_mbuf.c), vm.* (kern_malloc.c, vm/uma_core.c, vm/swap_pager.c, vm/vm_meter.c). kern.ipc.sfstat is a
// structure of 64-bit counters (struct sfstat, sys/sys/sf_buf.h), including failures and waits for a sendfile buffer. It has
// grown at both ends, so its size determines where these are.
//
// Three tables refuse entries below their limit: files when they would reach kern.maxfiles (falloc_noinstall() in
// kern_descrip.c), processes when they would reach kern.maxproc (fork1() in kern_fork.c), and threads when they would reach
// kern.maxthread (thread_count_inc_try() in kern_thread.c). For unprivileged users each has a lower limit. The zones
// that count processes and threads contain neither process 0 nor its first thread. Process 0 counts against kern.maxproc,
// its thread does not count against kern.maxthread.
//
// Limits of mbufs are those of their zones (freebsd_uma). Tables that are full on every healthy machine by design (the name
// cache, dirhash, dirty buffers) are left out. Unused vnodes are kept until their room is needed, so only those in use count
// against the limit. System V IPC is reported in arrays of kernel structures (core/parse/sysv_ipc.h). POSIX semaphores
// and callouts have no limit.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "core/base/text.h"
#include "core/collect/listed_name.h"
#include "core/collect/sysctl_list.h"
#include "core/model/table_metrics.h"
#include "core/parse/sysv_ipc.h"
#include "core/source.h"

namespace memstat::sources::freebsd_table {
namespace {

constexpr std::string_view kOrigin = "sysctl";

constexpr std::size_t kBundlePart = 0;

constexpr std::string_view kSfStat = "kern.ipc.sfstat";
// Names without a dot are the two counters of kern.ipc.sfstat.
constexpr std::string_view kLeaves[] = {"kern.openfiles",
                                        "kern.maxfiles",
                                        "vfs.numvnodes",
                                        "vfs.freevnodes",
                                        "kern.maxvnodes",
                                        "vfs.vnodes_created",
                                        "vfs.vnode.stats.alloc_sleeps",
                                        "kern.ipc.numopensockets",
                                        "kern.ipc.maxsockets",
                                        "vm.uma.PROC.stats.current",
                                        "vm.uma.THREAD.stats.current",
                                        "kern.maxproc",
                                        "kern.maxthread",
                                        "kern.threads.max_threads_per_proc",
                                        "kern.threads.max_threads_hits",
                                        "kern.ipc.soacceptqueue",
                                        "kern.ipc.maxsockbuf",
                                        "kern.ipc.pipekva",
                                        "kern.ipc.maxpipekva",
                                        "kern.ipc.pipeallocfail",
                                        "kern.ipc.nsfbufsused",
                                        "kern.ipc.nsfbufs",
                                        "sf_allocfail",
                                        "sf_allocwait",
                                        "vfs.bufspace",
                                        "vfs.maxbufspace",
                                        "vfs.numbufallocfails",
                                        "vfs.getnewbufcalls",
                                        "kern.nbuf",
                                        "vfs.numfreebuffers",
                                        "vfs.aio.num_queue_count",
                                        "vfs.aio.max_aio_queue",
                                        "vfs.inotify.watches",
                                        "vfs.inotify.max_watches",
                                        "vm.uma_kmem_total",
                                        "vm.uma_kmem_limit",
                                        "vm.kmem_map_size",
                                        "vm.kmem_size",
                                        "vm.kvm_size",
                                        "vm.kvm_free",
                                        "vm.swap_reserved",
                                        "vm.swap_total",
                                        "vm.overcommit",
                                        "vm.stats.vm.v_user_wire_count",
                                        "vm.max_user_wired",
                                        "kern.ipc.piperesizefail",
                                        "kern.ipc.pipefragretry",
                                        "kern.ipc.shmmni",
                                        "kern.ipc.shmall",
                                        "kern.ipc.semmni",
                                        "kern.ipc.semmns",
                                        "kern.ipc.msgmni",
                                        "kern.ipc.msgtql"};
using Leaf = ListedName<kLeaves>;
constexpr std::string_view kSegments = "kern.ipc.shmsegs";
constexpr std::string_view kSets = "kern.ipc.sema";
constexpr std::string_view kQueues = "kern.ipc.msqids";

enum class Unit : std::uint8_t { kObjects, kBytes, kPages };

/// Entries below the limit that no program gets, or only root.
struct KeptBack {
  std::uint64_t objects = 0;  ///< No program gets these, so they are not part of the exported limit.
  std::uint64_t (*user_limit)(std::uint64_t limit) = nullptr;  ///< Limit for unprivileged users; nullptr: none.
};

/// One type: the sysctls of its entries in use, its limit and its other figures.
struct Table {
  std::string_view type;
  Unit unit;
  Leaf used;  ///< Without it the type does not exist.
  Leaf limit = {};
  Leaf free = {};  ///< Included in `used`.
  Leaf failures = {};
  Leaf sleeps = {};
  Leaf allocations = {};
  KeptBack kept_back = {};
};
// Users are refused at a lower bound than root, in both cases when the new entry would reach the bound.
constexpr std::uint64_t file_limit_of_users(std::uint64_t limit) { return limit - std::min(limit, limit / 20 + 1); }
constexpr std::uint64_t process_limit_of_users(std::uint64_t limit) { return limit - std::min<std::uint64_t>(limit, 12); }
constexpr std::uint64_t thread_limit_of_users(std::uint64_t limit) { return limit - std::min<std::uint64_t>(limit, 101); }
constexpr Table kTables[] = {
    {.type = "files",
     .unit = Unit::kObjects,
     .used = "kern.openfiles",
     .limit = "kern.maxfiles",
     .kept_back = {.objects = 1, .user_limit = file_limit_of_users}},
    {.type = "vnodes",
     .unit = Unit::kObjects,
     .used = "vfs.numvnodes",
     .limit = "kern.maxvnodes",
     .free = "vfs.freevnodes",
     .sleeps = "vfs.vnode.stats.alloc_sleeps",
     .allocations = "vfs.vnodes_created"},
    {.type = "sockets", .unit = Unit::kObjects, .used = "kern.ipc.numopensockets", .limit = "kern.ipc.maxsockets"},
    {.type = "processes",
     .unit = Unit::kObjects,
     .used = "vm.uma.PROC.stats.current",
     .limit = "kern.maxproc",
     .kept_back = {.objects = 2, .user_limit = process_limit_of_users}},  // one, and process 0
    {.type = "threads",
     .unit = Unit::kObjects,
     .used = "vm.uma.THREAD.stats.current",
     .limit = "kern.maxthread",
     .kept_back = {.objects = 1, .user_limit = thread_limit_of_users}},
    {.type = "pipe_buffers",
     .unit = Unit::kBytes,
     .used = "kern.ipc.pipekva",
     .limit = "kern.ipc.maxpipekva",
     .failures = "kern.ipc.pipeallocfail"},
    {.type = "sf_bufs",
     .unit = Unit::kObjects,
     .used = "kern.ipc.nsfbufsused",
     .limit = "kern.ipc.nsfbufs",
     .failures = "sf_allocfail",
     .sleeps = "sf_allocwait"},
    {.type = "buffer_space",
     .unit = Unit::kBytes,
     .used = "vfs.bufspace",
     .limit = "vfs.maxbufspace",
     .failures = "vfs.numbufallocfails",
     .allocations = "vfs.getnewbufcalls"},
    {.type = "buffer_headers",
     .unit = Unit::kObjects,
     .used = "kern.nbuf",
     .limit = "kern.nbuf",
     .free = "vfs.numfreebuffers"},
    {.type = "aio_jobs", .unit = Unit::kObjects, .used = "vfs.aio.num_queue_count", .limit = "vfs.aio.max_aio_queue"},
    {.type = "inotify_watches", .unit = Unit::kObjects, .used = "vfs.inotify.watches", .limit = "vfs.inotify.max_watches"},
    {.type = "kmem", .unit = Unit::kBytes, .used = "vm.uma_kmem_total", .limit = "vm.uma_kmem_limit"},
    {.type = "kernel_address_space",
     .unit = Unit::kBytes,
     .used = "vm.kvm_size",
     .limit = "vm.kvm_size",
     .free = "vm.kvm_free"},
    {.type = "swap_reservations", .unit = Unit::kBytes, .used = "vm.swap_reserved", .limit = "vm.swap_total"},
    {.type = "user_wired", .unit = Unit::kPages, .used = "vm.stats.vm.v_user_wire_count", .limit = "vm.max_user_wired"},
};

/// Limits of each process, listener or socket. Nothing counts their entries.
struct SingleLimit {
  std::string_view type;
  Leaf limit;
  Field field;
  Leaf failures = {};
};
constexpr SingleLimit kSingleLimits[] = {
    {"process_threads", "kern.threads.max_threads_per_proc", Field::kCountLimit, "kern.threads.max_threads_hits"},
    {"accept_queues", "kern.ipc.soacceptqueue", Field::kCountLimit},
    {"socket_buffers", "kern.ipc.maxsockbuf", Field::kBytesLimit}};

using Numbers = std::array<KeyedNumber, std::size(kLeaves)>;

std::optional<std::uint64_t> value_of(const Numbers& numbers, Leaf leaf) {
  return leaf == std::size(kLeaves) ? std::nullopt : numbers[leaf].value;
}

/// Index of sf_allocfail among `counters` counters; sf_allocwait follows it. 0: no known kernel has that many.
constexpr std::size_t place_of_sendfile_failures(std::size_t counters) {
  switch (counters) {
    case 3: return 1;   // FreeBSD 10
    case 10: return 8;  // 11.0, which added seven at the front
    case 11: return 8;  // 13.0 to 15.0, with sf_pages_bogus at the end
    default: return 0;
  }
}

/// False if the bytes are not counters. Ignores a structure of unknown size.
bool take_sendfile_counters(std::string_view bytes, Numbers& numbers) {
  constexpr std::size_t kSize = sizeof(std::uint64_t);
  if (bytes.empty() || bytes.size() % kSize != 0) return false;
  const std::size_t place = place_of_sendfile_failures(bytes.size() / kSize);
  if (place == 0) return true;
  numbers[Leaf("sf_allocfail")].value = load<std::uint64_t>(bytes, place * kSize);
  numbers[Leaf("sf_allocwait")].value = load<std::uint64_t>(bytes, (place + 1) * kSize);
  return true;
}

/// Removes limits that the kernel does not enforce.
void drop_limits_that_do_not_hold(Numbers& numbers) {
  constexpr std::uint64_t kForceOn = 1;        // SWAP_RESERVE_FORCE_ON: reservations beyond the swap fail
  constexpr std::uint64_t kAllowNonwired = 4;  // SWAP_RESERVE_ALLOW_NONWIRED: unwired memory counts too
  if ((numbers[Leaf("vm.overcommit")].value.value_or(0) & (kForceOn | kAllowNonwired)) != kForceOn)
    numbers[Leaf("vm.swap_total")].value.reset();
}

void add_table(const Table& table, const Numbers& numbers, std::uint64_t page_size, Staging& staging) {
  const auto all = value_of(numbers, table.used);
  if (!all) return;
  if (table.used == table.limit && !value_of(numbers, table.free)) return;  // only its size is known
  // The two are not read at the same instant, so the part may exceed the whole.
  const std::uint64_t used = *all - std::min(*all, value_of(numbers, table.free).value_or(0));
  StagedType& type = staging.add(table.type);
  const auto in_bytes = [&](std::uint64_t pages) -> std::optional<std::uint64_t> {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(pages, page_size, &bytes)) return std::nullopt;
    return bytes;
  };
  auto limit = value_of(numbers, table.limit);
  if (limit.value_or(0) == 0) limit.reset();
  if (table.unit != Unit::kBytes) {
    type.set(Field::kCount, used);
    type.set(Field::kFree, value_of(numbers, table.free));
    if (limit && *limit > table.kept_back.objects) type.set(Field::kCountLimit, *limit - table.kept_back.objects);
    if (limit && table.kept_back.user_limit != nullptr) {
      staging.statistics().add(kTableSoftLimit, table.kept_back.user_limit(*limit), {table.type});
    }
  }
  if (table.unit == Unit::kBytes) {
    type.set(Field::kBytes, used);
    type.set(Field::kBytesLimit, limit);
  }
  if (table.unit == Unit::kPages) {
    type.set(Field::kBytes, in_bytes(used));
    if (limit) type.set(Field::kBytesLimit, in_bytes(*limit));
    type.set(Field::kSize, page_size);
  }
  type.set(Field::kFailures, value_of(numbers, table.failures));
  type.set(Field::kSleeps, value_of(numbers, table.sleeps));
  type.set(Field::kNumAllocs, value_of(numbers, table.allocations));
}

/// System V IPC objects of one poll.
struct SysvArrays {
  std::optional<SysvUse> segments, sets, queues;

  /// Whether the sysctl is one of these arrays. Ignores an array of unknown structures.
  bool take(std::string_view name, std::string_view bytes) {
    if (name == kSegments) segments = read_shared_segments(bytes);
    if (name == kSets) sets = read_semaphore_sets(bytes);
    if (name == kQueues) queues = read_message_queues(bytes);
    return name == kSegments || name == kSets || name == kQueues;
  }
};

void add_sysv(const SysvArrays& arrays, const Numbers& numbers, std::uint64_t page_size, Staging& staging) {
  const auto add = [&](std::string_view name, std::uint64_t count, Leaf limit) -> StagedType& {
    StagedType& type = staging.add(name);
    type.set(Field::kCount, count);
    if (const auto most = value_of(numbers, limit); most.value_or(0) != 0) type.set(Field::kCountLimit, most);
    return type;
  };
  if (arrays.segments) {
    StagedType& type = add("sysv_shm", arrays.segments->objects, "kern.ipc.shmmni");
    type.set(Field::kBytes, arrays.segments->bytes);
    const std::uint64_t pages = value_of(numbers, "kern.ipc.shmall").value_or(0);
    std::uint64_t limit = 0;
    if (pages != 0 && !__builtin_mul_overflow(pages, page_size, &limit)) type.set(Field::kBytesLimit, limit);
    staging.statistics().add(kSharedUnattached, arrays.segments->parts);
  }
  if (arrays.sets) {
    add("sysv_sem", arrays.sets->objects, "kern.ipc.semmni");
    add("sysv_semaphores", arrays.sets->parts, "kern.ipc.semmns");
  }
  if (arrays.queues) {
    add("sysv_msg", arrays.queues->objects, "kern.ipc.msgmni").set(Field::kBytes, arrays.queues->bytes);
    add("sysv_messages", arrays.queues->parts, "kern.ipc.msgtql");
  }
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view bundle = raw.parts[kBundlePart].view();
  Numbers numbers = keyed_numbers(kLeaves);
  std::size_t cursor = 0;
  SysvArrays arrays;
  const auto take = [&](std::string_view name, std::string_view bytes) {
    if (arrays.take(name, bytes)) return true;
    if (name == kSfStat) return take_sendfile_counters(bytes, numbers);
    // The kernel's unlocked arithmetic may make some of them negative, and a limit of -1 means no limit.
    return take_sysctl(name, bytes, sysctl_amount, numbers, cursor);
  };
  if (auto result = for_each_listed_sysctl(kOrigin, bundle, take); !result) return result;
  drop_limits_that_do_not_hold(numbers);
  // Before 12.0 the kernel reports the arena instead of its content.
  if (!numbers[Leaf("vm.uma_kmem_total")].value || !numbers[Leaf("vm.uma_kmem_limit")].value) {
    numbers[Leaf("vm.uma_kmem_total")].value = numbers[Leaf("vm.kmem_map_size")].value;
    numbers[Leaf("vm.uma_kmem_limit")].value = numbers[Leaf("vm.kmem_size")].value;
  }
  for (const Table& table : kTables) add_table(table, numbers, raw.page_size, staging);
  add_sysv(arrays, numbers, raw.page_size, staging);
  for (const SingleLimit& limit : kSingleLimits) {
    const auto most = value_of(numbers, limit.limit);
    if (most.value_or(0) == 0) continue;
    StagedType& type = staging.add(limit.type);
    type.set(limit.field, most);
    type.set(Field::kFailures, value_of(numbers, limit.failures));
  }
  for (const auto& [leaf, kind] : {std::pair(Leaf("kern.ipc.piperesizefail"), "piperesizefail"),
                                   std::pair(Leaf("kern.ipc.pipefragretry"), "pipefragretry")}) {
    if (const auto count = value_of(numbers, leaf)) staging.statistics().add(kTableEvents, *count, {"pipe_buffers", kind});
  }
  if (staging.types().empty()) return data_error(kOrigin, bundle.size(), "none of the sysctls describes a table");
  return {};
}

/// Limits, and kern.ipc.sfstat. Few machines have sendfile buffers, but memstatctl mbufs needs that sysctl in recordings.
bool is_setting(std::string_view name) {
  constexpr std::string_view kOthers[] = {"vm.kmem_size",    "vm.overcommit",   "kern.ipc.shmmni",
                                          "kern.ipc.shmall", "kern.ipc.semmni", "kern.ipc.semmns",
                                          "kern.ipc.msgmni", "kern.ipc.msgtql", kSfStat};
  const auto is_limit = [name](const auto& row) { return row.limit != std::size(kLeaves) && kLeaves[row.limit] == name; };
  return std::any_of(std::begin(kTables), std::end(kTables), is_limit) ||
         std::any_of(std::begin(kSingleLimits), std::end(kSingleLimits), is_limit) ||
         std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
}

struct State final : ReaderState, SysctlListState {};

Result<void> find_sysctls(KernelView& view, SysctlListState& state) {
  SysctlList& list = state.list;
  state.clear();
  for (const std::string_view name : kLeaves) {
    if (name.find('.') == std::string_view::npos) continue;
    if (auto result = list_sysctl(view, kOrigin, name, state); !result) return result;
  }
  for (const std::string_view name : {kSfStat, kSegments, kSets, kQueues}) {
    if (auto result = list_sysctl(view, kOrigin, name, state); !result) return result;
  }
  const auto has = [&list](std::string_view name) { return std::find(list.begin(), list.end(), name) != list.end(); };
  if (has("vm.uma_kmem_total") && has("vm.uma_kmem_limit")) {  // parse() then does not use these
    std::erase(list, "vm.kmem_map_size");
    std::erase(list, "vm.kmem_size");
  }
  if (list.empty()) return system_error(kOrigin, ENOENT, "this kernel has no sysctl of a bounded table");
  return {};
}

constexpr SysctlRules kRules{.find = find_sysctls, .is_setting = is_setting};

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return read_listed_sysctls(view, kOrigin, kRules, state, raw.parts[kBundlePart]);
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return find_sysctls(view, state); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kCount,
     "files: kern.openfiles, vnodes: vfs.numvnodes - vfs.freevnodes, sockets: kern.ipc.numopensockets, processes: "
     "vm.uma.PROC.stats.current, threads: vm.uma.THREAD.stats.current, sf_bufs: kern.ipc.nsfbufsused, buffer_headers: "
     "kern.nbuf - vfs.numfreebuffers, aio_jobs: "
     "vfs.aio.num_queue_count, inotify_watches: vfs.inotify.watches, user_wired: vm.stats.vm.v_user_wire_count, in pages, "
     "sysv_*: what is allocated in kern.ipc.shmsegs, kern.ipc.sema and kern.ipc.msqids"},
    {Field::kFree, "vnodes: vfs.freevnodes, buffer_headers: vfs.numfreebuffers"},
    {Field::kCountLimit,
     "in this order: kern.maxfiles - 1, kern.maxvnodes, kern.ipc.maxsockets, kern.maxproc - 2, kern.maxthread - 1, "
     "kern.ipc.nsfbufs, kern.nbuf, "
     "vfs.aio.max_aio_queue, vfs.inotify.max_watches, vm.max_user_wired, shmmni, semmni, semmns, msgmni and msgtql of "
     "kern.ipc, process_threads: kern.threads.max_threads_per_proc, accept_queues: kern.ipc.soacceptqueue, absent when 0"},
    {Field::kBytes,
     "pipe_buffers: kern.ipc.pipekva, buffer_space: vfs.bufspace, kmem: vm.uma_kmem_total, "
     "before 12.0 vm.kmem_map_size, kernel_address_space: vm.kvm_size - vm.kvm_free, "
     "swap_reservations: vm.swap_reserved, user_wired: its pages x page size, sysv_shm: shm_segsz, attached or not, "
     "sysv_msg: "
     "msg_cbytes"},
    {Field::kBytesLimit,
     "in this order: kern.ipc.maxpipekva, vfs.maxbufspace, vm.uma_kmem_limit (vm.kmem_size), vm.kvm_size, "
     "vm.swap_total where vm.overcommit makes it one (bit 0 set, bit 2 not), vm.max_user_wired x page size, kern.ipc.shmall "
     "x page size, socket_buffers: kern.ipc.maxsockbuf, absent when 0"},
    {Field::kFailures,
     "kern.ipc.pipeallocfail, vfs.numbufallocfails, sf_allocfail of kern.ipc.sfstat, kern.threads.max_threads_hits"},
    {Field::kSleeps, "vnodes: vfs.vnode.stats.alloc_sleeps, sf_bufs: sf_allocwait of kern.ipc.sfstat"},
    {Field::kNumAllocs, "vnodes: vfs.vnodes_created, buffer_space: vfs.getnewbufcalls"},
    {Field::kSize, "user_wired: page size"},
    {kTableEvents, "kern.ipc.piperesizefail, kern.ipc.pipefragretry"},
    {kSharedUnattached, "segments of kern.ipc.shmsegs whose shm_nattch is 0"},
    {kTableSoftLimit,
     "files: kern.maxfiles - kern.maxfiles / 20 - 1, processes: kern.maxproc - 12, threads: kern.maxthread - 101"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_table",
    .origin = "sysctl kern.*, vfs.*, vm.*",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kTable,
    .is_roster = true,
    .origins = kOrigins,
    .notes =
        "no privilege needed; sysctls are found at start, so tables of modules loaded later are missing; limits of mbufs "
        "are those of their zones; for process_threads, accept_queues and socket_buffers the kernel reports only the limit "
        "of each process, listener or socket, not its use",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_table
