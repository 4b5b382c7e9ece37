// SPDX-License-Identifier: BSD-2-Clause
// node validate.mjs FILE...: checks dashboards against the types of types.ts; prints each error on a line, and exits with
// status 1 if there are any. Must be next to node_modules.
import { readFileSync } from "node:fs";
import Ajv from "ajv";
import { createGenerator } from "ts-json-schema-generator";

const generator = createGenerator({
  path: new URL("types.ts", import.meta.url).pathname,
  tsconfig: new URL("tsconfig.json", import.meta.url).pathname,
  skipTypeCheck: true,
  additionalProperties: false,
});
const checks = new Map();

/// A separate schema for each type, because panels of all kinds call their options `Options`.
function checkOf(type) {
  if (!checks.has(type)) checks.set(type, new Ajv({ strict: false, allErrors: true }).compile(generator.createSchema(type)));
  return checks.get(type);
}

function problems(type, value, where) {
  const check = checkOf(type);
  if (check(value)) return [];
  return check.errors
    .filter((error) => !/^(anyOf|oneOf)$/.test(error.keyword))
    .map((error) => `${where}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`);
}

const kinds = { bargauge: "Bargauge", heatmap: "Heatmap", stat: "Stat", "state-timeline": "StateTimeline", table: "Table",
                text: "Text", timeseries: "Timeseries" };
let found = [];
for (const file of process.argv.slice(2)) {
  const dashboard = JSON.parse(readFileSync(file, "utf8"));
  found = found.concat(problems("DashboardFile", { ...dashboard, panels: [] }, file));
  for (const panel of dashboard.panels) {
    const where = `${file}: ${panel.title}`;
    found = found.concat(problems(panel.type === "row" ? "RowFile" : "PanelFile", panel, where));
    if (panel.type === "row") continue;
    const kind = kinds[panel.type];
    found = found.concat(problems(`${kind}Options`, panel.options, `${where}: options`));
    if (["Heatmap", "StateTimeline", "Table", "Timeseries"].includes(kind)) {
      found = found.concat(problems(`${kind}Custom`, panel.fieldConfig.defaults.custom, `${where}: custom`));
    }
    for (const target of panel.targets ?? []) found = found.concat(problems("Query", target, `${where}: query ${target.refId}`));
  }
}
console.log(found.join("\n"));
process.exit(found.length === 0 ? 0 : 1);
