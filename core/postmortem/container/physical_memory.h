// SPDX-License-Identifier: BSD-2-Clause
// The physical memory of a crashed machine, as contained in a dump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/postmortem/container/block_file.h"

namespace memstat::postmortem {

/// Architectures whose page tables are supported.
enum class Machine : std::uint8_t { kX86, kArm64 };

/// "x86_64" or "aarch64", as in uname(3).
inline std::string_view to_string(Machine machine) { return machine == Machine::kX86 ? "x86_64" : "aarch64"; }

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

/// Memory that is read from a file, on demand.
class FileMemory : public PhysicalMemory {
 public:
  explicit FileMemory(BlockFile file) : file_(std::move(file)) {}
  [[nodiscard]] const std::string& name() const final { return file_.name(); }
  [[nodiscard]] Machine machine() const final { return machine_; }
  [[nodiscard]] std::string_view vmcoreinfo() const final { return info_; }
  [[nodiscard]] std::int64_t changed_ns() const final { return file_.changed_ns(); }
  [[nodiscard]] std::string damage() const final { return damage_; }
  Result<void> read(std::uint64_t address, char* to, std::size_t size) final;

 protected:
  /// Reads up to `size` bytes, at least one. Returns how many. Errors: those of read().
  virtual Result<std::size_t> read_piece(std::uint64_t address, char* to, std::size_t size) = 0;
  [[nodiscard]] Error wrong(std::uint64_t at, std::string_view what, ErrorCode code = ErrorCode::kData) const {
    return data_error(name(), at, what, code);
  }
  /// Notes damage if the file ends before `end`. `of`: "" or "at least ".
  void check_end(std::uint64_t end, std::string_view of = {});

  BlockFile file_;
  Machine machine_ = Machine::kX86;
  std::string info_;

 private:
  std::string damage_;
};

/// A bitmap in a file with a bit for each page, set if the page is in the dump. Keeps only counts in memory.
class PageBitmap {
 public:
  /// Counts the bits in `bytes` bytes at `at`. Errors: those of reading.
  Result<void> open(BlockFile& file, std::uint64_t at, std::uint64_t bytes);
  /// Number of pages in the dump.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Number of pages in the dump before this one; empty if it is not there itself.
  Result<std::optional<std::uint64_t>> place_of(BlockFile& file, std::uint64_t bit) const;

 private:
  std::uint64_t at_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> before_;  // pages in the dump before each part of the bitmap
};

}  // namespace memstat::postmortem
