// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/zoneinfo.h"

#include <algorithm>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::string_view kNumaPrefix = "numa_";
constexpr std::string_view kCountPrefix = "nr_";
constexpr std::string_view kSlabPrefix = "nr_slab_";
constexpr std::string_view kCutShort = "has an incomplete zone";

std::optional<std::uint64_t> number_of(std::string_view rest) { return parse_u64(trim(rest)); }

/// Comparing the first byte rules out most unwanted lines.
bool begins_with_one_of(std::string_view line, std::string_view bytes) {
  return bytes.find(line.front()) != std::string_view::npos;
}

/// The index of `word` in a list of names, or the list's size if it is absent.
template <std::size_t N>
std::size_t place_of(const std::array<std::string_view, N>& names, std::string_view word) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
}

double pages_of_order(std::size_t order) { return static_cast<double>(std::uint64_t{1} << order); }

}  // namespace

bool take_zone(std::string_view& line, ZoneKey& key) {
  std::string_view word;
  if (!next_word(line, word) || word != "Node" || !next_word(line, word) || !word.ends_with(',')) return false;
  const auto node = parse_u64(word.substr(0, word.size() - 1));
  if (!node || *node > 0x7FFFFFFFU || !next_word(line, word) || word != "zone" || !next_word(line, word)) return false;
  key = {*node, word.substr(0, ZoneKey::kMaxNameSize)};
  return true;
}

bool ZoneInfoReader::fail(std::size_t offset, std::string_view detail) {
  if (!problem_) problem_ = {offset, detail};
  return false;
}

bool ZoneInfoReader::peek(std::string_view& line) {
  for (; !problem_ && !rest_.empty(); skip()) {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return fail(offset(), "ends within a line");
    line_size_ = end + 1;
    std::size_t begin = 0;
    while (rest_[begin] == ' ' || rest_[begin] == '\t' || rest_[begin] == '\r') ++begin;  // stops at the newline
    line = rest_.substr(begin, end - begin);
    if (!line.empty()) return true;
  }
  return false;
}

bool ZoneInfoReader::next_zone(ZoneInfo& zone) {
  for (PageSet set; next_page_set(zone, set);) {
  }
  std::string_view line;
  if (!peek(line)) return false;
  zone = {};
  zone.offset = offset();
  line = trim(line);
  if (!take_zone(line, zone.key)) return fail(offset(), "expected a node and a zone: \"Node 0, zone Normal\"");
  if (!is_first_ && zone.key.node < node_) return fail(offset(), "nodes are out of order");
  is_first_ = false;
  node_ = zone.key.node;
  cpu_.reset();
  skip();
  return read_head(zone);
}

bool ZoneInfoReader::read_head(ZoneInfo& zone) {
  std::optional<std::uint64_t> free;
  std::optional<std::uint64_t> present;
  std::optional<std::uint64_t> managed;
  std::string_view line;
  for (; peek(line); skip()) {
    if (!begins_with_one_of(line, "Nphlmbcn")) continue;
    std::string_view word;
    next_word(line, word);
    if (word == "Node") return fail(zone.offset, kCutShort);
    if (word == "protection:") {
      if (!free || !present) return fail(zone.offset, "a zone lacks its free or present pages");
      zone.free = *free;
      zone.present = *present;
      zone.managed = managed.value_or(*present);
      is_whole_ = zone.present == 0;
      skip();
      return true;
    }
    std::optional<std::uint64_t>* figure = nullptr;
    if (take_count(word, line, zone)) continue;
    if (problem_) return false;
    if (word == "pages") {
      if (next_word(line, word) && word == "free") figure = &free;
    } else if (word == "present") {
      figure = &present;
    } else if (word == "managed") {
      figure = &managed;
    } else if (word == "boost") {
      figure = &zone.boost;
    } else if (word == "cma") {
      figure = &zone.cma;
    } else if (const std::size_t place = place_of(ZoneInfo::kWatermarks, word); place < ZoneInfo::kWatermarks.size()) {
      figure = &zone.watermarks[place];
    }
    if (figure == nullptr || figure->has_value()) continue;
    *figure = number_of(line);
    if (!*figure) return fail(offset(), "expected a number of pages");
  }
  return fail(zone.offset, kCutShort);
}

