#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What counting slab events costs with memstatd and with other tools, beside the same work: `tests/bench/tracers.py [ROUNDS]`, 5 by
default, as root, after daemon/run or tests/run has built memstatd (or MEMSTATD names one). Rounds are interleaved, each figure is a median,
and ratios are of one run. The work (tracers.c) opens and closes event descriptors; added cost is the CPU time that it takes then and does
not take with nothing attached. memstatd counts allocations, frees, bytes and failures of each cache (events.mode counters, without a
budget), the others fewer things:

  empty          tests/bench/empty_events.bpf.c: programs that do nothing, on the same tracepoints
  bpftrace       Debian's, two scripts: counts by the cache's name, and by call site, which is cheaper since its key is a number
  bcc            Debian's python3-bpfcc, counts by call site. It needs headers of a kernel: BCC_KERNEL_SOURCE=DIRECTORY where those of this
                 kernel are not installed (those of another version do, since the program only reads fields of tracepoints)
  ebpf_exporter  EBPF_EXPORTER=DIRECTORY, a checkout of cloudflare/ebpf_exporter: it has no example for the slab, so this is a program
                 that counts by cache through its examples' own maps.bpf.h, compiled by clang and attached by libbpf, as it does

What is missing is left out, with the reason. Needs cc, clang and libbpf-dev."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEMSTATD = os.environ.get("MEMSTATD") or os.path.join(ROOT, "build", "bin", "memstatd")
TRACEFS = "/sys/kernel/tracing"
PATIENCE = 60  # s
BY_NAME = """
tracepoint:kmem:kmem_cache_alloc { @allocs[str(args->name)] = count(); }
tracepoint:kmem:kmem_cache_free { @frees[str(args->name)] = count(); }
tracepoint:kmem:kmalloc { @allocs["kmalloc"] = count(); }
tracepoint:kmem:kfree { @frees["kmalloc"] = count(); }
"""
BY_CALL_SITE = """
tracepoint:kmem:kmem_cache_alloc,tracepoint:kmem:kmalloc { @allocs[args->call_site] = count(); }
tracepoint:kmem:kmem_cache_free,tracepoint:kmem:kfree { @frees[args->call_site] = count(); }
"""
BCC = '''
import sys, time
from bcc import BPF
bpf = BPF(text="""
BPF_HASH(allocs, u64, u64, 10240);
BPF_HASH(frees, u64, u64, 10240);
TRACEPOINT_PROBE(kmem, kmem_cache_alloc) { u64 key = args->call_site; allocs.increment(key); return 0; }
TRACEPOINT_PROBE(kmem, kmalloc) { u64 key = args->call_site; allocs.increment(key); return 0; }
TRACEPOINT_PROBE(kmem, kmem_cache_free) { u64 key = args->call_site; frees.increment(key); return 0; }
TRACEPOINT_PROBE(kmem, kfree) { u64 key = args->call_site; frees.increment(key); return 0; }
""", cflags=["-Wno-everything"])
print("ready", flush=True)
sys.stdin.read()
print("counted", sum(value.value for value in bpf["allocs"].values()), flush=True)
'''
EXPORTER = """
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "maps.bpf.h"
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 10240); __type(key, u64); __type(value, u64); } allocs SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 10240); __type(key, u64); __type(value, u64); } frees SEC(".maps");
SEC("raw_tp/kmem_cache_alloc")
int alloc(struct bpf_raw_tracepoint_args* event) { u64 cache = event->args[2]; increment_map(&allocs, &cache, 1); return 0; }
SEC("raw_tp/kmem_cache_free")
int give(struct bpf_raw_tracepoint_args* event) { u64 cache = event->args[2]; increment_map(&frees, &cache, 1); return 0; }
SEC("raw_tp/kmalloc")
int kmalloc_(struct bpf_raw_tracepoint_args* event) { u64 site = event->args[0]; increment_map(&allocs, &site, 1); return 0; }
SEC("raw_tp/kfree")
int kfree_(struct bpf_raw_tracepoint_args* event) { u64 site = event->args[0]; increment_map(&frees, &site, 1); return 0; }
char LICENSE[] SEC("license") = "GPL";
"""


class Missing(Exception):
    """Why a tool cannot be measured here."""


def built(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"{command[0]}: {done.stderr[-400:]}")


def bpf_object(directory, name, *arguments, text=None):
    """A compiled BPF program of that source, or text."""
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        built(["clang", "-O2", "-g", "-target", "bpf", "-D__TARGET_ARCH_x86", *arguments, "-c", "-o", path, *(["-x", "c", "-"] if text else [])], text)
    return path


