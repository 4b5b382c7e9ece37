// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/diagnosis/holder.h"
#include "tests/support/evidence.h"

namespace memstat::causes::hidden_objects {
namespace {

Holder holder(const char* name, std::uint64_t count) {
  return {.pid = 7, .command = "proxy", .user = {}, .group = {}, .name = name, .count = count, .bytes = {}};
}

TEST(HiddenObjects, FilesThatNoProcessHasAreFound) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kTable, "files").objects = 9000;
  machine.metric(kGroupKernel, 4e6, {"/docker"});
  EXPECT_EQ(machine.words(), "") << "nobody asked";
  machine.evidence.inspections = {answer_to("files", {holder("", 400), holder("", 100)})};
  ASSERT_EQ(machine.words(), "notable files_without_descriptor");
  EXPECT_EQ(machine.find()[0].headline, "8500 of 9000 open files are in no descriptor of a process");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/docker");
  machine.evidence.inspections[0].is_cut = true;
  EXPECT_EQ(machine.words(), "") << "they may be of a process that was not reached";
}

TEST(HiddenObjects, FilesThatOneProcessMapsAreItsMappings) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kTable, "files").objects = 9000;
  machine.evidence.inspections = {answer_to("files", {holder("", 400)}), answer_to("maps", {holder("", 8200)})};
  const Finding finding = machine.find().at(0);
  EXPECT_EQ(finding.who.at(0).name, "proxy (pid 7)");
  EXPECT_EQ(finding.facts.at(1).text, "proxy (pid 7) has 8200 mappings");
  machine.evidence.inspections[1].holders[0].count = 900;
  EXPECT_TRUE(machine.find().at(0).who.empty());
}

TEST(HiddenObjects, FilesThatProcessesMapAreUsual) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kTable, "files").objects = 9000;
  machine.evidence.inspections = {answer_to("files", std::vector<Holder>(150, holder("", 10)))};
  EXPECT_EQ(machine.words(), "") << "fifty of each process";
  machine.evidence.types[0].objects = 20000;
  EXPECT_EQ(machine.words(), "notable files_without_descriptor");
  machine.evidence.inspections[0].unlisted = 200;
  EXPECT_EQ(machine.words(), "") << "those that are not listed have descriptors, too";
}

TEST(HiddenObjects, NamespacesWithoutAProcessExplainWhatGrowsInTheirGroup) {
  EvidenceOfMachine machine;
  TypeEvidence& spaces = machine.type(Allocator::kSlab, "net_namespace");
  spaces.objects = 42;
  spaces.bytes = 200e3;
  spaces.bytes_change.recent = 150e3;
  machine.moved(kGroupKernel, 40e6, {"/docker"});
  machine.growing("slab", "kmalloc-cg-4k", 90e6, 60e6, 300);
  EXPECT_EQ(machine.words(), "notable kmalloc_leak") << "nobody asked";
  machine.evidence.inspections = {answer_to("quotas", {holder("mnt namespaces", 3), holder("net namespaces", 12)})};
  EXPECT_EQ(machine.words(), "notable kmalloc_leak") << "thirty are too few";
  machine.evidence.inspections[0].holders.pop_back();
  ASSERT_EQ(machine.words(), "notable namespaces_left");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/docker");
  EXPECT_EQ(machine.find()[0].explains.size(), 1U);
}

}  // namespace
}  // namespace memstat::causes::hidden_objects
