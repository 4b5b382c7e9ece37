// SPDX-License-Identifier: BSD-2-Clause
#if defined(MEMSTAT_HAVE_LIBBPF)

#include "core/events/attach/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/kernel_calls.h"

namespace memstat::events {
namespace {

constexpr const char* kAllTypes = "/sys/kernel/btf/vmlinux";
constexpr std::uint16_t kMagic = 0xeb9f;

Error malformed(const char* what) {
  Error error = not_present(kAllTypes, what);
  error.code = ErrorCode::kData;
  return error;
}

/// Bytes of a type after its header; empty: an unknown kind.
std::optional<std::size_t> size_after_header(const btf_type& type) {
  const std::size_t count = btf_vlen(&type);
  switch (btf_kind(&type)) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG: return sizeof(__u32);
    case BTF_KIND_ARRAY: return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION: return count * sizeof(btf_member);
    case BTF_KIND_ENUM: return count * sizeof(struct btf_enum);
    case BTF_KIND_ENUM64: return count * sizeof(struct btf_enum64);
    case BTF_KIND_FUNC_PROTO: return count * sizeof(btf_param);
    case BTF_KIND_DATASEC: return count * sizeof(btf_var_secinfo);
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FLOAT:
    case BTF_KIND_TYPE_TAG: return 0;
    default: return std::nullopt;
  }
}

/// How much of a type is kept. kOutline: a struct without its members.
enum class Extent : std::uint8_t { kNone, kOutline, kWhole };

class PartMaker {
 public:
  PartMaker(std::string_view bytes, const TypeNames& names) : bytes_(bytes), names_(names) {}
  Result<TypesPart> make();

 private:
  Result<void> index();
  [[nodiscard]] const btf_type& type(std::uint32_t number) const {
    return *reinterpret_cast<const btf_type*>(types_.data() + places_[number]);
  }
  [[nodiscard]] std::string_view name(std::uint32_t place) const {
    return place < strings_.size() ? std::string_view(strings_.data() + place) : std::string_view();
  }
  [[nodiscard]] bool is_wanted(const btf_type& type) const;
  void want(std::uint32_t number, Extent extent);
  void want_parts(std::uint32_t number);
  void write(std::uint32_t number);
  std::uint32_t text(std::uint32_t place);
  template <typename Part>
  void write_parts(const btf_type& type, __u32 Part::*reference);

