// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/group_path.h"

#include <algorithm>
#include <array>

namespace memstat {
namespace {

constexpr std::size_t kContainerIdSize = 64;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_container_id(std::string_view text) {
  return text.size() == kContainerIdSize && std::all_of(text.begin(), text.end(), is_hex);
}

/// systemd's names of units have underscores for the dashes. A static pod has a hash.
bool is_pod_uid(std::string_view text) {
  constexpr std::size_t kHash = 32;
  constexpr std::size_t kUid = 36;
  if (text.size() == kHash) return std::all_of(text.begin(), text.end(), is_hex);
  if (text.size() != kUid) return false;
  for (std::size_t i = 0; i < kUid; ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' && text[i] != '_' : !is_hex(text[i])) return false;
  }
  return true;
}

/// "pod123" of the driver cgroupfs, "kubepods-burstable-pod123.slice" of the driver systemd.
PodUid pod_uid_of(std::string_view component) {
  constexpr std::string_view kPod = "pod";
  constexpr std::string_view kSlice = ".slice";
  if (component.ends_with(kSlice)) {
    component.remove_suffix(kSlice.size());
    const std::size_t at = component.rfind("-pod");
    if (at == std::string_view::npos) return {};
    component.remove_prefix(at + 1);
  }
  if (!component.starts_with(kPod)) return {};
  component.remove_prefix(kPod.size());
  if (!is_pod_uid(component)) return {};
  PodUid uid;
  for (const char c : component) uid.append(c == '_' ? '-' : c);
  return uid;
}

struct Runtime {
  std::string_view prefix;
  std::string_view name;
};
constexpr auto kRuntimes = std::to_array<Runtime>({{"cri-containerd-", "containerd"},
                                                   {"nerdctl-", "containerd"},
                                                   {"crio-", "cri-o"},
                                                   {"docker-", "docker"},
                                                   {"libpod-", "podman"}});

/// The container whose group is the last component, `above` being the one before it.
void take_container(std::string_view above, std::string_view component, GroupPath& path) {
  constexpr std::string_view kScope = ".scope";
  constexpr std::string_view kMachine = "machine-";
  constexpr std::string_view kPayload = "lxc.payload.";
  if (component.ends_with(kScope)) component.remove_suffix(kScope.size());
  for (const Runtime& runtime : kRuntimes) {
    if (!component.starts_with(runtime.prefix) || !is_container_id(component.substr(runtime.prefix.size()))) continue;
    path.container = component.substr(runtime.prefix.size());
    path.runtime = runtime.name;
    return;
  }
  if (is_container_id(component)) {
    path.container = component;
    if (above == "docker") path.runtime = "docker";
  } else if (above == "machine.slice" && component.starts_with(kMachine)) {
    path.container = component.substr(kMachine.size());
    path.runtime = "machine";
  } else if (above == "lxc" || component.starts_with(kPayload)) {
    path.container = component.starts_with(kPayload) ? component.substr(kPayload.size()) : component;
    path.runtime = "lxc";
  }
}

}  // namespace

GroupPath read_group_path(std::string_view path) {
  GroupPath result;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return result;
  const std::string_view last = path.substr(slash + 1);
  path = path.substr(0, slash);
  const std::string_view above = path.substr(path.rfind('/') + 1);
  result.pod_uid = pod_uid_of(last);
  if (!result.pod_uid.empty()) return result;
  take_container(above, last, result);
  if (!result.container.empty()) result.pod_uid = pod_uid_of(above);
  return result;
}

PodName read_pod_directory(std::string_view directory) {
  const std::size_t first = directory.find('_');
  const std::size_t last = directory.rfind('_');
  if (first == std::string_view::npos || first == last || !is_pod_uid(directory.substr(last + 1))) return {};
  return {.name_space = directory.substr(0, first),
          .name = directory.substr(first + 1, last - first - 1),
          .uid = directory.substr(last + 1)};
}

}  // namespace memstat
