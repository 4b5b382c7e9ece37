#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 15
"""The archive of situations has the same bytes twice, and is scored and packed again in a directory of its own, by programs that are not memstatd."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SITUATIONS = pathlib.Path(os.environ["SOURCE_DIR"]) / "tests/situations"
CHOSEN = ("swap_full", "calm_idle", "02-rocm-kmalloc-spread", "calm: a large cache of ZFS")
# Says that each machine has its swap full, and gives nothing but the name.
ACCUSER = "#!/bin/sh\n[ -e \"$1/manifest.yaml\" ] || exit 1\necho swap_full\n"
# Names the holder of the one problem that has one.
DETAILED = '#!/bin/sh\nprintf \'slab_leak\\t{"severity": "now", "about": ["slab/kmalloc-1024"]}\\n\'\n'


def run(*command, cwd, status=(0,)):
    # Nothing of memstatd, and nothing of the checkout, is found.
    plain = {"PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-B", *command], cwd=cwd, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode in status, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout


def sums(top, adapter, *options):
    return json.loads(run("score", "--adapter", adapter, "--json", *options, cwd=top))


def program(top, text):
    path = top / "program"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def main():
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        for name in ("one.tar", "two.tar"):
            run(SITUATIONS / "archive", name, cwd=place)
        first = (place / "one.tar").read_bytes()
        assert first == (place / "two.tar").read_bytes()
        subprocess.run(["tar", "-xf", "one.tar"], cwd=place, check=True)
        (top,) = place.glob("memstat-situations-*")
        assert "set is in form" in run("score", "--form", cwd=top)
        run("archive", "again.tar", cwd=top)
        assert first == (top / "again.tar").read_bytes()
        (top / "again.tar").unlink()
        halves = [word for half in ("A", "B", "P", "edited") for word in ("--half", half)]
        accused = sums(top, program(top, ACCUSER), *halves, *CHOSEN)
        assert accused["problems"]["first"][0] == accused["problems"]["first"][1] - 1 > 0, accused
        assert accused["calm machines"]["first"][0] == 0 < accused["calm machines"]["first"][1], accused
        assert "who" not in accused["problems"], accused  # what an adapter does not say is not judged
        detailed = sums(top, program(top, DETAILED), "--half", "P", "02-rocm-kmalloc-spread")
        assert detailed["problems"]["first"] == detailed["problems"]["who"] == [1, 1], detailed
        silent = sums(top, program(top, "#!/bin/sh\n"), "--half", "edited", CHOSEN[-1])
        assert silent["calm machines"]["first"] == silent["calm machines"]["silent"] == [1, 1], silent
        # The baseline finds the leak that /proc/meminfo shows, without memstatd.
        baseline = sums(top, "adapters/meminfo", "--half", "P")
        assert baseline["problems"]["first"][0] >= 1, baseline
        assert not run("score", "--adapter", program(top, "#!/bin/sh\nexit 3\n"), "--half", "P", "02-rocm-kmalloc-spread", cwd=top, status=(1,))
        run("score", "--unpack", "all", "--half", "P", cwd=top)
        labels = json.loads((top / "all/labels.json").read_text())
        assert len(labels) >= 20 and all(list((top / "all" / name).glob("*/000000/poll.yaml")) for name in labels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
