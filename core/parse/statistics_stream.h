// SPDX-License-Identifier: BSD-2-Clause
// The common frame of FreeBSD's allocator statistics streams (kern.malloc_stats, vm.zone_stats). A header of 16 bytes
// (version, maxcpus, count) is followed by `count` records. Each record has a header that begins with a name of 32 bytes,
// and then `maxcpus` blocks of 64 bytes. Integers are fixed-width and in host byte order, the same for 32-bit and 64-bit
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// The layout of one such stream. open() checks the stream's size, so all offsets for an index below count() and a CPU below
/// cpu_slots() are within the stream. Borrows the bytes.
class StatisticsStream {
 public:
  /// Checks header and size. Extra bytes after the last record are accepted. `name` is the sysctl, for messages;
  /// `record_header` is the size of a record before its blocks. Errors, with the offset: kVersion; kData if there are no
  /// records, fewer bytes than the header requires, or an impossible number of CPUs.
  static Result<StatisticsStream> open(std::string_view name, std::string_view bytes, std::size_t record_header);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Blocks per record, one per CPU.
  [[nodiscard]] std::uint32_t cpu_slots() const { return cpu_slots_; }
  [[nodiscard]] std::size_t record(std::size_t index) const { return kHeaderSize + index * record_size(); }
  /// Offset of a record's block for a CPU; for cpu_slots(), the end of the record.
  [[nodiscard]] std::size_t block(std::size_t index, std::size_t cpu) const {
    return record(index) + record_header_ + kBlockSize * cpu;
  }
  /// The name of a record. Errors: kData if its 32 bytes contain no NUL.
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