  std::string_view bytes_;
  const TypeNames& names_;
  std::string_view types_, strings_;
  std::vector<std::uint32_t> places_;   // of each type; the first is void
  std::vector<Extent> extents_;         // of each type
  std::vector<std::uint32_t> pending_;  // types whose parts are not wanted yet
  std::vector<std::uint32_t> numbers_;  // of each type in the part
  std::unordered_map<std::uint32_t, std::uint32_t> texts_;
  std::string written_, written_texts_ = std::string(1, '\0');
};

Result<void> PartMaker::index() {
  btf_header header;
  if (bytes_.size() < sizeof header) return malformed("the kernel's types are too short");
  std::memcpy(&header, bytes_.data(), sizeof header);
  const std::uint64_t types = std::uint64_t{header.hdr_len} + header.type_off;
  const std::uint64_t strings = std::uint64_t{header.hdr_len} + header.str_off;
  if (header.magic != kMagic || types + header.type_len > bytes_.size() || strings + header.str_len > bytes_.size() ||
      header.str_len == 0 || bytes_[strings + header.str_len - 1] != '\0') {
    return malformed("the header of the kernel's types is damaged");
  }
  types_ = bytes_.substr(types, header.type_len);
  // All sizes are multiples of this alignment, so that every type has it if the first has.
  if (reinterpret_cast<std::uintptr_t>(types_.data()) % alignof(btf_type) != 0)
    return malformed("the kernel's types are not aligned");
  strings_ = bytes_.substr(strings, header.str_len);
  places_.assign(1, 0);
  for (std::size_t at = 0; at < types_.size();) {
    if (types_.size() - at < sizeof(btf_type)) return malformed("a type is cut off");
    places_.push_back(static_cast<std::uint32_t>(at));
    const auto rest = size_after_header(type(static_cast<std::uint32_t>(places_.size() - 1)));
    if (!rest || *rest > types_.size() - at - sizeof(btf_type)) return malformed("a type has an unknown kind or is cut off");
    at += sizeof(btf_type) + *rest;
  }
  return {};
}

bool PartMaker::is_wanted(const btf_type& type) const {
  const std::string_view named = name(type.name_off);
  if (btf_is_typedef(&type) && named.starts_with("btf_trace_")) return true;
  const auto kind = btf_kind(&type);
  if (kind == BTF_KIND_DATASEC || kind == BTF_KIND_VAR || kind == BTF_KIND_DECL_TAG) return false;
  if (!named.empty() && names_.contains(named)) return true;
  const bool is_enum = btf_is_enum(&type);
  if (!is_enum && !btf_is_enum64(&type)) return false;
  for (int i = 0; i < btf_vlen(&type); ++i) {
    if (names_.contains(name(is_enum ? btf_enum(&type)[i].name_off : btf_enum64(&type)[i].name_off))) return true;
  }
  return false;
}

void PartMaker::want(std::uint32_t number, Extent extent) {
  if (number == 0 || number >= places_.size() || extents_[number] >= extent) return;
  extents_[number] = extent;
  pending_.push_back(number);
}

void PartMaker::want_parts(std::uint32_t number) {
  const btf_type& owner = type(number);
  const Extent extent = extents_[number];
  switch (btf_kind(&owner)) {
    case BTF_KIND_PTR: want(owner.type, Extent::kOutline); break;
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_TYPE_TAG: want(owner.type, extent); break;
    case BTF_KIND_ARRAY:
      want(btf_array(&owner)->type, extent);
      want(btf_array(&owner)->index_type, extent);
      break;
    case BTF_KIND_FUNC_PROTO:
      want(owner.type, Extent::kOutline);
      for (int i = 0; i < btf_vlen(&owner); ++i) want(btf_params(&owner)[i].type, Extent::kOutline);
      break;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      for (int i = 0; extent == Extent::kWhole && i < btf_vlen(&owner); ++i) want(btf_members(&owner)[i].type, extent);
      break;
    default: break;
  }
}

std::uint32_t PartMaker::text(std::uint32_t place) {
  const std::string_view words = name(place);
  if (words.empty()) return 0;
  const auto [entry, is_new] = texts_.emplace(place, static_cast<std::uint32_t>(written_texts_.size()));
  if (is_new) written_texts_.append(words.data(), words.size() + 1);
  return entry->second;
}

/// Writes the members, parameters or enumerators of a type. `reference`: where one has the number of its type.
template <typename Part>
void PartMaker::write_parts(const btf_type& type, __u32 Part::*reference) {
  const auto* const parts = reinterpret_cast<const Part*>(&type + 1);
  for (int i = 0; i < btf_vlen(&type); ++i) {
    Part part = parts[i];
    part.name_off = text(part.name_off);
    if (reference != nullptr) part.*reference = part.*reference < numbers_.size() ? numbers_[part.*reference] : 0;
    written_.append(reinterpret_cast<const char*>(&part), sizeof part);
  }
}

void PartMaker::write(std::uint32_t number) {
  const btf_type& old = type(number);
  btf_type made = old;
  made.name_off = text(old.name_off);
  const auto kind = btf_kind(&old);
  const bool is_composite = btf_is_composite(&old);
  const bool is_outline = is_composite && extents_[number] == Extent::kOutline;
  if (is_outline) made.info &= ~0xffffU;  // no members
  const bool refers = kind == BTF_KIND_FUNC_PROTO || kind == BTF_KIND_FUNC || kind == BTF_KIND_PTR || btf_is_mod(&old) ||
                      btf_is_typedef(&old);
  if (refers) made.type = old.type < numbers_.size() ? numbers_[old.type] : 0;
  written_.append(reinterpret_cast<const char*>(&made), sizeof made);
  if (is_outline) return;
  if (is_composite) return write_parts(old, &btf_member::type);
  if (kind == BTF_KIND_FUNC_PROTO) return write_parts(old, &btf_param::type);
  if (kind == BTF_KIND_ENUM) return write_parts<struct btf_enum>(old, nullptr);
  if (kind == BTF_KIND_ENUM64) return write_parts<struct btf_enum64>(old, nullptr);
  if (kind == BTF_KIND_ARRAY) {
    struct btf_array array = *btf_array(&old);
    array.type = array.type < numbers_.size() ? numbers_[array.type] : 0;
    array.index_type = array.index_type < numbers_.size() ? numbers_[array.index_type] : 0;
    written_.append(reinterpret_cast<const char*>(&array), sizeof array);
  } else if (kind == BTF_KIND_INT) {
    written_.append(reinterpret_cast<const char*>(&old + 1), sizeof(__u32));
  }
}

Result<TypesPart> PartMaker::make() {
  if (auto result = index(); !result) return result.error();
  const auto count = static_cast<std::uint32_t>(places_.size());
  extents_.assign(count, Extent::kNone);
  for (std::uint32_t number = 1; number < count; ++number) {
    if (is_wanted(type(number))) want(number, Extent::kWhole);
  }
  while (!pending_.empty()) {
    const std::uint32_t number = pending_.back();
    pending_.pop_back();
    want_parts(number);
  }
  TypesPart part;
  part.kernel_numbers.assign(1, 0);
  numbers_.assign(count, 0);
  for (std::uint32_t number = 1; number < count; ++number) {
    if (extents_[number] == Extent::kNone) continue;
    numbers_[number] = static_cast<std::uint32_t>(part.kernel_numbers.size());
    part.kernel_numbers.push_back(number);
  }
  for (std::size_t i = 1; i < part.kernel_numbers.size(); ++i) write(part.kernel_numbers[i]);
  btf_header header{};
  header.magic = kMagic;
  header.version = BTF_VERSION;
  header.hdr_len = sizeof header;
  header.type_len = static_cast<__u32>(written_.size());
  header.str_off = header.type_len;
  header.str_len = static_cast<__u32>(written_texts_.size());
  part.bytes.assign(reinterpret_cast<const char*>(&header), sizeof header);
  part.bytes += written_;
  part.bytes += written_texts_;
  return part;
}

/// The kernel's types in memory: mapped where the kernel permits it (Linux 6.16), which costs none, and otherwise read.
class KernelBytes : NotCopyable {
 public:
  ~KernelBytes() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, size_);
  }
  Result<std::string_view> read() {
    const UniqueFd file(::open(kAllTypes, O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) {
      return not_present(kAllTypes, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF is off), or sysfs is not mounted");
    }
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return refused(kAllTypes, errno);
    size_ = static_cast<std::size_t>(std::max<off_t>(status.st_size, 1));
    memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory_ != MAP_FAILED) return std::string_view(static_cast<const char*>(memory_), size_);
    memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) return refused(kAllTypes, errno);
    for (std::size_t at = 0; at < size_;) {
      const ssize_t got = ::pread(file.get(), static_cast<char*>(memory_) + at, size_ - at, static_cast<off_t>(at));
      if (got <= 0) return refused(kAllTypes, got < 0 ? errno : EIO);
      at += static_cast<std::size_t>(got);
    }
    return std::string_view(static_cast<const char*>(memory_), size_);
  }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t size_ = 0;
};

