// SPDX-License-Identifier: BSD-2-Clause
// The blocks of Linux's allocator that were allocated during a watch and are still in use, by stack: for finding leaks
// on demand. Earlier allocations are unknown.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/events/memuse/control_groups.h"

namespace memstat::events {

/// The blocks to watch, and how.
struct MemuseRequest {
  std::size_t frames = 8;  ///< Maximum number of frames kept of a stack, from the allocator's caller on; up to 32.
  std::int64_t older_ns = 10'000'000'000;     ///< Minimum age of an old block.
  std::uint64_t memory_bytes = 64ULL << 20U;  ///< Maximum of kernel memory used for watching.
  std::string type = {};                      ///< Only blocks of this slab cache; "": all.
  /// Only blocks allocated by processes in or below this control group. A path below the root of the memory
  /// controller's hierarchy, or a full path; "": all.
  std::string control_group = {};
};

struct MemuseBlock {
  std::uint64_t stack = 0;          ///< The key of its stack; 0: unknown.
  std::uint64_t cache = 0;          ///< The key of its slab cache; 0: unknown, and the type is derived from the size.
  std::int64_t age_ns = 0;          ///< At the end of watching.
  std::uint32_t bytes = 0;          ///< Allocated size.
  std::uint32_t process = 0;        ///< The process that allocated it.
  std::uint64_t control_group = 0;  ///< The key of that process's control group; 0: none.
  std::string command = {};         ///< The name of the allocating task.
};

/// A call stack of the allocator, and the history of its blocks.
struct MemuseStack {
  std::uint64_t key = 0;
  std::vector<std::uint64_t> frames = {};  ///< Return addresses, the allocator's caller first.
  std::uint64_t allocations = 0;
  std::uint64_t old_frees = 0;     ///< Freed blocks that had become old.
  std::uint64_t silent_frees = 0;  ///< Blocks allocated again although no event had freed them.
};

struct MemuseCache {
  std::uint64_t key = 0;
  std::string name = {};
  bool is_reclaimable = false;  ///< The kernel empties it when memory is short.
};

/// Counters of a watch.
struct MemuseCounts {
  std::uint64_t blocks_in_use = 0;
  std::uint64_t allocations = 0;    ///< Allocations that were kept.
  std::uint64_t other_frees = 0;    ///< Frees of blocks that were not kept: allocated earlier, or lost.
  std::uint64_t silent_frees = 0;   ///< Blocks allocated again although no event had freed them.
  std::uint64_t lost_blocks = 0;    ///< No room for the block.
  std::uint64_t lost_stacks = 0;    ///< No room for a block's stack.
  std::uint64_t missed_events = 0;  ///< Events missed because the program was already running on that CPU.
};

/// The result of a watch.
struct MemuseTable {
  std::int64_t watched_ns = 0;
  std::int64_t older_ns = 0;
  MemuseCounts counts = {};
  std::vector<MemuseBlock> blocks = {};
  std::vector<MemuseStack> stacks = {};
  std::vector<MemuseCache> caches = {};
  std::vector<ControlGroupPath> control_groups = {};  ///< Of blocks that are still in use.
};

/// Watches until finish(). Nothing is pinned: the programs go away with this object or with the process, however it
/// ends.
class MemuseWatch : public Interface {
 public:
  /// Progress, for display.
  virtual Result<MemuseCounts> counts() = 0;
  /// Detaches, and returns the blocks in use.
  virtual Result<MemuseTable> finish() = 0;
};

/// Loads and attaches the programs, which needs CAP_BPF and CAP_PERFMON (or root). Errors: kNotPresent (built without
/// libbpf; no BTF, no BPF, no tracepoints that report the cache; or no such control group), kPermission (with the
/// missing privilege), kNoMemory, kIo.
Result<std::unique_ptr<MemuseWatch>> open_memuse_watch(const MemuseRequest& request);

}  // namespace memstat::events
