// SPDX-License-Identifier: BSD-2-Clause
// Loads bpf/slab_caches.bpf.c and lets the kernel run it over its slab caches.
#include "core/events/attach/live_tables.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/events/attach/attached_table.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/slab_caches_layout.h"
#include "core/events/caches/slab_caches_rows.h"
#include "core/kernel/group_files.h"
#include "core/kernel/read_all.h"

namespace memstat::events {
namespace {

constexpr const char* kIterator = "iter/kmem_cache";
constexpr const char* kNodesFile = "/sys/devices/system/node/possible";
constexpr const char* kUnknownSlabs = "memstatd does not support the way in which this kernel keeps its slabs";
constexpr std::uint32_t kMaxNodes = 1024;  // maximum of any kernel (CONFIG_NODES_SHIFT 10)

/// The highest possible NUMA node of this machine, plus one.
std::uint32_t possible_nodes() {
  const auto view = make_live_kernel_view();
  Buffer text;
  if (!view || !(*view)->read_file(kNodesFile, text)) return 1;
  return std::min(highest_of_list(text.view()).value_or(0), kMaxNodes - 1) + 1;
}

/// A descriptor from which one pass can be read.
UniqueFd new_pass(int link) {
  constexpr long kCreateIterator = 33;  // BPF_ITER_CREATE; a number, since older kernel headers lack it
  struct {
    std::uint32_t link;
    std::uint32_t flags;
  } request{.link = static_cast<std::uint32_t>(link), .flags = 0};
  return UniqueFd(static_cast<int>(::syscall(SYS_bpf, kCreateIterator, &request, sizeof request)));
}

class SlabCaches final : public AttachedTable {
 public:
  SlabCaches() : AttachedTable(kSlabCachesTable) {}
  Result<void> read(Buffer& out) override;

 private:
  Result<void> check(const btf& types) override;
  Result<void> load(const btf& types) override;
  Result<void> attach(const btf& types) override;
  void detach() override { link_.reset(); }

  void publish_groups();

  LinkPointer link_;
  SharedMap groups_;
  std::vector<GroupCounters> group_counters_;
  Buffer records_;
};

/// Whether this kernel has what the program requires. The program itself handles the other differences.
Result<void> SlabCaches::check(const btf& types) {
  if (!has_function(types, "bpf_iter_kmem_cache")) {
    return not_present(kIterator, "this kernel has no iterator over its slab caches (Linux has it from 6.13 on)");
  }
  if (!has_member(types, "kmem_cache_node", "nr_slabs")) {
    return not_present(kIterator, "this kernel does not count the slabs of its caches: CONFIG_SLUB_DEBUG is off");
  }
  const bool has_nodes = has_member(types, "kmem_cache", "node") || has_member(types, "kmem_cache", "per_node");
  const bool has_counts = has_member(types, "slab", "inuse") && has_member(types, "slab", "objects");
  if (!has_nodes || !has_counts || !has_function(types, "bpf_rdonly_cast")) {
    return not_present(kIterator, kUnknownSlabs);
  }
  return {};
}

#define NUMBER_OF(name) .name = types_file_->kernel_number(types, #name, BTF_KIND_STRUCT),
Result<void> SlabCaches::load(const btf& types) {
  auto object = open_programs(slab_caches(), *types_file_);
  if (!object) return object.error();
  object_ = *std::move(object);
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return refused("/sys/devices/system/cpu/possible", cpus);
  const memstat_cache_limits limits{.node_count = possible_nodes(),
                                    .cpu_count = static_cast<std::uint32_t>(cpus),
                                    .page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)),
                                    .numbers = {MEMSTAT_CAST_STRUCTS(NUMBER_OF)}};
  bpf_map* constants = bpf_object__find_map_by_name(object_.get(), ".rodata");
  bpf_map* offsets = bpf_object__find_map_by_name(object_.get(), "offset_of_cpu");
  bpf_map* known = bpf_object__find_map_by_name(object_.get(), "known_lists");
  if (constants == nullptr || offsets == nullptr || known == nullptr) return refused("the maps of the program", EINVAL);
  int error = bpf_map__set_initial_value(constants, &limits, sizeof limits);
  if (error == 0) error = bpf_map__set_max_entries(offsets, limits.cpu_count);
  if (error == 0 && has_member(types, "kmem_cache", "cpu_slab")) {
    error = bpf_map__set_max_entries(known, limits.cpu_count * MEMSTAT_CACHE_KNOWN_LISTS);
  }
  if (error != 0) return refused("the maps of the program", error);
  const bpf_map* groups = bpf_object__find_map_by_name(object_.get(), "groups");
  if (groups == nullptr) return refused("the maps of the program", EINVAL);
  error = load_with_types(object_.get(), *types_file_);
  // The verifier's errors on a kernel that keeps its slabs in a way unknown to this program.
  if (error == -EINVAL || error == -EACCES || error == -E2BIG) return not_present(kIterator, kUnknownSlabs);
  return error == 0 ? groups_.open(groups, sizeof(memstat_groups)) : refused("BPF_PROG_LOAD", error);
}

Result<void> SlabCaches::attach(const btf& /*types*/) {
  bpf_program* program = bpf_object__find_program_by_name(object_.get(), "look_at_cache");
  if (program == nullptr) return refused("the program", EINVAL);
  link_.reset(bpf_program__attach_iter(program, nullptr));
  if (!link_) return refused(std::string("attaching to ") + kIterator, errno);
  object_.reset();  // the link holds the program and its maps, so their descriptors are no longer needed
  return {};
}

Result<void> SlabCaches::read(Buffer& out) {
  if (!link_) return refused(kIterator, EPERM);
  const UniqueFd pass = new_pass(bpf_link__fd(link_.get()));
  if (!pass) return refused("BPF_ITER_CREATE", errno);
  const auto read_more = [&pass](char* to, std::size_t room) { return static_cast<long>(::read(pass.get(), to, room)); };
  auto result = read_all(kIterator, records_, {}, read_more);
  if (result) publish_groups();
  return result ? write_slab_caches_rows(records_.view(), out) : result;
}

/// For the files of groups that linux_memcg reads next.
void SlabCaches::publish_groups() {
  const auto& all = *static_cast<const memstat_groups*>(groups_.get());
  group_counters_.resize(std::min<std::size_t>(all.count, MEMSTAT_GROUPS));
  std::transform(all.groups, all.groups + group_counters_.size(), group_counters_.begin(), [](const memstat_group& group) {
    const auto counter = [](const memstat_page_counter& pages) {
      return PageCounter{.usage = pages.usage, .failures = pages.failures, .limit = pages.limit};
    };
    return GroupCounters{.inode = group.id,
                         .events = group.events,
                         .memory = counter(group.memory),
                         .both = counter(group.both),
                         .kernel = counter(group.kernel),
                         .sockets = counter(group.tcp)};
  });
  publish_group_counters(group_counters_, all.is_whole != 0, system_clock().monotonic_ns());
}

}  // namespace

std::unique_ptr<TextTableSource> make_slab_caches() { return std::make_unique<SlabCaches>(); }

}  // namespace memstat::events

#endif
