#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tests that run in guests: a script for the guest's shell (with the functions of guest.sh), where it runs, and its checks."""
import dataclasses
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable

import account
import checker
import growth
import headroom
import limits
import machine
import shortages
from machine import Shape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import captures  # noqa: E402

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
    modules: tuple = ()  # in the order of insmod; "NAME=later" is present and not loaded
    groups: int = 1  # of three rounds each that must have been recorded, 0: none are compared
    provokes: bool = False  # it uses the program of tests/situations/provoked
    made: tuple = ()  # C files of this directory that are modules, built for the kernel and loaded
    built: tuple = ()  # programs other than memstatd that it runs
    fixtures: bool = False  # it reads the captures of tests/fixtures, if they are here
    page_check: Callable | None = None  # the errors of an Outcome, a list of texts
    outside: Callable | None = None  # a context manager that watches the guest from outside (machine.boot)
    missing: Callable | None = None  # what this machine lacks for it, or an empty string
    configuration: str = checker.CONFIGURATION


HOT_PLUG = START + """
rounds all
for cpu in 1 3; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online || result wrong "CPU $cpu stays"; done
rounds without
for cpu in 1 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online || result wrong "CPU $cpu does not come back"; done
rounds again
"""
MEMORY = START + """
rounds all
total() { sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo; }
blocks() { ls -d /sys/devices/system/memory/memory* | sort; }
# switch ORDER STATE BLOCKS: those that are not in that state yet
switch() {
  order=$1; state=$2; shift 2
  for block in $*; do
    for _ in 1 2 3 4 5; do [ "$(cat $block/state)" = $state ] && break; echo $order >$block/state && break; sleep 1; done
    [ "$(cat $block/state)" = $state ] || result wrong "$block does not go $state"
  done
}
small=$(total); old=" $(echo $(blocks)) "; new=
result monitor object_add memory-backend-ram,id=added,size=256M
result monitor device_add pc-dimm,id=module,memdev=added
for _ in $(seq 100); do [ $(blocks | wc -l) -ge $(($(echo $old | wc -w) + 2)) ] && break; usleep 100000; done
for block in $(blocks); do case $old in *" $block "*) ;; *) new="$new $block" ;; esac; done
switch online_movable online $new
[ $(total) = $((small + 262144)) ] || result wrong "MemTotal is $(total) kB, was $small and 262144 were added"
sleep 2
rounds larger
switch offline offline $new
[ $(total) = $small ] || result wrong "MemTotal is $(total) kB, was $small"
sleep 2
rounds smaller
"""
SUSPEND = START + """
rounds all
grep -q mem /sys/power/state || { result skip this kernel cannot suspend to memory; return 0; }
[ -f /sys/power/mem_sleep ] && echo deep >/sys/power/mem_sleep
before=$(date +%s)
result wake 10
echo mem >/sys/power/state || result wrong "the machine does not sleep"
result "suspended to memory, awake after $(($(date +%s) - before)) s by the clock"
sleep 2
rounds awake
"""
MODULES = START + """
rounds all
for module in dummy brd zsmalloc lz4_compress lz4hc_compress zram; do [ -f /modules/$module.ko ] && { insmod /modules/$module.ko || result wrong "$module"; }; done
sleep 40  # new slab caches are looked for at every thirtieth read
rounds loaded
for module in zram lz4hc_compress lz4_compress zsmalloc brd dummy; do grep -q "^$module " /proc/modules && { rmmod $module || result wrong "rmmod $module"; }; done
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
grep -q '^suspect that continues: 4[01] blocks, .*, of task_struct' /tmp/leak || result wrong "40 processes are no suspect"
"""
RECORD = """
memstatd --config /memstatd.yaml --record /out/capture --polls 2 >/out/log 2>&1 || result wrong "$(tail -n 1 /out/log)"
"""
C_API = """
TMPDIR=/tmp test_c_api --gtest_filter=-*Live* >/tmp/c_api 2>&1 || { grep -A 20 -e Failure -e terminate /tmp/c_api | head -60; result wrong "a test of the C API failed"; }
tail -n 12 /tmp/c_api
result c_api "$(grep -c '^\[       OK' /tmp/c_api) passed, $(grep -c '^\[  FAILED' /tmp/c_api) lines of failures, $(grep -c '^\[  SKIPPED' /tmp/c_api) of skipped ones"
"""
# Tests of functions and probes, which this machine's kernel may not allow, and with a CPU that goes offline and comes back.
EVENTS = """
MEMSTAT_MAY_UNPLUG=1 TMPDIR=/tmp test_events --gtest_filter='*Live*' >/tmp/events 2>&1 || { grep -A 12 -e Failure -e terminate /tmp/events | head -80; result wrong "a live test of events failed"; }
count() { grep -c "^\\[ *$1 \\] .* ms)\\$" /tmp/events; }
for name in AndCountsSurviveACpuThatGoesAndComesBack NameTheCallTheProgramAndTheGroupAndCountExactly; do
  grep -q "^\\[ *OK \\] .*$name" /tmp/events || result wrong "$name did not pass, and this kernel has what it needs"
done
awk '/: Skipped$/ { getline; print }' /tmp/events | sort | uniq -c | while read -r times reason; do result "not run, $times: $reason"; done
result events "$(count OK) passed, $(count FAILED) failed, $(count SKIPPED) skipped"
"""
# A program in a control group below another creates files under new names all the time, and keeps them. CGROUPS: the memory controller's hierarchy.
ORIGINS = """
[ -f $CGROUPS/small/cgroup.procs ] || { result skip this kernel has no memory controller of that version; return 0; }
cat >/tmp/events.yaml <<END
listen: ["127.0.0.1:8947"]
poll: {interval: 1s}
tier: full
user: "nobody"
events: {mode: full, budget: 6400%}
END
cat >/tmp/state-keeper <<END
#!/bin/sh
echo \\$\\$ >$CGROUPS/small/keeper/cgroup.procs
until [ -e /tmp/go ]; do sleep 0.2; done
i=0
while [ \\$i -lt 2000 ]; do : >/tmp/files/\\$i; i=\\$((i + 1)); done
: >/tmp/done
until [ -e /tmp/over ]; do sleep 0.2; done
END
chmod 755 /tmp/state-keeper
mkdir -p /tmp/files $CGROUPS/small/keeper
memstatd --config /tmp/events.yaml 2>/out/log &
until wget -q -O /dev/null http://127.0.0.1:8947/-/ready 2>/dev/null; do sleep 0.2; done
/tmp/state-keeper &
memstatctl memuse --seconds 600 --older 1s --type dentry --control-group /small/keeper >/tmp/memuse 2>&1 &
watch=$!
until [ "$(grep -ls tp_name /proc/$watch/fdinfo/* | wc -l)" -eq 4 ] || ! kill -0 $watch; do sleep 0.1; done
memstatctl origins dentry --from http://127.0.0.1:8947 --seconds 10 >/tmp/grown 2>&1 &
grown=$!
sleep 1
: >/tmp/go
until [ -e /tmp/done ]; do sleep 0.2; done
wait $grown || result wrong "memstatctl origins ended with status $?"
kill -TERM $watch; wait $watch || result wrong "memuse ended with status $?"
: >/tmp/over
page /tmp/page
cat /tmp/memuse /tmp/grown
labels='cache="dentry",group="/small/keeper",command="state-keeper",call_site="__d_alloc"'
value() { grep "^$1 " /tmp/page | sed 's/.* //'; }
count=$(value "memstat_slab_origin_allocations_total{$labels}")
result "page: $count allocations of dentry, charged $(value 'memstat_slab_group_charged_bytes_total{group="/small/keeper"}') bytes"
[ "${count:-0}" -ge 2000 ] && [ "$count" -lt 3000 ] || result wrong "$count allocations, of 2000 files and the program's own names"
[ -n "$(value 'memstat_type_bytes{allocator="memcg",type="/small/keeper"}')" ] || result wrong "linux_memcg names no such group"
result "memuse: $(grep -m 1 'of dentry' /tmp/memuse)"
grep -q 'of dentry; .* by state-keeper ([0-9]*).* in control group /small/keeper$' /tmp/memuse || result wrong "memuse does not name the group"
result "origins: $(grep -m 1 state-keeper /tmp/grown)"
grep -q '^dentry *  /small/keeper *  state-keeper *  __d_alloc ' /tmp/grown || result wrong "memstatctl origins does not name it"
"""
USERS = {"ACCOUNT": "nobody"}


