// SPDX-License-Identifier: BSD-2-Clause
// The types of Grafana's dashboards and of the options of each kind of panel that we use, by one name each. validate.mjs makes JSON
// schemas of them. 10.4 is the release whose dashboards have schemaVersion 39.
import * as dashboard from "@grafana/schema/dist/esm/raw/dashboard/x/dashboard_types.gen";
import * as bargauge from "@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen";
import * as heatmap from "@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen";
import * as prometheus from "@grafana/schema/dist/esm/raw/composable/prometheus/dataquery/x/PrometheusDataQuery_types.gen";
import * as stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import * as timeline from "@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen";
import * as table from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import * as text from "@grafana/schema/dist/esm/raw/composable/text/panelcfg/x/TextPanelCfg_types.gen";
import * as timeseries from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

export type DashboardFile = dashboard.Dashboard;
export type PanelFile = dashboard.Panel;
export type RowFile = dashboard.RowPanel;
export type Query = prometheus.PrometheusDataQuery;
export type BargaugeOptions = bargauge.Options;
export type HeatmapOptions = heatmap.Options;
export type HeatmapCustom = heatmap.FieldConfig;
export type StatOptions = stat.Options;
export type StateTimelineOptions = timeline.Options;
export type StateTimelineCustom = timeline.FieldConfig;
export type TableOptions = table.Options;
export type TableCustom = table.FieldConfig;
export type TextOptions = text.Options;
export type TimeseriesOptions = timeseries.Options;
export type TimeseriesCustom = timeseries.FieldConfig;
