// SPDX-License-Identifier: BSD-2-Clause
// Which blocks of Linux's allocator are in use, allocated while this watches, and by which stack: for finding leaks on
// demand. What came before is not known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace memstat::events {

/// What to watch. Thread safety: a plain value.
struct MemuseRequest {
  std::size_t frames = 8;                     ///< Of a stack that are kept, from the allocator's caller on: at most 32.
  std::int64_t older_ns = 10'000'000'000;     ///< From that age on a block is old.
  std::uint64_t memory_bytes = 64ULL << 20U;  ///< Of the kernel, at most, for what is watched.
  std::string type = {};                      ///< Blocks of this slab cache only; "": of all.
  /// Blocks that processes of this control group and of those below it ask for only, by its path below the root of the
  /// memory controller's hierarchy, or whole; "": of all.
  std::string control_group = {};
};

/// A block in use. Thread safety: a plain value.
struct MemuseBlock {
  std::uint64_t stack = 0;          ///< The key of its stack; 0: not known.
  std::uint64_t cache = 0;          ///< The key of its slab cache; 0: not known, its type then comes from its size.
  std::int64_t age_ns = 0;          ///< When watching ended.
  std::uint32_t bytes = 0;          ///< that it takes
  std::uint32_t process = 0;        ///< that asked for it
  std::uint64_t control_group = 0;  ///< The key of that process's control group; 0: it has none.
  std::string command = {};         ///< The name of that process's task.
};

/// Who called the allocator, and what became of blocks of this stack. Thread safety: a plain value.
struct MemuseStack {
  std::uint64_t key = 0;
  std::vector<std::uint64_t> frames = {};  ///< Return addresses, the allocator's caller first.
  std::uint64_t allocations = 0;
  std::uint64_t old_frees = 0;     ///< Blocks that were freed when they were old.
  std::uint64_t silent_frees = 0;  ///< Blocks that were allocated again though no event had freed them.
};

/// A slab cache. Thread safety: a plain value.
struct MemuseCache {
  std::uint64_t key = 0;
  std::string name = {};
  bool is_reclaimable = false;  ///< The kernel empties it when memory is short.
};

/// A control group of the memory controller. Thread safety: a plain value.
struct MemuseControlGroup {
  std::uint64_t key = 0;
  std::string path = {};  ///< below the root of the hierarchy; "/": the root
};

/// What happened while watching. Thread safety: a plain value.
struct MemuseCounts {
  std::uint64_t blocks_in_use = 0;
  std::uint64_t allocations = 0;    ///< that were kept
  std::uint64_t other_frees = 0;    ///< Of blocks that were not kept: allocated before, or lost.
  std::uint64_t silent_frees = 0;   ///< Blocks that were allocated again though no event had freed them.
  std::uint64_t lost_blocks = 0;    ///< There was no room for them.
  std::uint64_t lost_stacks = 0;    ///< There was no room for the stack of a block.
  std::uint64_t missed_events = 0;  ///< That found a program busy on their CPU.
};

/// All of it, when watching has ended. Thread safety: a plain value.
struct MemuseTable {
  std::int64_t watched_ns = 0;
  std::int64_t older_ns = 0;
  MemuseCounts counts = {};
  std::vector<MemuseBlock> blocks = {};
  std::vector<MemuseStack> stacks = {};
  std::vector<MemuseCache> caches = {};
  std::vector<MemuseControlGroup> control_groups = {};  ///< Those of blocks that are still there.
};

/// Watches from open() to finish(). The programs go with it, and with the process however that ends: nothing is pinned.
/// Thread safety: none.
class MemuseWatch {
 public:
  MemuseWatch() = default;
  MemuseWatch(const MemuseWatch&) = delete;
  MemuseWatch& operator=(const MemuseWatch&) = delete;
  virtual ~MemuseWatch() = default;

  /// Loads the programs and attaches them, which needs CAP_BPF and CAP_PERFMON (or root). Errors: kNotPresent (built
  /// without libbpf; no BTF, no BPF, no tracepoints that name the cache), kPermission (with what is needed), kNoMemory, kIo.
  /// A control group that is not there is kNotPresent.
  virtual Result<void> open(const MemuseRequest& request) = 0;
  /// How it stands, for who waits.
  virtual Result<MemuseCounts> counts() = 0;
  /// Detaches, and gives what is in use.
  virtual Result<MemuseTable> finish() = 0;
};

/// Of this machine. Never null.
std::unique_ptr<MemuseWatch> make_memuse_watch();

}  // namespace memstat::events