def replay(outcome):
    """Compares memstatd's page, made here from a capture that was recorded in the guest, with the capture's files."""
    recording = {path.removeprefix("capture/"): content for path, content in outcome.files.items() if path.startswith("capture/")}
    files = dict(recording)
    for segment in [path for path in recording if path.endswith(".tar")]:
        with tarfile.open(fileobj=io.BytesIO(files.pop(segment))) as archive:
            files |= captures.archive_files(archive)
    polls = sorted({path.split("/")[0] for path in files if path[:6].isdigit()})
    if not polls:
        return ["nothing was recorded"]
    with tempfile.TemporaryDirectory(prefix="memstat-replay-") as directory:
        capture = pathlib.Path(directory) / "capture"
        machine.keep(recording, capture)
        configuration = pathlib.Path(directory) / "memstatd.yaml"
        configuration.write_text(checker.CONFIGURATION.format(port=0, user="", migrate_types="on"), encoding="ascii")
        done = subprocess.run([outcome.program, "--config", configuration, "--replay", capture, "--once"],
                              capture_output=True, text=True, check=False)
    constant = f"{polls[0]}/fs/sys/kernel/slab/"  # values that are read once
    files = {polls[-1] + path[len(polls[0]):]: content for path, content in files.items() if path.startswith(constant)} | files
    expected = checker.expect_capture(files, {"processes": True, "migrate_types": True})
    verdicts = checker.compare_values(expected, checker.parse_page(done.stdout), expected)
    wrong = checker.report(verdicts)
    return [f"{wrong} of {len(verdicts)} values of the replay"] if wrong or len(verdicts) < 1000 else []


