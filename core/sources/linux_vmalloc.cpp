// SPDX-License-Identifier: BSD-2-Clause
// Areas of the kernel's vmalloc address space by allocating function, from /proc/vmallocinfo (mm/vmalloc.c).
//
//   0xBEGIN-0xEND SIZE FUNCTION+0xOFFSET/0xLENGTH [MODULE] pages=N phys=0xADDRESS vmalloc|vmap|ioremap|... N0=N ...
//   0xBEGIN-0xEND SIZE vm_map_ram
//   0xBEGIN-0xEND SIZE unpurged vm_area
//
// Everything after SIZE is optional, and unknown words, which newer kernels add, are skipped. SIZE is address space and
// includes the guard page after the area. Only an area with `pages=` owns memory, with `N0=` pages on node 0: ioremap maps
// device registers, vmap and vm_map_ram map another owner's pages, and percpu areas belong to the percpu allocator. Kernels
// without CONFIG_NUMA print no `N0=`. No address leaves this file: a function without a symbol, which the kernel prints as
// an address, is "unknown".
#include <algorithm>
#include <array>
#include <optional>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/parse/symbol_name.h"
#include "core/source.h"

namespace memstat::sources::linux_vmalloc {
namespace {

constexpr std::string_view kFile = "/proc/vmallocinfo";
constexpr PlannedFile kPlan[] = {{.path = kFile, .need = ReadNeed::kRequired, .is_kept_open = true}};

constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kFree, Field::kAddressSpace};
constexpr FieldMask kFieldsInUse = kFields - FieldMask(Field::kFree);

constexpr std::string_view kUnknownCaller = "unknown";
constexpr std::string_view kPercpuCaller = "pcpu_get_vm_areas";

/// The kind of an area. If a line has several of these words, the first in this list counts.
enum class Kind : std::uint8_t { kIoremap, kDmaCoherent, kSparse, kVmap, kVmalloc, kPercpu, kVmMapRam, kUnpurged, kOther };
constexpr std::array<std::string_view, 9> kKindNames = {"ioremap", "dma-coherent", "sparse",   "vmap", "vmalloc",
                                                        "percpu",  "vm_map_ram",   "unpurged", "other"};
constexpr std::size_t kKindWords = 5;  // kinds that appear in a line by this name

struct Area {
  std::uint64_t size = 0;  ///< B, as printed
  std::uint64_t pages = 0;
  std::string_view caller;  ///< empty if unknown
  std::string_view module;  ///< without brackets; empty for the kernel itself
  std::string_view nodes;   ///< from the first "N0=1" on; empty if none
  Kind kind = Kind::kOther;
};

/// Like next_word in core/base/text.h, but only spaces separate words.
bool take_word(std::string_view& rest, std::string_view& word) {
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  const std::size_t end = std::min(rest.find(' ', begin), rest.size());
  word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return true;
}

/// Pages of an area on one node.
struct NodePages {
  std::uint64_t node = 0;
  std::optional<std::uint64_t> pages;  ///< nothing: not a number
};

/// Parses "N1=4"; false for any other word.
bool take_node(std::string_view word, NodePages& on_node) {
  if (!word.starts_with('N')) return false;
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const auto node = parse_u64(word.substr(1, equals - 1));
  if (!node) return false;
  on_node = {.node = *node, .pages = parse_u64(word.substr(equals + 1))};
  return true;
}

/// One more than the highest node with pages of any area; 0: the kernel does not report nodes.
std::uint32_t node_count_of(std::string_view text) {
  std::uint64_t count = 0;
  for (std::size_t at = text.find('N'); at != std::string_view::npos; at = text.find('N', at + 1)) {
    if (at == 0 || text[at - 1] != ' ') continue;
    NodePages on_node;
    if (take_node(text.substr(at, text.substr(at, 32).find_first_of(" \n\r")), on_node) && on_node.node < kMaxNodes) {
      count = std::max(count, on_node.node + 1);
    }
  }
  return static_cast<std::uint32_t>(count);
}

/// Whether `word` is an attribute of an area; stores it if so. `is_number` is false if its number is malformed.
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

/// The function in "function+0x12/0x34"; empty if there is none.
std::string_view function_of(std::string_view symbol) {
  const std::size_t offset = symbol.rfind("+0x");
  const std::string_view function = symbol.substr(0, offset);
  // The bare address of unloaded code, or (null) and the like.
  if (function.starts_with("0x") || function.starts_with('(')) return {};
  return function;
}

/// Removes "[module]" from the front of `rest`. Drops anything after the name inside the brackets.
std::string_view take_module(std::string_view& rest) {
  std::string_view after = rest;
  std::string_view word;
  if (!take_word(after, word) || word.front() != '[') return {};
  const std::string_view module = word.substr(1, word.size() - (word.ends_with(']') ? 2 : 1));
  while (!word.ends_with(']')) {
    if (!take_word(after, word)) return {};  // no closing bracket, so not a module
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
  while (is_number && take_word(line, word)) {
    if (NodePages on_node; take_node(word, on_node)) {
      is_number = on_node.pages.has_value();
      if (area.nodes.empty()) area.nodes = {word.data(), word.size() + line.size()};
    } else {
      take_attribute(word, area, is_number);
    }
  }
  if (area.kind == Kind::kVmalloc && area.pages == 0 && area.caller == kPercpuCaller) area.kind = Kind::kPercpu;
  return is_number;
}

/// "function" or "function [module]"; for everything except plain vmalloc "function (kind)".
SymbolName name_of(const Area& area) {
  SymbolName name = symbol_name(area.caller.empty() ? kUnknownCaller : area.caller, area.module);
  if (area.kind != Kind::kVmalloc) name.append(" (", kKindNames[static_cast<std::size_t>(area.kind)], ")");
  return name;
}

/// False if a sum exceeds 64 bits.
bool add_area(const Area& area, std::uint64_t page_size, Staging& staging) {
  StagedType& type = staging.merge(name_of(area).view());
  Figures& figures = type.figures;
  if (area.kind == Kind::kUnpurged) {  // freed but not yet reusable
    type.fields = kFields;
    ++figures[Field::kFree];
    return add_to(figures[Field::kAddressSpace], area.size);
  }
  type.fields = kFieldsInUse;
  ++figures[Field::kCount];
  const bool has_guard = area.kind != Kind::kPercpu && area.kind != Kind::kVmMapRam;
  const std::uint64_t usable = area.size - (has_guard ? std::min(area.size, page_size) : 0);
  std::uint64_t owned = 0;
  if (__builtin_mul_overflow(area.pages, page_size, &owned) || !add_to(figures[Field::kBytes], owned) ||
      !add_to(figures[Field::kAddressSpace], std::max(usable, owned))) {  // some areas have no guard page
    return false;
  }
  std::string_view words = area.nodes;
  for (std::string_view word; take_word(words, word);) {
    NodePages on_node;
    if (!take_node(word, on_node) || on_node.node >= staging.node_count()) continue;
    std::uint64_t& held = staging.node_figure(type, NodeField::kHeldBytes, static_cast<std::uint32_t>(on_node.node));
    if (__builtin_mul_overflow(on_node.pages.value_or(0), page_size, &owned) || !add_to(held, owned)) return false;
  }
  return true;
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  const std::string_view text = raw.content(0);
  staging.reset({}, 0);
  staging.set_nodes(NodeFieldMask(NodeField::kHeldBytes), node_count_of(text));
  const auto take = [&](std::string_view line) -> const char* {
    line = trim(line);
    if (line.empty()) return nullptr;
    Area area;
    if (!parse_area(line, area)) {
      return "not an area's line: expected two addresses, a size and, if the area has one, a number of pages";
    }
    return add_area(area, raw.page_size, staging) ? nullptr : "reports a caller with more than 2^64 bytes";
  };
  if (auto result = for_each_whole_line(kFile, text, 0, take); !result) return result;
  if (staging.types().empty()) return data_error(kFile, text.size(), "has no area");
  // Areas are ordered by address, so the order of callers changes all the time.
  staging.sort_by_name();
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "pages= x page size"},
    {Field::kCount, "areas"},
    {Field::kFree, "areas freed but not yet unmapped"},
    {Field::kAddressSpace, "size of the areas, less the guard pages of those in use"},
    {NodeField::kHeldBytes, "N0=, N1=, ... x page size"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_vmalloc",
    .origin = "/proc/vmallocinfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kVmalloc,
    .is_roster = true,
    .origins = kOrigins,
    .interval = std::chrono::seconds(30),
    .plan = kPlan,
    .needs = "CAP_DAC_READ_SEARCH",
    .notes =
        "needs root or CAP_DAC_READ_SEARCH at start; a type is a caller: \"function\", \"function [module]\", or, for other "
        "kinds than vmalloc, \"function (ioremap)\"; bytes are the pages owned by the areas (0 for mappings of devices or "
        "of memory with another owner), address_space is their size without guard pages, count the number of areas, free "
        "the number of those waiting to be unmapped; read only every 30 s, because the kernel holds locks while it prints, "
        "about 0.25 us per area",
    .steps = planned_steps<kPlan, parse>(),
};

}  // namespace memstat::sources::linux_vmalloc
