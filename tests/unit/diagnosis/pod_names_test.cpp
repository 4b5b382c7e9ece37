// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/pod_names.h"

#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat {
namespace {

constexpr std::string_view kUid = "0a1b2c3d-1111-2222-3333-444455556666";
constexpr std::string_view kId = "feedbeef00000000000000000000000000000000000000000000000000000000";

/// What is added to a finding about this group.
std::string added(const EvidenceOfMachine& machine, std::string_view group) {
  Findings findings(1);
  findings[0].by("group", group);
  name_pods(machine.evidence, findings);
  return findings[0].facts.empty() ? "" : findings[0].facts[0].text;
}

TEST(PodNames, SayWhichPodAndContainerAGroupIs) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_container", 1, {"/pods/a", kUid, "", ""});
  machine.metric("memstat_memcg_container", 1, {"/pods/a/c", kUid, kId, "containerd"});
  machine.metric("memstat_memcg_container", 1, {"/docker/d", "", kId, "docker"});
  EXPECT_EQ(added(machine, "/pods/a"), "pod 0a1b2c3d-1111-2222-3333-444455556666");
  machine.metric("memstat_pod", 1, {kUid, "shop", "web-7d9f"});
  EXPECT_EQ(added(machine, "/pods/a"), "pod web-7d9f in namespace shop");
  EXPECT_EQ(added(machine, "/pods/a/c"), "container feedbeef0000 of containerd, pod web-7d9f in namespace shop");
  EXPECT_EQ(added(machine, "/pods/a/c/inner"), "container feedbeef0000 of containerd, pod web-7d9f in namespace shop");
  EXPECT_EQ(added(machine, "/docker/d"), "container feedbeef0000 of docker");
  EXPECT_EQ(added(machine, "/pods"), "");
  EXPECT_EQ(added(machine, "/pods/another"), "");
}

}  // namespace
}  // namespace memstat
