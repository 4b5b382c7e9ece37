// SPDX-License-Identifier: BSD-2-Clause
// The machine-wide queries of a list: its kernel and its memory.
#include <sys/utsname.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/c_api/list.h"
#include "core/capture/replay_view.h"
#include "core/model/accounts.h"
#include "core/source.h"

namespace memstat {
namespace {

/// Requires `to` to be zeroed.
void copy_machine_text(std::string_view text, char* to, std::size_t room) { text.copy(to, room - 1); }

bool reports_memory(const SourceDescriptor& source) {
  return std::any_of(source.origins.begin(), source.origins.end(),
                     [](const MetricOrigin& origin) { return origin.metric == &kAvailableBytes; });
}

/// Whether the account exists; then total = parts + unaccounted + free.
bool take_account(const StagedStatistics& statistics, memstat_memory& memory) {
  memstat_memory found{};
  std::uint64_t parts = 0;
  std::uint64_t unaccounted = 0;
  bool has_account = false;
  for (const StagedStatistics::Entry& figure : statistics.entries()) {
    if (figure.metric == &kTotalBytes) found.total = figure.bits;
    if (figure.metric == &kAvailableBytes) found.available = figure.bits;
    if (figure.metric == &kAccountedBytes) parts += figure.bits;
    if (figure.metric == &kUnaccountedBytes) {
      unaccounted = figure.bits;
      has_account = true;
    }
  }
  if (!has_account) return false;
  found.unaccounted = static_cast<std::int64_t>(unaccounted);
  const auto free = static_cast<std::int64_t>(found.total - parts - unaccounted);
  found.free = free < 0 ? 0 : static_cast<std::uint64_t>(free);
  memory = found;
  return true;
}

}  // namespace

/// The view of whichever kernel can be read.
Result<std::shared_ptr<KernelView>> QueriedList::view_of_any() {
  auto view = view_of(
      OperatingSystem::kFreeBsd);  // first, because on Linux a FreeBSD capture and the Linux kernel may both be available
  if (view || view.error().code != ErrorCode::kNotPresent) return view;
  return view_of(OperatingSystem::kLinux);
}

bool QueriedList::read_kernel(memstat_kernel& kernel) {
  auto view = view_of_any();
  if (!view) return fail(std::move(view.error()));
  kernel = {};
  copy_machine_text(to_string((*view)->os()), kernel.os, sizeof kernel.os);
  copy_machine_text((*view)->os_release(), kernel.release, sizeof kernel.release);
  if (const auto* const capture = dynamic_cast<const ReplayKernelView*>(view->get()); capture != nullptr) {
    kernel.is_capture = 1;
    kernel.time_ns = capture->poll_info(capture->selected_poll()).realtime_ns;
    copy_machine_text(capture->manifest().machine, kernel.machine, sizeof kernel.machine);
    return true;
  }
  kernel.is_capture = *view == live_ ? 0 : 1;
  kernel.time_ns = (*view)->clock().realtime_ns();
  utsname system{};
  if (kernel.is_capture == 0 && ::uname(&system) == 0) {
    copy_machine_text(system.nodename, kernel.host, sizeof kernel.host);
    copy_machine_text(system.machine, kernel.machine, sizeof kernel.machine);
  }
  return true;
}

bool QueriedList::read_memory(memstat_memory& memory) {
  auto view = view_of_any();
  if (!view) return fail(std::move(view.error()));
  for (const SourceDescriptor* const source : all_sources()) {
    if (source->os != (*view)->os() || !reports_memory(*source)) continue;
    Entry& entry = entry_of(*source);
    auto result = read_entry(entry, *view);
    if (result) result = parse_source(entry.reader);
    if (!result) return fail(std::move(result.error()));
    if (take_account(entry.reader.staging.statistics(), memory)) return true;
  }
  return fail(ErrorCode::kNotPresent, "this kernel does not report how much memory it has");
}

}  // namespace memstat
