// SPDX-License-Identifier: BSD-2-Clause
// The task, call stack and time of a slab object's allocation. The kernel records these after each object of caches with
// SLAB_STORE_USER (slab_debug=U, or slub_debug=U): struct track in mm/slub.c, and the stack depot (lib/stackdepot.c).
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/postmortem/kernel/slab_objects.h"
#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {

/// Reads the allocation tracks of objects.
class ObjectOrigins {
 public:
  /// Adds the fields that select() needs to `cache`, a struct kmem_cache.
  ObjectOrigins(KernelImage& image, StructReader& cache)
      : image_(image),
        cache_flags_(cache.field("flags")),
        cache_used_(cache.field("inuse")),
        cache_offset_(cache.field("offset")) {
    for (const char* const name : {"slabindex", "pool_index", "pool_index_plus_1"}) {  // until 6.2, until 6.8, since then
      if (const StructField part = parts_.field(name)) {
        pool_part_ = part;
        first_pool_ = std::string_view(name).ends_with("1") ? 1 : 0;
      }
    }
    read_clock();
  }

  /// Selects the loaded cache for read(). Returns false if the kernel keeps no tracks for its objects.
  bool select(const StructReader& cache) {
    if (!caller_ || !cache_flags_ || !cache_used_ || !cache_offset_) return false;
    if ((cache.get(cache_flags_) & flag_of_owners(image_.types())) == 0) return false;
    // As get_info_end(): if the free pointer is behind the object, the track is behind the pointer.
    const std::uint64_t used = cache.get(cache_used_);
    distance_ = cache.get(cache_offset_) >= used ? used + sizeof(std::uint64_t) : used;
    return true;
  }

  /// The origin of the object at `address`, without names, and its return addresses: the allocator's, then the stack's,
  /// innermost first, if they are readable. Empty if the kernel recorded none or it is unreadable.
  std::optional<std::pair<SlabObject::Origin, std::vector<std::uint64_t>>> read(std::uint64_t address) {
    const std::uint64_t track = address + distance_;
    if (!track_.load(track) || track_.get(caller_) == 0) return std::nullopt;
    SlabObject::Origin origin{.caller = {}, .stack = {}, .pid = track_.get(pid_), .cpu = track_.get(cpu_), .age_ns = {}};
    const std::uint64_t when = track_.get(when_);
    if (tick_ns_ != 0 && when_ && when <= now_) origin.age_ns = saturating_product(now_ - when, tick_ns_);
    std::vector<std::uint64_t> frames = read_stack(track);
    frames.insert(frames.begin(), track_.get(caller_));
    return std::pair(std::move(origin), std::move(frames));
  }

 private:
  static constexpr std::uint64_t kStoreUser =
      0x10000;                                        // SLAB_STORE_USER until Linux 6.8; since then the bit is an enumerator
  static constexpr std::uint64_t kMaxFrames = 64;     // frames in a stack
  static constexpr unsigned kRecordAlignment = 4;     // DEPOT_STACK_ALIGN: 2^4 bytes
  static constexpr std::uint64_t kMinTick = 500'000;  // ns; HZ is 24 to 1200
  static constexpr std::uint64_t kMaxTick = 100'000'000;  // ns

  static std::uint64_t flag_of_owners(const Btf& types) {
    const auto bit = types.enumerator("_SLAB_STORE_USER");
    return bit && *bit < 64 ? std::uint64_t{1} << *bit : kStoreUser;
  }

  static std::uint64_t part_of(std::uint64_t number, StructField field) {
    return number >> field.bit_offset & ((std::uint64_t{1} << field.bits) - 1);
  }

  void read_clock() {
    // The clock source for jiffies has the length of a jiffy: mult >> shift.
    StructReader clock{image_, "clocksource"};
    const StructField mult = clock.field("mult");
    const StructField shift = clock.field("shift");
    const auto now = image_.read_variable<std::uint64_t>("jiffies");
    const auto clock_at = image_.symbol("clocksource_jiffies");
    if (!now || !clock_at || !mult || !shift || !clock.load(*clock_at) || clock.get(shift) > 32) return;
    const std::uint64_t tick_ns = clock.get(mult) >> clock.get(shift);
    if (tick_ns < kMinTick || tick_ns > kMaxTick) return;
    now_ = *now;
    tick_ns_ = tick_ns;
  }

  std::vector<std::uint64_t> read_stack(std::uint64_t track) {
    if (const auto frames_at = track_.offset_of("addrs")) {  // until Linux 5.18
      auto frames = read_words(image_, track + *frames_at, 16);
      if (!frames) return {};
      frames->erase(std::find(frames->begin(), frames->end(), 0), frames->end());
      return *std::move(frames);
    }
    const std::uint64_t handle = track_.get(handle_);
    const auto place = place_of(handle);
    const auto table = image_.symbol(image_.symbol("stack_pools") ? "stack_pools" : "stack_slabs");
    if (!place || !table) return {};
    // The table of pools is a variable, or the target of a pointer variable. The right one has a record with this handle.
    const auto allocated = image_.read_number<std::uint64_t>(*table);
    for (const std::uint64_t begin : {*table, allocated ? *allocated : 0}) {
      const auto part = image_.read_number<std::uint64_t>(begin + place->first * sizeof(std::uint64_t));
      if (!part) continue;
      auto frames = read_record(*part + place->second, handle);
      if (!frames.empty()) return frames;
    }
    return {};
  }

  /// The pool and the offset in it that a handle refers to.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> place_of(std::uint64_t handle) const {
    if (handle == 0 || !pool_part_ || !offset_part_) return std::nullopt;
    const std::uint64_t pool = part_of(handle, pool_part_);
    if (pool < first_pool_) return std::nullopt;
    return std::pair{pool - first_pool_, part_of(handle, offset_part_) << kRecordAlignment};
  }

  std::vector<std::uint64_t> read_record(std::uint64_t address, std::uint64_t handle) {
    const auto entries = record_.offset_of("entries");
    if (!entries || !record_handle_ || !record_size_ || !record_.load(address)) return {};
    if (place_of(record_.get(record_handle_)) != place_of(handle)) return {};
    auto frames =
        read_words(image_, address + *entries, static_cast<std::size_t>(std::min(record_.get(record_size_), kMaxFrames)));
    return frames ? *std::move(frames) : std::vector<std::uint64_t>{};
  }

  KernelImage& image_;
  StructReader track_{image_, "track"}, record_{image_, "stack_record"}, parts_{image_, "handle_parts"};
  StructField caller_ = track_.field("addr"), when_ = track_.field("when"), pid_ = track_.field("pid"),
              cpu_ = track_.field("cpu"), handle_ = track_.field("handle");
  StructField pool_part_, offset_part_ = parts_.field("offset");  // in a handle
  std::uint64_t first_pool_ = 0;                                  // how handles number the first pool
  StructField record_handle_ = record_.field("handle"), record_size_ = record_.field("size");
  StructField cache_flags_, cache_used_, cache_offset_;
  std::uint64_t distance_ = 0;  // from an object to its track
  std::uint64_t now_ = 0;       // jiffies
  std::uint64_t tick_ns_ = 0;   // 0: unknown
};

}  // namespace memstat::postmortem