def measured(program):
    """ns of CPU for an open and close now."""
    return float(subprocess.run([program, "work", "0.7"], capture_output=True, text=True, check=True).stdout)


def beside(program, command, is_ready, stop, counts=True):
    """The work while a tool counts; if it `counts` (prints counts), these must not be 0."""
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, text=True) as tool:
            def said():
                output.seek(0)
                return output.read()
            try:
                end = time.monotonic() + PATIENCE
                while not is_ready(said()):
                    if tool.poll() is not None or time.monotonic() > end:
                        raise Missing(f"{command[0]} does not start: {said().strip()[-300:]}")
                    time.sleep(0.1)
                time.sleep(0.5)
                taken = measured(program)
                stop(tool)
                tool.wait(PATIENCE)
            finally:
                if tool.poll() is None:
                    tool.kill()
            counted = [int(number) for number in re.findall(r"(?:^@.*: |^counted )(\d+)$", said(), re.MULTILINE)]
            if counts and sum(counted) < 100_000:
                raise Missing(f"{command[0]} counted {sum(counted)} events only: {said()[-300:]}")
    return taken


def bpftrace(program, script):
    if not shutil.which("bpftrace"):
        raise Missing("bpftrace is not installed (Debian package bpftrace)")
    # It reports when all is attached: its own interval comes last.
    script += 'interval:ms:200 { printf("ready\\n"); }'
    return beside(program, ["bpftrace", "-e", script], lambda said: "ready" in said, lambda tool: tool.send_signal(2))


def with_input(program, command, counts):
    return beside(program, command, lambda said: "ready" in said, lambda tool: tool.stdin.close(), counts)


def ebpf_exporter(program, directory):
    source = os.environ.get("EBPF_EXPORTER")
    if not source:
        raise Missing("EBPF_EXPORTER names no checkout of cloudflare/ebpf_exporter")
    path = bpf_object(directory, "exporter.bpf.o", "-I", os.path.join(source, "examples"), "-I", os.path.join(source, "include", "x86"), text=EXPORTER)
    return with_input(program, [program, "attach", path], False)


def memstatd(program, directory):
    path = os.path.join(directory, "memstatd.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("poll: {interval: 10s}\nevents: {mode: counters, budget: 100%}\nsources: {linux_vm_events: {enabled: off}}\n")
    return beside(program, [MEMSTATD, "--config", path, "--listen", "127.0.0.1:0"], lambda said: "listening on" in said, lambda tool: tool.terminate(),
                  False)


def main():
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        print(__doc__)
        return 2
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if os.geteuid() != 0 or not os.path.exists(MEMSTATD):
        print("needs root and " + MEMSTATD)
        return 77
    if not os.path.exists(os.path.join(TRACEFS, "events")):  # in a mount namespace of its own, so that nothing stays mounted
        mount = f"mount -t tracefs tracefs {TRACEFS} && exec \"$@\""
        return subprocess.run(["unshare", "-m", "sh", "-c", mount, "sh", sys.executable, *sys.argv], check=False).returncode
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "tracers")
        built(["cc", "-O2", "-o", program, os.path.join(ROOT, "tests", "bench", "tracers.c"), "-lbpf"])
        empty = bpf_object(directory, "empty.bpf.o", "-I", ROOT, os.path.join(ROOT, "tests", "bench", "empty_events.bpf.c"))
        ways = {"memstatd, events.mode counters": lambda: memstatd(program, directory),
                "empty programs": lambda: with_input(program, [program, "attach", empty], False),
                "bpftrace, by name of the cache": lambda: bpftrace(program, BY_NAME),
                "bpftrace, by call site": lambda: bpftrace(program, BY_CALL_SITE),
                "bcc, by call site": lambda: with_input(program, ["/usr/bin/python3", "-c", BCC], True),
                "ebpf_exporter's maps.bpf.h, by cache": lambda: ebpf_exporter(program, directory)}
        added = {name: [] for name in ways}
        bare = []
        for _ in range(rounds):
            bare.append(measured(program))
            for name in list(ways):
                try:
                    added[name].append(ways[name]() - bare[-1])
                except Missing as reason:
                    print(f"left out: {name}: {reason}", flush=True)
                    del ways[name]
    print(f"load {os.getloadavg()[0]:.1f}, {rounds} rounds, an open and close takes {statistics.median(bare):.0f} ns with nothing attached\n")
    print("| programs | added to an open and close, ns (least, most) | to memstatd's |\n|---|---|---|")
    for name in ways:
        ratios = [cost / ours for cost, ours in zip(added[name], added["memstatd, events.mode counters"])]
        print(f"| {name} | {statistics.median(added[name]):.0f} ({min(added[name]):.0f}, {max(added[name]):.0f}) | {statistics.median(ratios):.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
