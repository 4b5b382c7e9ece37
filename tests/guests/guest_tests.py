#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tests that run in guests: a script for the guest's shell (guest.sh has its functions), where it runs, and what is checked."""
import dataclasses
import pathlib
import subprocess
import tempfile
from collections.abc import Callable

import account
import checker
import limits
import machine
from kernel_files import Reading
from machine import Shape

START = "start_memstatd || return 0\n"
ROUNDS = START + "rounds all\n"
CONNTRACK = ("crc32c_generic", "libcrc32c", "nf_defrag_ipv4", "nf_defrag_ipv6", "nf_conntrack")  # in the order of insmod


@dataclasses.dataclass
class Test:
    name: str
    what: str
    script: str = ROUNDS
    shapes: tuple = (Shape(),)
    environment: dict = dataclasses.field(default_factory=dict)
    modules: tuple = ()  # in the order of insmod; "NAME=later" is there and not loaded
    groups: int = 1  # of three rounds each that must have been recorded, 0: none are compared
    programs: tuple = ()  # C files of this directory that are compiled, without libraries, for the guest
    page_check: Callable | None = None  # what is wrong with an Outcome, a list of texts


HOT_PLUG = START + """
rounds all
for cpu in 1 3; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online || result wrong "CPU $cpu stays"; done
rounds without
for cpu in 1 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online || result wrong "CPU $cpu does not come back"; done
rounds again
"""
MODULES = START + """
rounds all
for module in dummy brd zsmalloc zram; do [ -f /modules/$module.ko ] && { insmod /modules/$module.ko || result wrong "$module"; }; done
sleep 40  # new slab caches are looked for at every thirtieth read
rounds loaded
for module in zram zsmalloc brd dummy; do grep -q "^$module " /proc/modules && { rmmod $module || result wrong "rmmod $module"; }; done
sleep 40
rounds unloaded
"""
CLOCK = START + """
rounds all
date -s "@$(($(date +%s) + 3600))" >/dev/null
rounds later
date -s "@$(($(date +%s) - 7200))" >/dev/null
rounds earlier
date -s @86400 >/dev/null
rounds 1970
"""
MEMUSE = """
memstatctl memuse --seconds 20 --older 5s >/tmp/quiet || result wrong "memuse of a quiet kernel ended with status $?"
grep -q 'nothing looks like a leak' /tmp/quiet || { cat /tmp/quiet; result wrong "a suspect though nothing leaks"; }
memstatctl memuse --seconds 600 --older 3s --type task_struct >/tmp/leak 2>/dev/null &
watch=$!
until [ "$(grep -ls tp_name /proc/$watch/fdinfo/* | wc -l)" -eq 4 ]; do sleep 0.1; done
for process in $(seq 1 40); do sleep 1000 & sleep 0.3; done
kill -TERM $watch; wait $watch || result wrong "memuse of a leak ended with status $?"
cat /tmp/leak
# the shell's last sleep may have ended and not been freed yet
grep -q '^suspect that goes on: 4[01] blocks, .*, of task_struct' /tmp/leak || result wrong "40 processes are no suspect"
"""
RECORD = """
memstatd --config /memstatd.yaml --record /out/capture --polls 2 >/out/log 2>&1 || result wrong "$(tail -n 1 /out/log)"
"""
USERS = {"ACCOUNT": "nobody"}


def replay(outcome):
    """Compares what memstatd makes here of a capture that was recorded in the guest with the capture's files."""
    files = {path.removeprefix("capture/"): content for path, content in outcome.files.items() if path.startswith("capture/")}
    polls = sorted({path.split("/")[0] for path in files if path[:6].isdigit()})
    if not polls:
        return ["nothing was recorded"]
    with tempfile.TemporaryDirectory(prefix="memstat-replay-") as directory:
        machine.keep(files, pathlib.Path(directory) / "capture")
        configuration = pathlib.Path(directory) / "memstatd.yaml"
        configuration.write_text(checker.CONFIGURATION.format(port=0, user="", migrate_types="on"), encoding="ascii")
        done = subprocess.run([outcome.program, "--config", configuration, "--replay", f"{directory}/capture", "--once"],
                              capture_output=True, text=True, check=False)
    reading = Reading.captured(files, polls[-1])
    # What does not change is read once.
    reading.files = {path: text for path, text in Reading.captured(files, polls[0]).files.items() if "/sys/kernel/slab/" in path} | reading.files
    verdicts = checker.compare(reading, checker.parse_page(done.stdout), reading, {"processes": True, "migrate_types": True})
    verdicts = {key: verdict for key, verdict in verdicts.items() if key[0] != "memstat_kernel_info"}
    wrong = checker.report(verdicts)
    return [f"{wrong} of {len(verdicts)} values of the replay"] if wrong or len(verdicts) < 1000 else []


TESTS = {test.name: test for test in (
    Test("smoke", "two CPUs, control groups of version 2", shapes=(Shape(cpus=2, patience=240),), modules=CONNTRACK),
    Test("shapes", "1, 4 and 16 CPUs, 1 and 2 nodes", shapes=tuple(Shape(cpus=cpus, nodes=nodes) for cpus in (1, 4, 16) for nodes in (1, 2))),
    Test("cgroup_v1", "control groups of version 1", environment={"CGROUP": "1"}),
    Test("no_debugfs", "debugfs and tracefs are not mounted", environment={"DEBUGFS": "no"}),
    Test("no_sysfs", "sysfs is not mounted", environment={"SYSFS": "no"}),
    Test("integrity", "the kernel is locked down against changes", shapes=(Shape(append="lockdown=integrity"),)),
    Test("confidentiality", "the kernel is locked down against reading", shapes=(Shape(append="lockdown=confidentiality"),)),
    Test("unprivileged", "memstatd runs without privileges from the start", environment=USERS),
    Test("hidepid", "as nobody, who sees only its own processes", environment=USERS | {"HIDEPID": "2"}),
    Test("namespace", "as root of a user namespace", environment={"ACCOUNT": "namespace"}),
    Test("hot_plug", "two of four CPUs go and come back", HOT_PLUG, shapes=(Shape(cpus=4),), groups=3),
    Test("modules", "modules are loaded and unloaded while memstatd runs as root", MODULES, modules=("dummy=later", "brd=later", "zsmalloc=later", "zram=later"),
         environment={"KEEP": "yes"}, groups=3),
    Test("clock", "the clock jumps an hour ahead, two back, and to 1970", CLOCK, groups=4),
    Test("limits", "each table is filled, and the shipped rules raise their alerts", limits.script(), groups=0, page_check=limits.check,
         modules=(*CONNTRACK, "dummy=later"), shapes=(Shape(append="nf_conntrack.enable_hooks=1", patience=900),), programs=("fill.c",)),
    Test("account", "memory is taken in many ways, and little of it is unaccounted", account.script(), groups=0, page_check=account.check,
         modules=("brd=later", "zsmalloc", "lzo=later", "zram=later"), shapes=(Shape(cpus=2, patience=900),), programs=("fill.c",)),
    Test("memuse", "memstatctl memuse has no suspect in a quiet guest, and finds one that leaks", MEMUSE, shapes=(Shape(cpus=2, patience=240),), groups=0),
    Test("record", "a capture recorded in the guest is replayed here", RECORD, groups=0, page_check=replay),
)}
