// SPDX-License-Identifier: BSD-2-Clause
// Files that are crash dumps, whatever their format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/capture/reference.h"
#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// How a file begins. The last two hold one of the others: in pieces, and packed as a whole.
enum class DumpFormat : std::uint8_t { kNone, kElf, kCompressed, kMinidump, kFlattened, kPacked };

/// Whether the file is a crash dump, by how it begins. One that cannot be read is none; a FIFO is not waited for.
bool is_dump_file(const std::string& path);

/// PATH, or PATH@POLL when only that is there: what users write for a dump and its only poll.
CaptureReference parse_dump_reference(const std::string& reference);

/// A dump whose pieces are in order and not packed as a whole. Thread safety: none.
struct DumpFile {
  BlockFile file;
  DumpFormat format = DumpFormat::kNone;
};

/// Unpacks a dump and puts it in order where that must be; a line in `notes` when it is cut short. Errors: those of
/// unflatten and unpack_file.
Result<DumpFile> open_dump_file(const std::string& path, std::vector<std::string>& notes);

/// The same file for another reader. Error: system_error.
Result<BlockFile> open_again(const DumpFile& dump);

/// The memory in a dump of Linux, or of all memory. Errors: those of open_elf_core and open_kdump_file; kVersion for a
/// minidump.
Result<std::unique_ptr<PhysicalMemory>> open_dump_memory(const DumpFile& dump);

/// The same of a file of any format.
Result<std::unique_ptr<PhysicalMemory>> open_dump_memory(const std::string& path, std::vector<std::string>& notes);

}  // namespace memstat::postmortem
