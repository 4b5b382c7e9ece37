// SPDX-License-Identifier: BSD-2-Clause
// The common code of dumps in one file.
#pragma once

#include <optional>
#include <vector>

#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

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
