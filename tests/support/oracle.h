// SPDX-License-Identifier: BSD-2-Clause
// The dumps of FreeBSD's own libmemstat next to the captured streams: every public accessor of every type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat {

/// One line of a dump: what the accessors returned for one type.
struct OracleType {
  std::string name;
  std::map<std::string, std::uint64_t, std::less<>> figures;            ///< "bytes" -> memstat_get_bytes()
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> cpus;  ///< "free" -> memstat_get_percpu_free() by CPU
};

/// The types of one dump in the order of memstat_mtl_first/next. Errors: kData with the line, for anything not understood.
Result<std::vector<OracleType>> parse_oracle(std::string_view text);

/// A file in the archive of a capture in tests/fixtures/captures ("oracle/000000-libmemstat-uma.txt", below the archive's
/// one top directory); nothing if it is missing.
std::optional<std::string> read_beside_capture(const std::string& capture_file_name, std::string_view path);

}  // namespace memstat
