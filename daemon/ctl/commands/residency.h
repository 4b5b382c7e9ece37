// SPDX-License-Identifier: BSD-2-Clause
// How much of a file is in memory, as mincore(2) reports: of a moment, pages may come and go while it is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace memstat::ctl {

/// Thread safety: a plain value.
struct Residency {
  std::uint64_t bytes = 0;     ///< The file's size.
  std::uint64_t resident = 0;  ///< B in memory, of whole pages except for the end of the file.
  std::uint64_t pages = 0;     ///< Pages that the file has, the last one perhaps in part.
  std::uint64_t resident_pages = 0;
  /// False: this file is neither ours nor may we write to it, and Linux since 5.2 (134fca9063ad, mm/mincore.c) says of such
  /// files that all is resident, whatever is.
  bool is_told = true;
};

/// Asks for the residency of one file, in pieces, so that a sparse file of any size needs no room; nothing is read of it.
/// "" or why not: it is not a regular file, cannot be opened, or shrank meanwhile.
std::string measure(const std::string& path, Residency& residency);

/// Calls `visit` for every regular file below a directory, or for the file itself; links in directories are not followed,
/// and what is neither file nor directory is passed over there. `refuse` is told of directories that cannot be read. Names
/// are visited in order.
void walk(const std::string& path, const std::function<void(const std::string&)>& visit,
          const std::function<void(const std::string&)>& refuse);

}  // namespace memstat::ctl
