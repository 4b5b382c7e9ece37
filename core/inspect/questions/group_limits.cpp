// SPDX-License-Identifier: BSD-2-Clause
// Control groups at any depth that are near a limit, or were at it: memory, swap and tasks, kills and throttling by the
// group's own limit (memory.events.local, since it was created), and tasks that wait (memory.oom_control of version 1).
#include <algorithm>
#include <array>
#include <optional>

#include "core/base/text.h"
#include "core/inspect/control_groups.h"
#include "core/parse/key_values.h"

namespace memstat::inspections::group_limits {
namespace {

using Number = std::optional<std::uint64_t>;

Number number_in(Inspector& inspector, const FoundGroup& group, std::string_view file) {
  return parse_u64(trim(inspector.read(group.directory + std::string(file))));
}

void add_row(Inspector& inspector, const FoundGroup& group, std::string_view name, std::uint64_t count,
             const Number& limit) {
  Holder& holder = inspector.add({});
  holder.group = group.path;
  holder.name = name;
  holder.count = count;
  holder.limit = limit;
}

/// "max", and the numbers that mean it, are no limits.
void add_near(Inspector& inspector, const FoundGroup& group, std::string_view name, const Number& used,
              const Number& limit) {
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60U;
  if (!used || !limit || *limit == 0 || *limit >= kUnlimited || *used < *limit / 10 * 9) return;
  add_row(inspector, group, name, *used, limit);
}

/// Program memory, tmpfs, and kernel memory: what reclaim cannot free without swap.
Number fixed_bytes(Inspector& inspector, const FoundGroup& group, bool is_version_1) {
  std::array<KeyedNumber, 4> numbers =
      is_version_1 ? keyed_numbers<std::string_view>({"rss", "shmem", "-", "--"})
                   : keyed_numbers<std::string_view>({"anon", "kernel", "shmem", "slab_reclaimable"});
  if (read_keyed_numbers(inspector.read(group.directory + "/memory.stat"), numbers) || !numbers[0].value) return {};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum = saturating_sum(sum, numbers[i].value.value_or(0));
  return sum - std::min(sum, numbers[3].value.value_or(0));
}

void look_at_memory(Inspector& inspector, const FoundGroup& group, bool is_version_1) {
  const Number limit = number_in(inspector, group, is_version_1 ? "/memory.limit_in_bytes" : "/memory.max");
  if (limit) add_near(inspector, group, "memory", fixed_bytes(inspector, group, is_version_1), limit);
  if (is_version_1) {
    std::array numbers = keyed_numbers<std::string_view>({"under_oom", "oom_kill"});  // the latter since 4.13
    (void)read_keyed_numbers(inspector.read(group.directory + "/memory.oom_control"), numbers);
    if (numbers[0].value.value_or(0) != 0) add_row(inspector, group, "waits without memory", 1, {});
    if (numbers[1].value.value_or(0) != 0) add_row(inspector, group, "kills", *numbers[1].value, {});
    return;
  }
  add_near(inspector, group, "swap", number_in(inspector, group, "/memory.swap.current"),
           number_in(inspector, group, "/memory.swap.max"));
  std::array numbers = keyed_numbers<std::string_view>({"high", "oom_kill"});
  (void)read_keyed_numbers(inspector.read(group.directory + "/memory.events.local"), numbers);
  if (numbers[0].value.value_or(0) != 0) add_row(inspector, group, "throttled", *numbers[0].value, {});
  if (numbers[1].value.value_or(0) != 0) add_row(inspector, group, "kills", *numbers[1].value, {});
}

void look_at_tasks(Inspector& inspector, const FoundGroup& group) {
  if (const Number limit = number_in(inspector, group, "/pids.max"); limit) {
    add_near(inspector, group, "tasks", number_in(inspector, group, "/pids.current"), limit);
  }
}

Result<void> look(Inspector& inspector) {
  const GroupHierarchies hierarchies = group_hierarchies(inspector);
  const bool is_one = !hierarchies.is_version_1;
  auto walked = walk_groups(inspector, hierarchies.memory, [&](const FoundGroup& group) {
    look_at_memory(inspector, group, hierarchies.is_version_1);
    if (is_one) look_at_tasks(inspector, group);
  });
  if (is_one) return walked;
  auto of_tasks =
      walk_groups(inspector, hierarchies.tasks, [&](const FoundGroup& group) { look_at_tasks(inspector, group); });
  return walked ? walked : of_tasks;
}

}  // namespace

extern const Inspection inspection{.name = "group-limits",
                                   .question = "Which control groups, at any depth, are near a limit or were stopped at it",
                                   .kind = "limit",
                                   .things = "in use",
                                   .parts = "control groups",
                                   .sees = ViewPart::kGroups,
                                   .reads_polled_files = true,
                                   .look = look};

}  // namespace memstat::inspections::group_limits
