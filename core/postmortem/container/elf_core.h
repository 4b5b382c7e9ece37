// SPDX-License-Identifier: BSD-2-Clause
// ELF dumps of 64-bit little-endian machines: /proc/vmcore and what makedumpfile -E makes of it, QEMU's dump-guest-memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// Whether a file that begins like this is an ELF core file, of any machine. Thread safety: safe.
bool is_elf_core(std::string_view head);

/// Opens a dump; it is read when asked for, and 10 MiB are held whatever its size. Errors: system_error, kVersion for
/// another machine's or 32-bit dumps, kData with the offset of what is wrong in its headers.
Result<std::unique_ptr<PhysicalMemory>> open_elf_core(const std::string& path);
/// The same of a file that is open.
Result<std::unique_ptr<PhysicalMemory>> open_elf_core(BlockFile file);

}  // namespace memstat::postmortem
