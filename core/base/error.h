// SPDX-License-Identifier: BSD-2-Clause
// What can go wrong while kernel statistics are read, as facts rather than prose: which source, which path or sysctl,
// which errno, at which byte. The text for people is made from them in one place, `to_string`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// Why an operation failed. The numbers 0 to 8 are libmemstat's MEMSTAT_ERROR_* and never change; those from 16 up are ours.
enum class ErrorCode : int {
  kUndefined = 0,     ///< No error has been recorded.
  kNoMemory = 1,      ///< Our own allocation failed, or the kernel could not give a stream within bounded retries.
  kVersion = 2,       ///< The kernel's format is not one that we know.
  kPermission = 3,    ///< EACCES or EPERM.
  kTooManyCpus = 4,   ///< Unused since FreeBSD 9; kept for its number.
  kData = 5,          ///< The kernel's bytes contradict themselves or are cut short.
  kKvm = 6,           ///< Crash dump: libkvm reported an error.
  kKvmNoSymbol = 7,   ///< Crash dump: a kernel symbol is missing.
  kKvmShortRead = 8,  ///< Crash dump: fewer bytes than asked for.
  kNotPresent = 16,   ///< This kernel does not have the interface. A state, not a failure.
  kIo = 17,           ///< Any other failed read, see the errno.
  kTimeout = 18,      ///< The kernel did not answer before the deadline.
};

/// One failure. `to_string` gives "source: path: offset N: detail: errno text", and words for the code where neither is
/// there. Thread safety: a plain value.
struct Error {
  ErrorCode code = ErrorCode::kUndefined;
  std::string source;                        ///< Name of the source, "" when the failure lies below any source.
  std::string path;                          ///< File path or sysctl name, "" when there is none.
  int system_errno = 0;                      ///< errno of the failing call, 0 when no call failed.
  std::optional<std::uint64_t> offset = {};  ///< Byte offset into what was read from `path`.
  std::string detail;                        ///< What is wrong, and what to do where that is known.
};

/// Short stable word for a code, used as the label `reason`: "permission", "timeout", ... No message for people has it.
std::string_view reason(ErrorCode code);

/// The whole error as one line for people.
std::string to_string(const Error& error);

/// The code that stands for a failed system call: ENOENT and its kin are kNotPresent, EACCES and EPERM kPermission,
/// ENOMEM kNoMemory, everything else kIo.
ErrorCode code_of_errno(int system_errno);

/// An error from a system call that failed on `path`; `detail` may add what to do.
Error system_error(std::string_view path, int system_errno, std::string_view detail = {});

/// Our own lack of memory while reading `path`: code kNoMemory without an errno, unlike a call that failed with
/// ENOMEM.
Error no_memory_error(std::string_view path, std::string_view detail = {});

/// An error of code kData: the bytes read from `path` are wrong at `offset`.
Error data_error(std::string_view path, std::uint64_t offset, std::string_view detail);

}  // namespace memstat
