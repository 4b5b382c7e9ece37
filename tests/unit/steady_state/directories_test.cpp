// SPDX-License-Identifier: BSD-2-Clause
// Sources that list directories again at every read (control groups, processes, resource groups) allocate nothing while
// these directories stay.
#include <gtest/gtest.h>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

class SteadyDirectories : public testing::Test {
 protected:
  void SetUp() override {
    MEMSTAT_SKIP_UNLESS_COUNTING();
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
  }
  void write(const std::string& path, const std::string& text) { write_text(directory_.file(path), text); }
  /// Reads the source several times, each time after write_all(NUMBER).
  template <typename Write>
  void expect_steady_source(SourceReader& reader, std::size_t types, Write write_all) {
    write_all(0);
    RootedKernelView view(directory_.path());
    MemoryTypeList list;
    expect_steady(
        [&](int poll) { return refresh(reader, view, list, static_cast<std::uint64_t>(poll) + 1) && list.size() == types; },
        write_all);
  }

  TemporaryDirectory directory_;
};

TEST_F(SteadyDirectories, OfControlGroups) {
  const std::string root = "sys/fs/cgroup";
  write("proc/vmstat", "oom_kill 1\n");
  write("proc/meminfo", "MemFree: 400000 kB\nActive(file): 1 kB\nInactive(file): 1 kB\nSwapFree: 0 kB\n");
  write("proc/zoneinfo", "Node 0, zone Normal\n min 10\n managed 200000\n protection: (0, 0)\n");
  write(root + "/cgroup.controllers", "cpu memory pids\n");
  write(root + "/cgroup.subtree_control", "memory\n");
  std::vector<std::string> groups;
  for (int slice = 0; slice < 10; ++slice) {
    const std::string above =
        root + "/a slice with a name too long for the small-string optimization " + std::to_string(slice);
    groups.push_back(above);
    for (int unit = 0; unit < 10; ++unit) groups.push_back(above + "/unit-" + std::to_string(unit) + ".service");
  }
  SourceReader reader(*find_source("linux_memcg"));
  expect_steady_source(reader, groups.size(), [&](int poll) {
    const int value = 6 + poll;
    const std::string number = std::to_string(value * 4096) + "\n";
    for (const std::string& group : groups) {
      write(group + "/cgroup.subtree_control", "memory\n");
      write(group + "/memory.current", number);
      write(group + "/memory.max", value % 2 == 0 ? "max\n" : number);
      write(group + "/memory.high", value % 3 == 0 ? "max\n" : number);
      write(group + "/pids.current", number);
      write(group + "/pids.max", value % 2 == 0 ? "max\n" : number);
      write(group + "/memory.events", "low 0\nhigh " + number + "max 1\noom 2\noom_kill 0\noom_group_kill 0\n");
      write(group + "/memory.stat",
            "anon " + number + "file " + number + "inactive_file 1\nkernel 1\npercpu 2\nsock 3\nvmalloc 4\nslab 5\n");
    }
  });
}

TEST_F(SteadyDirectories, OfProcesses) {
  const auto set = [&](const std::string& process, const std::string& name, int pages) {
    write("proc/" + process + "/comm", name + "\n");
    write("proc/" + process + "/statm", "1000 " + std::to_string(pages) + " 3 2 0 1 0\n");
  };
  write("proc/self/stat", "1 (memstatd) S\n");
  SourceReader reader(*find_source("linux_process"));
  reader.state->options.assign(3, {});
  reader.state->options[0].matches = [](std::string_view name) { return name.ends_with('7'); };
  reader.state->options[1].number = 100;  // all of them, so that no name comes or goes
  reader.state->options[2].number = 1000;
  expect_steady_source(reader, 41, [&](int poll) {
    set("self", "memstatd", 5 + poll);
    for (int i = 2; i < 300; ++i) {
      set(std::to_string(i), "a name that is no short string " + std::to_string(i % 40), (i + poll * 7) % 40 + 10);
    }
  });
}

}  // namespace
}  // namespace memstat
