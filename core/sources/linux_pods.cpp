// SPDX-License-Identifier: BSD-2-Clause
// Names of pods, from the directories that the kubelet makes for their logs: /var/log/pods/NAMESPACE_NAME_UID. Not a figure
// of the kernel, but the only place that has the names of control groups' pods without asking an API server.
#include "core/base/text.h"
#include "core/collect/file_bundle.h"
#include "core/collect/reuse.h"
#include "core/parse/group_path.h"
#include "core/source.h"

namespace memstat::sources::linux_pods {
namespace {

constexpr SystemMetric kPod = gauge_metric("memstat_pod", Tier::kDefault,
                                           "1 for each pod whose logs the kubelet keeps on this node, with its names; "
                                           "pod_uid is that of memstat_memcg_container.",
                                           {"pod_uid", "namespace", "pod"});

constexpr std::string_view kDirectory = "/var/log/pods";
/// A node has a few hundred pods.
constexpr std::size_t kMaxPods = 4096;

struct State final : ReaderState {
  std::uint32_t reads = 0;
  Buffer names;
};

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (may_skip(view, state.reads++) && !raw.parts[0].empty()) return {};
  raw.parts[0].clear();
  if (auto listed = view.list_directories(kDirectory, state.names); !listed) return listed;
  return FileBundleWriter(raw.parts[0], state.names).add(kDirectory, state.names.view());
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  FileBundleReader records(raw.parts[0].view());
  std::string_view directory;
  std::string_view rest;
  if (!records.next(directory, rest)) return data_error(kDirectory, 0, "the list of directories has no end");
  std::size_t count = 0;
  for (std::string_view name; count < kMaxPods && next_name(rest, name);) {
    const PodName pod = read_pod_directory(name);
    if (pod.uid.empty()) continue;
    ++count;
    // Of a pod that was made anew under its UID, as static ones are, the kubelet removes the old directory later.
    static_cast<void>(staging.statistics().add_new(kPod, 1, {pod.uid, pod.name_space, pod.name}));
  }
  return {};
}

constexpr MetricOrigin kOrigins[] = {{kPod, "names of the directories"}};
constexpr std::string_view kReopened[] = {kDirectory};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_pods",
    .origin = kDirectory,
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .reopened_directories = kReopened,
    .notes =
        "read at every fourth read; in a container, the directory of the node must be mounted at the same path; if the "
        "kubelet is installed after memstatd was started, memstatd must be restarted",
    .steps = source_steps<State, read, read, parse>(),
};

}  // namespace memstat::sources::linux_pods
