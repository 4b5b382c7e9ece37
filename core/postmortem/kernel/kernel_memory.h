// SPDX-License-Identifier: BSD-2-Clause
// A kernel's virtual memory and types, for walks over its lists and structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/postmortem/kernel/btf.h"

namespace memstat::postmortem {

/// The memory of a crashed kernel, or of the running one.
class KernelMemory : public Interface {
 public:
  [[nodiscard]] virtual const Btf& types() const = 0;

  /// Reads exactly `size` bytes of kernel virtual memory. Errors: kKvmShortRead, kIo.
  virtual Result<void> read(std::uint64_t address, char* to, std::size_t size) = 0;
  /// Reads a NUL-terminated string, truncated to `most` bytes. Errors: those of read().
  Result<std::string> read_string(std::uint64_t address, std::size_t most);
  /// Reads an integer. Errors: those of read().
  template <typename Number>
  Result<Number> read_number(std::uint64_t address) {
    Number number = 0;
    if (auto result = read(address, reinterpret_cast<char*>(&number), sizeof number); !result) return result.error();
    return number;
  }
};

}  // namespace memstat::postmortem
