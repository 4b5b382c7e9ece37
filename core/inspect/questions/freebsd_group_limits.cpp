// SPDX-License-Identifier: BSD-2-Clause
// Jails, users and login classes that are near a limit of rctl(8) at which the kernel refuses.
#include "core/base/text.h"
#include "core/inspect/freebsd_calls.h"

namespace memstat::inspections::freebsd_group_limits {
namespace {

constexpr std::string_view kRefuses = ":deny=";

/// "19 jail:www:maxproc:deny=20". Nothing for a damaged line, and for a rule that limits each process ("20/process").
std::optional<Holder> limit_of(std::string_view line) {
  std::string_view used;
  if (!next_word(line, used)) return {};
  const std::string_view rule = trim(line);
  const std::size_t name = rule.find(':');
  const std::size_t resource = rule.find(':', name + 1);
  const std::size_t action = rule.find(kRefuses);
  if (name == std::string_view::npos || resource == std::string_view::npos || action == std::string_view::npos) return {};
  if (action <= resource) return {};
  Holder holder;
  holder.group = std::string(rule.substr(0, name)) + " " + std::string(rule.substr(name + 1, resource - name - 1));
  holder.name = rule.substr(resource + 1, action - resource - 1);
  holder.count = parse_u64(used);
  holder.limit = parse_u64(rule.substr(action + kRefuses.size()));
  return holder.count && holder.limit ? std::optional(std::move(holder)) : std::nullopt;
}

Result<void> look(Inspector& inspector) {
  ResourceLimitsTable table;
  Buffer text;
  if (auto read = inspector.view().read_table("resource_limits", table, text); !read) return read;
  std::string_view rest = text.view();
  for (std::string_view line; next_line(rest, line);) {
    std::optional<Holder> holder = limit_of(line);
    if (!holder || *holder->limit == 0 || *holder->count < *holder->limit / 10 * 9) continue;
    if (!inspector.take_read()) break;
    inspector.add(*std::move(holder));
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "group-limits",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which jails, users and login classes are near a limit of rctl(8)",
                                   .kind = "limit",
                                   .things = "in use",
                                   .needs = "PRIV_RCTL_GET_RULES",
                                   .look = look};

}  // namespace memstat::inspections::freebsd_group_limits
