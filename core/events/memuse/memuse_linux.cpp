// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/memuse.bpf.c, and reads its maps.
#include "core/events/memuse/memuse.h"

#include <cerrno>

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/memuse_layout.h"

namespace memstat::events {
namespace {

// The kernel's memory per entry of a hash table in addition to the value: header, key, and up to two list heads.
constexpr std::uint64_t kEntryBytes = 48 + 8 + 32;
constexpr std::uint64_t kBlockBytes = kEntryBytes + sizeof(memstat_memuse_block);
constexpr std::uint64_t kStackBytes = kEntryBytes + sizeof(memstat_memuse_stack);
constexpr std::uint64_t kCacheBytes = MEMSTAT_MEMUSE_CACHES * (kEntryBytes + sizeof(memstat_memuse_cache));
constexpr std::uint64_t kBlocksOfAStack = 16;

std::string text_of(const char* bytes, std::size_t size) { return {bytes, std::find(bytes, bytes + size, '\0')}; }

/// Reads all entries of a hash table that no longer changes.
template <typename Value>
Result<void> read_table(const bpf_map* map, std::vector<std::uint64_t>& keys, std::vector<Value>& values) {
  constexpr std::uint32_t kBatch = 4096;
  std::uint32_t place = 0;
  bool is_first = true;
  for (std::size_t size = 0;;) {
    keys.resize(size + kBatch);
    values.resize(size + kBatch);
    std::uint32_t count = kBatch;
    const int error = bpf_map_lookup_batch(bpf_map__fd(map), is_first ? nullptr : &place, &place, keys.data() + size,
                                           values.data() + size, &count, nullptr);
    if (error != 0 && error != -ENOENT) return refused(std::string("reading the map ") + bpf_map__name(map), error);
    size += count;
    is_first = false;
    if (error == 0) continue;
    keys.resize(size);
    values.resize(size);
    return {};
  }
}

/// Why the kernel rejected the programs. Under lockdown it reports EINVAL, because programs may then not read memory.
Error not_loaded(int number) {
  if (begin_of("/sys/kernel/security/lockdown").find("[confidentiality]") != std::string::npos ||
      begin_of("/proc/cmdline").find("lockdown=confidentiality") != std::string::npos) {
    return system_error("BPF_PROG_LOAD", EPERM,
                        "the kernel is locked down for confidentiality, so programs may not read its memory: boot without "
                        "lockdown=confidentiality");
  }
  if (number != -EINVAL) return refused("BPF_PROG_LOAD", number);
  return system_error("BPF_PROG_LOAD", EINVAL,
                      "the kernel refuses the programs, as it does when it is locked down for confidentiality");
}

class LinuxMemuse final : public MemuseWatch {
 public:
  Result<void> open(const MemuseRequest& request);
  Result<MemuseCounts> counts() override;
  Result<MemuseTable> finish() override;

 private:
  Result<void> choose(const btf& types, const TypesFile& file);
  Result<void> load(const btf& types, const TypesFile& file, const MemuseRequest& request);
  Result<void> take_blocks(std::int64_t end_ns, MemuseTable& table) const;
  Result<void> take_stacks(MemuseTable& table) const;
  Result<void> take_caches(MemuseTable& table) const;
  static void take_control_groups(MemuseTable& table);