/// The types of the object that is being loaded; libbpf's callbacks get no argument of their own that outlives a call.
thread_local const TypesFile* loading = nullptr;
thread_local const btf* loading_types = nullptr;

/// A function of the kernel, and the number that the programs call in its place.
struct KernelCall {
  const char* name;
  __s32 placeholder;
};
#define KERNEL_CALL(name, placeholder) KernelCall{#name, placeholder},
constexpr std::array kKernelCalls{MEMSTAT_KERNEL_CALLS(KERNEL_CALL)};
#undef KERNEL_CALL

/// Called before the kernel gets a program. Puts the numbers of the kernel's functions in.
int set_calls(bpf_program* program, bpf_prog_load_opts* /*options*/, long /*cookie*/) {
  if (loading == nullptr) return -EINVAL;
  const bpf_insn* const first = bpf_program__insns(program);
  std::vector<bpf_insn> instructions(first, first + bpf_program__insn_cnt(program));
  bool has_calls = false;
  for (bpf_insn& instruction : instructions) {
    if (instruction.code != (BPF_JMP | BPF_CALL) || instruction.src_reg != 0) continue;
    for (const KernelCall& call : kKernelCalls) {
      if (instruction.imm != call.placeholder) continue;
      const std::uint32_t number = loading->kernel_number(*loading_types, call.name, BTF_KIND_FUNC);
      if (number == 0) return -ESRCH;
      instruction.src_reg = BPF_PSEUDO_KFUNC_CALL;
      instruction.imm = static_cast<__s32>(number);
      has_calls = true;
      break;
    }
  }
  return has_calls ? bpf_program__set_insns(program, instructions.data(), instructions.size()) : 0;
}

