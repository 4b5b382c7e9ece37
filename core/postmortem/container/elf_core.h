// SPDX-License-Identifier: BSD-2-Clause
// ELF dumps of 64-bit little-endian machines: /proc/vmcore, the output of makedumpfile -E, and QEMU's
// dump-guest-memory.
#pragma once

#include <memory>
#include <string_view>

#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// Whether these are the first bytes of an ELF core file, for any machine.
bool is_elf_core(std::string_view head);

/// The content of the first note with this name in a PT_NOTE segment, untrusted bytes; "" if there is none, or it is out of
/// bounds. Points into `notes`. Thread safety: safe.
std::string_view find_note(std::string_view notes, std::string_view name);

/// Opens a dump. It is read on demand, with 10 MiB of memory whatever its size. Errors: those of reading; kVersion
/// for other machines and 32-bit dumps; kData with the offset of a malformed header.
Result<std::unique_ptr<PhysicalMemory>> open_elf_core(BlockFile file);

}  // namespace memstat::postmortem