  ObjectPointer object_;
  AttachedPrograms programs_;  // declared after the object, so that they are destroyed first
  bpf_map* blocks_ = nullptr;
  bpf_map* stacks_ = nullptr;
  bpf_map* caches_ = nullptr;
  bpf_map* counts_ = nullptr;
  std::size_t cpu_count_ = 0;
  bool has_owners_ = false;  // the kernel reports the cache of a kmalloc()
  std::int64_t start_ns_ = 0;
  std::int64_t older_ns_ = 0;
};

Result<void> LinuxMemuse::choose(const btf& types, const TypesFile& file) {
  if (auto checked = check_slab_events(types); !checked) return checked;
  has_owners_ = has_function(types, "bpf_get_kmem_cache");
  auto object = open_programs(has_owners_ ? memuse_with_owner() : memuse_by_size(), file);
  if (!object) return object.error();
  object_ = std::move(*object);
  return {};
}

Result<void> LinuxMemuse::load(const btf& types, const TypesFile& file, const MemuseRequest& request) {
  blocks_ = bpf_object__find_map_by_name(object_.get(), "blocks");
  stacks_ = bpf_object__find_map_by_name(object_.get(), "stacks");
  caches_ = bpf_object__find_map_by_name(object_.get(), "caches");
  counts_ = bpf_object__find_map_by_name(object_.get(), "counts");
  bpf_map* const constants = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (blocks_ == nullptr || stacks_ == nullptr || caches_ == nullptr || counts_ == nullptr || constants == nullptr) {
    return refused("the maps of the programs", EINVAL);
  }
  memstat_memuse_settings settings{};
  settings.older_ns = static_cast<unsigned long long>(request.older_ns);
  settings.reclaimable = gfp_flag(types, "___GFP_RECLAIMABLE_BIT", 0x10);
  settings.frames = static_cast<unsigned>(std::clamp<std::size_t>(request.frames, 1, MEMSTAT_MEMUSE_FRAMES));
  settings.has_wanted = request.type.empty() ? 0 : 1;
  if (!request.control_group.empty()) {
    const auto group = control_group_key(request.control_group);
    if (!group) return group.error();
    settings.wanted_group = *group;
  }
  settings.keeps_unnamed = !has_owners_ && request.type.starts_with("kmalloc") ? 1 : 0;
  request.type.copy(settings.wanted, sizeof settings.wanted - 1);
  std::uint64_t for_blocks = request.memory_bytes - std::min(request.memory_bytes, kCacheBytes);
  for_blocks /= kBlockBytes * kBlocksOfAStack + kStackBytes;
  const auto stack_count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(for_blocks, 64, 1U << 22U));
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return refused("/sys/devices/system/cpu/possible", cpus);
  cpu_count_ = static_cast<std::size_t>(cpus);
  int error = bpf_map__set_initial_value(constants, &settings, sizeof settings);
  if (error == 0) error = bpf_map__set_max_entries(stacks_, stack_count);
  if (error == 0) error = bpf_map__set_max_entries(blocks_, stack_count * kBlocksOfAStack);
  if (error != 0) return refused("the constants of the programs", error);
  error = load_with_types(object_.get(), file);
  if (error != 0) return not_loaded(error);
  return {};
}

Result<void> LinuxMemuse::open(const MemuseRequest& request) {
  older_ns_ = request.older_ns;
  const auto file = TypesFile::make();
  if (!file) return file.error();
  const BtfPointer types = file->parse();
  if (!types) return refused("the kernel's types", errno);
  auto result = choose(*types, *file);
  if (result) result = load(*types, *file, request);
  start_ns_ = system_clock().monotonic_ns();
  if (result) result = programs_.attach_all(object_.get());
  return result;
}

Result<MemuseCounts> LinuxMemuse::counts() {
  std::vector<memstat_memuse_counts> cpus(cpu_count_);
  memstat_memuse_counts sum{};
  for (std::uint32_t program = 0; program < MEMSTAT_MEMUSE_PROGRAMS; ++program) {
    if (const int error = bpf_map_lookup_elem(bpf_map__fd(counts_), &program, cpus.data()); error != 0) {
      return refused("reading the map counts", error);
    }
    for (const memstat_memuse_counts& cpu : cpus) {
      sum.kept_blocks += cpu.kept_blocks;
      sum.freed_blocks += cpu.freed_blocks;
      sum.reused_blocks += cpu.reused_blocks;
      sum.other_frees += cpu.other_frees;
      sum.lost_blocks += cpu.lost_blocks;
      sum.lost_stacks += cpu.lost_stacks;
    }
  }
  const unsigned long long gone = sum.freed_blocks + sum.reused_blocks;
  return MemuseCounts{.blocks_in_use = sum.kept_blocks - std::min(sum.kept_blocks, gone),
                      .allocations = sum.kept_blocks,
                      .other_frees = sum.other_frees,
                      .silent_frees = sum.reused_blocks,
                      .lost_blocks = sum.lost_blocks,
                      .lost_stacks = sum.lost_stacks,
                      .missed_events = programs_.facts().missed_events};
}

Result<void> LinuxMemuse::take_blocks(std::int64_t end_ns, MemuseTable& table) const {
  std::vector<std::uint64_t> addresses;
  std::vector<memstat_memuse_block> blocks;
  if (auto result = read_table(blocks_, addresses, blocks); !result) return result;
  table.blocks.reserve(blocks.size());
  for (const memstat_memuse_block& block : blocks) {
    table.blocks.push_back({.stack = block.stack,
                            .cache = block.cache,
                            .age_ns = std::max<std::int64_t>(0, end_ns - static_cast<std::int64_t>(block.time_ns)),
                            .bytes = block.allocated,
                            .process = block.process,
                            .control_group = block.group,
                            .command = text_of(block.command, sizeof block.command)});
  }
  return {};
}

Result<void> LinuxMemuse::take_stacks(MemuseTable& table) const {
  std::vector<std::uint64_t> keys;
  std::vector<memstat_memuse_stack> stacks;
  if (auto result = read_table(stacks_, keys, stacks); !result) return result;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const unsigned long long* const first = stacks[i].frames;
    const unsigned long long* const end = first + MEMSTAT_MEMUSE_FRAMES;
    table.stacks.push_back({.key = keys[i],
                            .frames = {first, std::find(first, end, 0ULL)},
                            .allocations = stacks[i].allocations,
                            .old_frees = stacks[i].old_frees,
                            .silent_frees = stacks[i].silent_frees});
  }
  return {};
}

