// SPDX-License-Identifier: BSD-2-Clause
#if defined(MEMSTAT_HAVE_LIBBPF)

#include "core/events/bpf_kernel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "core/base/text.h"

namespace memstat::events {
namespace {

constexpr std::string_view kBtfFile = "/sys/kernel/btf/vmlinux";
constexpr std::string_view kNeeds =
    "the kernel lets only root attach to its events, or CAP_BPF with CAP_PERFMON: start this program with them; where root "
    "is refused, too, a security policy (lockdown, a container's seccomp filter) forbids it";

/// The arguments of a raw tracepoint as a function of the kernel takes them; nullptr: there is none of that name.
const btf_type* prototype_of(const btf& types, const char* event) {
  const std::string name = std::string("btf_trace_") + event;
  const int id = btf__find_by_name_kind(&types, name.c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return nullptr;
  const btf_type* type = btf__type_by_id(&types, btf__type_by_id(&types, static_cast<__u32>(id))->type);
  if (type == nullptr || !btf_is_ptr(type)) return nullptr;
  type = btf__type_by_id(&types, type->type);
  return type != nullptr && btf_is_func_proto(type) ? type : nullptr;
}

/// The number behind "recursion_misses:" in what the kernel says of a program (kernel/bpf/syscall.c, since 5.12); 0: none.
std::uint64_t missed_by(const UniqueFd& facts) {
  std::array<char, 512> bytes;
  const ssize_t size = ::pread(facts.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) return 0;
  std::string_view rest(bytes.data(), static_cast<std::size_t>(size));
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view word;
    if (next_word(line, word) && word == "recursion_misses:" && next_word(line, word)) return parse_u64(word).value_or(0);
  }
  return 0;
}

}  // namespace

Error refused(std::string_view what, int number) {
  number = number < 0 ? -number : number;
  if (number == EACCES || number == EPERM) return system_error(what, EPERM, kNeeds);
  if (number == ENOSYS) return system_error(what, ENOENT, "this kernel has no bpf(2): CONFIG_BPF_SYSCALL is off");
  return system_error(what, number);
}

Error not_present(std::string_view what, std::string_view why) { return system_error(what, ENOENT, why); }

Result<BtfPointer> kernel_types() {
  libbpf_set_print(nullptr);
  BtfPointer types(btf__parse_raw(std::string(kBtfFile).c_str()));
  if (types) return types;
  if (errno == ENOENT) return not_present(kBtfFile, "this kernel has no BTF: CONFIG_DEBUG_INFO_BTF is off");
  return refused(kBtfFile, errno);
}

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

Result<ObjectPointer> open_programs(std::span<const unsigned char> elf) {
  ObjectPointer object(bpf_object__open_mem(elf.data(), elf.size(), nullptr));
  if (!object) return refused("bpf_object__open_mem", errno);
  return object;
}

SharedMap::~SharedMap() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

Result<void> SharedMap::open(const bpf_map* map, std::size_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
  if (memory == MAP_FAILED) return refused(std::string("mmap of the map ") + bpf_map__name(map), errno);
  memory_ = memory;
  size_ = size;
  return {};
}

int AttachedPrograms::attach(bpf_program* program) {
  LinkPointer link(bpf_program__attach(program));
  if (!link) return errno;
  links_.push_back(std::move(link));
  const std::string facts = "/proc/self/fdinfo/" + std::to_string(bpf_program__fd(program));
  facts_.emplace_back(::open(facts.c_str(), O_RDONLY | O_CLOEXEC));  // -1: then what it missed is not known
  return 0;
}

void AttachedPrograms::detach() {
  facts_.clear();
  links_.clear();
}

std::uint64_t AttachedPrograms::missed_events() const {
  std::uint64_t missed = 0;
  for (const UniqueFd& facts : facts_) missed += facts ? missed_by(facts) : 0;
  return missed;
}

}  // namespace memstat::events

#endif
