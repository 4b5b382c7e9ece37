// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/freebsd_calls.h"

#if defined(__FreeBSD__)

#include <sys/param.h>

#include <sys/linker.h>
#include <sys/mount.h>
#include <sys/rctl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/kernel/rctl_call.h"

namespace memstat {
namespace {

/// The name may contain any byte, including a newline.
void add_amount(std::uint64_t bytes, std::uint64_t count, std::string_view name, Buffer& out) {
  out.append(std::to_string(bytes) + " " + std::to_string(count) + " " + make_label_text(name) + "\n");
}

/// The value of a line "name=value".
std::string_view value_in(std::string_view lines, std::string_view name) {
  for (std::string_view one; next_line(lines, one);) {
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=') return one.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

Result<void> ModulesTable::read(Buffer& out) {
  out.clear();
  int id = 0;
  while ((id = ::kldnext(id)) > 0) {
    struct kld_file_stat module {};
    module.version = sizeof module;
    if (::kldstat(id, &module) != 0) continue;  // unloaded just now
    add_amount(module.size, static_cast<std::uint64_t>(std::max(module.refs, 0)), module.name, out);
  }
  return id < 0 && out.view().empty() ? system_error("kldnext", errno) : Result<void>();
}

Result<void> TmpfsMountsTable::read(Buffer& out) {
  out.clear();
  const int count = ::getfsstat(nullptr, 0, MNT_NOWAIT);  // does not query the file systems, some of which may hang
  if (count < 0) return system_error("getfsstat", errno);
  std::vector<struct statfs> mounts(static_cast<std::size_t>(count) + 8);
  const int filled = ::getfsstat(mounts.data(), static_cast<long>(mounts.size() * sizeof mounts[0]), MNT_NOWAIT);
  if (filled < 0) return system_error("getfsstat", errno);
  mounts.resize(static_cast<std::size_t>(filled));
  for (const struct statfs& mount : mounts) {
    struct statfs now {};
    if (std::string_view(mount.f_fstypename) != "tmpfs" || ::statfs(mount.f_mntonname, &now) != 0) continue;
    if (now.f_fsid.val[0] != mount.f_fsid.val[0] || now.f_fsid.val[1] != mount.f_fsid.val[1]) continue;  // hidden by another
    const auto free_files = static_cast<std::uint64_t>(std::max<std::int64_t>(now.f_ffree, 0));
    add_amount(saturating_product(now.f_blocks - std::min(now.f_bfree, now.f_blocks), now.f_bsize),
               now.f_files - std::min(free_files, now.f_files), mount.f_mntonname, out);
  }
  return {};
}

Result<void> ResourceLimitsTable::read(Buffer& out) {
  out.clear();
  const auto rules = ask_rctl(&::rctl_get_rules, "rctl_get_rules", "::");
  if (!rules) return rules.error().code == ErrorCode::kNotPresent ? Result<void>() : rules.error();
  std::string_view rest = *rules;
  std::string subject;
  std::string used;
  for (std::string_view rule; next_line(rest, rule);) {
    const std::size_t end = rule.find(':', rule.find(':') + 1);
    const std::size_t action = rule.find(":deny=");
    if (end == std::string_view::npos || action == std::string_view::npos || action <= end) continue;
    if (rule.substr(0, end + 1) != subject) {
      subject = rule.substr(0, end + 1);
      auto counted = ask_rctl(&::rctl_get_racct, "rctl_get_racct", subject);
      used = counted ? *std::move(counted) : std::string();  // gone just now
    }
    const std::string_view amount = value_in(used, rule.substr(end + 1, action - end - 1));
    if (!amount.empty()) out.append(std::string(amount) + " " + std::string(rule) + "\n");
  }
  return {};
}

}  // namespace memstat

#endif
