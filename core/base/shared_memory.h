// SPDX-License-Identifier: BSD-2-Clause
// Memory of two processes. Its size is sealed when it is made, so that neither can take it away under the other's hands.
#pragma once

#include <cstddef>
#include <utility>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// Thread safety: none; one owner at a time.
class SharedMemory {
 public:
  /// None: no bytes.
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// At least that many bytes of zeros, which are taken from the system page by page as they are written. Errors:
  /// system_error, ENOSYS where the system has no sealed memory.
  static Result<SharedMemory> make(std::size_t bytes);
  /// That of another process, to be read. Errors: kData when it is no such memory of at least `bytes` bytes; system_error.
  static Result<SharedMemory> take(UniqueFd descriptor, std::size_t bytes);

  [[nodiscard]] char* data() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// To give to another process. -1 of memory that was taken.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  void swap(SharedMemory& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(descriptor_, other.descriptor_);
  }

  char* memory_ = nullptr;
  std::size_t size_ = 0;
  UniqueFd descriptor_;
};

}  // namespace memstat
