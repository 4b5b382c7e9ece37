// SPDX-License-Identifier: BSD-2-Clause
// What the path of a control group says about the container or pod that it belongs to: paths of the kubelet with both cgroup
// drivers and all classes of service, of containerd, CRI-O, Docker, Podman and nerdctl, LXC, and machines of systemd.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace memstat {

/// The UID of a pod: 36 characters, or 32 of a static pod.
class PodUid {
 public:
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Requires room.
  void append(char c) { text_[size_++] = c; }

 private:
  std::array<char, 36> text_{};
  std::size_t size_ = 0;
};

/// The members are "" where the path does not say.
struct GroupPath {
  PodUid pod_uid;              ///< With dashes, as the API server writes it.
  std::string_view container;  ///< The ID, or the name of a machine or of a container of LXC. Points into the path.
  std::string_view runtime;    ///< "containerd", "cri-o", "docker", "podman", "lxc", "machine".
  [[nodiscard]] bool is_pod() const { return container.empty() && !pod_uid.empty(); }
};

/// Of the group that is itself a pod or a container; all members "" for a group around or inside one.
GroupPath read_group_path(std::string_view path);

/// The names in a directory of the kubelet below /var/log/pods, NAMESPACE_NAME_UID: neither part has an underscore.
struct PodName {
  std::string_view name_space;
  std::string_view name;
  std::string_view uid;
};
/// All members "" if it is none.
PodName read_pod_directory(std::string_view directory);

}  // namespace memstat
