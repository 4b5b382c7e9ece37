// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::group_limits {
namespace {

std::string rows_of(const InspectionAnswer& answer) {
  std::string text;
  for (const Holder& one : answer.holders) {
    text += one.group + " " + one.name + " " + std::to_string(*one.count);
    text += one.limit ? " of " + std::to_string(*one.limit) + "; " : "; ";
  }
  return text;
}

TEST(WhoGroupLimits, DeepGroupsNearTheirLimits) {
  ProcessKernel kernel;
  kernel.files["/sys/fs/cgroup/cgroup.controllers"] = "memory pids\n";
  const std::string scope = "/sys/fs/cgroup/a/b/c";
  kernel.files[scope + "/memory.max"] = "1000\n";
  kernel.files[scope + "/memory.stat"] = "anon 850\nfile 90\nkernel 60\nslab_reclaimable 5\n";
  kernel.files[scope + "/memory.swap.max"] = "max\n";
  kernel.files[scope + "/memory.swap.current"] = "70\n";
  kernel.files[scope + "/memory.events.local"] = "low 0\nhigh 3\nmax 9\noom 2\noom_kill 2\n";
  kernel.files[scope + "/pids.max"] = "100\n";
  kernel.files[scope + "/pids.current"] = "99\n";
  EXPECT_EQ(rows_of(answer_of(kernel, "group-limits")),
            "/a/b/c memory 905 of 1000; /a/b/c tasks 99 of 100; /a/b/c throttled 3; /a/b/c kills 2; ");
  kernel.files[scope + "/memory.stat"] = "anon 700\nfile 290\n";
  kernel.files[scope + "/pids.current"] = "80\n";
  kernel.files[scope + "/memory.events.local"] = "high 0\n";
  EXPECT_EQ(rows_of(answer_of(kernel, "group-limits")), "") << "page cache can be reclaimed";
}

TEST(WhoGroupLimits, OfVersion1AreInTwoHierarchies) {
  ProcessKernel kernel;
  kernel.files["/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes"] = "1000\n";
  kernel.files["/sys/fs/cgroup/memory/docker/a/memory.stat"] = "cache 1\nrss 990\n";
  kernel.files["/sys/fs/cgroup/memory/docker/a/memory.oom_control"] = "oom_kill_disable 1\nunder_oom 1\n";
  kernel.files["/sys/fs/cgroup/memory/docker/memory.limit_in_bytes"] = "9223372036854771712\n";
  kernel.files["/sys/fs/cgroup/memory/docker/memory.stat"] = "rss 990\n";
  kernel.files["/sys/fs/cgroup/pids/docker/a/pids.max"] = "50\n";
  kernel.files["/sys/fs/cgroup/pids/docker/a/pids.current"] = "50\n";
  EXPECT_EQ(rows_of(answer_of(kernel, "group-limits")),
            "/docker/a memory 990 of 1000; /docker/a tasks 50 of 50; /docker/a waits without memory 1; ");
}

TEST(WhoGroupLimits, WithoutGroupsThereIsNoAnswer) {
  ProcessKernel kernel;
  EXPECT_EQ(inspect(kernel, *find_inspection("group-limits")).error().code, ErrorCode::kNotPresent);
}

}  // namespace
}  // namespace memstat::inspections::group_limits
