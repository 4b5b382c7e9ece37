// SPDX-License-Identifier: BSD-2-Clause
// What the live views of all systems share: the machine's page size and release, and its files through PosixFiles.
#pragma once

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"
#include "core/kernel/posix_files.h"

namespace memstat {

inline std::uint64_t system_page_size() {
  const long size = ::sysconf(_SC_PAGESIZE);
  return size > 0 ? static_cast<std::uint64_t>(size) : 4096;
}

inline double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// CPU time of the calling process; 0 if the kernel refuses.
inline double own_cpu_seconds() {
  rusage times{};
  return ::getrusage(RUSAGE_SELF, &times) == 0 ? seconds_of(times.ru_utime) + seconds_of(times.ru_stime) : 0;
}

class LiveKernelView : public KernelView {
 public:
  [[nodiscard]] std::uint64_t page_size() const override { return page_size_; }
  [[nodiscard]] std::string os_release() const override {
    utsname names{};
    return ::uname(&names) >= 0 ? names.release : "";
  }
  [[nodiscard]] bool reads_this_machine() const override { return true; }

  Result<std::string> read_link(std::string_view path) override { return files_.read_link(path); }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    return files_.list_directory(path, names);
  }
  Result<void> open_table(std::string_view, TextTableSource& table) override { return table.open_on(*this); }
  Result<void> read_table(std::string_view, TextTableSource& table, Buffer& out) override {
    return table.read_on(*this, out);
  }
  Result<void> keep_open(std::string_view path) override { return files_.keep_open(path); }
  [[nodiscard]] std::size_t kept_count() const override { return files_.kept_count(); }
  void close_kept_after(std::size_t count) override { files_.close_kept_after(count); }

 protected:
  PosixFiles files_;

 private:
  std::uint64_t page_size_ = system_page_size();
};

}  // namespace memstat
