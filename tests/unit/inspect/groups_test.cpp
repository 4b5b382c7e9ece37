// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::groups {
namespace {

std::string rows_of(const InspectionAnswer& answer) {
  std::string text;
  for (const Holder& one : answer.holders) text += one.group + " " + one.name + " " + std::to_string(*one.bytes) + "; ";
  return text;
}

TEST(WhoGroups, PartsOfTheDeepestOnes) {
  ProcessKernel kernel;
  const std::string pod = "/sys/fs/cgroup/kubepods.slice/burstable.slice/pod1.slice";
  kernel.files["/sys/fs/cgroup/cgroup.controllers"] = "memory pids\n";
  kernel.files[pod + "/memory.stat"] = "anon 900\n";
  kernel.files[pod + "/cri-a.scope/memory.stat"] = "anon 800\nfile 5000\nkernel 40\nshmem 0\nsock 7\n";
  EXPECT_EQ(rows_of(answer_of(kernel, "groups")),
            "/kubepods.slice/burstable.slice/pod1.slice/cri-a.scope program memory 800; "
            "/kubepods.slice/burstable.slice/pod1.slice/cri-a.scope kernel memory 40; "
            "/kubepods.slice/burstable.slice/pod1.slice/cri-a.scope socket buffers 7; ");
}

TEST(WhoGroups, OfVersion1HaveKernelMemoryInAFileOfItsOwn) {
  ProcessKernel kernel;
  kernel.files["/sys/fs/cgroup/memory/docker/a/memory.stat"] = "cache 1\nrss 800\n";
  kernel.files["/sys/fs/cgroup/memory/docker/a/memory.kmem.usage_in_bytes"] = "40\n";
  EXPECT_EQ(rows_of(answer_of(kernel, "groups")), "/docker/a program memory 800; /docker/a kernel memory 40; ");
}

TEST(WhoGroups, ManyAreCut) {
  ProcessKernel kernel;
  kernel.files["/sys/fs/cgroup/cgroup.controllers"] = "memory\n";
  for (int i = 0; i < 40; ++i) kernel.files["/sys/fs/cgroup/a" + std::to_string(i) + "/memory.stat"] = "anon 9\n";
  const auto answer = inspect(kernel, *find_inspection("groups"), {.max_objects = 20});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is_cut);
  EXPECT_EQ(answer->looked_at, 20U);
}

TEST(WhoGroups, WithoutGroupsThereIsNoAnswer) {
  ProcessKernel kernel;
  EXPECT_EQ(inspect(kernel, *find_inspection("groups")).error().code, ErrorCode::kNotPresent);
}

}  // namespace
}  // namespace memstat::inspections::groups
