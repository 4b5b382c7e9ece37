// SPDX-License-Identifier: BSD-2-Clause
// A kernel's own file: the booted ELF program, with the symbols and types that a dump lacks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/kernel/btf.h"

namespace memstat::postmortem {

/// A symbol: its address in the running kernel, and its size in bytes (0 if the file has none).
struct KernelSymbol {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

/// The required parts of a kernel file. The file is closed after reading.
class KernelFile {
 public:
  /// Reads the symbols with these names (including local ones), the types (.SUNW_ctf), and `version`. Errors:
  /// system_error; kVersion unless it is a 64-bit little-endian program for amd64 or arm64; kKvmNoSymbol if it is
  /// stripped or has no types; kData with the offset of malformed data; those of parse_ctf.
  static Result<KernelFile> open(const std::string& path, std::span<const std::string_view> symbols);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Machine machine() const { return machine_; }
  [[nodiscard]] const Btf& types() const { return types_; }
  /// Error: kKvmNoSymbol.
  [[nodiscard]] Result<KernelSymbol> symbol(std::string_view name) const;
  /// The content of the variable `version`, "FreeBSD 15.0-RELEASE ..."; "" if there is none.
  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  class Reader;

  std::string name_;
  Machine machine_ = Machine::kX86;
  Btf types_;
  std::map<std::string, KernelSymbol, std::less<>> symbols_;
  std::string version_;
};

}  // namespace memstat::postmortem
