// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/kernel_image.h"

#include <algorithm>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/postmortem/container/bytes.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxNamedAddresses = 1U << 16U;
constexpr std::size_t kMaxModules = 4096;
constexpr std::uint32_t kMaxRegions = 16;  // per module
constexpr std::size_t kMaxModuleName = 64;
constexpr std::uint64_t kMaxModuleSymbols = 1U << 18U;
constexpr std::uint64_t kMaxModuleBytes = 1U << 30U;
constexpr std::size_t kMaxSymbolName = 512;
constexpr std::uint64_t kSymbolBytes = 24;  // an ELF symbol: name, kind, section, value, size

/// Makes a name a single word.
std::string as_word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\177'; }, '?');
  return name;
}

class Symbolizer {
 public:
  Symbolizer(KernelImage& image, const std::set<std::uint64_t>& wanted) : image_(image) {
    for (const std::uint64_t address : wanted) {
      if (places_.size() < kMaxNamedAddresses) places_.try_emplace(address);
    }
    resolve_kernel();
    resolve_modules();
  }

  [[nodiscard]] std::map<std::uint64_t, std::string> names() const {
    std::map<std::uint64_t, std::string> names;
    for (const auto& [address, place] : places_) {
      if (place.name.empty()) continue;
      const std::size_t module = std::min(place.name.find(" ["), place.name.size());
      names[address] = place.name.substr(0, module) + "+" + hex(address - place.begin) + "/" + hex(place.end - place.begin) +
                       place.name.substr(module);
    }
    return names;
  }

 private:
  struct Place {
    std::uint64_t begin = 0;  // start of the function; 0: unknown
    std::uint64_t end = 0;
    std::uint32_t number = 0;
    std::string name;
  };
  // The members of struct module that describe its memory.
  struct Regions {
    std::uint64_t at = 0;
    std::uint32_t count = 0;
    std::uint64_t stride = 0;
    std::string_view type;
  };

  void resolve_kernel() {
    const auto begin = image_.symbol("_stext");
    const auto end = image_.symbol("_end");
    if (!begin || !end) return;
    const auto first = places_.lower_bound(*begin);
    const auto last = places_.lower_bound(*end);
    if (first == last) return;
    // If symbols share an address, the kernel uses the first.
    const auto addresses = image_.addresses_of_symbols();
    if (!addresses) return;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted;
    sorted.reserve(addresses->size());
    for (std::uint32_t number = 0; number < addresses->size(); ++number) sorted.emplace_back((*addresses)[number], number);
    std::sort(sorted.begin(), sorted.end());
    std::map<std::uint32_t, std::string> names;
    for (auto at = first; at != last; ++at) {
      const auto after = std::upper_bound(sorted.begin(), sorted.end(), std::pair{at->first, ~std::uint32_t{0}});
      if (after == sorted.begin()) continue;
      const std::uint64_t function = std::prev(after)->first;
      const auto named = std::lower_bound(sorted.begin(), sorted.end(), std::pair{function, std::uint32_t{0}});
      at->second = {
          .begin = function, .end = after == sorted.end() ? *end : after->first, .number = named->second, .name = {}};
      names.try_emplace(named->second);
    }
    static_cast<void>(image_.for_each_symbol([&](std::uint32_t number, std::string_view name) {
      if (const auto wanted = names.find(number); wanted != names.end()) wanted->second = as_word(std::string(name));
      return true;
    }));
    for (auto at = first; at != last; ++at) {
      if (at->second.begin != 0) at->second.name = names[at->second.number];
    }
  }