/// Kernels before 4.8 print these counts before the zone's `protection`, later ones after it.
bool ZoneInfoReader::take_count(std::string_view word, std::string_view rest, ZoneInfo& zone) {
  std::optional<std::uint64_t>* figure = nullptr;
  if (word == "nr_free_cma") {
    figure = &zone.free_cma;
  } else if (word == "node_unreclaimable:" || word == "all_unreclaimable:") {
    figure = &zone.unreclaimable;
  } else if (word.starts_with(kNumaPrefix)) {
    const std::size_t place = place_of(ZoneInfo::kNumaEvents, word.substr(kNumaPrefix.size()));
    if (place < ZoneInfo::kNumaEvents.size()) figure = &zone.numa_events[place];
  } else if (word.starts_with(kSlabPrefix)) {
    const std::size_t place = place_of(ZoneInfo::kSlabKinds, word.substr(kCountPrefix.size()));
    if (place < ZoneInfo::kSlabKinds.size()) figure = &zone.slab[place];
  }
  if (figure == nullptr) return false;
  if (!figure->has_value()) *figure = number_of(rest);
  return figure->has_value() || fail(offset(), "expected a number");
}

bool ZoneInfoReader::next_page_set(ZoneInfo& zone, PageSet& set) {
  if (is_first_) return false;
  std::optional<std::uint64_t> cpu;
  std::string_view line;
  for (; peek(line); skip()) {
    if (!begins_with_one_of(line, "Nscna")) continue;
    std::string_view word;
    std::string_view rest = line;
    next_word(rest, word);
    if (word == "Node") break;
    if (word == "start_pfn:") {
      is_whole_ = true;
    } else if (word == "cpu:") {
      cpu = number_of(rest);
      if (!cpu) return fail(offset(), "expected a CPU number");
      if (cpu_ && *cpu <= *cpu_) return fail(offset(), "CPUs are out of order");
      cpu_ = cpu;
    } else if (word == "count:" && cpu) {
      const auto pages = parse_i64(trim(rest));  // the kernel prints an int, which other CPUs may be changing
      if (!pages) return fail(offset(), "expected a number of pages");
      set = {*cpu, static_cast<std::uint64_t>(std::max<std::int64_t>(*pages, 0))};
      skip();
      return true;
    } else if (!take_count(word, rest, zone) && problem_) {
      return false;
    }
  }
  return is_whole_ ? false : fail(zone.offset, kCutShort);
}

std::optional<FreeBlocks> FreeBlocks::parse(std::string_view row) {
  FreeBlocks blocks;
  std::string_view word;
  while (next_word(row, word)) {
    if (word.starts_with('>')) word.remove_prefix(1);
    const auto count = parse_u64(word);
    if (!count || blocks.orders_ == kMaxOrders) return std::nullopt;
    blocks.counts_[blocks.orders_++] = *count;
  }
  if (blocks.orders_ == 0) return std::nullopt;
  // Doubles cannot overflow here. The kernel itself rounds down to thousandths.
  double pages = 0;
  for (std::size_t order = blocks.orders_; order-- > 0;) {
    pages += static_cast<double>(blocks.counts_[order]) * pages_of_order(order);
    blocks.pages_from_[order] = pages;
    blocks.blocks_ += static_cast<double>(blocks.counts_[order]);
  }
  return blocks;
}

std::uint64_t FreeBlocks::largest_block() const {
  for (std::size_t order = orders_; order-- > 0;) {
    if (counts_[order] != 0) return std::uint64_t{1} << order;
  }
  return 0;
}

double FreeBlocks::fragmentation_index(std::size_t order) const {
  if (blocks_ == 0) return 0;
  if (pages_from_[order] > 0) return -1;
  return 1 - (1 + pages_from_[0] / pages_of_order(order)) / blocks_;
}

double FreeBlocks::unusable_ratio(std::size_t order) const {
  const double free = pages_from_[0];
  return free == 0 ? 1 : (free - pages_from_[order]) / free;
}

}  // namespace memstat
