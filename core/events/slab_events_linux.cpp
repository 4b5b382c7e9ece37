// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/slab_events.bpf.c. What this kernel has is asked of its BTF: the arguments of its tracepoints, the
// function that gives an object's cache, the bits of the GFP flags.
#include "core/events/slab_events.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/events/bpf/slab_layout.h"
#include "core/events/embedded_programs.h"
#include "core/events/slab_text.h"

namespace memstat::events {
namespace {

constexpr std::string_view kBtfFile = "/sys/kernel/btf/vmlinux";
constexpr const char* kStatisticsFile = "/sys/kernel/slab/kmem_cache/alloc_fastpath";
constexpr std::string_view kNeeds =
    "the kernel lets only root attach to its events, or CAP_BPF with CAP_PERFMON: start this program with them; where root "
    "is "
    "refused, too, a security policy (lockdown, a container's seccomp filter) forbids it";

struct CloseBtf {
  void operator()(btf* types) const { btf__free(types); }
};
struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct CloseLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

Error refused(std::string_view what, int number) {
  number = number < 0 ? -number : number;
  if (number == EACCES || number == EPERM) return system_error(what, EPERM, kNeeds);
  if (number == ENOSYS) return system_error(what, ENOENT, "this kernel has no bpf(2): CONFIG_BPF_SYSCALL is off");
  return system_error(what, number);
}

Error not_present(std::string_view what, std::string_view why) { return system_error(what, ENOENT, why); }

/// Arguments of a raw tracepoint, without the first, which is not the event's; -1: this kernel has no such tracepoint.
int arguments_of(const btf& types, const char* event) {
  const std::string name = std::string("btf_trace_") + event;
  const int id = btf__find_by_name_kind(&types, name.c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return -1;
  const btf_type* type = btf__type_by_id(&types, btf__type_by_id(&types, static_cast<__u32>(id))->type);
  if (type == nullptr || !btf_is_ptr(type)) return -1;
  type = btf__type_by_id(&types, type->type);
  return type != nullptr && btf_is_func_proto(type) ? btf_vlen(type) - 1 : -1;
}

/// Whether argument `number` of the event (from 0 on) points to a struct kmem_cache.
bool is_cache(const btf& types, const char* event, int number) {
  if (arguments_of(types, event) <= number) return false;
  const std::string name = std::string("btf_trace_") + event;
  const int id = btf__find_by_name_kind(&types, name.c_str(), BTF_KIND_TYPEDEF);
  const btf_type* type = btf__type_by_id(&types, btf__type_by_id(&types, static_cast<__u32>(id))->type);
  type = btf__type_by_id(&types, type->type);
  type = btf__type_by_id(&types, btf_params(type)[number + 1].type);
  if (type == nullptr || !btf_is_ptr(type)) return false;
  type = btf__type_by_id(&types, type->type);
  while (type != nullptr && btf_is_mod(type)) type = btf__type_by_id(&types, type->type);
  return type != nullptr && btf_is_struct(type) &&
         std::string_view(btf__name_by_offset(&types, type->name_off)) == "kmem_cache";
}

/// The GFP flag whose bit an enumerator of this kernel numbers (6.10, 772dd0342727); else as it was before there were such.
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

/// Memory that a map of the kernel shares with us, read only.
class SharedMap {
 public:
  SharedMap() = default;
  SharedMap(const SharedMap&) = delete;
  SharedMap& operator=(const SharedMap&) = delete;
  ~SharedMap() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, size_);
  }
  Result<void> open(const bpf_map* map, std::size_t size) {
    size_ = size;
    memory_ = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
    if (memory_ == MAP_FAILED) return refused(std::string("mmap of the map ") + bpf_map__name(map), errno);
    return {};
  }
  [[nodiscard]] const void* get() const { return memory_; }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t size_ = 0;
};

/// The programs, attached. Thread safety: none.
class SlabEvents final : public LiveTable {
 public:
  Result<void> open() override;
  Result<void> read(Buffer& out) override;

 private:
  Result<void> choose(const btf& types);
  Result<void> load(const btf& types);
  Result<void> attach();

