// SPDX-License-Identifier: BSD-2-Clause
// Files that are crash dumps, whatever their format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/capture/reference.h"
#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// The format of a dump file. The last two are recognized but not read: the pieces are in no order, or the whole file
/// is compressed.
enum class DumpFormat : std::uint8_t { kNone, kElf, kCompressed, kMinidump, kFlattened, kPacked };

/// Whether the file is a crash dump, by its first bytes. Unreadable files are not. Does not block on a FIFO.
bool is_dump_file(const std::string& path);

/// PATH, or PATH@POLL if only PATH exists: a dump has exactly one poll.
CaptureReference parse_dump_reference(const std::string& reference);

/// A dump and its format.
struct DumpFile {
  BlockFile file;
  DumpFormat format = DumpFormat::kNone;
};

/// Errors: system_error; kVersion for a flattened or compressed file, with the command that converts it.
Result<DumpFile> open_dump_file(const std::string& path);

/// Opens the same file again, for another reader. Error: system_error.
Result<BlockFile> open_again(const DumpFile& dump);

/// Whether these are the first bytes of an ELF core file, for any machine.
bool is_elf_core(std::string_view head);

/// The content of the first note with this name in a PT_NOTE segment, untrusted bytes; "" if there is none, or it is out of
/// bounds. Points into `notes`. Thread safety: safe.
std::string_view find_note(std::string_view notes, std::string_view name);

/// Opens a dump. It is read on demand, with 10 MiB of memory whatever its size. Errors: those of reading; kVersion
/// for other machines and 32-bit dumps; kData with the offset of a malformed header.
Result<std::unique_ptr<PhysicalMemory>> open_elf_core(BlockFile file);

/// Whether these are the first bytes of a compressed dump.
bool is_kdump_file(std::string_view head);

/// Opens a dump. Pages are unpacked on demand, with a cache of 4 MiB. Errors: read errors; kVersion; kData with the offset
/// of a malformed field.
Result<std::unique_ptr<PhysicalMemory>> open_kdump_file(BlockFile file);

/// The memory of a Linux dump, or of a full memory dump. Errors: those of open_elf_core and open_kdump_file; kVersion
/// for a minidump.
Result<std::unique_ptr<PhysicalMemory>> open_dump_memory(const DumpFile& dump);

}  // namespace memstat::postmortem
