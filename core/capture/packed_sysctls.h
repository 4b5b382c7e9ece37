// SPDX-License-Identifier: BSD-2-Clause
// All sysctls of a poll in one file of a segment, without their zeros. FreeBSD reserves room for every CPU that a kernel
// supports: on a machine with two, kern.malloc_stats is 17 MB of which 30 kB are not zero. And a tar member of 8 bytes
// occupies 1024.
//
// The file is kPackedSysctlsHead, then for each sysctl, sorted by name:
//   the number of bytes that its name shares with the previous one, the number of its other bytes, those bytes
//   its size, then runs until that size is reached: a number of zeros, a number of literal bytes, those bytes
// A number is 7 bits a byte, the lowest first; the highest bit of a byte is set if another follows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/capture/files.h"

namespace memstat {

/// The file's name in a poll.
inline constexpr std::string_view kPackedSysctls = "sysctls";
inline constexpr std::string_view kPackedSysctlsHead = "memstat sysctls 1\n";
/// Maximum unpacked size of one poll's, in bytes.
inline constexpr std::uint64_t kMaxPackedSysctls = 1ULL << 28;

/// Appends sysctls to `out`, which starts with kPackedSysctlsHead.
class SysctlPacker {
 public:
  explicit SysctlPacker(std::string& out) : out_(out) {}
  /// `name` sorts after the previous one.
  void add(std::string_view name, std::string_view bytes);

 private:
  std::string& out_;
  std::string last_;
};

/// Adds a file of a poll; one with packed sysctls becomes their files. Errors: those of MemoryFiles::add_file; kData.
Result<void> add_poll_file(MemoryFiles& files, std::string_view path, std::string bytes);

/// Calls `add` for each sysctl. Errors: kData with an offset and without a path; those of `add`.
Result<void> unpack_sysctls(std::string_view packed,
                            const std::function<Result<void>(const std::string& name, std::string bytes)>& add);

}  // namespace memstat
