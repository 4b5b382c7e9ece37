// SPDX-License-Identifier: BSD-2-Clause
// The physical memory of a machine that stopped, as a crash dump holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat::postmortem {

/// Whose page tables a dump holds.
enum class Machine : std::uint8_t { kX86, kArm64 };

/// Both 64 bits wide and little endian. "x86_64" or "aarch64", as uname(3) has it.
std::string_view to_string(Machine machine);

/// Reads a dump without loading it. Thread safety: none; one thread at a time.
class PhysicalMemory {
 public:
  PhysicalMemory() = default;
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  virtual ~PhysicalMemory() = default;

  /// What people call this dump: its path.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual Machine machine() const = 0;
  /// The kernel's description of itself, "KEY=VALUE" a line (Linux: kernel/vmcore_info.c, kernel/crash_core.c before 6.9).
  /// "" when the dump has none. Lives as long as this.
  [[nodiscard]] virtual std::string_view vmcoreinfo() const = 0;
  /// Nanoseconds since 1970 of the last change to the dump's file.
  [[nodiscard]] virtual std::int64_t changed_ns() const = 0;
  /// What of the whole dump is missing, for people; "" as a rule.
  [[nodiscard]] virtual std::string damage() const { return {}; }

  /// Reads exactly `size` bytes from a physical address on. Errors: kKvmShortRead where the dump does not hold all of them,
  /// kIo. `to` may hold anything then.
  virtual Result<void> read(std::uint64_t address, char* to, std::size_t size) = 0;
};

/// The error of a read that a dump cannot answer: `space` is "physical" or "virtual".
Error missing_memory(std::string_view dump, std::string_view space, std::uint64_t address, std::string_view why);

/// "0xffff888000001000"
std::string hex(std::uint64_t number);

}  // namespace memstat::postmortem
