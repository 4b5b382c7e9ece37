// SPDX-License-Identifier: BSD-2-Clause
// Questions answered with a number of descriptors of a type, on FreeBSD.
#include <gtest/gtest.h>

#include "tests/support/freebsd_tables.h"
#include "tests/support/process_kernel.h"

namespace memstat::freebsd_descriptors_test {
namespace {

struct Descriptor {
  const char* question;
  std::uint16_t type;
  std::string answer = "7 nginx 3; 9 sh 1";
};

class WhoByDescriptor : public testing::TestWithParam<Descriptor> {
 protected:
  void set_files(const std::string& bytes) { kernel_.set("kern.file", bytes); }
  [[nodiscard]] Result<InspectionAnswer> ask(const InspectionBounds& bounds = {}) {
    return inspect(kernel_, *find_inspection(GetParam().question, OperatingSystem::kFreeBsd), bounds);
  }
  SysctlKernel kernel_;
};

TEST_P(WhoByDescriptor, TheDescriptorsOfThatTypeCount) {
  const auto file = [&](std::uint32_t pid, std::uint64_t object) { return exported_file(pid, GetParam().type, object); };
  kernel_.set("kern.proc.proc",
              exported_process(7, "nginx", 1, 4) + exported_process(8, "none") + exported_process(9, "sh"));
  set_files(file(7, 1) + file(7, 2) + file(7, 2) + exported_file(8, 99) + file(9, 1));
  const auto answer = ask();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(holders_text(*answer), GetParam().answer);
  EXPECT_EQ(answer->looked_at, 3U);
  EXPECT_FALSE(answer->is_partial());
  const Holder& nginx = answer->holders[answer->holders[0].pid == 7 ? 0 : 1];
  EXPECT_EQ(nginx.user, "1007");
  EXPECT_EQ(nginx.group, "jail 4");
}

TEST_P(WhoByDescriptor, AProcessThatBeganOnlyNowHasItsNumberAndUser) {
  kernel_.set("kern.proc.proc", exported_process(8, "none"));
  set_files(exported_file(7, GetParam().type, 1));
  const auto answer = ask();
  ASSERT_TRUE(answer);
  EXPECT_EQ(holders_text(*answer), "7 1");
  EXPECT_EQ(answer->holders[0].user, "1007");
}

TEST_P(WhoByDescriptor, ATableThatTookLongIsReadToItsEndNevertheless) {
  kernel_.set("kern.proc.proc", exported_process(7, "nginx"));
  set_files(exported_file(7, GetParam().type, 1));
  const auto answer = ask({.max_cpu_ns = 0, .max_wall_ns = 0});
  ASSERT_TRUE(answer);
  EXPECT_EQ(holders_text(*answer), "7 nginx 1");
  EXPECT_FALSE(answer->is_cut);
}

TEST_P(WhoByDescriptor, ACutTableIsNoAnswer) {
  kernel_.set("kern.proc.proc", exported_process(7, "nginx"));
  set_files(exported_file(7, GetParam().type, 1).substr(0, 127));
  EXPECT_EQ(ask().error().code, ErrorCode::kData);
  kernel_.set("kern.proc.proc", exported_process(7, "nginx").substr(0, 1087));
  EXPECT_EQ(ask().error().code, ErrorCode::kData);
  kernel_.failures["kern.proc.proc"] = EPERM;
  EXPECT_EQ(ask().error().code, ErrorCode::kPermission);
}

INSTANTIATE_TEST_SUITE_P(Questions, WhoByDescriptor,
                         testing::Values(Descriptor{"files", 1, "7 nginx 3; 8 none 1; 9 sh 1"}, Descriptor{"sockets", 2},
                                         Descriptor{"pipes", 3, "7 nginx 2; 9 sh 1"}, Descriptor{"eventfds", 13},
                                         Descriptor{"inotify", 15}, Descriptor{"kqueues", 5}),
                         [](const auto& one) { return std::string(one.param.question); });

TEST(WhoOnFreeBsd, HiddenProcessesAreRefusedWhereAPolicyHidesThem) {
  SysctlKernel kernel;
  kernel.set("kern.proc.proc", exported_process(7, "own") + exported_process(8, "own"));
  kernel.set("kern.file", exported_file(7, 1));
  kernel.set_u64("vm.uma.PROC.stats.current", 11);
  kernel.set_u32("security.bsd.see_other_uids", 1);
  const Inspection& files = *find_inspection("files", OperatingSystem::kFreeBsd);
  EXPECT_EQ(inspect(kernel, files).value().refused, 0U);
  kernel.set_u32("security.bsd.see_other_uids", 0);
  EXPECT_EQ(inspect(kernel, files).value().refused, 10U);  // process 0 is not in the zone
  kernel.set_u64("vm.uma.PROC.stats.current", 1);          // root sees all of them, including process 0
  EXPECT_EQ(inspect(kernel, files).value().refused, 0U);
  kernel.set_u64("vm.uma.PROC.stats.current", ~0ULL);
  EXPECT_EQ(inspect(kernel, files).value().refused, ~0ULL - 1);
}

TEST(WhoOnFreeBsd, StopsAtTheMaximumOfObjects) {
  SysctlKernel kernel;
  std::string processes;
  for (std::uint32_t pid = 1; pid <= 1005; ++pid) processes += exported_process(pid, "many");
  kernel.set("kern.proc.proc", processes);
  const auto answer =
      inspect(kernel, *find_inspection("anonymous", OperatingSystem::kFreeBsd), {.max_objects = 1000}).value();
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(answer.looked_at, 1000U);
  EXPECT_EQ(answer.unlisted, 1000 - kMaxHolders);
}

}  // namespace
}  // namespace memstat::freebsd_descriptors_test
