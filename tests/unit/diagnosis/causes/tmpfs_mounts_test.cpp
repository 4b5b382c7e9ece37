// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::tmpfs_mounts {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(TmpfsMounts, AreFullOfBytesWhileMemoryIsFree) {
  EvidenceOfMachine machine;
  machine.metric("memstat_tmpfs_limit_bytes", 64 * kMiB, {"/dev/shm"});
  machine.metric("memstat_tmpfs_bytes", 57 * kMiB, {"/dev/shm"});
  EXPECT_EQ(machine.words(), "");
  EXPECT_TRUE(is_ruled_out(machine.evidence, "tmpfs_full"));
  machine.evidence.metrics[0].value = 60 * kMiB;
  EXPECT_EQ(machine.words(), "notable tmpfs_full");
  machine.evidence.metrics[0].value = 64 * kMiB;
  ASSERT_EQ(machine.words(), "now tmpfs_full");
  EXPECT_EQ(machine.find()[0].headline, "tmpfs /dev/shm is full: 64 MiB of 64 MiB");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/dev/shm");
}

TEST(TmpfsMounts, WithHostileNamesAreOneWordOfTheNextCommands) {
  EvidenceOfMachine machine;
  machine.metric("memstat_tmpfs_limit_bytes", 64 * kMiB, {"/mnt/a;reboot"});
  machine.metric("memstat_tmpfs_bytes", 64 * kMiB, {"/mnt/a;reboot"});
  ASSERT_EQ(machine.words(), "now tmpfs_full");
  const Findings found = machine.find();
  for (const std::string& command : found[0].next) {
    if (command.find("reboot") == std::string::npos) continue;
    EXPECT_NE(command.find("'/mnt/a;reboot'"), std::string::npos) << command;
  }
}

TEST(TmpfsMounts, AreFullOfFilesThatAreEmpty) {
  EvidenceOfMachine machine;
  machine.metric("memstat_tmpfs_limit_bytes", 64 * kMiB, {"/run"});
  machine.metric("memstat_tmpfs_bytes", kMiB, {"/run"});
  machine.metric("memstat_tmpfs_limit_files", 16000, {"/run"});
  machine.metric("memstat_tmpfs_files", 16000, {"/run"});
  EXPECT_EQ(machine.find().at(0).headline, "tmpfs /run is full: 16000 of 16000 files");
}

TEST(TmpfsMounts, AreNamedOnceAlsoWithALongPath) {
  const std::string path =
      "/var/lib/kubelet/pods/0b5c1f5a-6b6e-4a4e-9a7e-1d7f9f7f3c11/volumes/kubernetes.io~empty-dir/cache";
  EvidenceOfMachine machine;
  machine.metric("memstat_tmpfs_limit_bytes", 64 * kMiB, {path});
  machine.metric("memstat_tmpfs_bytes", 64 * kMiB, {path});
  InspectionAnswer& answer = machine.evidence.inspections.emplace_back();
  answer.question = "tmpfs";
  answer.kind = "mount";
  Holder& mount = answer.holders.emplace_back();
  mount.name = path;
  mount.bytes = 64ULL << 20U;
  const Finding finding = diagnose(machine.evidence).findings.at(0);
  ASSERT_EQ(finding.who.size(), 1U);
  EXPECT_EQ(finding.who[0].name, path);
}

}  // namespace
}  // namespace memstat::causes::tmpfs_mounts
