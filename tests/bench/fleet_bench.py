#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What memstatctl hosts and leaks --hosts take beside a real Prometheus: fleet_bench.py MEMSTATD MEMSTATCTL [HOSTS [TYPES]]. Needs the package
prometheus, 25 GB of disk for 2000 hosts, and about half an hour.

Each host has the page of a captured Linux 7.2 at tier `default`, of which TYPES types (all by default) have a day and more at one sample each ten
minutes. Chunks have 120 samples however far these are apart, so a look at one moment costs the server what it costs with a scrape each minute. All
else has the last ten minutes. A tenth of the hosts leaks 20 MiB an hour in one type. Prints the times of three runs, the memory of memstatctl, its
queries, and the memory of the server; the last line is a JSON object."""
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import prometheus_server  # noqa: E402

PAGE = ROOT / "tests" / "fixtures" / "captures" / "linux-7.2-2cpu.tar.zst"
MINUTE, HOUR = 60, 3600
BACK, STEP = 27 * HOUR, 10 * MINUTE
LEAKY = 'memstat_type_bytes{allocator="slab",type="filp"'
FAR = ("memstat_type_bytes", "memstat_accounted_bytes", "memstat_unaccounted_bytes", "memstat_kernel_info", "memstat_type_failures_total")
MOST = {"hosts": 3, "leaks": 10}  # seconds
MOST_MIB = 100


def page_of(memstatd):
    text = subprocess.run([memstatd, "--replay", str(PAGE), "--once", "--tier", "default"], check=True, capture_output=True, text=True).stdout
    return [(match[1] + "{" + (match[2] or ""), float(match[3])) for match in re.finditer(r"^([\w:]+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE)
            if math.isfinite(float(match[3]))]


def lines(series, hosts, end, types):
    """OpenMetrics lines of all series of all hosts."""
    source = random.Random(1)
    wave = [1 + 0.01 * source.uniform(-1, 1) for _ in range(1009)]
    seen = 0
    for name, value in series:
        family = name.partition("{")[0]
        if family == "memstat_type_bytes":
            seen += 1
        is_far = family in FAR and (family != "memstat_type_bytes" or seen <= types or name.startswith(LEAKY))
        times = range(end - BACK, end + 1, STEP) if is_far else range(end - 10 * MINUTE, end + 1, 5 * MINUTE)
        is_amount = value > 4 and "timestamp" not in family and family != "memstat_kernel_info"
        for host in range(hosts):
            head = f'{name}{"" if name[-1] == "{" else ","}instance="host{host}:8947",job="memstatd"}}'
            shift = source.randrange(1009)
            leak = 20 * (1 << 20) / HOUR if name.startswith(LEAKY) and host % 10 == 0 else 0
            if family == "memstat_boot_timestamp_seconds":
                yield "".join(f"{head} {end - 90 * HOUR} {now}\n" for now in times)
            elif is_amount:
                yield "".join(f"{head} {value * wave[(shift + i) % 1009] + leak * (now - end + BACK):.0f} {now}\n" for i, now in enumerate(times))
            else:
                yield "".join(f"{head} {value:.10g} {now}\n" for now in times)


def timed(command):
    """(seconds, MiB, queries, output) of a command."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        passed = time.monotonic() - begin
        out.seek(0), err.seek(0)
        said = err.read().decode()
        if os.waitstatus_to_exitcode(status) not in (0, 3):
            raise SystemExit(f"{' '.join(command)}: {said}")
        return passed, used.ru_maxrss / 1024, said.count("query"), out.read().decode()


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("prometheus is not installed (Debian package prometheus)")
        return 77
    memstatd, memstatctl = sys.argv[1:3]
    hosts = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    types = int(sys.argv[4]) if len(sys.argv) > 4 else 100_000
    series = page_of(memstatd)
    end = int(time.time()) - MINUTE
    results = {"hosts": hosts, "series": len(series)}
    with tempfile.TemporaryDirectory(prefix="memstat-fleet-", dir=os.environ.get("TMPDIR", "/var/tmp")) as directory:
        path = os.path.join(directory, "history.om")
        with open(path, "w", encoding="ascii", buffering=1 << 22) as file:
            file.writelines(lines(series, hosts, end, types))
            file.write("# EOF\n")
        results["samples"] = int(subprocess.run(["wc", "-l", path], check=True, capture_output=True, text=True).stdout.split()[0]) - 1
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "--max-block-duration=48h", "--quiet", "openmetrics", path,
                        os.path.join(directory, "data")], check=True, stdout=subprocess.DEVNULL)
        os.remove(path)
        results["disk_bytes_a_sample"] = round(sum(file.stat().st_size for file in pathlib.Path(directory, "data").rglob("*") if file.is_file())
                                               / results["samples"], 2)
        with prometheus_server.Prometheus(directory, None, config="global: {}\n") as server:
            asked = ["--from", f"prometheus:http://{server.address}", "--at", str(end), "--verbose", "--json=compact"]
            is_good = True
            for name, command in (("hosts", ["hosts"]), ("leaks", ["leaks", "--hosts", "--since", "1d"])):
                runs = [timed([memstatctl, *command, *asked]) for _ in range(3)]
                answer = json.loads(runs[0][3])
                results[name] = {"seconds": [round(run[0], 2) for run in runs], "mib": round(max(run[1] for run in runs)), "queries": runs[0][2],
                                 "rows": len(answer["hosts" if name == "hosts" else "growing"])}
                is_good = is_good and max(results[name]["seconds"]) <= MOST[name] and results[name]["mib"] <= MOST_MIB
                print(f"{name}: {results[name]}, at most {MOST[name]} s and {MOST_MIB} MiB wanted", flush=True)
            status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            results["server_mib"] = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024
    results["load"] = os.getloadavg()[0]
    print(json.dumps(results))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
