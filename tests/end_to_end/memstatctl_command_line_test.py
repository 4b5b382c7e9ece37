#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan
"""memstatctl as used by people and scripts: the command line, output, errors, and exit status."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import MEMSTATCTL, capture_of, command_names, integer, on_terminal, output, readers, run  # noqa: E402

LIMITS = "freebsd-15.0-amd64-2cpu-limits"


def answer_all(listener, answer):
    """Sends these bytes to each client, until the listener is closed."""
    while True:
        try:
            with listener.accept()[0] as peer:
                peer.recv(65536)
                peer.sendall(answer)
        except OSError:
            return


class Types(unittest.TestCase):
    def check_table(self, text):
        lines = text.splitlines()
        self.assertEqual(lines[0].split(), ["ALLOCATOR", "TYPE", "BYTES", "HELD", "OBJECTS", "FREE", "SIZE", "FAILURES", "LIMIT", "USED"])
        self.assertEqual({len(line) for line in lines}, {len(lines[0])}, "columns are not aligned")
        return lines[1:]

    def test_amounts_below_zero_are_zero_and_names_cannot_steer_the_terminal(self):
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=[("a\x1b[2Jb", 1, 64, 1, 0)], zones=[{"name": "z"}])
            rows = self.check_table(output("types", "--from", directory))
            self.assertEqual(rows[0].split()[:3], ["malloc", "a\\x1b[2Jb", "64"])
            self.assertIn("a\\x1b[2Jb", output("malloc", "--from", directory))
            self.assertEqual(json.loads(output("types", "--json", "--from", directory))["types"][0]["type"], "a\\x1b[2Jb")
        with program.temporary_directory() as directory:
            poll = {"sysctl/kern.smp.maxcpus": integer(4), "sysctl/kern.smp.maxid": integer(3), "sysctl/hw.pagesize": integer(4096),
                    "sysctl/kern.malloc_count": integer(1), "sysctl/vm.zone_count": integer(1),
                    "sysctl/kern.malloc_stats": captures.malloc_stats([("racy", {0: (10, 74, 1, 2)})]),
                    "sysctl/vm.zone_stats": captures.zone_stats([{"name": "z"}])}
            captures.write_capture(directory, [poll], system="freebsd", cpus="0-3")
            row = next(row for row in json.loads(output("types", "--json", "--from", directory))["types"] if row["type"] == "racy")
            self.assertEqual((row["bytes"], row["objects"]), (0, 0))
            self.assertIn(f" {2**64 - 1} {2**64 - 64}    1 ", output("malloc", "--from", directory), "upstream's arithmetic")

    def test_what_can_be_read_is_shown_when_one_half_is_damaged(self):
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=[("fine", 1, 64, 1, 0)], zones=[{"name": "z"}])
            captures.write_file(os.path.join(directory, "000000", "sysctl", "vm.zone_stats"), captures.zone_stats([{"name": "z"}])[:100])
            done = run("types", "--json", "--from", directory)
            self.assertEqual((done.returncode, [row["type"] for row in json.loads(done.stdout)["types"]]), (3, ["fine"]))
            self.assertIn("vm.zone_stats", done.stderr)

    @unittest.skipUnless(sys.platform == "linux" and program.can_read_slabinfo(), program.NO_SLABINFO)
    def test_live_linux_kernel(self):
        for environment in ({}, {"MEMSTAT_CAPTURE": captures.fixtures()[LIMITS]}):
            text = output("types", "--from", "live", environment=environment)
            self.assertRegex(text, r"(?m)^slab +dentry +[0-9.]+[KMG] ", environment)


class CommandLine(unittest.TestCase):
    def assert_fails(self, status, arguments, *words, **options):
        done = run(*arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (status, ""), (arguments, done.stderr))
        self.assertTrue(done.stderr.startswith("memstatctl: ") and done.stderr.endswith("\n"), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr, arguments)

    def test_figures_are_for_people_on_a_terminal_as_with_vmstat(self):
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=[("acpica", 2295, 267680, 88105, 0b1000011)], classes=[16, 32, 64, 128, 256, 384, 8192])
            whole = "            Type  Use Memory Req Size(s)\n          acpica 2295 267680 88105 16,32,8192\n"
            short = "            Type  Use Memory Req Size(s)\n          acpica 2.3k  261K  88k 16,32,8K\n"
            self.assertEqual(output("malloc", "--from", directory), whole)
            self.assertEqual(output("malloc", "--human", "--from", directory), short)
            self.assertEqual(on_terminal("malloc", "--from", directory), short)
            self.assertEqual(on_terminal("malloc", "--no-human", "--from", directory), whole)
            self.assertNotIn("2.3k", on_terminal("malloc", "--format", "freebsd-13", "--from", directory))
            self.assertEqual(on_terminal("malloc", "--json", "--from", directory), output("malloc", "--json", "--from", directory))

    def test_wrong_usage(self):
        capture = captures.fixtures()[LIMITS]
        for arguments, word in (
                ([], ", ".join(command_names()[:-1]) + " or " + command_names()[-1]), (["vmstat"], "vmstat"), ([""], "malloc"), (["--nope"], "--nope"),
                (["malloc", "stray"], "stray"), (["malloc", "--nope"], "--nope"), (["malloc", "--from"], "--from"),
                (["malloc", "--from", ""], "--from"), (["malloc", "--format", "15"], "freebsd-15"), (["types", "--format", "x"], "--format"),
                (["malloc", "--from", capture, "--from", capture], "--from: may be given once only"), (["zones", "--human"], "--human"),
                (["malloc", "--human", "--no-human"], "--no-human"), (["zones", "--json", "--format", "freebsd-10"], "JSON"),
                (["malloc", "--human", "--format", "freebsd-13"], "--human"),
                (["node"], "ADDRESS"), (["node", "0x"], "0x"), (["node", "-1"], "-1"), (["node", "12g"], "12g"), (["node", ""], "ADDRESS"),
                (["node", "0x10000000000000000"], "2^64"), (["resident"], "PATH"), (["typse"], "did you mean types? The commands are why, "), (["vmstat"], '"vmstat". The commands are why, '),
                (["--from", capture, "types"], "the command comes first: memstatctl COMMAND --from, where COMMAND is why, incidents, "), (["types", "--reversed", "x"], "types has no option --reversed; did you mean --reverse?"),
                (["types", "--from", "ftp://host/x"], "not a URL"), (["types", "--limit", "-1"], "from 0 to"), (["types", "--sort=bytes", "("], "missing )"),
                (["types", "("], "regular expression"),
                (["types", "--allocator", "slob"], "did you mean slab"), (["limits", "--limit", "ten"], "not a whole number"), (["leaks", "--for", "31d"], "30s, 2m, 1h or 3d"), (["resident", "/", "--from", "live"], "--from"),
                (["top", "--interval", "0"], "--interval"), (["top", "--count", "x"], "--count"), (["diff"], "--for"), (["diff", "a"], "STATE"), (["diff", "a", "b", "c"], "c"),
                (["diff", "a", "https://host/?x"], "URL"), (["diff", "--for", "1s", "--from", capture], "--from"), (["diff", "a", "b", "--seconds", "1"], "--for"), (["diff", "--for", "0"], "--for"),
                (["types", "--human=3"], "--human: takes no value"), (["types", "--csv=x"], "--csv: takes no value"), (["types", "--csv", "--json"], "--csv"), (["completion"], "SHELL"), (["completion", "tcsh"], "tcsh"), (["mbufs", "--csv"], "--csv"), (["node", "1", "--human"], "--human")):
            self.assert_fails(2, arguments, word, "--help")
        self.assert_fails(2, ["types", "--sort", "nosuch", "--from", capture], "no column \"nosuch\". Columns: allocator, type, ")
        for command in ("malloc", "zones", "mbufs"):
            for url in ("http://127.0.0.1:8947/metrics", "HTTPS://host/"):
                self.assert_fails(2, [command, "--from", url], url, "URL", "CAPTURE@POLL")
        for command in ("types", "limits"):
            for url in ("HTTPS://", "http://", "http://host:0", "http://host/?x", "http://[::1"):
                self.assert_fails(2, [command, "--from", url], "URL")

    def test_bad_input_of_every_kind_is_one_line_for_every_command(self):
        """Each command of the table, with each kind of input."""
        kernels = readers()
        by_url = {command: arguments for command, arguments in kernels.items() if re.search(r"--from.*URL", run(command, "--help").stdout)}
        by_url.update(doctor=[], diff=["--for", "1"])
        self.assertLess({"why", "top", "show", "events", "origins", "doctor"}, set(by_url))
        lines = {command: [command, *arguments, "--from", "PATH"] for command, arguments in kernels.items()}
        lines.update(diff=["diff", "PATH", "PATH"], replay=["replay", "PATH"])
        with program.temporary_directory() as directory, open(captures.fixtures()[LIMITS], "rb") as file:
            truncated, foreign = os.path.join(directory, "truncated.tar.zst"), os.path.join(directory, "foreign")
            captures.write_file(truncated, file.read(20000))
            captures.write_file(foreign, b"root:x:0:0:root:/root:/bin/bash\n" * 99)
            os.mkdir(os.path.join(directory, "empty"))
            unreadable = os.path.join(directory, "unreadable")
            os.mkdir(unreadable, 0)
            another_version = os.path.join(directory, "another version")
            captures.write_file(os.path.join(another_version, "manifest.yaml"), b"format: 9\nos: linux\n")
            paths = ["/no/such", truncated, foreign, os.path.join(directory, "empty"), another_version]
            for command, line in lines.items():
                for path in paths + ([unreadable] if os.geteuid() != 0 else []):
                    done = run(*[path if word == "PATH" else word for word in line])
                    with self.subTest(command=command, path=path):
                        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                        self.assertRegex(done.stderr, "^memstatctl: .")
                        if command != "objects":
                            self.assertIn(path, done.stderr)
            other = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"format\": 9}"
            with socket.create_server(("127.0.0.1", 0)) as listener:
                url = f"http://127.0.0.1:{listener.getsockname()[1]}"
                threading.Thread(target=answer_all, args=(listener, other[:-1]), daemon=True).start()
                for command in sorted(by_url):
                    done = run(command, *by_url[command], "--from", url)
                    with self.subTest(command=command, url="another version"):
                        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            with socket.create_server(("127.0.0.1", 0)) as hanging:
                url = f"http://127.0.0.1:{hanging.getsockname()[1]}"
                children = {command: subprocess.Popen([MEMSTATCTL, command, *arguments, "--from", url], stdout=subprocess.PIPE,
                                                      stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) for command, arguments in by_url.items()}
                for command, child in children.items():
                    printed, said = child.communicate(timeout=program.PATIENCE)
                    with self.subTest(command=command, url="a daemon that hangs"):
                        self.assertEqual((child.returncode, printed, said.count("\n")), (1, "", 1), said)
                        self.assertIn(url, said)

    def test_damaged_streams_print_no_half_report(self):
        with program.temporary_directory() as directory:
            capture_of(directory, malloc=[("one", 1, 64, 1, 1), ("two", 2, 128, 2, 1)], zones=[{"name": "z"}, {"name": "y"}])
            for name, commands in (("kern.malloc_stats", ("malloc", "mbufs")), ("vm.zone_stats", ("zones", "mbufs"))):
                path = os.path.join(directory, "000000", "sysctl", name)
                with open(path, "rb") as file:
                    whole = file.read()
                captures.write_file(path, whole[:-1])
                for command in commands:
                    for arguments in ([], ["--json"]):
                        self.assert_fails(1, [command, *arguments, "--from", directory], name)
                captures.write_file(path, whole)

    def test_a_kernel_of_another_system_is_reported_with_what_to_do(self):
        linux = captures.fixtures()["linux-6.12-4cpu"]
        for command in ("malloc", "zones", "mbufs"):
            self.assert_fails(1, [command, "--from", linux], linux, "--from CAPTURE", "memstatctl types")
            if sys.platform == "linux":
                self.assert_fails(1, [command], "--from CAPTURE", "memstatctl types")
                self.assert_fails(1, [command, "--from", "live"], "--from CAPTURE",
                                  environment={"MEMSTAT_CAPTURE": captures.fixtures()[LIMITS]})

    def test_memstat_capture_is_read_unless_from_is_given(self):
        capture = captures.fixtures()[LIMITS]
        environment = {"MEMSTAT_CAPTURE": f"{capture}@0"}
        for command in ("malloc", "zones", "mbufs", "types", "limits"):
            first, last = output(command, "--from", f"{capture}@0"), output(command, "--from", capture)
            self.assertNotEqual(first, last)
            self.assertEqual(output(command, environment=environment), first)
            self.assertEqual(output(command, "--from", capture, environment=environment), last)

    def test_limits_and_diff_of_a_capture(self):
        capture = captures.fixtures()[LIMITS]
        self.assertIn("uma,mbuf_jumbo_page,1,objects,1532,kern.ipc.nmbjumbop,\"sysctl, only upwards\",refused without waiting; callers fall back to clusters,400,400,,,\n",
                      output("limits", "--csv", "--from", capture))
        self.assertIn("uma,mbuf_jumbo_page,0,1638400,1638400,0,400,400,0,1532,1532\n", output("diff", "--csv", f"{capture}@0", capture))
        same = run("diff", capture, capture)
        self.assertEqual((same.returncode, len(same.stdout.splitlines()), same.stderr), (0, 1, "memstatctl: nothing changed\n"))
        self.assert_fails(1, ["diff", capture, captures.fixtures()["linux-6.12-4cpu"]], "two systems, freebsd and linux")

    def test_output_that_cannot_be_written_is_a_failure(self):
        capture = captures.fixtures()[LIMITS]
        for arguments in (["zones", "--from", capture], ["types", "--json", "--from", capture], ["--help"], ["--version"],
                          ["watch", "uma/mbuf", "--from", capture], ["replay", capture], ["why", "--watch", "--from", capture]):
            with open("/dev/full", "wb") as full:
                self.assert_fails(1, arguments, "standard output", "space", stdout=full)
            reader, writer = os.pipe()
            os.close(reader)
            with os.fdopen(writer, "wb") as closed:
                done = run(*arguments, stdout=closed)
                self.assertEqual((done.returncode, done.stderr), (1, ""), "a reader that closes the pipe has read enough")

    def test_help_fits_the_terminal(self):
        for arguments in [["--help"], *([command, "--help"] for command in command_names())]:
            long = [line for line in on_terminal(*arguments, columns=80).splitlines() if len(line) > 80 and not line.startswith("  memstatctl ")]
            self.assertEqual(long, [], arguments)

    def test_version(self):
        self.assertRegex(output("--version"), r"^memstatctl \d+\.\d+\.\d+(~rc\d+)?\n$")


if __name__ == "__main__":
    program.main()
