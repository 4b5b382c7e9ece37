#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The scripts of memstatctl completion in the real shells: they offer every command and option, and files where appropriate."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import program  # noqa: E402
from ctl import MEMSTATCTL, output  # noqa: E402

CAPTURE = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "captures", "linux-6.12-4cpu.tar.zst")
OFFER = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memstatctl; printf "%s\\n" "${COMPREPLY[@]}"'


def commands():
    """{command: its options}, as the help texts name them."""
    names = re.findall(r"^  ([a-z]+) ", output("--help"), re.MULTILINE)
    return {name: set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", output(name, "--help"), re.MULTILINE)) for name in names}


class Completion(unittest.TestCase):
    def bash(self, *words):
        """What bash offers for the last of these words."""
        script = output("completion", "bash") + OFFER
        done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, timeout=program.PATIENCE, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_offers_every_command_and_option(self):
        known = commands()
        self.assertGreaterEqual(len(known), 11, known)
        self.assertEqual(set(self.bash("memstatctl", "")), {*known, "help", "version", "--help", "--version"})
        self.assertEqual(set(self.bash("memstatctl", "help", "")), set(known))
        self.assertEqual(self.bash("memstatctl", "help", "types", ""), [])
        self.assertEqual(self.bash("memstatctl", "li"), ["limits"])
        for command, options in known.items():
            self.assertEqual(set(self.bash("memstatctl", command, "--")), options, command)
        self.assertEqual(self.bash("memstatctl", "types", "--c"), ["--csv"])
        self.assertEqual(self.bash("memstatctl", "malloc", "--format", "freebsd-10"), ["freebsd-10"])
        self.assertEqual(self.bash("memstatctl", "completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.bash("memstatctl", "types", "--from", ""), [], "then bash offers files")
        self.assertIn("dentry", self.bash("memstatctl", "explain", "dent"))
        self.assertEqual(self.bash("memstatctl", "who", "p"), ["page-tables", "pinned", "pipes", "processes"])
        self.assertIn("MemstatNearLimit", self.bash("memstatctl", "explain", "MemstatNear"))
        self.assertEqual(self.bash("memstatctl", "explain", "vmallo"), ["vmalloc", "vmalloc_failed", "vmalloc_growth", "vmalloc_large"])
        self.assertEqual(self.bash("memstatctl", "explain", "CONFI"), ["CONFIDENCE"])

    def test_bash_offers_types_of_what_is_read(self):
        for command, wanted in (("watch", ["dentry", "dentries"]), ("show", ["dentry", "dentries"]), ("objects", ["dentry"])):
            self.assertEqual(self.bash(MEMSTATCTL, command, "--from", CAPTURE, "dentr"), wanted)
        self.assertEqual(self.bash(MEMSTATCTL, "show", "--from", CAPTURE, "slab/dentr"), ["slab/dentry"])
        self.assertEqual(self.bash(MEMSTATCTL, "show", "--from", CAPTURE, "table/dentr"), ["table/dentries"])
        self.assertEqual(self.bash(MEMSTATCTL, "objects", "--from", CAPTURE, "g1"), [], "a control group has no objects")
        self.assertEqual(self.bash(MEMSTATCTL, "objects", "--from", CAPTURE + "/none", ""), [], "what cannot be read offers nothing")
        self.assertEqual(self.bash(MEMSTATCTL, "objects", "--limit", ""), [])

    def shell(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed (Debian package {name})")
        script = output("completion", name)
        for command, options in commands().items():
            for word in (command, *(option.lstrip("-") for option in options - {"--help"})):
                self.assertIn(word, script)
        checked = subprocess.run([name, "-n", "/dev/stdin"], input=script, capture_output=True, text=True, timeout=program.PATIENCE, check=False)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        return script

    def test_zsh_understands_its_script(self):
        self.assertTrue(self.shell("zsh").startswith("#compdef memstatctl\n"))

    def test_zsh_offers_types_of_what_is_read(self):
        script = self.shell("zsh")
        stub = "compdef() { : }; compadd() { print -l -- ${(P)argv[-1]} }; words=(show --from $1 ''); CURRENT=4; _memstatctl_types"
        done = subprocess.run(["zsh", "-f", "-c", "compdef() { : }\n" + script + stub, "zsh", CAPTURE], capture_output=True, text=True, check=True,
                              timeout=program.PATIENCE, env={**os.environ, "PATH": os.path.dirname(MEMSTATCTL) + ":" + os.environ["PATH"]})
        self.assertLessEqual({"dentry", "slab/dentry", "table/dentries"}, set(done.stdout.split()), done.stderr)

    def test_fish_offers_every_command_and_option(self):
        script = self.shell("fish")
        with program.temporary_directory() as directory:
            def offered(line):
                done = subprocess.run(["fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'"], capture_output=True, text=True, timeout=program.PATIENCE,
                                      check=True, env={**os.environ, "HOME": directory, "PATH": os.path.dirname(MEMSTATCTL) + ":" + os.environ["PATH"]})
                return {line.split("\t")[0] for line in done.stdout.splitlines()}
            self.assertEqual(offered("memstatctl "), {*commands(), "help", "version"})
            self.assertEqual(offered("memstatctl help "), set(commands()))
            self.assertEqual(offered("memstatctl types --cs"), {"--csv"})
            self.assertEqual(offered("memstatctl completion "), {"bash", "zsh", "fish"})
            self.assertEqual(offered(f"memstatctl objects --from {CAPTURE} dentr"), {"dentry"})
            self.assertEqual(offered(f"memstatctl show --from {CAPTURE} slab/dentr"), {"slab/dentry"})
            self.assertIn("vmalloc", offered("memstatctl explain vmall"))


if __name__ == "__main__":
    program.main()
