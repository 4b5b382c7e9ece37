// SPDX-License-Identifier: BSD-2-Clause
// Compressed dumps as written by makedumpfile (-c, -l, -z), in a format that comes from diskdump:
//
//   block 0            a header: "KDUMP   ", version, uname(2), sizes of the following pieces in blocks
//   block 1 ...        more of the header, VMCOREINFO
//   two bitmaps        a bit for each page: memory exists; the page is in the dump
//   page descriptors   for each page of the second bitmap: offset, size, compression
//   pages
//
// Not read with libkdumpfile, because version 0.5.1 (Debian 12) ends the process on invalid headers.
#pragma once

#include <memory>
#include <string_view>

#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// Whether these are the first bytes of a compressed dump.
bool is_kdump_file(std::string_view head);

/// Opens a dump. Pages are unpacked on demand, with a cache of 4 MiB. Errors: read errors; kVersion; kData with the offset
/// of a malformed field.
Result<std::unique_ptr<PhysicalMemory>> open_kdump_file(BlockFile file);

}  // namespace memstat::postmortem
