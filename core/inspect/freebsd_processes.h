// SPDX-License-Identifier: BSD-2-Clause
// The processes of a FreeBSD machine and their descriptors, from kern.proc.proc and kern.file. Each is one read of a whole
// table, which cannot be interrupted. All its records are examined, because one takes nanoseconds. So only the number of
// processes is limited, and a question takes the time of the two reads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "core/inspect/inspection.h"
#include "core/parse/freebsd_exports.h"

namespace memstat {

/// The privilege (priv(9)) without which the kernel hides other users' processes, if security.bsd.see_other_uids is 0.
inline constexpr std::string_view kSeeOthers = "PRIV_SEEOTHERUIDS";

/// Holders without figures, by pid.
using ProcessHolders = std::map<std::uint64_t, Holder>;

/// Calls `visit` for each visible process, within the limits. Hidden ones are counted as refused. Errors: those of the
/// sysctl and of for_each_process().
Result<ProcessHolders> exported_processes(Inspector& inspector,
                                          const std::function<void(const ExportedProcess&)>& visit = nullptr);

/// Calls `visit` for each descriptor.
Result<void> visit_exported_files(Inspector& inspector, const std::function<void(const ExportedFile&)>& visit);

/// The process with that number. If it began after the processes were read, only its number and user are known.
Holder holder_of(const ProcessHolders& processes, std::uint64_t pid, std::uint32_t uid);

/// Adds the number of descriptors of that type for each process that has any; nothing: of all types.
Result<void> count_exported_files(Inspector& inspector, std::optional<DescriptorType> type);

}  // namespace memstat
