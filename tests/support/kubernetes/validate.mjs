// SPDX-License-Identifier: BSD-2-Clause
// Reads a JSON list of objects of Kubernetes from the standard input, and prints what their schemas do not allow, a line each. Fields that
// a schema does not know it lets pass, as the schemas do.
import { readFileSync } from "node:fs";
import { PodMonitor, PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import { DaemonSet } from "kubernetes-models/apps/v1";
import { ConfigMap, Namespace } from "kubernetes-models/v1";

const kinds = { ConfigMap, DaemonSet, Namespace, PodMonitor, PrometheusRule };

for (const object of JSON.parse(readFileSync(0, "utf8"))) {
  const Kind = kinds[object.kind];
  const name = `${object.kind} ${object.metadata?.name}`;
  if (!Kind) {
    console.log(`${name}: no schema`);
    continue;
  }
  if (object.apiVersion !== Kind.apiVersion) console.log(`${name}: apiVersion ${object.apiVersion} is not ${Kind.apiVersion}`);
  try {
    const { apiVersion, kind, ...data } = object;
    new Kind(data).validate();
  } catch (error) {
    console.log(`${name}: ${error.message}`);
  }
}
