// SPDX-License-Identifier: BSD-2-Clause
// Handwritten kernel data, byte by byte: the two FreeBSD streams and /proc/slabinfo, right or wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/source.h"

namespace memstat {

/// One CPU's figures of a malloc(9) type, as in kern.malloc_stats.
struct MallocBlock {
  std::uint64_t memalloced = 0;  ///< B
  std::uint64_t memfreed = 0;    ///< B
  std::uint64_t numallocs = 0;
  std::uint64_t numfrees = 0;
  std::uint64_t size_mask = 0;
};

/// kern.malloc_stats. Thread safety: none, as for all builders.
class MallocStream {
 public:
  explicit MallocStream(std::uint32_t maxcpus) : maxcpus_(maxcpus) {}
  /// The name is in a field of 32 bytes. A longer one is truncated; one of 32 bytes or more has no NUL.
  MallocStream& add(std::string_view name, const std::map<std::uint32_t, MallocBlock>& blocks = {});
  /// The whole stream, newest type first as added. The arguments are wrong values for the header.
  [[nodiscard]] std::string bytes(std::uint32_t version = 1, std::optional<std::uint32_t> says_maxcpus = {},
                                  std::optional<std::uint32_t> says_count = {}) const;

 private:
  std::uint32_t maxcpus_;
  std::uint32_t count_ = 0;
  std::string records_;
};

/// One CPU's figures of a uma(9) zone, as in vm.zone_stats.
struct UmaBlock {
  std::uint64_t allocs = 0;
  std::uint64_t frees = 0;
  std::uint64_t cache_free = 0;
};

/// A zone's record in vm.zone_stats.
struct UmaZone {
  std::string name;
  std::uint32_t size = 0;   ///< B
  std::uint32_t rsize = 0;  ///< B
  std::uint32_t limit = 0;
  std::uint32_t pages = 0;
  std::uint32_t keg_free = 0;
  std::uint32_t zone_free = 0;
  std::uint32_t flags = 0;  ///< 1: secondary
  std::uint64_t allocs = 0;
  std::uint64_t frees = 0;
  std::uint64_t fails = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t xdomain = 0;
  std::map<std::uint32_t, UmaBlock> blocks = {};
};

/// vm.zone_stats.
class UmaStream {
 public:
  explicit UmaStream(std::uint32_t maxcpus) : maxcpus_(maxcpus) {}
  UmaStream& add(const UmaZone& zone);
  [[nodiscard]] std::string bytes(std::uint32_t version = 1, std::optional<std::uint32_t> says_maxcpus = {},
                                  std::optional<std::uint32_t> says_count = {}) const;

 private:
  std::uint32_t maxcpus_;
  std::uint32_t count_ = 0;
  std::string records_;
};

/// The two lines that every /proc/slabinfo of 2.6 and later begins with.
std::string slabinfo_header();
/// One cache's line as the kernel prints it. Sizes in B.
std::string slabinfo_line(std::string_view name, std::uint64_t active_objects, std::uint64_t objects,
                          std::uint64_t object_size, std::uint64_t pages_per_slab, std::uint64_t slabs);

/// The result of a read: part 0 is `bytes`.
RawBytes make_raw(std::string_view bytes, std::uint32_t cpu_count = 1, std::uint64_t page_size = 4096);

/// The first file that the source's plan requires.
const PlannedFile& main_file(const SourceDescriptor& source);

/// Adds a file of the source's plan that was read, or replaces its content.
void set_file(const SourceDescriptor& source, std::string_view path, std::string_view content, RawBytes& raw);

/// Parses `raw` as a source that has read nothing before.
Result<void> parse_bytes(const SourceDescriptor& source, const RawBytes& raw, Staging& staging);

/// The staged type of that name with that ordinal in the kernel's order, nullptr when there is none.
const StagedType* find_staged(const Staging& staging, std::string_view name, std::size_t ordinal = 0);

}  // namespace memstat
