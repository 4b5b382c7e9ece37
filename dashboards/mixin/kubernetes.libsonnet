// SPDX-License-Identifier: BSD-2-Clause
// Control groups by the names of their pods and containers. Their paths contain the pod's UID and the container's ID, which
// the PodMonitor of examples/kubernetes converts to labels; kube-state-metrics has the names. Without it these rules record
// nothing.
local std = import 'lib/std.libsonnet';
function(c)
  local l = (import 'lib/rules.libsonnet')(c);
  local pods = 'max by (pod_uid, namespace, pod) (label_replace(kube_pod_info, "pod_uid", "$1", "uid", "(.+)"))';
  local containers = 'max by (container_id, namespace, pod, container) (label_replace(kube_pod_container_info, "container_id", "$1", "container_id", ".+://(.+)"))';
  local named(metric, group) = [
    l.record('namespace_pod:%s:max' % metric.name, 'max by (%s) (%s * on (pod_uid) group_left (namespace, pod) %s)' % [
      l.hostAnd(['namespace', 'pod', group]), l.of(metric.of, metric.matchers + 'pod_uid!="",container_id=""'), pods,
    ]),
    l.record('namespace_pod_container:%s:max' % metric.name, 'max by (%s) (%s * on (container_id) group_left (namespace, pod, container) %s)' % [
      l.hostAnd(['namespace', 'pod', 'container', group]), l.of(metric.of, metric.matchers + 'container_id!=""'), containers,
    ]),
  ];
  {
    name: 'memstat-kubernetes',
    interval: c.interval,
    rules: named({ name: 'memstat_type_bytes', of: 'memstat_type_bytes', matchers: 'allocator="memcg",' }, 'type')
           + named({ name: 'memstat_memcg_kernel_bytes', of: 'memstat_memcg_kernel_bytes', matchers: '' }, 'group'),
  }
