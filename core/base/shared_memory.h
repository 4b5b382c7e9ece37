// SPDX-License-Identifier: BSD-2-Clause
// Memory shared by two processes. Its size is sealed at creation, so that neither process can shrink it while the other
// reads it. Memory that carries a single message is sealed completely before it is sent, so that the receiver can parse it
// in place.
#pragma once

#include <cstddef>
#include <utility>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// Creates at least `bytes` zeroed bytes, which the system allocates page by page on first write. Errors: system_error;
  /// ENOSYS on systems without sealed memory.
  static Result<SharedMemory> make(std::size_t bytes);
  /// Maps another process's memory read-only. Errors: kData if it is not sealed memory of at least `bytes` bytes;
  /// system_error.
  static Result<SharedMemory> take(UniqueFd descriptor, std::size_t bytes);

  /// Creates memory for one message. The writer takes the mapping and unmaps it before seal_content().
  static Result<SharedMemory> make_for_one(std::size_t bytes);
  /// Gives up the mapping of all bytes to the caller. nullptr the second time.
  [[nodiscard]] char* take_mapping() { return std::exchange(memory_, nullptr); }
  /// Forbids writing from now on. Errors: system_error; EBUSY while it is mapped writable.
  Result<void> seal_content();
  /// Maps at least `bytes` bytes of sealed memory, private to this process. Errors: kData if the content is not sealed or
  /// too small; system_error.
  static Result<char*> map_sealed(const UniqueFd& descriptor, std::size_t bytes);

  [[nodiscard]] char* data() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// For sending to another process. -1 for memory from take().
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  static Result<SharedMemory> make_with(std::size_t bytes, int seals);
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
