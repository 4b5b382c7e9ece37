#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs one fuzzer for its share of the time: run_fuzzer.py PROGRAM HOW_MANY_FUZZERS_THERE_ARE

The seeds of NAME_fuzz.cpp are the files that tests/fuzz/NAME_fuzz.seeds names, a pattern a line: relative to the repository
("config/*.yaml") or to a poll of any capture in tests/fixtures/captures ("fs/proc/slabinfo", "sysctl/kern.malloc_stats").
A source's fuzzer that is made of tests/fuzz/any_source.cpp has no such list: it writes the seeds itself, from the source's captures.
Inputs from earlier runs are in tests/fuzz/corpus/NAME_fuzz.tar.xz, stored by tests/fuzz/keep; a fuzzer without seeds has these alone.
Seeds and new inputs are kept in BUILD_DIR/corpus/NAME_fuzz, where the next run continues; crashing inputs are kept in
BUILD_DIR/crashes.
Environment: SOURCE_DIR, BUILD_DIR, FUZZ_SECONDS (all fuzzers together; default 30), FUZZ_SEED (default 1: in a new build, each run
tries the same inputs in the same order, and the same number on any machine, so that a failure is due to the commit; 0: other inputs,
as many as there is time for, as in tests/fuzz/long).
"""
import fcntl
import glob
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

# Bigger seeds make each try slow, and their beginning is just as useful to the fuzzer.
MAX_SEED_BYTES = 64 * 1024
# About how many inputs fuzzers try per second on one busy processor; slow ones by name, whose inputs are long or describe whole machines.
TRIES_A_SECOND = 1000
SLOW = {"counter_events_fuzz": 100, "dump_freebsd_fuzz": 100, "dump_kdump_file_fuzz": 50, "dump_kernel_file_fuzz": 200,
        "dump_kernel_fuzz": 25, "freebsd_malloc_fuzz": 10, "freebsd_uma_fuzz": 200, "linux_memcg_fuzz": 200, "linux_page_fuzz": 100,
        "linux_slab_sysfs_fuzz": 100, "linux_slabinfo_fuzz": 100}


def unpacked_captures(source, directory):
    """The directories into which the captures are unpacked: once per build, even if many fuzzers start at the same time."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for capture in sorted((source / "tests/fixtures/captures").glob("*.tar.zst")):
            state = capture.stat()
            unpacked = directory / f"{capture.name}-{state.st_size}-{state.st_mtime_ns}"
            if not unpacked.exists():
                with tempfile.TemporaryDirectory(dir=directory) as part:
                    inside = pathlib.Path(part) / "capture"
                    inside.mkdir()
                    subprocess.run(["cmake", "-E", "tar", "xf", str(capture)], cwd=inside, check=True)
                    inside.rename(unpacked)
            yield unpacked


def seed_files(patterns, source, build):
    """Paths of the seeds in the tree and in the captures."""
    paths = [path for pattern in patterns for path in glob.glob(str(source / pattern))]
    for directory in unpacked_captures(source, build / "captures"):
        for pattern in patterns:
            paths += glob.glob(f"{directory}/**/[0-9]*/{pattern}", recursive=True)
    return [path for path in paths if os.path.isfile(path)]


def main(program, fuzzer_count):
    name = os.path.basename(program)
    source = pathlib.Path(os.environ["SOURCE_DIR"])
    build = pathlib.Path(os.environ["BUILD_DIR"])
    corpus, crashes = build / "corpus" / name, build / "crashes"
    crashes.mkdir(parents=True, exist_ok=True)
    recipe = source / "tests/fuzz" / f"{name}.seeds"
    corpus.mkdir(parents=True, exist_ok=True)
    kept = source / "tests/fuzz/corpus" / f"{name}.tar.xz"
    if kept.exists():
        with tarfile.open(kept) as archive:
            archive.extractall(corpus)
    if recipe.exists():
        lines = [line.split("#")[0].strip() for line in recipe.read_text(encoding="utf-8").splitlines()]
        paths = seed_files([line for line in lines if line], source, build)
        for path in paths:
            content = pathlib.Path(path).read_bytes()[:MAX_SEED_BYTES]
            (corpus / hashlib.sha1(content).hexdigest()).write_bytes(content)
        if not paths:
            print(f"{recipe}: no file matches")
            return 1
    elif recipe.with_suffix(".cpp").exists():
        if not kept.exists():
            print(f"{recipe} and {kept} are missing")
            return 1
    elif subprocess.run([program], env={**os.environ, "MEMSTAT_SEEDS": str(corpus)}, check=False).returncode != 0:
        print(f"{program} cannot make its seeds")
        return 1
    seconds = max(3, float(os.environ.get("FUZZ_SECONDS", "30")) / fuzzer_count)
    seed = int(os.environ.get("FUZZ_SEED", "1"))
    # Existing inputs are tried first, and libFuzzer counts them, too.
    runs = len(list(corpus.iterdir())) + seconds * SLOW.get(name, TRIES_A_SECOND)
    bounds = [f"-runs={runs:.0f}", f"-max_total_time={seconds * 10:.0f}"] if seed else [f"-max_total_time={seconds:.0f}"]
    command = [program, f"-seed={seed}", *bounds, "-timeout=60", "-rss_limit_mb=2048", f"-max_len={MAX_SEED_BYTES}",
               "-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={crashes}/{name}-", str(corpus)]
    status = subprocess.run(command, check=False).returncode
    if status != 0:
        print(f"{name} failed; the input is in {crashes}; run {program} with its path to see it again")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