Result<void> LinuxMemuse::take_caches(MemuseTable& table) const {
  std::vector<std::uint64_t> keys;
  std::vector<memstat_memuse_cache> caches;
  if (auto result = read_table(caches_, keys, caches); !result) return result;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    table.caches.push_back({.key = keys[i],
                            .name = text_of(caches[i].name, sizeof caches[i].name),
                            .is_reclaimable = caches[i].is_reclaimable != 0});
  }
  return {};
}

void LinuxMemuse::take_control_groups(MemuseTable& table) {
  std::vector<std::uint64_t> keys;
  for (const MemuseBlock& block : table.blocks) keys.push_back(block.control_group);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  table.control_groups = control_group_paths(keys);
}

Result<MemuseTable> LinuxMemuse::finish() {
  auto counted = counts();  // read before the programs are unloaded, because the kernel then forgets their statistics
  const std::int64_t end_ns = system_clock().monotonic_ns();
  programs_.detach();
  if (!counted) return counted.error();
  MemuseTable table{.watched_ns = end_ns - start_ns_, .older_ns = older_ns_, .counts = *counted};
  auto result = take_blocks(end_ns, table);
  if (result) result = take_stacks(table);
  if (result) result = take_caches(table);
  if (result) take_control_groups(table);
  if (!result) return result.error();
  table.counts.blocks_in_use = table.blocks.size();
  return table;
}

}  // namespace

Result<std::unique_ptr<MemuseWatch>> open_memuse_watch(const MemuseRequest& request) {
  auto watch = std::make_unique<LinuxMemuse>();
  if (auto opened = watch->open(request); !opened) return opened.error();
  return std::unique_ptr<MemuseWatch>(std::move(watch));
}

}  // namespace memstat::events

#else

namespace memstat::events {

Result<std::unique_ptr<MemuseWatch>> open_memuse_watch(const MemuseRequest& /*request*/) {
#if defined(__linux__)
  return make_error(ErrorCode::kNotPresent, "memuse",
                    "this memstatctl was built without libbpf: build it with MEMSTAT_EVENTS=ON");
#else
  return make_error(ErrorCode::kNotPresent, "memuse",
                    "Linux only: it counts by programs in Linux's kernel; on FreeBSD DTrace has the stacks, such as "
                    "dtrace -n 'dtmalloc::temp:malloc { @[stack()] = sum(arg3); }'");
#endif
}

}  // namespace memstat::events

#endif
