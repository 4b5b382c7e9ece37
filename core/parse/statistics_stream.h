// SPDX-License-Identifier: BSD-2-Clause
// The frame that FreeBSD's streams of allocator statistics share (kern.malloc_stats, vm.zone_stats): a header of 16 bytes
// (version, maxcpus, count), then `count` records, each a header of its own that begins with a name of 32 bytes, followed by
// `maxcpus` blocks of 64 bytes. Fixed-width integers in host byte order, the same for 32-bit and 64-bit kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// Where what stands in one such stream. Every offset that it gives for an index below count() and a CPU below cpu_slots()
/// lies within the stream, since open() has checked the stream's size. Borrows the bytes. Thread safety: a plain value.
class StatisticsStream {
 public:
  /// Checks header and size; bytes after the last record are accepted. `name` is the sysctl, for messages; `record_header`
  /// the bytes of a record before its blocks. Errors, with the offset: kVersion; kData when there are no records, or fewer
  /// bytes than the header says, or a number of CPUs that cannot be.
  static Result<StatisticsStream> open(std::string_view name, std::string_view bytes, std::size_t record_header);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Blocks a record, one a CPU.
  [[nodiscard]] std::uint32_t cpu_slots() const { return cpu_slots_; }
  /// Offset of a record.
  [[nodiscard]] std::size_t record(std::size_t index) const { return kHeaderSize + index * record_size(); }
  /// Offset of a record's block for a CPU; cpu_slots() gives the record's end.
  [[nodiscard]] std::size_t block(std::size_t index, std::size_t cpu) const {
    return record(index) + record_header_ + kBlockSize * cpu;
  }
  /// The name of a record. Error: kData when its 32 bytes have no NUL.
  [[nodiscard]] Result<std::string_view> record_name(std::size_t index) const;

  static constexpr std::size_t kBlockSize = 64;

 private:
  static constexpr std::size_t kHeaderSize = 16;
  StatisticsStream() = default;
  [[nodiscard]] std::size_t record_size() const { return record_header_ + kBlockSize * std::size_t{cpu_slots_}; }

  std::string_view name_;
  std::string_view bytes_;
  std::size_t record_header_ = 0;
  std::uint32_t cpu_slots_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace memstat
