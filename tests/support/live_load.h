// SPDX-License-Identifier: BSD-2-Clause
// Causes known numbers of events on a known CPU of this machine.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace memstat {

/// Keeps the calling thread on one CPU during its lifetime.
class OnCpu {
 public:
  explicit OnCpu(std::size_t cpu) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    is_there_ = ::sched_setaffinity(0, sizeof only, &only) == 0;
  }
  ~OnCpu() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;
  [[nodiscard]] bool is_there() const { return is_there_; }

 private:
  cpu_set_t before_{};
  bool is_there_ = false;
};

/// Memory without any page yet: the first access to each page is one page fault.
class FreshPages {
 public:
  explicit FreshPages(std::size_t count)
      : size_(count * page_),
        bytes_(static_cast<volatile char*>(
            ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::madvise(const_cast<char*>(bytes_), size_, MADV_NOHUGEPAGE);
  }
  ~FreshPages() { ::munmap(const_cast<char*>(bytes_), size_); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;
  void read() const {
    for (std::size_t at = 0; at < size_; at += page_) (void)bytes_[at];
  }
  void write() const {
    for (std::size_t at = 0; at < size_; at += page_) bytes_[at] = 1;
  }
  void drop() const { ::madvise(const_cast<char*>(bytes_), size_, MADV_DONTNEED); }

 private:
  std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t size_;
  volatile char* bytes_;
};

}  // namespace memstat