TESTS = {test.name: test for test in (
    Test("smoke", "two CPUs, control groups of version 2", shapes=(Shape(cpus=2, patience=540),), modules=CONNTRACK),
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
    Test("memory", "256 MiB of memory are plugged in, and go again", MEMORY, shapes=(Shape(cpus=2, devices=("-m", "1024,slots=1,maxmem=2G")),), groups=3),
    Test("suspend", "the machine sleeps ten seconds, suspended to memory", SUSPEND, shapes=(Shape(cpus=2, append="no_console_suspend"),), groups=2),
    Test("modules", "modules are loaded and unloaded while memstatd runs as root", MODULES,
         modules=("dummy=later", "brd=later", "zsmalloc=later", "lz4_compress=later", "lz4hc_compress=later", "zram=later"),
         environment={"KEEP": "yes"}, groups=3),
    Test("clock", "the clock jumps an hour ahead, two back, and to 1970", CLOCK, groups=4),
    Test("limits", "each table is filled, and a Prometheus outside raises the alerts of the shipped rules", limits.script(), groups=0, page_check=limits.check,
         outside=limits.outside, missing=limits.missing, configuration=limits.CONFIGURATION,
         modules=("e1000", *CONNTRACK, "dummy=later", "brd=later", "zsmalloc=later", "lzo=later", "lzo_rle=later"), provokes=True,
         shapes=(Shape(cpus=2, append="nf_conntrack.enable_hooks=1 hugepages=8", patience=1200),)),
    Test("limits_v1", "a control group of version 1 is filled", limits.script(limits.V1), groups=0, page_check=limits.check, outside=limits.outside_v1,
         missing=limits.missing, configuration=limits.CONFIGURATION, modules=("e1000",), environment={"CGROUP": "1"}, provokes=True),
    Test("shortages", "memstatd runs as its unit does in each shortage that it reports, and is asked from outside", shortages.script(), groups=0,
         page_check=shortages.check, outside=shortages.outside, configuration=shortages.CONFIGURATION, built=("/usr/bin/setpriv",), provokes=True,
         modules=("e1000", *CONNTRACK, *(f"{name}=later" for name in ("virtio_blk", "crc16", "mbcache", "jbd2", "ext4"))),
         shapes=(Shape(cpus=2, append="nf_conntrack.enable_hooks=1", patience=5400),)),
    Test("growth", "a module leaks, a slab cache grows, and the shipped rules raise their alerts", growth.script(), groups=0, page_check=growth.check,
         shapes=(Shape(append="slab_nomerge", patience=900),), provokes=True, made=("leak.c",)),
    Test("account", "memory is taken in many ways, and little of it is unaccounted", account.script(), groups=0, page_check=account.check,
         modules=("brd=later", "zsmalloc", "lzo=later", "lzo_rle=later", "lz4_compress=later", "lz4hc_compress=later", "zram=later", *(f"{name}=later" for name in account.BALLOON)),
         shapes=(Shape(cpus=2, patience=900, devices=("-device", "virtio-balloon-pci")),), provokes=True),
    *(Test("headroom" + suffix, f"control groups of version {version} are filled, and a program allocates until it is killed", headroom.script(version),
           groups=0, page_check=headroom.check(version), configuration=headroom.CONFIGURATION, provokes=True, environment={"CGROUP": str(version)},
           modules=("brd=later", "crc32c_generic=later", "crc16=later", "mbcache=later", "jbd2=later", "ext4=later"), shapes=(Shape(cpus=2, memory=1536, append="hugepages=8", patience=5400),))
      for version, suffix in ((2, ""), (1, "_v1"))),
    Test("memuse", "memstatctl memuse has no suspect in a quiet guest, and finds one that leaks", MEMUSE, shapes=(Shape(cpus=2, patience=900),), groups=0),
    Test("c_api", "the tests of the C API, which are built already", C_API, shapes=(Shape(cpus=2, memory=2048, patience=1200),), groups=0, built=("test_c_api",),
         fixtures=True),
    Test("events", "the live tests of events, and a CPU goes and comes back", EVENTS, groups=0, built=("test_events",), fixtures=True,
         shapes=(Shape(cpus=2, append="slab_nomerge", patience=900),)),
    Test("origins", "the control group, the program and the call that make a cache grow", "CGROUPS=/sys/fs/cgroup" + ORIGINS,
         shapes=(Shape(cpus=2),), groups=0),
    Test("origins_v1", "the same with control groups of version 1", "CGROUPS=/sys/fs/cgroup/memory" + ORIGINS, shapes=(Shape(cpus=2),), groups=0,
         environment={"CGROUP": "1"}),
    Test("record", "a capture recorded in the guest is replayed here", RECORD, groups=0, page_check=replay),
)}
