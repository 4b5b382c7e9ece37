// SPDX-License-Identifier: BSD-2-Clause
// Areas of the kernel's vmalloc address space by the function that asked for them, from /proc/vmallocinfo (mm/vmalloc.c).
//
//   0xBEGIN-0xEND SIZE FUNCTION+0xOFFSET/0xLENGTH [MODULE] pages=N phys=0xADDRESS vmalloc|vmap|ioremap|... N0=N ...
//   0xBEGIN-0xEND SIZE vm_map_ram
//   0xBEGIN-0xEND SIZE unpurged vm_area
//
// Everything behind the size is optional, and newer kernels add words: unknown ones are skipped. SIZE includes the guard
// page that follows the area. Only an area with `pages=` owns memory: ioremap maps registers of devices, vmap and vm_map_ram
// map pages of somebody else, the memory of percpu areas is the percpu allocator's. No address leaves this file; a function
// without symbol, which the kernel prints as its address, is "unknown".
#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/digits.h"
#include "core/base/text.h"
#include "core/source.h"

namespace memstat::sources {
namespace {

constexpr std::string_view kFile = "/proc/vmallocinfo";
constexpr std::size_t kTextPart = 0;  // of RawBytes

constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree};
constexpr FieldMask kFieldsInUse = kFields - FieldMask(Field::kFree);

constexpr std::string_view kUnknownCaller = "unknown";
constexpr std::string_view kPercpuCaller = "pcpu_get_vm_areas";
// The kernel's own limits are 512 (KSYM_NAME_LEN) and 56 (MODULE_NAME_LEN); what is longer is no name, and is cut.
constexpr std::size_t kLongestCaller = 512;
constexpr std::size_t kLongestModule = 64;

/// What an area is. Of several words on one line the one that stands first here tells.
enum class Kind : std::uint8_t { kIoremap, kDmaCoherent, kSparse, kVmap, kVmalloc, kPercpu, kVmMapRam, kUnpurged, kOther };
constexpr std::array<std::string_view, 9> kKindNames = {"ioremap", "dma-coherent", "sparse",   "vmap", "vmalloc",
                                                        "percpu",  "vm_map_ram",   "unpurged", "other"};
constexpr std::size_t kKindWords = 5;  // that stand on a line as they are named here
constexpr std::size_t kLongestKind = 16;

/// One line.
struct Area {
  std::uint64_t size = 0;  ///< B, as printed
  std::uint64_t pages = 0;
  std::string_view caller;  ///< empty: unknown
  std::string_view module;  ///< with its brackets; empty: the kernel itself
  Kind kind = Kind::kOther;
};

/// As next_word of core/base/text.h, for blanks that are spaces.
bool take_word(std::string_view& rest, std::string_view& word) {
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  const std::size_t end = std::min(rest.find(' ', begin), rest.size());
  word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return true;
}

/// Whether `word` is an attribute of an area; notes what it says. `is_number` is false for one whose number is none.
bool take_attribute(std::string_view word, Area& area, bool& is_number) {
  constexpr std::string_view kPages = "pages=";
  if (word.starts_with(kPages)) {
    const auto pages = parse_u64(word.substr(kPages.size()));
    area.pages = pages.value_or(0);
    is_number = pages.has_value();
    return true;
  }
  for (std::size_t i = 0; i < kKindWords; ++i) {
    if (word != kKindNames[i]) continue;
    area.kind = std::min(area.kind, static_cast<Kind>(i));
    return true;
  }
  return word == "user" || word == "vpages" || word.find('=') != std::string_view::npos;
}

/// The function out of "function+0x12/0x34"; empty for what names none.
std::string_view function_of(std::string_view symbol) {
  const std::size_t offset = symbol.rfind("+0x");
  const std::string_view function = symbol.substr(0, offset);
  // The bare address of code that is gone, or (null) and the like for none.
  if (function.starts_with("0x") || function.starts_with('(')) return {};
  return function;
}

/// Takes "[module]" off `rest`, where it stands next. What follows the name within the brackets is dropped.
std::string_view take_module(std::string_view& rest) {
  std::string_view after = rest;
  std::string_view word;
  if (!take_word(after, word) || word.front() != '[') return {};
  const std::string_view module = word;
  while (!word.ends_with(']')) {
    if (!take_word(after, word)) return {};  // no end: whatever it is, it is no module
  }
  rest = after;
  return module;
}

bool parse_area(std::string_view line, Area& area) {
  std::string_view word;
  if (!take_word(line, word) || !word.starts_with("0x") || word.find('-') == std::string_view::npos) return false;
  if (!take_word(line, word)) return false;
  const auto size = parse_u64(word);
  if (!size) return false;
  area.size = *size;
  if (!take_word(line, word)) return true;
  if (word == "unpurged" || word == "vm_map_ram") {
    area.kind = word == "unpurged" ? Kind::kUnpurged : Kind::kVmMapRam;
    return true;
  }
  bool is_number = true;
  if (!take_attribute(word, area, is_number)) {
    area.caller = function_of(word);
    if (!area.caller.empty()) area.module = take_module(line);
  }
  while (is_number && take_word(line, word)) take_attribute(word, area, is_number);
  if (area.kind == Kind::kVmalloc && area.pages == 0 && area.caller == kPercpuCaller) area.kind = Kind::kPercpu;
  return is_number;
}

/// Puts names together, in a place of its own.
class TypeName {
 public:
  /// "function", "function [module]", and for everything that is not plain vmalloc "function (kind)".
  explicit TypeName(const Area& area) {
    append(area.caller.empty() ? kUnknownCaller : area.caller.substr(0, kLongestCaller));
    if (!area.module.empty()) {
      append(" ");
      append(area.module.substr(0, std::min(area.module.size() - (area.module.ends_with(']') ? 1 : 0), kLongestModule)));
      append("]");
    }
    if (area.kind != Kind::kVmalloc) {
      append(" (");
      append(kKindNames[static_cast<std::size_t>(area.kind)]);
      append(")");
    }
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void append(std::string_view text) {
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  std::array<char, kLongestCaller + kLongestModule + kLongestKind + 8> bytes_;
  std::size_t size_ = 0;
};

/// Adds `amount` to a figure; false when the sum has more than 64 bits.
bool add_to(std::uint64_t& figure, std::uint64_t amount) { return !__builtin_add_overflow(figure, amount, &figure); }

Result<void> parse_line(std::string_view line, std::size_t offset, std::uint64_t page_size, Staging& staging) {
  Area area;
  if (!parse_area(line, area)) {
    return data_error(kFile, offset,
                      "not an area's line: two addresses, a size and, where there is one, a number of pages are expected");
  }
  StagedType& type = staging.merge(TypeName(area).view());
  Figures& figures = type.figures;
  if (area.kind == Kind::kUnpurged) {  // given back, but not yet to be had again
    type.fields = kFields;
    ++figures[Field::kFree];
    return {};
  }
  type.fields = kFieldsInUse;
  std::uint64_t held = 0;
  const bool has_guard = area.kind != Kind::kPercpu && area.kind != Kind::kVmMapRam;
  const std::uint64_t usable = area.size - (has_guard ? std::min(area.size, page_size) : 0);
  ++figures[Field::kCount];
  if (__builtin_mul_overflow(area.pages, page_size, &held) || !add_to(figures[Field::kHeldBytes], held) ||
      !add_to(figures[Field::kBytes], std::max(usable, held))) {  // some areas have no guard page
    return data_error(kFile, offset, "says that one caller has more than 2^64 bytes");
  }
  return {};
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  const std::string_view text = raw.parts[kTextPart].view();
  staging.reset({}, 0);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t offset = text.size() - rest.size();
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return data_error(kFile, offset, "ends within a line");
    const std::string_view line = trim(rest.substr(0, end));
    if (!line.empty()) {
      if (auto result = parse_line(line, offset, raw.page_size, staging); !result) return result;
    }
    rest.remove_prefix(end + 1);
  }
  if (staging.types().empty()) return data_error(kFile, text.size(), "names no area");
  // Areas stand in the order of their addresses, so which caller comes first changes all the time.
  staging.sort_by_name();
  return {};
}

Result<void> read(KernelView& view, RawBytes& raw) { return view.read_file(kFile, raw.parts[kTextPart]); }

Result<void> open(KernelView& view, RawBytes& raw) {
  if (auto result = view.keep_open(kFile); !result) {
    if (result.error().code == ErrorCode::kPermission) {
      result.error().detail =
          "the kernel lets only root (or CAP_DAC_READ_SEARCH) open it: start memstatd as root, it drops root itself";
    }
    return result;
  }
  return read(view, raw);  // the first read is the dearest: the kernel finds out how much room it needs
}

constexpr FigureOrigin kOrigins[] = {
    {Field::kBytes, "size of the areas without guard pages"},
    {Field::kCount, "areas"},
    {Field::kHeldBytes, "pages= x page size"},
    {Field::kFree, "areas freed but not yet unmapped"},
};

}  // namespace

extern const SourceDescriptor linux_vmalloc;
const SourceDescriptor linux_vmalloc{
    .name = "linux_vmalloc",
    .origin = "/proc/vmallocinfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kVmalloc,
    .is_roster = true,
    .fields = fields_of(kOrigins),
    .cpu_fields = cpu_fields_of(kOrigins),
    .origins = kOrigins,
    .notes =
        "needs root or CAP_DAC_READ_SEARCH at start; a type is a caller: \"function\", \"function [module]\", or with its "
        "kind when that is not vmalloc, \"function (ioremap)\"; bytes are address space without guard pages, held_bytes "
        "the areas' own pages (0 for what maps devices or memory of others), count is areas, free those that wait to be "
        "unmapped; about 0.25 us an area under locks of the kernel: with tens of thousands set an interval",
    .open = open,
    .read = read,
    .parse = parse,
};

}  // namespace memstat::sources
