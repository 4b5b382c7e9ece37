// SPDX-License-Identifier: BSD-2-Clause
// Failures while reading kernel statistics, as facts rather than prose: which source, which path or sysctl, which errno, at
// which byte. Only `to_string` turns them into text.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// Why an operation failed. The numbers 0 to 8 are libmemstat's MEMSTAT_ERROR_* and never change; ours start at 16.
enum class ErrorCode : int {
  kUndefined = 0,   ///< No error has been recorded.
  kNoMemory = 1,    ///< Allocation failure in this process, or the kernel could not provide a stream within bounded retries.
  kVersion = 2,     ///< Unknown kernel format.
  kPermission = 3,  ///< EACCES or EPERM.
  kTooManyCpus = 4,   ///< Unused since FreeBSD 9; kept to reserve the number.
  kData = 5,          ///< Inconsistent or truncated kernel data.
  kKvm = 6,           ///< Crash dump: libkvm reported an error.
  kKvmNoSymbol = 7,   ///< Crash dump: a kernel symbol is missing.
  kKvmShortRead = 8,  ///< Crash dump: fewer bytes than requested.
  kNotPresent = 16,   ///< This kernel does not provide the interface. A state, not a failure.
  kIo = 17,           ///< Any other failed read; see the errno.
  kTimeout = 18,      ///< No answer from the kernel before the deadline.
};

/// One failure. `to_string` gives "source: path: offset N: detail: errno text", or a description of the code if there is
/// neither detail nor errno.
struct Error {
  ErrorCode code = ErrorCode::kUndefined;
  std::string source = {};                   ///< Name of the source, "" if the failure is below any source.
  std::string path = {};                     ///< File path or sysctl name, "" if none.
  int system_errno = 0;                      ///< errno of the failed call, 0 if none failed.
  std::optional<std::uint64_t> offset = {};  ///< Byte offset in the data read from `path`.
  std::string detail = {};                   ///< The problem and, if known, its remedy.
};

/// Short stable word for a code, used as the label `reason`: "permission", "timeout", ... Not used in messages.
std::string_view reason(ErrorCode code);

std::string to_string(const Error& error);

/// Maps errno to a code: ENOENT and related to kNotPresent, EACCES and EPERM to kPermission, ENOMEM to kNoMemory, all others
/// to kIo.
ErrorCode code_of_errno(int system_errno);

/// Whether the process or the system is out of descriptors, so that no file could have been opened.
bool lacks_descriptors(const Error& error);

/// Makes an error from a failed system call on `path`. `detail` may have advice.
Error system_error(std::string_view path, int system_errno, std::string_view detail = {});

/// Allocation failure in this process while reading `path`: code kNoMemory without an errno, unlike a call that failed with
/// ENOMEM.
Error no_memory_error(std::string_view path, std::string_view detail = {});

/// exception.what() for people: with advice for std::bad_alloc, and for std::thread, whose own words are "Resource
/// temporarily unavailable". Allocates nothing. Lives as long as `exception`.
std::string_view why(const std::exception& exception);

/// Makes an error without an offset. `path` may be "".
Error make_error(ErrorCode code, std::string_view path, std::string_view detail, int system_errno = 0);

/// Makes an error, usually of kind kData: the bytes read from `path` are wrong at `offset`.
Error data_error(std::string_view path, std::uint64_t offset, std::string_view detail, ErrorCode code = ErrorCode::kData);

}  // namespace memstat
