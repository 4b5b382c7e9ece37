// SPDX-License-Identifier: BSD-2-Clause
// Memory that is charged to control groups without groups below them, at any depth, by part: memory.stat (mm/memcontrol.c).
#include <array>

#include "core/base/text.h"
#include "core/inspect/control_groups.h"
#include "core/parse/key_values.h"

namespace memstat::inspections::groups {
namespace {

struct Part {
  std::string_view key;  ///< of memory.stat; version 1 has no sum of kernel memory there
  std::string_view key_1;
  std::string_view name;
};
constexpr std::array kParts{Part{"anon", "rss", "program memory"}, Part{"shmem", "shmem", "shared memory"},
                            Part{"sock", "", "socket buffers"}, Part{"kernel", "", "kernel memory"}};

void add_parts(Inspector& inspector, const FoundGroup& group, bool is_version_1) {
  std::array<KeyedNumber, kParts.size()> numbers;
  for (std::size_t i = 0; i < kParts.size(); ++i) numbers[i].key = is_version_1 ? kParts[i].key_1 : kParts[i].key;
  (void)read_keyed_numbers(inspector.read(group.directory + "/memory.stat"), numbers);
  if (is_version_1) numbers[3].value = parse_u64(trim(inspector.read(group.directory + "/memory.kmem.usage_in_bytes")));
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    if (numbers[i].value.value_or(0) == 0) continue;
    Holder& holder = inspector.add({});
    holder.group = group.path;
    holder.name = kParts[i].name;
    holder.bytes = numbers[i].value;
  }
}

Result<void> look(Inspector& inspector) {
  const GroupHierarchies hierarchies = group_hierarchies(inspector);
  return walk_groups(inspector, hierarchies.memory, [&](const FoundGroup& group) {
    if (group.is_leaf) add_parts(inspector, group, hierarchies.is_version_1);
  });
}

}  // namespace

extern const Inspection inspection{.name = "groups",
                                   .question = "Which control groups, at any depth, hold which memory",
                                   .kind = "part",
                                   .things = "of memory",
                                   .parts = "control groups",
                                   .sees = ViewPart::kGroups,
                                   .look = look};

}  // namespace memstat::inspections::groups
