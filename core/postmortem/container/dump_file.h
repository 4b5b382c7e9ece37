// SPDX-License-Identifier: BSD-2-Clause
// Files that are crash dumps, whatever their format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/capture/reference.h"
#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// How a file begins. The last two are recognized and not read: their pieces are in no order, or they are packed as a whole.
enum class DumpFormat : std::uint8_t { kNone, kElf, kCompressed, kMinidump, kFlattened, kPacked };

/// Whether the file is a crash dump, by how it begins. One that cannot be read is none; a FIFO is not waited for.
bool is_dump_file(const std::string& path);

/// PATH, or PATH@POLL when only that is there: what users write for a dump and its only poll.
CaptureReference parse_dump_reference(const std::string& reference);

/// A dump and its format. Thread safety: none.
struct DumpFile {
  BlockFile file;
  DumpFormat format = DumpFormat::kNone;
};

/// Errors: system_error; kVersion for a file in flattened form or packed as a whole, with the command that helps.
Result<DumpFile> open_dump_file(const std::string& path);

/// The same file for another reader. Error: system_error.
Result<BlockFile> open_again(const DumpFile& dump);

/// The memory in a dump of Linux, or of all memory. Errors: those of open_elf_core and open_kdump_file; kVersion for a
/// minidump.
Result<std::unique_ptr<PhysicalMemory>> open_dump_memory(const DumpFile& dump);

}  // namespace memstat::postmortem