  void resolve_modules() {
    const auto head = image_.symbol("modules");
    StructReader module{image_, "module"};
    const StructField next = module.field("list.next");
    const StructField previous = module.field("list.prev");
    if (!head || !next || !previous) return;
    const Regions regions = find_regions();
    StructReader memory{image_, regions.type};
    const StructField base = memory.field("base");
    const StructField size = memory.field("size");
    if (!base || !size) return;
    const auto first = image_.read_number<std::uint64_t>(*head);
    std::uint64_t before = *head;
    std::uint64_t entry = first ? *first : *head;
    for (std::size_t count = 0; entry != *head && count < kMaxModules; ++count) {
      const std::uint64_t address = entry - next.offset();
      if (!module.load(address) || module.get(previous) != before) return;
      std::vector<std::uint64_t> wanted;
      for (std::uint32_t i = 0; i < regions.count; ++i) {
        if (!memory.load(address + regions.at + i * regions.stride) || memory.get(base) == 0) continue;
        const std::uint64_t begin = memory.get(base);
        const auto last = places_.lower_bound(saturating_sum(begin, std::min(memory.get(size), kMaxModuleBytes)));
        for (auto at = places_.lower_bound(begin); at != last; ++at) wanted.push_back(at->first);
      }
      if (!wanted.empty()) resolve_module(address, std::move(wanted));
      before = entry;
      entry = module.get(next);
    }
  }

  /// One region until Linux 6.3; several since Linux commit ac3b43283923 ("module: replace module_layout with
  /// module_memory") (v6.4).
  Regions find_regions() {
    if (const auto regions = image_.types().array_member("module", "mem")) {
      return {.at = regions->offset,
              .count = std::min(regions->count, kMaxRegions),
              .stride = regions->stride,
              .type = "module_memory"};
    }
    const auto layout = StructReader(image_, "module").offset_of("core_layout");
    return layout ? Regions{.at = *layout, .count = 1, .stride = 0, .type = "module_layout"} : Regions{};
  }

  void resolve_module(std::uint64_t address, std::vector<std::uint64_t> wanted) {
    StructReader module{image_, "module"};
    StructReader table{image_, "mod_kallsyms"};
    const StructField table_of = module.field("kallsyms");
    const StructField symbols = table.field("symtab");
    const StructField count = table.field("num_symtab");
    const StructField strings = table.field("strtab");
    const auto name_at = module.offset_of("name");
    if (!table_of || !symbols || !count || !strings || !name_at || !module.load(address)) return;
    const auto name = image_.read_string(address + *name_at, kMaxModuleName);
    if (!name || name->empty() || !table.load(module.get(table_of)) || table.get(count) > kMaxModuleSymbols) return;
    std::string bytes(static_cast<std::size_t>(table.get(count) * kSymbolBytes), '\0');
    if (!image_.read(table.get(symbols), bytes.data(), bytes.size())) return;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted;  // address, name
    for (std::uint64_t at = 0; at < bytes.size(); at += kSymbolBytes) {
      const auto value = number_at<std::uint64_t>(bytes, at + 8);
      if (value != 0 && number_at<std::uint16_t>(bytes, at + 6) != 0)
        sorted.emplace_back(value, number_at<std::uint32_t>(bytes, at));
    }
    std::sort(sorted.begin(), sorted.end());
    for (const std::uint64_t one : wanted) {
      const auto after = std::upper_bound(sorted.begin(), sorted.end(), std::pair{one, ~std::uint32_t{0}});
      if (after == sorted.begin()) continue;
      const auto symbol = image_.read_string(table.get(strings) + std::prev(after)->second, kMaxSymbolName);
      if (!symbol || symbol->empty()) continue;
      Place& place = places_[one];
      place.begin = std::prev(after)->first;
      place.end = after == sorted.end() ? one + 1 : after->first;
      place.name = as_word(*symbol) + " [" + as_word(*name) + "]";
    }
  }

  KernelImage& image_;
  std::map<std::uint64_t, Place> places_;
};

}  // namespace

std::map<std::uint64_t, std::string> name_addresses(KernelImage& image, const std::set<std::uint64_t>& addresses) {
  auto names = Symbolizer(image, addresses).names();
  for (const std::uint64_t address : addresses) names.try_emplace(address, hex(address));
  return names;
}

}  // namespace memstat::postmortem
