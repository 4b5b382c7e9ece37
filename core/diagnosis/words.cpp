// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/words.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "core/base/text.h"
#include "core/base/utf8.h"

namespace memstat {
std::string of_limit_text(double used, double limit, bool is_bytes) {
  std::string use = amount_text(used, is_bytes);
  std::string most = amount_text(limit, is_bytes);
  if (!is_bytes && use == most && used != limit) {
    use = std::to_string(static_cast<std::uint64_t>(used));
    most = std::to_string(static_cast<std::uint64_t>(limit));
  }
  return use + (used > limit ? ", above the limit of " : " of ") + most;
}

std::string counted(double count, std::string_view singular, std::string_view plural) {
  std::string text = count_text(count) + " ";
  if (count == 1) return text.append(singular);
  return plural.empty() ? text.append(singular).append("s") : text.append(plural);
}

std::string_view at_least(const InspectionAnswer& answer) { return answer.is_cut ? "at least " : ""; }

std::string seen_text(const InspectionAnswer& answer) {
  if (!answer.seen || answer.parts.empty()) return {};
  const bool has_total = answer.total.value_or(0) >= *answer.seen && answer.total;
  return std::to_string(*answer.seen) + (has_total ? " of " + std::to_string(*answer.total) : "") + " " +
         std::string(answer.parts);
}

std::string part_words(std::string_view part) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"anonymous", "Program memory"},
      {"active", "Program memory"},
      {"page_cache", "Cached files"},
      {"shared", "tmpfs and shared memory"},
      {"buffers", "Buffers of block devices"},
      {"slab_reclaimable", "Kernel objects (reclaimable slab)"},
      {"slab_unreclaimable", "Kernel objects (unreclaimable slab)"},
      {"kernel_stacks", "Kernel stacks"},
      {"vmalloc", "Kernel memory in large areas (vmalloc)"},
      {"page_tables", "Page tables"},
      {"percpu", "Per-CPU memory"},
      {"sockets", "Socket buffers"},
      {"hugetlb", "Huge pages"},
      {"gpu", "Graphics buffers"},
      {"arc", "The cache of ZFS (ARC)"},
      {"kmem", "The kernel's own memory"},
      {"wired_other", "Other wired memory"},
      {"user_wired", "Memory that programs wired"},
      {"laundry", "Dirty pages for swap"},
      {"inactive", "Inactive pages"},
      {"unaccounted", "Unaccounted memory"},
      {"detached", "Pages that only a pipe or a device holds"},
      {"swap_cache", "Pages that are in swap, too"},
      {"zswap", "Compressed swap (zswap)"},
      {"zsmalloc", "Compressed memory (zram)"},
      {"tracing", "Trace buffers"},
      {"balloon", "The balloon"}};
  for (const auto& [name, words] : kWords) {
    if (name == part) return std::string(words);
  }
  return "account " + std::string(part);
}

std::string cut_text(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  constexpr std::string_view kDots = "...";
  return std::string(utf8_prefix(text, width - kDots.size())).append(kDots);
}

std::string short_name(std::string_view name, std::size_t width) {
  if (name.size() <= width) return std::string(name);
  constexpr std::string_view kDots = "...";
  const std::size_t end = (width - kDots.size()) / 2;
  std::string text(utf8_prefix(name, end));
  std::size_t rest = name.size() - (width - kDots.size() - end);
  while (rest < name.size() && (static_cast<unsigned char>(name[rest]) & 0xc0U) == 0x80U) ++rest;
  return text.append(kDots).append(name.substr(rest));
}

std::string shell_word(std::string_view text) {
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) ||
           std::string_view("/._-:@%+,=").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return is_plain ? std::string(text) : in_quotes(text);
}

}  // namespace memstat
