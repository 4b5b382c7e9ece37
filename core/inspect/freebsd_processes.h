// SPDX-License-Identifier: BSD-2-Clause
// The processes of a FreeBSD machine and their descriptors: kern.proc.proc and kern.file, which have all of them at once.
// The kernel takes its time for such a table and cannot be stopped; what is in it is then read to the end, since a
// descriptor costs nanoseconds. So the number of processes is bounded, and the time is that of two reads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "core/inspect/inspection.h"
#include "core/parse/freebsd_exports.h"

namespace memstat {

/// The privilege (priv(9)) without which a kernel hides the processes of others, if security.bsd.see_other_uids is 0.
inline constexpr std::string_view kSeeOthers = "PRIV_SEEOTHERUIDS";

/// Holders without figures, by pid.
using ProcessHolders = std::map<std::uint64_t, Holder>;

/// Every process that may be seen, within the bounds; `visit` is called for each. Hidden ones are counted as refused.
/// Errors: those of the sysctl and of for_each_process().
Result<ProcessHolders> exported_processes(Inspector& inspector,
                                          const std::function<void(const ExportedProcess&)>& visit = nullptr);

/// Calls `visit` for each descriptor.
Result<void> visit_exported_files(Inspector& inspector, const std::function<void(const ExportedFile&)>& visit);

/// What is known of the process with that number; of one that began only now, its number and user.
Holder holder_of(const ProcessHolders& processes, std::uint64_t pid, std::uint32_t uid);

/// The number of descriptors of each process that has any, of that type; nothing: of all.
Result<void> count_exported_files(Inspector& inspector, std::optional<DescriptorType> type);

}  // namespace memstat
