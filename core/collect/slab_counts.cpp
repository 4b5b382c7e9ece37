// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_counts.h"

#include <charconv>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::string_view kSlabinfo = "/proc/slabinfo";
constexpr std::string_view kOnlineNodes = "/sys/devices/system/node/online";  // a list such as "0-1,3"

}  // namespace

bool has_one_node(KernelView& view, Buffer& scratch) {
  const auto read = view.read_file(kOnlineNodes, scratch);
  if (!read) return read.error().code == ErrorCode::kNotPresent;  // no CONFIG_NUMA
  return trim(scratch.view()) == "0";
}

Result<void> keep_slab_counts_open(KernelView& view) {
  (void)view.keep_open(kOnlineNodes);  // ignored: kernels without NUMA have no such file
  return view.keep_open(kSlabinfo);
}

Result<void> SlabCounts::read(KernelView& view) {
  if (auto result = view.read_file(kSlabinfo, slabinfo_); !result) return result;
  next_ = SlabinfoReader(slabinfo_.view());
  has_nodes_ = view.may_read(kOnlineNodes) && view.read_file(kOnlineNodes, scratch_) && trim(scratch_.view()) == "0";
  return {};
}

bool SlabCounts::find(std::string_view cache) {
  return find_from(next_, cache) || find_from(SlabinfoReader(slabinfo_.view()), cache);
}

bool SlabCounts::find_from(SlabinfoReader lines, std::string_view cache) {
  while (lines.next(line_)) {
    if (line_.name != cache) continue;
    next_ = lines;
    return true;
  }
  return false;
}

std::string_view SlabCounts::text_of(std::uint64_t count) {
  char* const begin = text_.data();
  char* const end = begin + text_.size();
  char* at = std::to_chars(begin, end, count).ptr;
  constexpr std::string_view kNode = " N0=";
  if (has_nodes_ && count != 0) {  // nodes without objects are omitted
    at += kNode.copy(at, kNode.size());
    at = std::to_chars(at, end, count).ptr;
  }
  *at++ = '\n';
  return {begin, static_cast<std::size_t>(at - begin)};
}

}  // namespace memstat
