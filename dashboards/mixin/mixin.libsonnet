// SPDX-License-Identifier: BSD-2-Clause
// Rules and dashboards of memstatd as a monitoring mixin: prometheusRules, prometheusAlerts, grafanaDashboards and
// alertmanagerConfig (a text), all made with _config. dashboards/render writes the shipped files.
(import 'config.libsonnet') +
(import 'rules.libsonnet') +
(import 'alerts/alerts.libsonnet') +
(import 'dashboards/dashboards.libsonnet') +
{ alertmanagerConfig:: (import 'alertmanager.libsonnet')($._config, $.prometheusAlerts.groups) }
