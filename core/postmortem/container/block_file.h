// SPDX-License-Identifier: BSD-2-Clause
// Random access to a file of any size in small pieces, with a bounded cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat::postmortem {

/// pread(2) with a cache of kBlocks blocks, 8 MiB. Not mmap(2): if the file is truncated while it is read, SIGBUS would
/// end the process.
class BlockFile {
 public:
  static constexpr std::size_t kBlockBytes = 4096;
  static constexpr std::size_t kBlocks = 2048;

  /// Errors: system_error; kData if it is not a regular file.
  static Result<BlockFile> open(const std::string& path);
  /// Same for an open file; `name` is for messages.
  static Result<BlockFile> adopt(std::string name, UniqueFd fd);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// B, at the time of opening.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::int64_t changed_ns() const { return changed_ns_; }
  /// Valid as long as this object.
  [[nodiscard]] int descriptor() const { return fd_.get(); }

  /// Reads exactly `size` bytes. Errors: kKvmShortRead if the file ends earlier, kIo.
  Result<void> read(std::uint64_t offset, char* to, std::size_t size);
  Result<std::string> read_bytes(std::uint64_t offset, std::uint64_t size);
  /// Reads a struct of numbers.
  template <typename Record>
  Result<Record> read_record(std::uint64_t offset) {
    Record record;
    if (auto done = read(offset, reinterpret_cast<char*>(&record), sizeof record); !done) return done.error();
    return record;
  }

 private:
  BlockFile(std::string name, UniqueFd fd) : name_(std::move(name)), fd_(std::move(fd)) {}
  // Reads up to `size` bytes at `offset`. Returns how many there were.
  Result<std::size_t> read_some(std::uint64_t offset, char* to, std::size_t size) const;

  struct Block {
    std::uint64_t number = ~std::uint64_t{0};  // index in the file; the initial value: none
    std::size_t size = 0;                      // B; less than a full block at the end of the file
  };

  std::string name_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::int64_t changed_ns_ = 0;
  std::vector<Block> blocks_ = std::vector<Block>(kBlocks);
  std::unique_ptr<char[]> bytes_{new char[kBlocks * kBlockBytes]};
};

}  // namespace memstat::postmortem
