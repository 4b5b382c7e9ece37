// SPDX-License-Identifier: BSD-2-Clause
// The message for a kernel that refuses: it names the capability or the policy.
#include "core/events/attach/refusal.h"

#include "tests/support/test.h"

namespace memstat::events {
namespace {

constexpr const char* kRoot = "Name:\tx\nCapInh:\t0\nCapEff:\t000001ffffffffff\n";

bool has(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

TEST(WhyRefused, NamesTheCapabilitiesThatAreMissing) {
  EXPECT_TRUE(has(why_refused("CapEff:\t0000000000000000\n", ""), "this process lacks CAP_BPF and CAP_PERFMON"));
  EXPECT_TRUE(has(why_refused("CapEff:\t0000008000000000\n", ""), "this process lacks CAP_PERFMON"));
  EXPECT_TRUE(has(why_refused("CapEff:\t0000004000000000\n", ""), "this process lacks CAP_BPF;"));
  EXPECT_FALSE(has(why_refused("CapEff:\t000000c000000000\n", ""), "lacks"));
  EXPECT_FALSE(has(why_refused("CapEff:\t0000000000200000\n", ""), "lacks")) << "CAP_SYS_ADMIN has both";
}

TEST(WhyRefused, NamesLockdownWhereItForbidsReadingTheKernel) {
  EXPECT_TRUE(has(why_refused(kRoot, "none integrity [confidentiality]\n"), "lockdown=confidentiality"));
  EXPECT_FALSE(has(why_refused(kRoot, "none [integrity] confidentiality\n"), "lockdown="));
  EXPECT_TRUE(has(why_refused(kRoot, "none [integrity] confidentiality\n"), "seccomp"));
  EXPECT_FALSE(has(why_refused("CapEff:\t0\n", "none integrity [confidentiality]\n"), "lockdown"))
      << "first the reason that always applies";
}

TEST(WhyRefused, DistinguishesTheVerifiersAnswerFromALackOfCapabilities) {
  EXPECT_TRUE(has_attach_capabilities("CapEff:\t000000c000000000\n"));
  EXPECT_TRUE(has_attach_capabilities("CapEff:\t0000000000200000\n")) << "CAP_SYS_ADMIN";
  EXPECT_FALSE(has_attach_capabilities("CapEff:\t0000008000000000\n"));
  EXPECT_FALSE(has_attach_capabilities("CapEff:\t0000000000000000\n"));
}

TEST(WhyRefused, ReportsNothingFalseAboutUnreadableData) {
  for (const char* status : {"", "CapEff:", "CapEff:\tx\n", "CapEff:\t00zz\n", "CapEff:\t11112222333344445\n"}) {
    EXPECT_FALSE(has(why_refused(status, ""), "lacks")) << status;
  }
}

}  // namespace
}  // namespace memstat::events
