# SPDX-License-Identifier: BSD-2-Clause
"""The alerts that the shipped rules raise for hosts with known pages."""
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOVES = re.compile(r"memstat_(poll|source_last_success)_timestamp_seconds")
RULES = [ROOT / "dashboards" / "prometheus" / name for name in ("recording_rules.yml", "alerts.yml")]
ASKED = set(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in RULES)))
QUIET = {"MemstatWatchdog"}
QUERY = 'sum by (alertname, instance, type, source) (count_over_time(ALERTS{alertstate="firing"}[%dm]))'


def read(page):
    """({series with its labels: value}, {names of counters}), of metrics that rules may use."""
    counters = set(re.findall(r"^# TYPE (\S+) (?:counter|histogram)", page, re.MULTILINE))
    return {name: float(value) for name, metric, value in re.findall(r"^((\w+)(?:\{.*\})?) (\S+)$", page, re.MULTILINE) if metric in ASKED}, counters


def is_counter(name, counters):
    metric = name.partition("{")[0]
    return metric in counters or re.sub("_(bucket|count|sum)$", "", metric) in counters


def values(name, pages, counters, minutes, speed):
    """The values of a series each minute: its pages in turn, a counter as fast as between its first and its last page."""
    shown = [page.get(name) for page in pages]
    if MOVES.match(name):
        return f"0+60x{minutes}"
    if name == "process_start_time_seconds":  # the pages are of one process after another
        return f"{shown[0]:.17g}x{minutes}"
    if not is_counter(name, counters):
        if len(set(shown)) == 1:
            return f"{shown[0]:.17g}x{minutes}"
        shown = [shown[minute % len(shown)] for minute in range(minutes + 1)]
        return " ".join("_" if value is None else f"{value:.12g}" for value in shown)
    known = [value for value in shown if value is not None]
    step = max(known[-1] - known[0], 0) / max(len(known) - 1, 1) * speed
    return f"{known[0]:.17g}+{step:.17g}x{minutes}"


def host_series(instance, texts, minutes, speed):
    """Input of promtool: the series of a host that shows these pages, each counter `speed` times as fast as from page to page."""
    read_pages = [read(text) for text in texts]
    pages, counters = [page for page, _ in read_pages], set().union(*(counters for _, counters in read_pages))
    for name in dict.fromkeys(name for page in pages for name in page):
        metric, _, labels = name.partition("{")
        series = f'{metric}{{job="memstatd",instance="{instance}"' + ("," + labels if labels else "}")
        yield f"      - series: '{series.replace(chr(39), chr(39) * 2)}'\n        values: '{values(name, pages, counters, minutes, speed)}'\n"
    yield f"      - series: 'up{{job=\"memstatd\",instance=\"{instance}\"}}'\n        values: '1x{minutes}'\n"


def alerts(hosts, minutes):
    """{(alert, instance, type or source): minutes for which it fired} of hosts, {instance: series}, by promtool and all shipped rules."""
    rules = "".join(f"- {path}\n" for path in RULES)
    with tempfile.TemporaryDirectory(prefix="memstat-rules-") as directory:
        path = pathlib.Path(directory) / "test.yml"
        with path.open("w", encoding="utf-8") as file:
            file.write(f"rule_files:\n{rules}evaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n")
            for series in hosts.values():
                file.writelines(series)
            # promtool prints what it got in place of what the test expects.
            file.write(f"    promql_expr_test:\n      - expr: '{QUERY % (minutes + 1)}'\n        eval_time: {minutes}m\n        exp_samples: []\n")
        done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    got = re.search(r"got:(.*)", printed, re.DOTALL)
    if done.returncode == 0 or not got or "MemstatWatchdog" not in got.group(1):
        raise AssertionError("promtool did not compute the rules, for MemstatWatchdog always fires:\n" + printed[:2000])
    found = {}
    for labels, value in re.findall(r"\{([^}]*)\} ([0-9.E+]+)", got.group(1)):
        label = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
        if label["alertname"] not in QUIET:
            found[label["alertname"], label.get("instance"), label.get("type") or label.get("source")] = float(value)
    return found
