// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/sysv_ipc.h"

#include <array>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/parse/header_table.h"

namespace memstat {
namespace {

// Offsets in bytes. Each structure begins with struct ipc_perm: four IDs of 32 bits, mode, sequence, key.
constexpr std::size_t kOwner = 8;
constexpr std::size_t kMode = 16;
constexpr std::size_t kSequence = 18;
constexpr std::size_t kSegmentSize = 32;
constexpr std::size_t kSegmentCreator = 44;
constexpr std::size_t kSegmentAttached = 48;
constexpr std::size_t kSetSemaphores = 40;
constexpr std::size_t kQueueBytes = 48;
constexpr std::size_t kQueueMessages = 56;
constexpr std::size_t kQueueRoom = 64;  // 0: the queue is free
constexpr std::size_t kSegmentStruct = 104;
constexpr std::size_t kSetStruct = 80;
constexpr std::size_t kQueueStruct = 120;
constexpr unsigned kSegmentAllocated = 0x800;
constexpr unsigned kSetAllocated = 0x200;

template <typename AddOne>
std::optional<SysvUse> read_array(std::string_view bytes, std::size_t size, AddOne add_one) {
  if (bytes.size() % size != 0) return std::nullopt;
  SysvUse use;
  for (std::size_t at = 0; at < bytes.size(); at += size) add_one(bytes.substr(at, size), use);
  return use;
}

unsigned mode_of(std::string_view object) { return load<std::uint16_t>(object, kMode); }

}  // namespace

std::optional<std::size_t> read_held_segments(std::string_view text, HeldSegments& held) {
  std::string_view rest = text;
  std::string_view line;
  next_line(rest, line);
  constexpr std::array<std::string_view, 3> kNames = {"nattch", "rss", "swap"};
  std::array<std::size_t, 3> places{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto place = column_of(line, kNames[i]);
    if (!place) return std::nullopt;
    places[i] = *place;
  }
  held.is_known = true;
  while (!rest.empty()) {
    const std::size_t offset = text.size() - rest.size();
    next_line(rest, line);
    std::array<std::optional<std::uint64_t>, 3> numbers;
    std::string_view word;
    for (std::size_t place = 0; next_word(line, word); ++place) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (place == places[i]) numbers[i] = parse_u64(word);
      }
    }
    const auto& [attached, resident, swapped] = numbers;
    if (!attached || !resident || !swapped) return offset;
    held.resident = saturating_sum(held.resident, *resident);
    held.swapped = saturating_sum(held.swapped, *swapped);
    if (*attached != 0) continue;
    ++held.unattached;
    held.unattached_bytes = saturating_sum(held.unattached_bytes, saturating_sum(*resident, *swapped));
  }
  return std::nullopt;
}

std::optional<SysvUse> read_shared_segments(std::string_view bytes) {
  return read_array(bytes, kSegmentStruct, [](std::string_view segment, SysvUse& use) {
    if ((mode_of(segment) & kSegmentAllocated) == 0) return;
    ++use.objects;
    use.bytes = saturating_sum(use.bytes, load<std::uint64_t>(segment, kSegmentSize));
    use.parts += load<std::uint32_t>(segment, kSegmentAttached) == 0 ? 1U : 0U;
  });
}

std::optional<std::vector<LeftSegment>> read_left_segments(std::string_view bytes) {
  if (bytes.size() % kSegmentStruct != 0) return std::nullopt;
  std::vector<LeftSegment> left;
  for (std::size_t at = 0; at < bytes.size(); at += kSegmentStruct) {
    const std::string_view segment = bytes.substr(at, kSegmentStruct);
    if ((mode_of(segment) & kSegmentAllocated) == 0 || load<std::uint32_t>(segment, kSegmentAttached) != 0) continue;
    const auto index = static_cast<std::uint32_t>(at / kSegmentStruct);
    left.push_back({.id = std::uint32_t{load<std::uint16_t>(segment, kSequence)} << 16U | (index & 0xffffU),
                    .uid = load<std::uint32_t>(segment, kOwner),
                    .creator = load<std::uint32_t>(segment, kSegmentCreator),
                    .bytes = load<std::uint64_t>(segment, kSegmentSize)});
  }
  return left;
}

std::optional<SysvUse> read_semaphore_sets(std::string_view bytes) {
  return read_array(bytes, kSetStruct, [](std::string_view set, SysvUse& use) {
    if ((mode_of(set) & kSetAllocated) == 0) return;
    ++use.objects;
    use.parts = saturating_sum(use.parts, std::uint64_t{load<std::uint16_t>(set, kSetSemaphores)});
  });
}

std::optional<SysvUse> read_message_queues(std::string_view bytes) {
  return read_array(bytes, kQueueStruct, [](std::string_view queue, SysvUse& use) {
    if (load<std::uint64_t>(queue, kQueueRoom) == 0) return;
    ++use.objects;
    use.parts = saturating_sum(use.parts, load<std::uint64_t>(queue, kQueueMessages));
    use.bytes = saturating_sum(use.bytes, load<std::uint64_t>(queue, kQueueBytes));
  });
}

}  // namespace memstat
