// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/error.h"

#include <cerrno>
#include <system_error>

namespace memstat {

std::string_view reason(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUndefined: return "undefined";
    case ErrorCode::kNoMemory: return "no_memory";
    case ErrorCode::kVersion: return "version";
    case ErrorCode::kPermission: return "permission";
    case ErrorCode::kTooManyCpus: return "too_many_cpus";
    case ErrorCode::kData: return "data";
    case ErrorCode::kKvm: return "kvm";
    case ErrorCode::kKvmNoSymbol: return "kvm_no_symbol";
    case ErrorCode::kKvmShortRead: return "kvm_short_read";
    case ErrorCode::kNotPresent: return "not_present";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kTimeout: return "timeout";
  }
  return "unknown";
}

namespace {

/// Used when an error has neither detail nor errno.
std::string_view words_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNoMemory: return "out of memory";
    case ErrorCode::kVersion: return "unknown format";
    case ErrorCode::kPermission: return "not permitted";
    case ErrorCode::kTooManyCpus: return "too many CPUs";
    case ErrorCode::kData: return "damaged data";
    case ErrorCode::kKvm: return "cannot read the dump";
    case ErrorCode::kKvmNoSymbol: return "missing kernel symbol";
    case ErrorCode::kKvmShortRead: return "the dump is truncated";
    case ErrorCode::kNotPresent: return "not provided by this kernel";
    case ErrorCode::kTimeout: return "timed out";
    case ErrorCode::kIo: return "cannot be read";
    case ErrorCode::kUndefined: break;
  }
  return "unknown error";
}

}  // namespace

std::string to_string(const Error& error) {
  std::string text;
  const auto part = [&text](std::string_view words) {
    if (words.empty()) return;
    if (!text.empty()) text += ": ";
    text += words;
  };
  part(error.source);
  part(error.path);
  if (error.offset) part("offset " + std::to_string(*error.offset));
  const bool is_explained = error.system_errno != 0 || (!error.detail.empty() && error.code != ErrorCode::kNoMemory);
  if (!is_explained) part(words_of(error.code));
  part(error.detail);
  if (error.system_errno != 0) {
    part(std::generic_category().message(error.system_errno) + " (errno " + std::to_string(error.system_errno) + ")");
  }
  return text;
}

ErrorCode code_of_errno(int system_errno) {
  switch (system_errno) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP: return ErrorCode::kNotPresent;
#if defined(ECAPMODE)  // FreeBSD's capability mode
    case ECAPMODE:
    case ENOTCAPABLE:
#endif
    case EACCES:
    case EPERM: return ErrorCode::kPermission;
    case ENOMEM: return ErrorCode::kNoMemory;
    case ETIMEDOUT: return ErrorCode::kTimeout;
    default: return ErrorCode::kIo;
  }
}

Error system_error(std::string_view path, int system_errno, std::string_view detail) {
  return Error{.code = code_of_errno(system_errno),
               .path = std::string(path),
               .system_errno = system_errno,
               .detail = std::string(detail)};
}

Error make_error(ErrorCode code, std::string_view path, std::string_view detail, int system_errno) {
  return {.code = code, .path = std::string(path), .system_errno = system_errno, .detail = std::string(detail)};
}

Error no_memory_error(std::string_view path, std::string_view detail) {
  return make_error(ErrorCode::kNoMemory, path, detail);
}

Error data_error(std::string_view path, std::uint64_t offset, std::string_view detail, ErrorCode code) {
  Error error = make_error(code, path, detail);
  error.offset = offset;
  return error;
}

}  // namespace memstat
