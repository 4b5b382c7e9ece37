// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::modules {
namespace {

constexpr std::string_view kModules =
    "nf_conntrack 200704 2 nf_nat,xt_conntrack, Live 0x0000000000000000\n"
    "forced 4096 - - Live 0x0000000000000000 (OE)\n"
    "short\n"
    "broken many 1\n";

TEST(WhoModules, SizeAndReferencesOfEach) {
  ProcessKernel kernel;
  kernel.files["/proc/modules"] = kModules;
  EXPECT_EQ(holders_text(answer_of(kernel, "modules")), "nf_conntrack 2 200704B; forced 4096B");
}

TEST(WhoModules, OfARecordingTheNewOnesCount) {
  ProcessKernel kernel;
  kernel.files["/proc/modules"] = "old 4096 0 - Live 0\n";
  const InspectionAnswer first = answer_of(kernel, "modules");
  kernel.files["/proc/modules"] = "leaky 8192 0 - Live 0\nold 4096 0 - Live 0\n";
  InspectionAnswer last = answer_of(kernel, "modules");
  remove_known(last, first);
  EXPECT_EQ(holders_text(last), "leaky 0 8192B");
  EXPECT_TRUE(find_inspection("modules")->is_about_new);
}

TEST(WhoModules, WithoutModulesThereIsNoAnswer) {
  ProcessKernel kernel;
  EXPECT_EQ(inspect(kernel, *find_inspection("modules")).error().code, ErrorCode::kNotPresent);
}

}  // namespace
}  // namespace memstat::inspections::modules
