// SPDX-License-Identifier: BSD-2-Clause
// The physical memory of a crashed machine, as contained in a dump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/ascii.h"
#include "core/base/not_copyable.h"
#include "core/base/result.h"

namespace memstat::postmortem {

/// Architectures whose page tables are supported.
enum class Machine : std::uint8_t { kX86, kArm64 };

/// "x86_64" or "aarch64", as in uname(3).
std::string_view to_string(Machine machine);

/// Reads a dump without loading it as a whole.
class PhysicalMemory : public Interface {
 public:
  /// The path of the dump, for messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual Machine machine() const = 0;
  /// The kernel's own description, "KEY=VALUE" per line (Linux: kernel/vmcore_info.c, kernel/crash_core.c before 6.9).
  /// "" if the dump has none. Valid as long as this object.
  [[nodiscard]] virtual std::string_view vmcoreinfo() const = 0;
  /// Modification time of the dump, in ns since 1970.
  [[nodiscard]] virtual std::int64_t changed_ns() const = 0;
  /// Parts missing from the dump, for display; usually "".
  [[nodiscard]] virtual std::string damage() const { return {}; }

  /// Reads exactly `size` bytes at a physical address. On error the content of `to` is unspecified. Errors:
  /// kKvmShortRead if the dump lacks some of them, kIo.
  virtual Result<void> read(std::uint64_t address, char* to, std::size_t size) = 0;
};

/// The error for memory that is not in a dump. `space`: "physical" or "virtual".
Error missing_memory(std::string_view dump, std::string_view space, std::uint64_t address, std::string_view why);

}  // namespace memstat::postmortem
