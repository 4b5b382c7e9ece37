// SPDX-License-Identifier: BSD-2-Clause
// A byte buffer that grows without zeroing and frees memory only on request, so that a steady poll allocates nothing.
// (std::vector would zero 21 MB before the kernel overwrites them.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "core/base/sanitizer.h"

namespace memstat {

/// Buffers of at least this size are mapped. Never in sanitizer builds, which check the bounds of heap memory only.
#if defined(MEMSTAT_SANITIZED)
inline constexpr std::size_t kMappedFrom = SIZE_MAX;
#else
inline constexpr std::size_t kMappedFrom = std::size_t{1} << 20;
#endif

/// Maps at least `bytes` zeroed bytes; `bytes` must not be 0. Throws std::bad_alloc.
char* map_memory(std::size_t bytes);
/// Unmaps `memory`, which map_memory() returned for the same `bytes`.
void unmap_memory(char* memory, std::size_t bytes);

/// Deleter of a buffer's memory.
struct BufferMemoryRelease {
  std::size_t mapped_bytes = 0;  ///< 0: heap memory.
  void operator()(char* memory) const {
    if (mapped_bytes != 0) {
      unmap_memory(memory, mapped_bytes);
    } else {
      delete[] memory;
    }
  }
};

/// Owned bytes with a size and a capacity. A failed allocation throws std::bad_alloc and leaves the content unchanged.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::string_view bytes) { assign(bytes); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() = default;

  [[nodiscard]] char* data() { return data_.get(); }
  [[nodiscard]] const char* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::string_view view() const { return {data_.get(), size_}; }

  void clear() { size_ = 0; }

  /// Clears the buffer and unmaps memory of kMappedFrom bytes or more, at the cost of a system call now and another when the
  /// buffer grows again. Smaller memory is kept.
  void give_back_if_large() {
    size_ = 0;
    if (data_.get_deleter().mapped_bytes == 0) return;
    data_.reset();
    capacity_ = 0;
  }

  /// Makes room for at least `capacity` bytes. Keeps the content.
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    const bool is_mapped = capacity >= kMappedFrom;
    Memory grown(is_mapped ? map_memory(capacity) : new char[capacity],  // not cleared
                 BufferMemoryRelease{.mapped_bytes = is_mapped ? capacity : 0});
    if (size_ != 0) std::memcpy(grown.get(), data_.get(), size_);
    data_ = std::move(grown);
    capacity_ = capacity;
  }

  /// Sets the size. New bytes are indeterminate until written.
  void resize(std::size_t size) {
    reserve(size);
    size_ = size;
  }

  void assign(std::string_view bytes) {
    resize(bytes.size());
    if (!bytes.empty()) std::memcpy(data_.get(), bytes.data(), bytes.size());
  }

  /// `bytes` may be part of this buffer.
  void append(std::string_view bytes) {
    if (size_ + bytes.size() > capacity_) {
      const std::less<const char*> before;
      const bool is_own = size_ != 0 && !before(bytes.data(), data()) && before(bytes.data(), data() + size_);
      const std::size_t offset = is_own ? static_cast<std::size_t>(bytes.data() - data()) : 0;
      reserve((size_ + bytes.size()) * 2);
      if (is_own) bytes = view().substr(offset, bytes.size());
    }
    if (!bytes.empty()) std::memcpy(data_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  /// Takes over `mapped_bytes` writable bytes at `memory`, from mmap(2). The first `size` of them are the content.
  void adopt(char* memory, std::size_t mapped_bytes, std::size_t size) {
    data_ = Memory(memory, BufferMemoryRelease{.mapped_bytes = mapped_bytes});
    size_ = size;
    capacity_ = mapped_bytes;
  }

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  using Memory = std::unique_ptr<char[], BufferMemoryRelease>;

  Memory data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace memstat
