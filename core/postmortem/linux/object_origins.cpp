// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/object_origins.h"

#include <algorithm>
#include <string_view>

#include "core/base/arithmetic.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kStoreUser = 0x10000;    // SLAB_STORE_USER until Linux 6.8; since then the bit is an enumerator
constexpr std::uint64_t kMaxFrames = 64;         // frames in a stack
constexpr unsigned kRecordAlignment = 4;         // DEPOT_STACK_ALIGN: 2^4 bytes
constexpr std::uint64_t kMinTick = 500'000;      // ns; HZ is 24 to 1200
constexpr std::uint64_t kMaxTick = 100'000'000;  // ns

std::uint64_t flag_of_owners(const Btf& types) {
  const auto bit = types.enumerator("_SLAB_STORE_USER");
  return bit && *bit < 64 ? std::uint64_t{1} << *bit : kStoreUser;
}

std::uint64_t part_of(std::uint64_t number, StructField field) {
  return number >> field.bit_offset & ((std::uint64_t{1} << field.bits) - 1);
}

}  // namespace

ObjectOrigins::ObjectOrigins(KernelImage& image, StructReader& cache)
    : image_(image),
      track_(image, "track"),
      record_(image, "stack_record"),
      caller_(track_.field("addr")),
      when_(track_.field("when")),
      pid_(track_.field("pid")),
      cpu_(track_.field("cpu")),
      handle_(track_.field("handle")),
      record_handle_(record_.field("handle")),
      record_size_(record_.field("size")),
      cache_flags_(cache.field("flags")),
      cache_used_(cache.field("inuse")),
      cache_offset_(cache.field("offset")) {
  StructReader parts{image, "handle_parts"};
  offset_part_ = parts.field("offset");
  for (const char* const name : {"slabindex", "pool_index", "pool_index_plus_1"}) {  // until 6.2, until 6.8, since then
    if (const StructField part = parts.field(name)) {
      pool_part_ = part;
      first_pool_ = std::string_view(name).ends_with("1") ? 1 : 0;
    }
  }
  read_clock();
}

void ObjectOrigins::read_clock() {
  // The clock source for jiffies has the length of a jiffy: mult >> shift.
  StructReader clock{image_, "clocksource"};
  const StructField mult = clock.field("mult");
  const StructField shift = clock.field("shift");
  const auto jiffies = image_.symbol("jiffies");
  const auto clock_at = image_.symbol("clocksource_jiffies");
  if (!jiffies || !clock_at || !mult || !shift) return;
  const auto now = image_.read_number<std::uint64_t>(*jiffies);
  if (!now || !clock.load(*clock_at) || clock.get(shift) > 32) return;
  const std::uint64_t tick_ns = clock.get(mult) >> clock.get(shift);
  if (tick_ns < kMinTick || tick_ns > kMaxTick) return;
  now_ = *now;
  tick_ns_ = tick_ns;
}

bool ObjectOrigins::select(const StructReader& cache) {
  if (!caller_ || !cache_flags_ || !cache_used_ || !cache_offset_) return false;
  if ((cache.get(cache_flags_) & flag_of_owners(image_.types())) == 0) return false;
  // As get_info_end(): if the free pointer is behind the object, the track is behind the pointer.
  const std::uint64_t used = cache.get(cache_used_);
  distance_ = cache.get(cache_offset_) >= used ? used + sizeof(std::uint64_t) : used;
  return true;
}

std::optional<ObjectOrigin> ObjectOrigins::read(std::uint64_t address) {
  const std::uint64_t track = address + distance_;
  if (!track_.load(track) || track_.get(caller_) == 0) return std::nullopt;
  ObjectOrigin origin{.caller = track_.get(caller_),
                      .stack = read_stack(track),
                      .pid = track_.get(pid_),
                      .cpu = track_.get(cpu_),
                      .age_ns = {}};
  const std::uint64_t when = track_.get(when_);
  if (tick_ns_ != 0 && when_ && when <= now_) origin.age_ns = saturating_product(now_ - when, tick_ns_);
  return origin;
}

std::vector<std::uint64_t> ObjectOrigins::read_stack(std::uint64_t track) {
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

std::optional<std::pair<std::uint64_t, std::uint64_t>> ObjectOrigins::place_of(std::uint64_t handle) const {
  if (handle == 0 || !pool_part_ || !offset_part_) return std::nullopt;
  const std::uint64_t pool = part_of(handle, pool_part_);
  if (pool < first_pool_) return std::nullopt;
  return std::pair{pool - first_pool_, part_of(handle, offset_part_) << kRecordAlignment};
}

std::vector<std::uint64_t> ObjectOrigins::read_record(std::uint64_t address, std::uint64_t handle) {
  const auto entries = record_.offset_of("entries");
  if (!entries || !record_handle_ || !record_size_ || !record_.load(address)) return {};
  if (place_of(record_.get(record_handle_)) != place_of(handle)) return {};
  auto frames =
      read_words(image_, address + *entries, static_cast<std::size_t>(std::min(record_.get(record_size_), kMaxFrames)));
  return frames ? *std::move(frames) : std::vector<std::uint64_t>{};
}

}  // namespace memstat::postmortem
