// SPDX-License-Identifier: BSD-2-Clause
// Control groups are listed again at every read of a captured kernel, which allocates nothing while the same groups
// are there.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

TEST(SteadyMemcg, AllocatesNothingWhileTheSameGroupsAreThere) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& path, const std::string& text) {
    write_text(directory.file("sys/fs/cgroup" + path), text);
  };
  write_text(directory.file("proc/vmstat"), "oom_kill 1\n");
  write("/cgroup.controllers", "cpu memory pids\n");
  write("/cgroup.subtree_control", "memory\n");
  std::vector<std::string> groups;
  for (int slice = 0; slice < 10; ++slice) {
    groups.push_back("/a slice with a name too long for the small-string optimization  " + std::to_string(slice) + ".slice");
    const std::string above = groups.back();
    for (int unit = 0; unit < 10; ++unit) groups.push_back(above + "/unit-" + std::to_string(unit) + ".service");
  }
  const auto set = [&](const std::string& group, int value) {
    const std::string number = std::to_string(value * 4096) + "\n";
    write(group + "/cgroup.subtree_control", "memory\n");
    write(group + "/memory.current", number);
    write(group + "/memory.max", value % 2 == 0 ? "max\n" : number);
    write(group + "/memory.high", value % 3 == 0 ? "max\n" : number);
    write(group + "/pids.current", number);
    write(group + "/pids.max", value % 2 == 0 ? "max\n" : number);
    write(group + "/memory.events", "low 0\nhigh " + number + "max 1\noom 2\noom_kill 0\noom_group_kill 0\n");
    write(group + "/memory.stat", "anon " + number + "file " + number + "kernel 1\npercpu 2\nsock 3\nvmalloc 4\nslab 5\n");
  };
  for (const std::string& group : groups) set(group, 6);
  RootedKernelView view(directory.path());
  SourceReader reader(*find_source("linux_memcg"));
  MemoryTypeList list;
  const auto poll_once = [&](int poll) {
    return refresh(reader, view, list, static_cast<std::uint64_t>(poll) + 1) && list.size() == groups.size();
  };
  expect_steady(poll_once, [&](int poll) {
    for (const std::string& group : groups) set(group, 6 + poll);
  });
}

}  // namespace
}  // namespace memstat
