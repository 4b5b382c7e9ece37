// SPDX-License-Identifier: BSD-2-Clause
// The content of kern.malloc_stats and vm.zone_stats of a FreeBSD kernel in a dump, byte for byte, and the values
// of its integer sysctls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/freebsd/machine.h"

namespace memstat::postmortem {

/// Builds a stream of records: a header, then records of equal size with a name and a block of 64 bytes for each CPU.
class StreamBytes {
 public:
  static constexpr std::size_t kMaxBytes = 256U << 20U;  ///< 1000 types on 1024 CPUs need 65 MB.
  static constexpr std::size_t kMaxRecords = 65536;
  static constexpr std::size_t kBlockBytes = 64;
  static constexpr std::size_t kNameBytes = 32;

  /// `record_header`: B of a record before its blocks.
  StreamBytes(std::uint32_t cpu_slots, std::size_t record_header)
      : cpu_slots_(cpu_slots), record_header_(record_header), bytes_(kHeaderBytes, '\0') {
    put(0, kVersion);
    put(4, cpu_slots);
  }

  /// Begins a new record. Truncates the name to 31 bytes. Returns false if there is no more room.
  bool add(std::string_view name) {
    const std::size_t size = record_header_ + kBlockBytes * cpu_slots_;
    if (count_ == kMaxRecords || size > kMaxBytes - bytes_.size()) return false;
    record_ = bytes_.size();
    bytes_.resize(record_ + size);
    name.substr(0, kNameBytes - 1).copy(bytes_.data() + record_, kNameBytes - 1);
    ++count_;
    return true;
  }
  /// Stores a number at `offset` in the current record.
  template <typename Number>
  void put(std::size_t offset, Number number) {
    std::memcpy(bytes_.data() + record_ + offset, &number, sizeof number);
  }
  /// Stores a number at `offset` in a CPU's block of the current record.
  void put(std::uint32_t cpu, std::size_t offset, std::uint64_t number) {
    put(record_header_ + cpu * kBlockBytes + offset, number);
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Returns the stream. Nothing can be added afterwards.
  [[nodiscard]] std::string take() {
    std::memcpy(bytes_.data() + 8, &count_, sizeof count_);
    return std::move(bytes_);
  }

 private:
  static constexpr std::size_t kHeaderBytes = 16;
  static constexpr std::uint32_t kVersion = 1;

  std::uint32_t cpu_slots_;
  std::size_t record_header_;
  std::size_t record_ = 0;
  std::uint32_t count_ = 0;
  std::string bytes_;
};

/// A finished stream.
struct FreeBsdStream {
  std::string bytes;
  std::uint32_t count = 0;          ///< Number of records.
  std::vector<std::string> damage;  ///< Figures that are missing or too low, one line each; usually none.
};

/// Reads the malloc(9) types, newest first as in the kernel. Errors: kKvmNoSymbol if the kernel file lacks the list or
/// a type; those of read() if the head is unreadable. Ends at torn, poisoned or circular entries.
Result<FreeBsdStream> read_malloc_stream(FreeBsdKernel& kernel, const FreeBsdMachine& machine);

/// The size classes of malloc(9) as in vm.malloc.zone_sizes, including the final 0. Errors: same.
Result<std::vector<std::uint32_t>> read_malloc_sizes(FreeBsdKernel& kernel);

/// The zones of uma(9), by keg, then those without one. Errors: same.
Result<FreeBsdStream> read_zone_stream(FreeBsdKernel& kernel, const FreeBsdMachine& machine);

/// Page statistics as sysctls.
struct FreeBsdPages {
  std::vector<std::pair<std::string, std::uint64_t>> sysctls;  ///< Names and values of those that the kernel has.
  std::string damage;                                          ///< For display; usually "".
};

/// Reads vm.stats.vm.v_* from vm_cnt, vm.domain.N.stats from vm_dom, and vm.uma_kmem_total.
FreeBsdPages read_freebsd_pages(FreeBsdKernel& kernel, const FreeBsdMachine& machine);

}  // namespace memstat::postmortem
