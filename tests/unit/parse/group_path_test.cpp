// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/group_path.h"

#include <string>

#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kId = std::string(60, '0') + "beef";
const std::string kUid = "0a1b2c3d-1111-2222-3333-444455556666";
const std::string kUnitUid = "0a1b2c3d_1111_2222_3333_444455556666";
const std::string kHash = std::string(28, '1') + "cafe";

/// "runtime container pod", with "-" for what the path does not say.
std::string group_path_words(const std::string& path) {
  const GroupPath found = read_group_path(path);
  const auto or_dash = [](std::string_view text) { return text.empty() ? std::string("-") : std::string(text); };
  return or_dash(found.runtime) + " " + or_dash(found.container) + " " + or_dash(found.pod_uid.view());
}

TEST(GroupPath, OfPodsHasTheirUidInBothDriversAndAllClasses) {
  for (const std::string& pod : std::vector<std::string>{
           "/kubepods.slice/kubepods-pod" + kUnitUid + ".slice",
           "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUnitUid + ".slice",
           "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" +
               kUnitUid + ".slice",
           "/kubepods/pod" + kUid, "/kubepods/burstable/pod" + kUid}) {
    EXPECT_EQ(group_path_words(pod), "- - " + kUid) << pod;
    EXPECT_TRUE(read_group_path(pod).is_pod()) << pod;
  }
  EXPECT_EQ(group_path_words("/kubepods/pod" + kHash), "- - " + kHash) << "a static pod";
}

TEST(GroupPath, OfContainersHasIdRuntimeAndPod) {
  const std::string pod = "/kubepods.slice/kubepods-pod" + kUnitUid + ".slice/";
  EXPECT_EQ(group_path_words(pod + "cri-containerd-" + kId + ".scope"), "containerd " + kId + " " + kUid);
  EXPECT_EQ(group_path_words(pod + "crio-" + kId + ".scope"), "cri-o " + kId + " " + kUid);
  EXPECT_EQ(group_path_words(pod + "docker-" + kId + ".scope"), "docker " + kId + " " + kUid);
  EXPECT_EQ(group_path_words("/kubepods/besteffort/pod" + kUid + "/" + kId), "- " + kId + " " + kUid);
  EXPECT_EQ(group_path_words("/system.slice/docker-" + kId + ".scope"), "docker " + kId + " -");
  EXPECT_EQ(group_path_words("/docker/" + kId), "docker " + kId + " -");
  EXPECT_EQ(group_path_words("/ecs/task/" + kId), "- " + kId + " -");
  EXPECT_EQ(group_path_words("/machine.slice/libpod-" + kId + ".scope"), "podman " + kId + " -");
  EXPECT_EQ(group_path_words("/system.slice/nerdctl-" + kId + ".scope"), "containerd " + kId + " -");
  EXPECT_EQ(group_path_words("/lxc/101"), "lxc 101 -");
  EXPECT_EQ(group_path_words("/lxc.payload.web"), "lxc web -");
  EXPECT_EQ(group_path_words("/machine.slice/machine-db.scope"), "machine db -");
}

TEST(GroupPath, OfOtherGroupsSaysNothing) {
  for (const std::string& other : std::vector<std::string>{
           std::string("/"), std::string(), std::string("/system.slice/ssh.service"),
           "/kubepods.slice/crio-conmon-" + kId + ".scope", "/system.slice/docker-" + kId + ".scope/init.scope",
           "/lxc/101/ns", std::string("/lxc"), "/kubepods/pod" + kUid + "x", std::string("/podman"),
           "/docker/" + kId.substr(1), std::string("/kubepods.slice"), std::string("/pod")}) {
    EXPECT_EQ(group_path_words(other), "- - -") << other;
  }
}

TEST(GroupPath, PodDirectoryHasNamespaceNameAndUid) {
  const std::string directory = "kube-system_coredns-5d78c9869d-x2k9p_" + kUid;
  const PodName pod = read_pod_directory(directory);
  EXPECT_EQ(pod.name_space, "kube-system");
  EXPECT_EQ(pod.name, "coredns-5d78c9869d-x2k9p");
  EXPECT_EQ(pod.uid, kUid);
  EXPECT_EQ(read_pod_directory("kube-system_etcd-node1_" + kHash).uid, kHash);
  for (const std::string other : {"", "_", "a_b", "a_b_c", "nounderscore"})
    EXPECT_EQ(read_pod_directory(other).uid, "") << other;
}

}  // namespace
}  // namespace memstat