  std::unique_ptr<bpf_object, CloseObject> object_;
  std::vector<std::unique_ptr<bpf_link, CloseLink>> links_;  // behind the object, so that they go first
  std::vector<UniqueFd> program_facts_;                      // /proc/self/fdinfo of each program
  SharedMap shared_;
  SharedMap by_cpu_;
  std::size_t cpu_count_ = 0;
  SlabTextFacts facts_;
  std::string programs_;  // the ELF file that suits this kernel
};

/// Which of the two objects suits this kernel.
Result<void> SlabEvents::choose(const btf& types) {
  if (!is_cache(types, "kmem_cache_alloc", 2) || !is_cache(types, "kmem_cache_free", 2)) {
    return not_present("kmem:kmem_cache_alloc",
                       "the events of this kernel do not name the cache (they do from Linux 6.1 on)");
  }
  if (arguments_of(types, "kmalloc") < 5 || arguments_of(types, "kfree") < 2) {
    return not_present("kmem:kmalloc", "this kernel has no such event with the arguments that memstatd knows");
  }
  facts_.has_kmalloc_frees = btf__find_by_name_kind(&types, "bpf_get_kmem_cache", BTF_KIND_FUNC) > 0;
  facts_.is_counted_by_sysfs = ::access(kStatisticsFile, F_OK) == 0;
  const std::span<const unsigned char> elf = facts_.has_kmalloc_frees ? slab_events_with_owner() : slab_events_by_size();
  programs_.assign(reinterpret_cast<const char*>(elf.data()), elf.size());
  return {};
}

Result<void> SlabEvents::load(const btf& types) {
  object_.reset(bpf_object__open_mem(programs_.data(), programs_.size(), nullptr));
  if (!object_) return refused("bpf_object__open_mem", errno);
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  bpf_map* shared = bpf_object__find_map_by_name(object_.get(), ".bss");
  bpf_map* flags = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (by_cpu == nullptr || shared == nullptr || flags == nullptr ||
      bpf_map__value_size(shared) < sizeof(memstat_slab_slots)) {
    return refused("the maps of the programs", EINVAL);
  }
  const memstat_slab_flags gfp{.reclaimable = gfp_flag(types, "___GFP_RECLAIMABLE_BIT", 0x10),
                               .account = gfp_flag(types, "___GFP_ACCOUNT_BIT", 0x400000),
                               .dma = gfp_flag(types, "___GFP_DMA_BIT", 0x1)};
  if (const int error = bpf_map__set_initial_value(flags, &gfp, sizeof gfp); error != 0) {
    return refused("the constants of the programs", error);
  }
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return refused("/sys/devices/system/cpu/possible", cpus);
  cpu_count_ = static_cast<std::size_t>(cpus);
  if (const int error = bpf_map__set_max_entries(by_cpu, static_cast<__u32>(cpus)); error != 0) {
    return refused("the programs' map of CPUs", error);
  }
  if (const int error = bpf_object__load(object_.get()); error != 0) return refused("BPF_PROG_LOAD", error);
  if (auto result = shared_.open(shared, sizeof(memstat_slab_slots)); !result) return result;
  return by_cpu_.open(by_cpu, cpu_count_ * sizeof(memstat_slab_cpu));
}

Result<void> SlabEvents::attach() {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_.get()) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) return refused(std::string("attaching to ") + bpf_program__section_name(program), errno);
    links_.emplace_back(link);
    const std::string facts = "/proc/self/fdinfo/" + std::to_string(bpf_program__fd(program));
    program_facts_.emplace_back(::open(facts.c_str(), O_RDONLY | O_CLOEXEC));  // -1: then what it missed is not known
  }
  return {};
}

Result<void> SlabEvents::open() {
  libbpf_set_print(nullptr);  // what it says goes into the error that we return
  const std::unique_ptr<btf, CloseBtf> types(btf__parse_raw(std::string(kBtfFile).c_str()));
  if (!types) {
    if (errno == ENOENT) return not_present(kBtfFile, "this kernel has no BTF: CONFIG_DEBUG_INFO_BTF is off");
    return refused(kBtfFile, errno);
  }
  auto result = choose(*types);
  if (result) result = load(*types);
  if (result) result = attach();
  if (!result) {  // half of the events would be false figures
    program_facts_.clear();
    links_.clear();
    object_.reset();
  }
  return result;
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

Result<void> SlabEvents::read(Buffer& out) {
  if (links_.empty()) return refused("linux_slab_events", EPERM);
  facts_.missed_events = 0;
  for (const UniqueFd& facts : program_facts_) facts_.missed_events += facts ? missed_by(facts) : 0;
  write_slab_text(*static_cast<const memstat_slab_slots*>(shared_.get()),
                  {static_cast<const memstat_slab_cpu*>(by_cpu_.get()), cpu_count_}, facts_, out);
  return {};
}

}  // namespace

std::unique_ptr<LiveTable> make_slab_events() { return std::make_unique<SlabEvents>(); }

}  // namespace memstat::events

#else

namespace memstat::events {
namespace {

/// What stands for them where they cannot be had. Thread safety: a plain value.
class NoSlabEvents final : public LiveTable {
 public:
  Result<void> open() override {
    return system_error("linux_slab_events", ENOENT,
                        "this memstatd was built without libbpf: build it with MEMSTAT_EVENTS=ON");
  }
  Result<void> read(Buffer&) override { return open(); }
};

}  // namespace

std::unique_ptr<LiveTable> make_slab_events() { return std::make_unique<NoSlabEvents>(); }

}  // namespace memstat::events

#endif
