#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws the dashboards as pictures to look at, a development job and no test: `tests/support/draw_dashboards.py [DIRECTORY [NAME...]]`.

Three hosts with a day of history are in a real Prometheus that evaluates the shipped rules: web1, a Linux with containers, db1, one that
leaks, and bsd1, the FreeBSD at its limits. It answers every query of every panel, and headless Chromium draws the answers with Grafana's own
chart and formatter of units: each dashboard of each host, of two hosts at once, and of a Prometheus that knows none; the fleet of one host, of
all three and of 500 like them; each in Grafana's dark and light theme. Needs prometheus, npm, chromium and a built memstatd; the pictures go to build/pictures. NAME, such as host-leaks: only these."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import captures  # noqa: E402
import grafana  # noqa: E402
import node_packages  # noqa: E402
import pictured_hosts  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
import shipped_rules  # noqa: E402

# The hosts chosen in each scene; one of them for the dashboard of types.
SCENES = {"containers": ("web1", "slab", "kmalloc-1k"), "leaks": ("db1", "slab", "kmalloc-1k"), "two": ("(web1|db1)", "slab", "kmalloc-1k"),
          "FreeBSD": ("bsd1", "uma", "mbuf_jumbo_page"), "empty": (".+", "slab", "kmalloc-1k")}
# The hosts in the fleet's picture.
FLEETS = {"1": "web1", "3": ".+", "500": ".+", "empty": ".+"}
THEMES = ("dark", "light")
# The rules' current results are older than the history, which continues beyond now.
CONFIG = """
global: {{evaluation_interval: 2s}}
storage: {{tsdb: {{out_of_order_time_window: 3h}}}}
rule_files: {rules}
"""
MEMSTATD = "limits: [{allocator: slab, type: dentry, bytes: 512MiB}]\n"
WIDTH = 1440
RANGE, STEP = 6 * 3600, 300


def answered(server, name, dashboard, scene):
    """The panels with the results of their queries."""
    instance, allocator, kind = (FLEETS[scene], ".+", ".+") if name == "fleet" else SCENES[scene]
    now = time.time() // STEP * STEP
    variables = {"cluster": ".*", "job": ".+", "instance": instance, "allocator": allocator if name == "type" else ".+",
                 "type": kind if name == "type" else ".+", "namespace": ".+", "pod": ".+", "__rate_interval": "10m", "__range": "6h", "__interval": "5m"}
    panels = []
    for panel in grafana.opened(dashboard):
        answers = []
        for target in panel.get("targets", []):
            expression = grafana.substitute(target["expr"], variables)
            if target["instant"]:
                answers.append(server.api("query", query=expression)["result"])
            else:
                answers.append(server.api("query_range", query=expression, start=now - RANGE, end=now, step=STEP)["result"])
        panels.append({**panel, "answers": answers} if answers else panel)
    return {"title": dashboard["title"], "panels": panels}


def draw(packages, chromium, dashboard, theme, path):
    page = os.path.join(packages, "page.html")
    data = json.dumps({**dashboard, "theme": theme}).replace("<", "\\u003c")
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"<!doctype html><meta charset=utf-8><link rel=stylesheet href=bundle.css><body><script>window.dashboard = {data};"
                   "</script><script src=bundle.js></script>")
    height = 30 * max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"]) + 20
    subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{height}",
                    f"--screenshot={path}", page], check=True, stderr=subprocess.DEVNULL)
    print(path, flush=True)


def hosts(directory):
    """{name: [(seconds before now, page)]}."""
    config = captures.write_file(os.path.join(directory, "memstatd.yaml"), MEMSTATD)
    at = [hours * pictured_hosts.HOUR for hours in pictured_hosts.HOURS]
    found = {}
    for name, is_leaking in (("web1", False), ("db1", True)):
        capture = pictured_hosts.linux(os.path.join(directory, name), is_leaking)
        found[name] = list(zip(at, pictured_hosts.pages(capture, config, len(at))))
    first, second, third = pictured_hosts.pages(captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"], config, 3)
    found["bsd1"] = list(zip(at, (first, first, second, second, third)))
    return found


def pictures(directory, scenes):
    """[(dashboard, scene, what to draw)] for a Prometheus with the hosts, or without any."""
    with prometheus_server.Prometheus(directory, None, config=CONFIG.format(rules=shipped_rules.write(directory, 0.1))) as server:
        if scenes != ["empty"]:
            firing = 'ALERTS{alertstate="firing",instance=~"(db|host).*"}'
            program.wait_until(lambda: len(server.query(firing)) > 5, server.log, 200)
        for name, dashboard in grafana.dashboards().items():
            for scene in scenes:
                if scene in (FLEETS if name == "fleet" else SCENES):
                    yield name, scene, answered(server, name, dashboard, scene)


def main():
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        print(__doc__)
        return 2
    directory = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(node_packages.PLACE, "..", "pictures"))
    os.makedirs(directory, exist_ok=True)
    chromium = shutil.which("chromium")
    if not chromium:
        print("chromium is not installed (Debian package chromium)")
        return 1
    packages = node_packages.installed("pictures")
    subprocess.run(["node_modules/.bin/esbuild", "page.js", "--bundle", "--minify", "--outfile=bundle.js",
                    '--define:process.env.NODE_ENV="production"'], cwd=packages, check=True, stderr=subprocess.DEVNULL)
    names = sys.argv[2:]
    drawn = []
    with program.temporary_directory() as data, program.temporary_directory() as many, program.temporary_directory() as nothing:
        three = hosts(data)
        if not names or any(not name.endswith("-500") for name in names):
            pictured_hosts.store(data, three)
            drawn += pictures(data, [*SCENES.keys() - {"empty"}, "1", "3"])
            drawn += pictures(nothing, ["empty"])
        if not names or "fleet-500" in names:
            pictured_hosts.store(many, pictured_hosts.fleet(three, 500), 1)
            drawn += pictures(many, ["500"])
    for name, scene, dashboard in drawn:
        for theme in THEMES if not names or f"{name}-{scene}" in names else ():
            draw(packages, chromium, dashboard, theme, os.path.join(directory, f"{name}-{scene}-{theme}.png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
