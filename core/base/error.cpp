// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/error.h"

#include <cerrno>
#include <new>
#include <system_error>

namespace memstat {

namespace {
struct CodeTexts {
  ErrorCode code;
  std::string_view reason;
  std::string_view words;  // used when an error has neither detail nor errno
};

constexpr std::string_view kUnknownError = "unknown error";
constexpr CodeTexts kCodes[] = {
    {ErrorCode::kUndefined, "undefined", kUnknownError},
    {ErrorCode::kNoMemory, "no_memory", "out of memory"},
    {ErrorCode::kVersion, "version", "unknown format"},
    {ErrorCode::kPermission, "permission", "not permitted"},
    {ErrorCode::kTooManyCpus, "too_many_cpus", "too many CPUs"},
    {ErrorCode::kData, "data", "damaged data"},
    {ErrorCode::kKvm, "kvm", "cannot read the dump"},
    {ErrorCode::kKvmNoSymbol, "kvm_no_symbol", "missing kernel symbol"},
    {ErrorCode::kKvmShortRead, "kvm_short_read", "the dump is truncated"},
    {ErrorCode::kNotPresent, "not_present", "not provided by this kernel"},
    {ErrorCode::kIo, "io", "cannot be read"},
    {ErrorCode::kTimeout, "timeout", "timed out"},
};

CodeTexts texts_of(ErrorCode code) {
  for (const CodeTexts& known : kCodes) {
    if (known.code == code) return known;
  }
  return {code, "unknown", kUnknownError};
}
}  // namespace

std::string_view reason(ErrorCode code) { return texts_of(code).reason; }

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
  if (!is_explained) part(texts_of(error.code).words);
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

bool lacks_descriptors(const Error& error) { return error.system_errno == ENFILE || error.system_errno == EMFILE; }

Error system_error(std::string_view path, int system_errno, std::string_view detail) {
  return Error{.code = code_of_errno(system_errno),
               .path = std::string(path),
               .system_errno = system_errno,
               .detail = std::string(detail)};
}

Error make_error(ErrorCode code, std::string_view path, std::string_view detail, int system_errno) {
  return {.code = code, .path = std::string(path), .system_errno = system_errno, .detail = std::string(detail)};
}

std::string_view why(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
    return "out of memory: raise what limits this process (ulimit -v, the limit of its control group)";
  const auto* const refused = dynamic_cast<const std::system_error*>(&exception);
  if (refused != nullptr && refused->code() == std::errc::resource_unavailable_try_again)
    return "no thread can be started: raise what limits this user (ulimit -u and -v, TasksMax of systemd, pids.max)";
  return exception.what();
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