/// The same for a program at a function, and the number of that.
int set_function(bpf_program* program, bpf_prog_load_opts* options, long cookie) {
  const char* const function = std::strchr(bpf_program__section_name(program), '/');
  if (loading == nullptr || function == nullptr) return -EINVAL;
  const bool is_iterator = bpf_program__expected_attach_type(program) == BPF_TRACE_ITER;
  options->attach_btf_id =
      loading->kernel_number(*loading_types, std::string(is_iterator ? "bpf_iter_" : "") + (function + 1), BTF_KIND_FUNC);
  if (options->attach_btf_id == 0) return -ESRCH;
  if (const int error = set_calls(program, options, cookie); error != 0) return error;
  return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

/// What to call before the kernel gets the programs of a section.
struct SectionHandler {
  const char* section;
  bpf_attach_type kind;
  libbpf_prog_prepare_load_fn_t prepare;
};
constexpr std::array kSectionHandlers{
    SectionHandler{"raw_tp+", {}, set_calls}, SectionHandler{"fentry+", BPF_TRACE_FENTRY, set_function},
    SectionHandler{"fexit+", BPF_TRACE_FEXIT, set_function}, SectionHandler{"iter+", BPF_TRACE_ITER, set_function}};

/// libbpf takes programs at functions for ones that need no types until set_function() corrects it.
bool register_handlers() {
  return std::all_of(kSectionHandlers.begin(), kSectionHandlers.end(), [](const SectionHandler& handler) {
    libbpf_prog_handler_opts options{};
    options.sz = sizeof options;
    options.prog_prepare_load_fn = handler.prepare;
    return libbpf_register_prog_handler(handler.section, BPF_PROG_TYPE_RAW_TRACEPOINT, handler.kind, &options) >= 0;
  });
}

}  // namespace

Result<TypesPart> part_of_types(std::string_view bytes, const TypeNames& names) { return PartMaker(bytes, names).make(); }

void add_names_of(const bpf_object& object, TypeNames& names) {
  const btf* const types = bpf_object__btf(&object);
  for (__u32 number = 1; types != nullptr && number < btf__type_cnt(types); ++number) {
    const btf_type* const type = btf__type_by_id(types, number);
    std::string_view name = btf__name_by_offset(types, type->name_off);
    name = name.substr(0, name.find("___"));  // CO-RE ignores what follows
    if (!name.empty()) names.emplace(name);
    for (int i = 0; btf_is_enum(type) && i < btf_vlen(type); ++i) {
      names.emplace(btf__name_by_offset(types, btf_enum(type)[i].name_off));
    }
  }
  const bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(&object, const_cast<bpf_program*>(program))) != nullptr) {
    const char* const place = std::strchr(bpf_program__section_name(program), '/');
    if (place == nullptr) continue;
    names.emplace(place + 1);
    names.emplace(std::string("bpf_iter_") + (place + 1));
  }
}

namespace {

/// The code asks for these beside what the programs have.
TypeNames names_of_all_programs() {
  TypeNames names{"migratetype", "___GFP_DMA_BIT", "_SLAB_ACCOUNT"};
  for (const KernelCall& call : kKernelCalls) names.emplace(call.name);
  for (const auto elf : {slab_events_with_owner(), slab_events_by_size(), slab_caches(), call_sites(), vm_events(),
                         memuse_with_owner(), memuse_by_size()}) {
    const ObjectPointer object(bpf_object__open_mem(elf.data(), elf.size(), nullptr));
    if (object) add_names_of(*object, names);
  }
  return names;
}

}  // namespace

Result<TypesFile> TypesFile::make() {
  libbpf_set_print(nullptr);
  KernelBytes kernel;
  const auto bytes = kernel.read();
  if (!bytes) return bytes.error();
  auto part = part_of_types(*bytes, names_of_all_programs());
  if (!part) return part.error();
  TypesFile types;
  types.file_ = UniqueFd(::memfd_create("memstat-types", MFD_CLOEXEC));
  if (!types.file_) return refused("memfd_create", errno);
  for (std::string_view rest = part->bytes; !rest.empty();) {
    const ssize_t written = ::write(types.file_.get(), rest.data(), rest.size());
    if (written <= 0) return refused("memfd_create", written < 0 ? errno : EIO);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  types.path_ = "/proc/self/fd/" + std::to_string(types.file_.get());
  types.kernel_numbers_ = std::move(part->kernel_numbers);
  return types;
}

std::uint32_t TypesFile::kernel_number(const btf& types, const std::string& name, std::uint32_t kind) const {
  const int number = btf__find_by_name_kind(&types, name.c_str(), kind);
  return number > 0 ? kernel_numbers_[static_cast<std::size_t>(number)] : 0;
}

BtfPointer TypesFile::parse() const { return BtfPointer(btf__parse_raw(path_.c_str())); }

void handle_sections() { [[maybe_unused]] static const bool kIsDone = register_handlers(); }

int load_with_types(bpf_object* object, const TypesFile& types) {
  const BtfPointer parsed = types.parse();
  if (!parsed) return -errno;
  loading = &types;
  loading_types = parsed.get();
  const int error = bpf_object__load(object);
  loading = nullptr;
  loading_types = nullptr;
  return error;
}

}  // namespace memstat::events

#endif
