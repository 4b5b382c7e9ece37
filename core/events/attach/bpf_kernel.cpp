// SPDX-License-Identifier: BSD-2-Clause
#if defined(MEMSTAT_HAVE_LIBBPF)

#include "core/events/attach/bpf_kernel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/text.h"
#include "core/events/attach/refusal.h"

namespace memstat::events {
namespace {

constexpr const char* kStatus = "/proc/self/status";
constexpr const char* kLockdown = "/sys/kernel/security/lockdown";

/// The prototype of a raw tracepoint's arguments; nullptr if this kernel has no such tracepoint.
const btf_type* prototype_of(const btf& types, const char* event) {
  const std::string name = std::string("btf_trace_") + event;
  const int id = btf__find_by_name_kind(&types, name.c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return nullptr;
  const btf_type* type = btf__type_by_id(&types, btf__type_by_id(&types, static_cast<__u32>(id))->type);
  if (type == nullptr || !btf_is_ptr(type)) return nullptr;
  type = btf__type_by_id(&types, type->type);
  return type != nullptr && btf_is_func_proto(type) ? type : nullptr;
}

/// Like has_member(), for a type ID. `depth`: maximum nesting of anonymous structs.
bool has_member_within(const btf& types, __u32 id, std::string_view member, int depth) {
  const btf_type* type = btf__type_by_id(&types, id);
  while (type != nullptr && (btf_is_mod(type) || btf_is_typedef(type))) type = btf__type_by_id(&types, type->type);
  if (type == nullptr || !btf_is_composite(type) || depth == 0) return false;
  const struct btf_member* const members = btf_members(type);
  for (int i = 0; i < btf_vlen(type); ++i) {
    const char* const name = btf__name_by_offset(&types, members[i].name_off);
    if (name == nullptr) continue;
    if (*name == '\0' ? has_member_within(types, members[i].type, member, depth - 1) : member == name) return true;
  }
  return false;
}

/// Attaches a program. libbpf itself does not attach those of handle_sections().
bpf_link* link_of(const bpf_program* program) {
  const char* const place = std::strchr(bpf_program__section_name(program), '/');
  switch (bpf_program__type(program)) {
    case BPF_PROG_TYPE_TRACING: return bpf_program__attach_trace(program);
    case BPF_PROG_TYPE_RAW_TRACEPOINT: return bpf_program__attach_raw_tracepoint(program, place == nullptr ? "" : place + 1);
    default: return bpf_program__attach(program);
  }
}

/// Adds the facts from a program's fdinfo (kernel/bpf/syscall.c, bpf_prog_show_fdinfo; recursion_misses since 5.12).
void add_facts(const UniqueFd& file, ProgramFacts& facts) {
  std::array<char, 512> bytes;
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) return;
  std::string_view rest(bytes.data(), static_cast<std::size_t>(size));
  for (std::string_view line, word, number; next_line(rest, line);) {
    if (!next_word(line, word) || !next_word(line, number)) continue;
    const std::uint64_t value = parse_u64(number).value_or(0);
    if (word == "recursion_misses:") facts.missed_events += value;
    if (word == "run_time_ns:") facts.run_ns += value;
    if (word == "run_cnt:") facts.runs += value;
  }
}

}  // namespace

std::string begin_of(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> bytes;
  const ssize_t size = file ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

Error refused(std::string_view what, int number) {
  number = number < 0 ? -number : number;
  const std::string status = number == EACCES || number == EPERM ? begin_of(kStatus) : std::string();
  // EACCES is the verifier's answer; the privileges suffice.
  if (number == EACCES && has_attach_capabilities(status)) {
    Error rejected = system_error(
        what, number, "this process has CAP_BPF and CAP_PERFMON, so the kernel's verifier or a security module rejects it");
    rejected.code = ErrorCode::kIo;
    return rejected;
  }
  if (number == EACCES || number == EPERM) return system_error(what, EPERM, why_refused(status, begin_of(kLockdown)));
  if (number == ENOSYS) return system_error(what, ENOENT, "this kernel has no bpf(2): CONFIG_BPF_SYSCALL is off");
  return system_error(what, number);
}

Error not_present(std::string_view what, std::string_view why) { return system_error(what, ENOENT, why); }

int arguments_of(const btf& types, const char* event) {
  const btf_type* type = prototype_of(types, event);
  return type == nullptr ? -1 : btf_vlen(type) - 1;
}

bool points_to(const btf& types, const char* event, int number, std::string_view structure) {
  if (arguments_of(types, event) <= number) return false;
  const btf_type* type = btf__type_by_id(&types, btf_params(prototype_of(types, event))[number + 1].type);
  if (type == nullptr || !btf_is_ptr(type)) return false;
  type = btf__type_by_id(&types, type->type);
  while (type != nullptr && btf_is_mod(type)) type = btf__type_by_id(&types, type->type);
  return type != nullptr && btf_is_struct(type) && btf__name_by_offset(&types, type->name_off) == structure;
}

Result<void> check_slab_events(const btf& types) {
  if (!points_to(types, "kmem_cache_alloc", 2, "kmem_cache") || arguments_of(types, "kmem_cache_alloc") < 4 ||
      !points_to(types, "kmem_cache_free", 2, "kmem_cache")) {
    return not_present("kmem:kmem_cache_alloc",
                       "the events of this kernel do not name the cache (they do from Linux 6.1 on)");
  }
  if (arguments_of(types, "kmalloc") < 5 || arguments_of(types, "kfree") < 2) {
    return not_present("kmem:kmalloc", "the arguments of this kernel's event are not those that memstatd expects");
  }
  return {};
}

bool has_function(const btf& types, const char* function) {
  return btf__find_by_name_kind(&types, function, BTF_KIND_FUNC) > 0;
}

bool has_parameter(const btf& types, const char* function, int number, std::string_view name) {
  const int id = btf__find_by_name_kind(&types, function, BTF_KIND_FUNC);
  if (id < 0) return false;
  const btf_type* type = btf__type_by_id(&types, btf__type_by_id(&types, static_cast<__u32>(id))->type);
  return type != nullptr && btf_is_func_proto(type) && number < btf_vlen(type) &&
         btf__name_by_offset(&types, btf_params(type)[number].name_off) == name;
}

bool has_member(const btf& types, const char* structure, std::string_view member) {
  constexpr int kDeepest = 8;
  const int id = btf__find_by_name_kind(&types, structure, BTF_KIND_STRUCT);
  return id > 0 && has_member_within(types, static_cast<__u32>(id), member, kDeepest);
}

std::uint64_t gfp_flag(const btf& types, std::string_view enumerator, std::uint64_t before) {
  for (__u32 id = 1; id < btf__type_cnt(&types); ++id) {
    const btf_type* type = btf__type_by_id(&types, id);
    if (!btf_is_enum(type)) continue;
    const struct btf_enum* values = ::btf_enum(type);
    for (int i = 0; i < btf_vlen(type); ++i) {
      const char* name = btf__name_by_offset(&types, values[i].name_off);
      if (values[i].val >= 0 && values[i].val < 64 && name != nullptr && enumerator == name) {
        return std::uint64_t{1} << static_cast<unsigned>(values[i].val);
      }
    }
  }
  return before;
}

memstat_gfp_flags gfp_flags(const btf& types, bool are_classes_wanted) {
  return {.dma = gfp_flag(types, "___GFP_DMA_BIT", 0x1) | gfp_flag(types, "___GFP_DMA32_BIT", 0x4),
          .high = gfp_flag(types, "___GFP_HIGH_BIT", 0x20),
          .direct_reclaim = gfp_flag(types, "___GFP_DIRECT_RECLAIM_BIT", 0x400),
          .kswapd_reclaim = gfp_flag(types, "___GFP_KSWAPD_RECLAIM_BIT", 0x800),
          .io = gfp_flag(types, "___GFP_IO_BIT", 0x40),
          .fs = gfp_flag(types, "___GFP_FS_BIT", 0x80),
          .hardwall = gfp_flag(types, "___GFP_HARDWALL_BIT", 0x100000),
          .is_wanted = are_classes_wanted ? 1U : 0U};
}

Result<ObjectPointer> open_programs(std::span<const unsigned char> elf, const TypesFile& types) {
  handle_sections();
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.btf_custom_path = types.path().c_str();
  ObjectPointer object(bpf_object__open_mem(elf.data(), elf.size(), &options));
  if (!object) return refused("bpf_object__open_mem", errno);
  return object;
}

SharedMap::~SharedMap() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

Result<std::size_t> load_programs(bpf_object* object, const TypesFile& types) {
  bpf_map* by_cpu = bpf_object__find_map_by_name(object, "by_cpu");
  if (by_cpu == nullptr) return refused("the maps of the programs", EINVAL);
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return refused("/sys/devices/system/cpu/possible", cpus);
  if (const int error = bpf_map__set_max_entries(by_cpu, static_cast<__u32>(cpus)); error != 0) {
    return refused("the programs' map of CPUs", error);
  }
  if (const int error = load_with_types(object, types); error != 0) return refused("BPF_PROG_LOAD", error);
  return static_cast<std::size_t>(cpus);
}

Result<void> SharedMap::open(const bpf_map* map, std::size_t size, bool is_written) {
  const int rights = is_written ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const memory = ::mmap(nullptr, size, rights, MAP_SHARED, bpf_map__fd(map), 0);
  if (memory == MAP_FAILED) return refused(std::string("mmap of the map ") + bpf_map__name(map), errno);
  memory_ = memory;
  size_ = size;
  return {};
}

int AttachedPrograms::attach(bpf_program* program) {
  LinkPointer link(link_of(program));
  if (!link) return errno;
  links_.push_back(std::move(link));
  programs_.push_back({.program = program});
  take_facts_of(program);
  return 0;
}

Result<void> AttachedPrograms::attach_all(bpf_object* object) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (const int error = attach(program); error != 0) {
      return refused(std::string("attaching to ") + bpf_program__section_name(program), error);
    }
  }
  return {};
}

void AttachedPrograms::take_facts_of(const bpf_program* program) {
  const std::string facts = "/proc/self/fdinfo/" + std::to_string(bpf_program__fd(program));
  facts_.emplace_back(::open(facts.c_str(), O_RDONLY | O_CLOEXEC));  // -1: missed events are then unknown
}

void AttachedPrograms::detach() {
  links_.clear();
  descriptors_.clear();
}

ProgramFacts AttachedPrograms::facts() const {
  ProgramFacts all;
  for (const UniqueFd& file : facts_) {
    if (file) add_facts(file, all);
  }
  return all;
}

}  // namespace memstat::events

#endif
