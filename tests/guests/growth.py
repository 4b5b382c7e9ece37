# SPDX-License-Identifier: BSD-2-Clause
"""Real growth of kernel memory: a leaking module, and the slab cache of a program's sockets. The page after each step is what Prometheus
would have scraped for ten minutes, and promtool evaluates which alerts of the shipped rules fire."""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

RULES = pathlib.Path(__file__).resolve().parents[2] / "dashboards/prometheus"
ORDER = ("[memstat-host, memstat-kernel, memstat-slow, memstat-fleet, memstat-soon, memstat-integrity, "
         "memstat-limits, memstat-tables, memstat-daemon, memstat-growth, memstat-groups]")
STEPS = 10
MINUTES = 10       # represented by a step
HISTORY = 60       # minutes represented by the page before the first step


@dataclasses.dataclass
class Growth:
    name: str
    type: str          # of the allocator slab
    step: str          # a line of shell
    alerts: tuple = ("MemstatLeakFast",)


GROWTHS = (Growth("a leaking module", "kmalloc-2k", "echo 12 >/sys/module/leak/parameters/more"),
           Growth("a slab cache that grows", "UNIX-STREAM", "provoke unix_socket 12000 >/tmp/said & for _ in $(seq 60); do [ -s /tmp/said ] && break; sleep 1; done"))


def script():
    lines = ["mkdir -p /out/growth; echo 1000000 >/proc/sys/fs/file-max; start_memstatd || return 0"]
    for number, growth in enumerate(GROWTHS):
        lines += ["sleep 2", f"page /out/growth/{number}.0"]
        for step in range(1, STEPS + 1):
            lines += ["rm -f /tmp/said", growth.step, "sleep 2", f"page /out/growth/{number}.{step} || result wrong {number}: no page"]
        lines.append("killall provoke 2>/dev/null")
    return "\n".join(lines) + "\n"


def samples(text):
    """{series: number as printed}"""
    return dict(re.fullmatch(r"(\S+?(?:\{.*\})?) (\S+)", line).groups() for line in text.splitlines() if line and line[0] != "#")


def labelled(series):
    own = 'job="memstatd",instance="guest"'
    return series.replace("{", "{" + own + ",", 1) if "{" in series else f"{series}{{{own}}}"


LEFT_OUT = re.compile(r'memstat_(node|cpu|buddy|unusable|fragmentation|source_read)|allocator="(slab|vmalloc|process|call_site)"|_bucket')


def input_series(name, values):
    """A series of promtool: [(number as printed, minutes)]."""
    return f"      - {{series: '{labelled(name)}', values: '{' '.join(f'{value}x{minutes - 1}' for value, minutes in values)}'}}"


def alerts_of(series, kind, minutes):
    """Names of the alerts that the shipped rules have raised until then, for that type or for none."""
    with tempfile.TemporaryDirectory(prefix="memstat-rules-") as directory:
        for name in ("alerts.yml", "recording_rules.yml"):
            shutil.copy(RULES / name, directory)
        test = (f"rule_files: [recording_rules.yml, alerts.yml]\nevaluation_interval: 1m\ngroup_eval_order: {ORDER}\ntests:\n"
                "  - interval: 1m\n    input_series:\n" + "\n".join(series) + "\n    promql_expr_test:\n"
                f"      - expr: 'group by (alertname, type) (max_over_time(ALERTS{{alertstate=\"firing\"}}[{max(minutes - 30, 1)}m]))'\n        eval_time: {minutes}m\n"
                "        exp_samples: [{labels: '{alertname=\"None\"}', value: 1}]\n")
        (pathlib.Path(directory) / "test.yml").write_text(test, encoding="utf-8")
        done = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=directory, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if "got:" not in said:
        raise RuntimeError(f"promtool: {said[-500:]}")
    labels = re.findall(r'alertname="(\w+)"(?:, type="([^"]+)")?', said.partition("got:")[2])
    return sorted({alert for alert, on in labels if alert != "None" and on in ("", kind)})


def check(outcome):
    """Returns the errors, and prints the table of tests/README.md."""
    if not shutil.which("promtool"):
        return ["promtool is not installed (Debian's prometheus)"]
    wrong = []
    for number, growth in enumerate(GROWTHS):
        pages = [samples(outcome.files.get(f"growth/{number}.{step}", b"").decode()) for step in range(STEPS + 1)]
        series = f'memstat_type_bytes{{allocator="slab",type="{growth.type}"}}'
        values = [float(page.get(series, "nan")) for page in pages]
        taken = {name for name in pages[-1] if name.startswith('memstat_type_bytes{allocator="slab"') or not LEFT_OUT.search(name)}
        lines = [input_series(name, [(pages[0].get(name, "_"), HISTORY), *((page.get(name, "_"), MINUTES) for page in pages[1:]), (pages[-1][name], 60)])
                 for name in taken if "'" not in name]
        alerts = alerts_of(lines, growth.type, HISTORY + STEPS * MINUTES + 60)
        first = next((minute for minute in range(HISTORY, HISTORY + STEPS * MINUTES + 61, MINUTES)
                      if growth.alerts[0] in alerts and growth.alerts[0] in alerts_of(lines, growth.type, minute)), None)
        print(f"  | {growth.name} | {values[0] / 1048576:.1f} to {values[-1] / 1048576:.1f} MiB in {STEPS} steps of {MINUTES} minutes | `{series}` | "
              f"{', '.join(alerts) or 'none'}{f', {first - HISTORY} minutes after the growth began' if first else ''} |")
        wrong += [f"{growth.name}: {alert} is not raised" for alert in growth.alerts if alert not in alerts]
        if not values[-1] - values[0] > 64 << 20:
            wrong.append(f"{growth.name}: {series} grew from {values[0]} to {values[-1]} only")
    return wrong
