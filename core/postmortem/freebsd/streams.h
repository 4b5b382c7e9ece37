// SPDX-License-Identifier: BSD-2-Clause
// What kern.malloc_stats and vm.zone_stats of a FreeBSD kernel in a dump would have answered, byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/freebsd/machine.h"

namespace memstat::postmortem {

/// A stream of records as it grows: a header, then records of one size with a name and a block of 64 bytes for each CPU.
/// Thread safety: none.
class StreamBytes {
 public:
  static constexpr std::size_t kMostBytes = 256U << 20U;  ///< 1000 types of 1024 CPUs have 65 MB.
  static constexpr std::size_t kMostRecords = 65536;
  static constexpr std::size_t kBlockBytes = 64;
  static constexpr std::size_t kNameBytes = 32;

  /// `record_header`: B of a record before its blocks.
  StreamBytes(std::uint32_t cpu_slots, std::size_t record_header);

  /// Begins another record; false when there is no room for more. The name is cut at 31 bytes.
  bool add(std::string_view name);
  /// A number in the record that was begun last; `offset` is in it.
  template <typename Number>
  void put(std::size_t offset, Number number) {
    std::memcpy(bytes_.data() + record_ + offset, &number, sizeof number);
  }
  /// A number of a CPU's block of that record.
  void put(std::uint32_t cpu, std::size_t offset, std::uint64_t number) {
    put(record_header_ + cpu * kBlockBytes + offset, number);
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// The stream; nothing can be added then.
  [[nodiscard]] std::string take();

 private:
  std::uint32_t cpu_slots_;
  std::size_t record_header_;
  std::size_t record_ = 0;
  std::uint32_t count_ = 0;
  std::string bytes_;
};

/// Thread safety: a plain value.
struct FreeBsdStream {
  std::string bytes;
  std::uint32_t count = 0;          ///< Of records.
  std::vector<std::string> damage;  ///< What of it is missing or too low, a line each; as a rule none.
};

/// malloc(9) types, newest first as the kernel has them. Errors: kKvmNoSymbol when the kernel has no list of them or no
/// type for it; those of read when its head cannot be read. A list that is torn, poisoned or in a circle ends there.
Result<FreeBsdStream> read_malloc_stream(FreeBsdKernel& kernel, const FreeBsdMachine& machine);

/// The size classes of malloc(9) as vm.malloc.zone_sizes has them, the closing 0 included. Errors: the same.
Result<std::vector<std::uint32_t>> read_malloc_sizes(FreeBsdKernel& kernel);

/// Zones of uma(9), by keg, then those without a keg. Errors: the same.
Result<FreeBsdStream> read_zone_stream(FreeBsdKernel& kernel, const FreeBsdMachine& machine);

}  // namespace memstat::postmortem
