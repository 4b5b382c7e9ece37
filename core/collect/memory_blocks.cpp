// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/memory_blocks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/parse/zoneinfo.h"

namespace memstat {
namespace {

constexpr std::string_view kBlocks = "/sys/devices/system/memory";
constexpr std::string_view kZones = "/proc/zoneinfo";
constexpr std::uint64_t kMaxAddress = ~std::uint64_t{0};

Error not_known(std::string_view path, const std::string& detail) {
  return make_error(ErrorCode::kNotPresent, path, detail);
}

/// A zone from its first to its last page, including holes.
struct Span {
  std::uint32_t node = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// The spans of all zones with pages. Sets `offset` to the malformed line if parsing stopped early.
std::vector<Span> spans_of(std::string_view text, std::uint64_t page_size, std::optional<std::size_t>& offset) {
  std::vector<Span> spans;
  std::optional<std::uint64_t> node;
  std::uint64_t spanned = 0;
  std::string_view rest = text;
  std::string_view line;
  while (next_line(rest, line)) {
    const auto at = static_cast<std::size_t>(line.data() - text.data());
    std::string_view words = line;
    ZoneKey key;
    if (take_zone(words, key)) {
      node = key.node;
      spanned = 0;
      continue;
    }
    std::string_view word;
    std::string_view number;
    if (!node || !next_word(line, word) || (word != "spanned" && word != "start_pfn:")) continue;
    const auto value = next_word(line, number) ? parse_u64(number) : std::nullopt;
    if (!value || *node >= UINT32_MAX) {
      offset = at;
      return spans;
    }
    if (word == "spanned") {
      spanned = *value;
    } else if (spanned != 0) {
      std::uint64_t first = 0;
      std::uint64_t size = 0;
      std::uint64_t last = 0;
      if (__builtin_mul_overflow(*value, page_size, &first) || __builtin_mul_overflow(spanned, page_size, &size) ||
          __builtin_add_overflow(first, size - 1, &last)) {
        offset = at;
        return spans;
      }
      spans.push_back({.node = static_cast<std::uint32_t>(*node), .first = first, .last = last});
    }
  }
  return spans;
}

std::string join(const std::vector<std::uint32_t>& nodes) {
  std::string text;
  for (const std::uint32_t node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node);
  return text;
}

/// Finds an address in the zones. `of_nodes`: only these nodes are candidates; empty: all.
Result<MemoryBlock> find_zone(KernelView& view, std::uint64_t address, const std::vector<std::uint32_t>& of_nodes) {
  Buffer bytes;
  if (auto result = view.read_file(kZones, bytes); !result) return result.error();
  std::optional<std::size_t> offset;
  const std::vector<Span> spans = spans_of(bytes.view(), view.page_size(), offset);
  if (offset) return data_error(kZones, *offset, "expected a number of pages after the word");
  if (spans.empty()) return not_known(kZones, "this kernel does not report where its zones start");
  MemoryBlock found;
  std::vector<std::uint32_t> nodes;
  std::uint64_t last = 0;
  for (const Span& span : spans) {
    last = std::max(last, span.last);
    if (address < span.first || address > span.last) continue;
    if (!of_nodes.empty() && std::find(of_nodes.begin(), of_nodes.end(), span.node) == of_nodes.end()) continue;
    found = {.node = span.node, .first = span.first, .last = span.last, .is_block = false, .is_online = true};
    if (std::find(nodes.begin(), nodes.end(), span.node) == nodes.end()) nodes.push_back(span.node);
  }
  if (nodes.size() == 1) return found;
  if (nodes.size() > 1) {
    return not_known(kZones, "zones of the nodes " + join(nodes) + " overlap around " + hex(address) +
                                 ": this kernel does not report which of them has the address");
  }
  return not_known(kZones,
                   hex(address) + " is not memory" +
                       (address > last ? ": it lies beyond the end of memory, " + hex(last) : ": it lies in a hole"));
}

/// Reads a file in a block's directory, without the newline. A missing file gives an empty text.
Result<std::string> block_file(KernelView& view, const std::string& directory, std::string_view name) {
  Buffer bytes;
  if (auto result = view.read_file(directory + "/" + std::string(name), bytes); !result) {
    if (result.error().code == ErrorCode::kNotPresent) return std::string();
    return result.error();
  }
  return std::string(trim(bytes.view()));
}

/// The number in a name such as "node0" or "memory12".
std::optional<std::uint64_t> number_behind(std::string_view word, std::string_view name) {
  return name.starts_with(word) ? parse_u64(name.substr(word.size())) : std::nullopt;
}

/// The nodes linked from a block's directory ("node0", ...).
std::vector<std::uint32_t> nodes_among(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> nodes;
  for (const std::string& name : names) {
    const auto node = number_behind("node", name);
    if (node && *node < UINT32_MAX) nodes.push_back(static_cast<std::uint32_t>(*node));
  }
  return nodes;
}

/// The highest block number plus one; 0: no blocks.
std::uint64_t block_count(KernelView& view) {
  std::vector<std::string> names;
  std::uint64_t count = 0;
  if (!view.list_directory(kBlocks, names)) return 0;
  for (const std::string& name : names) {
    const auto number = number_behind("memory", name);
    if (number && *number < kMaxAddress) count = std::max(count, *number + 1);
  }
  return count;
}

Error no_block(KernelView& view, std::uint64_t address, std::uint64_t size) {
  const std::uint64_t blocks = block_count(view);
  if (blocks != 0 && address / size >= blocks && blocks <= kMaxAddress / size) {
    return not_known(
        kBlocks, hex(address) + " is not memory: it lies beyond the last block, which ends at " + hex(blocks * size - 1));
  }
  return not_known(kBlocks, hex(address) + " is not memory: no memory block is there");
}

/// Takes the node from the zones, and keeps the rest of `block`.
Result<MemoryBlock> with_node_of_zone(KernelView& view, std::uint64_t address, MemoryBlock block,
                                      const std::vector<std::uint32_t>& nodes) {
  const auto zone = find_zone(view, address, nodes);
  if (!zone) {
    Error error = zone.error();
    if (!nodes.empty())
      error.detail += "; its block " + hex(block.first) + "-" + hex(block.last) + " has memory of the nodes " + join(nodes);
    return error;
  }
  block.node = zone->node;
  return block;
}

}  // namespace

Result<MemoryBlock> find_memory_block(KernelView& view, std::uint64_t address) {
  const std::string size_file = std::string(kBlocks) + "/block_size_bytes";
  Buffer bytes;
  if (auto result = view.read_file(size_file, bytes); !result) {
    if (result.error().code != ErrorCode::kNotPresent) return result.error();
    return find_zone(view, address, {});  // CONFIG_MEMORY_HOTPLUG=n
  }
  const auto size = parse_hex_u64(trim(bytes.view()));
  if (!size || *size == 0) return data_error(size_file, 0, "expected the size of a block, hexadecimal and not 0");

  const std::uint64_t number = address / *size;
  const std::string directory = std::string(kBlocks) + "/memory" + std::to_string(number);
  std::vector<std::string> names;
  if (auto result = view.list_directory(directory, names); !result) {
    if (result.error().code == ErrorCode::kNotPresent) return no_block(view, address, *size);
    return result.error();
  }
  const auto index = block_file(view, directory, "phys_index");
  if (!index) return index.error();
  if (!index->empty() && parse_hex_u64(*index) != number) {
    return data_error(directory + "/phys_index", 0, "expected the number of the block, hexadecimal");
  }
  const auto state = block_file(view, directory, "state");
  if (!state) return state.error();
  MemoryBlock block{.first = number * *size, .is_block = true, .is_online = state->empty() || *state == "online"};
  block.last = *size - 1 > kMaxAddress - block.first ? kMaxAddress : block.first + (*size - 1);
  const std::vector<std::uint32_t> nodes = nodes_among(names);
  if (nodes.size() != 1) return with_node_of_zone(view, address, block, nodes);
  block.node = nodes.front();
  return block;
}

}  // namespace memstat
