// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/dump_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "core/base/unique_fd.h"
#include "core/postmortem/container/freebsd_minidump.h"

namespace memstat::postmortem {
namespace {

/// Whether the file is named as savecore(8) names dumps. A compressed file of another name may be a capture.
bool has_name_of_dump(const std::string& path) {
  return path.compare(path.rfind('/') + 1, std::string_view("vmcore").size(), "vmcore") == 0;
}

DumpFormat format_of(BlockFile& file) {
  std::array<char, 64> bytes;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), file.size()));
  if (!file.read(0, bytes.data(), size)) return DumpFormat::kNone;
  const std::string_view head(bytes.data(), size);
  if (is_elf_core(head)) return DumpFormat::kElf;
  if (is_kdump_file(head)) return DumpFormat::kCompressed;
  if (is_minidump(head)) return DumpFormat::kMinidump;
  if (head.starts_with("makedumpfile")) return DumpFormat::kFlattened;
  const bool is_packed = head.starts_with("\x28\xb5\x2f\xfd") || head.starts_with("\x1f\x8b");
  return is_packed && has_name_of_dump(file.name()) ? DumpFormat::kPacked : DumpFormat::kNone;
}

Error not_read(const std::string& path, std::string_view why) { return data_error(path, 0, why, ErrorCode::kVersion); }

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

Result<DumpFile> open_dump_file(const std::string& path) {
  auto file = BlockFile::open(path);
  if (!file) return std::move(file.error());
  const DumpFormat format = format_of(*file);
  if (format == DumpFormat::kFlattened) {
    return not_read(path, "is in flattened form: convert it with `makedumpfile -R DUMP < " + path + "`, and read DUMP");
  }
  if (format == DumpFormat::kPacked) {
    return not_read(path, "is packed as a whole: unpack it with unzstd or gunzip, and read the unpacked file");
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
    return not_read(dump.file.name(), "is a minidump of FreeBSD, not a dump of Linux");
  }
  auto file = open_again(dump);
  if (!file) return std::move(file.error());
  if (dump.format == DumpFormat::kCompressed) return open_kdump_file(*std::move(file));
  return open_elf_core(*std::move(file));
}

}  // namespace memstat::postmortem
