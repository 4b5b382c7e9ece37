#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws the dashboards as pictures to look at, a development job and no test: `tests/support/draw_dashboards.py [FOLDER]`.

memstatd replays a FreeBSD and a Linux in trouble, a real Prometheus scrapes them and answers every query of every panel, and headless
Chromium draws the answers with Grafana's own chart and formatter of units. Needs prometheus, npm, chromium and a built memstatd; the
pictures go to build/pictures, one for each dashboard and system."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import grafana  # noqa: E402
import node_packages  # noqa: E402
import program  # noqa: E402
import replayed_systems  # noqa: E402

# The dashboard of types is for one at a time.
CHOSEN = {"FreeBSD": {"allocator": "uma", "type": "mbuf_jumbo_page"}, "Linux": {"allocator": "slab", "type": "kmalloc-1k"}}
SECONDS = 45  # several rounds of the replay
WIDTH = 1440


def answered(server, name, dashboard, system):
    """The panels with the answers to their queries."""
    now = time.time()
    variables = {**replayed_systems.variables(system), **(CHOSEN[system] if name == "type" else {})}
    panels = []
    for panel in grafana.opened(dashboard):
        answers = []
        for target in panel.get("targets", []):
            expression = grafana.substitute(target["expr"], variables)
            if target["instant"]:
                answers.append(server.api("query", query=expression)["result"])
            else:
                answers.append(server.api("query_range", query=expression, start=now - 40, end=now, step=1)["result"])
        panels.append({**panel, "answers": answers} if answers else panel)
    return {"title": dashboard["title"], "panels": panels}


def draw(packages, chromium, dashboard, path):
    page = os.path.join(packages, "page.html")
    data = json.dumps(dashboard).replace("<", "\\u003c")
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"<!doctype html><meta charset=utf-8><link rel=stylesheet href=bundle.css><body><script>window.dashboard = {data};"
                   "</script><script src=bundle.js></script>")
    height = 30 * max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"]) + 20
    subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{height}",
                    f"--user-data-dir={packages}/profile", f"--screenshot={path}", f"file://{page}"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    print(path)


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(program.SOURCE_DIR, "build", "pictures"))
    os.makedirs(folder, exist_ok=True)
    chromium = shutil.which("chromium")
    if not chromium:
        print("chromium is not installed (Debian package chromium)")
        return 1
    packages = node_packages.installed("pictures")
    subprocess.run(["node_modules/.bin/esbuild", "page.js", "--bundle", "--minify", "--outfile=bundle.js",
                    '--define:process.env.NODE_ENV="production"'], cwd=packages, check=True, stderr=subprocess.DEVNULL)
    with replayed_systems.scraped() as server:
        time.sleep(SECONDS)
        pictures = {(name, system): answered(server, name, dashboard, system) for name, dashboard in grafana.dashboards().items()
                    for system in replayed_systems.SYSTEMS}
    for (name, system), dashboard in pictures.items():
        draw(packages, chromium, dashboard, os.path.join(folder, f"{name}-{system}.png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
