// SPDX-License-Identifier: BSD-2-Clause
// The dashboards, by the names of the files that Grafana loads; and the rules as one object for the Prometheus operator,
// including those that name the pods of control groups.
{
  local c = self._config,
  local g = (import '../lib/grafana.libsonnet')(c),

  grafanaDashboards+:: {
    'fleet.json': g.dashboard('fleet', (import 'fleet.libsonnet')(c, g)),
    'host.json': g.dashboard('host', (import 'host.libsonnet')(c, g)),
    'type.json': g.dashboard('type', (import 'type.libsonnet')(c, g)),
    'daemon.json': g.dashboard('daemon', (import 'daemon.libsonnet')(c, g)),
  },

  kubernetesRules:: (import '../kubernetes.libsonnet')(c),
  kubernetesPrometheusRule:: {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    // kube-prometheus-stack selects rules labelled with the name of its Helm release.
    metadata: { name: 'memstatd', namespace: 'memstatd', labels: { 'app.kubernetes.io/name': 'memstatd', release: 'kube-prometheus-stack' } },
    spec: { groups: $.prometheusRules.groups + [$.kubernetesRules] + $.prometheusAlerts.groups },
  },
}
