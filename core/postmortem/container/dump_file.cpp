// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/dump_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/base/unique_fd.h"
#include "core/postmortem/container/elf_core.h"
#include "core/postmortem/container/flattened.h"
#include "core/postmortem/container/freebsd_minidump.h"
#include "core/postmortem/container/kdump_file.h"
#include "core/postmortem/container/packed_file.h"

namespace memstat::postmortem {
namespace {

DumpFormat format_of_head(std::string_view head) {
  if (is_elf_core(head)) return DumpFormat::kElf;
  if (is_kdump_file(head)) return DumpFormat::kCompressed;
  if (is_minidump(head)) return DumpFormat::kMinidump;
  return is_flattened(head) ? DumpFormat::kFlattened : DumpFormat::kNone;
}

DumpFormat format_of(BlockFile& file) {
  std::array<char, 64> bytes;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), file.size()));
  if (!file.read(0, bytes.data(), size)) return DumpFormat::kNone;
  const DumpFormat format = format_of_head({bytes.data(), size});
  if (format != DumpFormat::kNone) return format;
  // What is packed may as well be a capture.
  return format_of_head(head_of_packed(file)) == DumpFormat::kNone ? DumpFormat::kNone : DumpFormat::kPacked;
}

}  // namespace

bool is_dump_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return false;
  auto file = BlockFile::adopt(path, std::move(fd));
  return file && format_of(*file) != DumpFormat::kNone;
}

CaptureReference parse_dump_reference(const std::string& reference) {
  if (is_dump_file(reference)) return {.path = reference, .poll = {}};
  return parse_capture_reference(reference);
}

Result<DumpFile> open_dump_file(const std::string& path, std::vector<std::string>& notes) {
  auto file = BlockFile::open(path);
  if (!file) return std::move(file.error());
  DumpFormat format = format_of(*file);
  const auto replace = [&](auto inner) -> Result<void> {
    if (!inner) return std::move(inner.error());
    if (!inner->damage.empty()) notes.push_back("the file: " + inner->damage);
    file = BlockFile::adopt(path, std::move(inner->file));
    if (!file) return file.error();
    format = format_of(*file);
    return {};
  };
  if (format == DumpFormat::kPacked) {
    if (auto replaced = replace(unpack_file(*file)); !replaced) return replaced.error();
  }
  if (format == DumpFormat::kFlattened) {
    if (auto replaced = replace(unflatten(*file)); !replaced) return replaced.error();
  }
  return DumpFile{.file = *std::move(file), .format = format};
}

Result<BlockFile> open_again(const DumpFile& dump) {
  UniqueFd again(::fcntl(dump.file.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!again) return system_error(dump.file.name(), errno);
  return BlockFile::adopt(dump.file.name(), std::move(again));
}

Result<std::unique_ptr<PhysicalMemory>> open_dump_memory(const DumpFile& dump) {
  if (dump.format == DumpFormat::kMinidump) {
    Error error = data_error(dump.file.name(), 0, "is a minidump of FreeBSD, where a dump of Linux is wanted");
    error.code = ErrorCode::kVersion;
    return error;
  }
  auto file = open_again(dump);
  if (!file) return std::move(file.error());
  if (dump.format == DumpFormat::kCompressed) return open_kdump_file(*std::move(file));
  return open_elf_core(*std::move(file));
}

Result<std::unique_ptr<PhysicalMemory>> open_dump_memory(const std::string& path, std::vector<std::string>& notes) {
  const auto dump = open_dump_file(path, notes);
  return dump ? open_dump_memory(*dump) : Result<std::unique_ptr<PhysicalMemory>>(dump.error());
}

}  // namespace memstat::postmortem
