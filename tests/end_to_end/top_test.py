#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl top in tmux: its screens, keys and sizes; the terminal is restored however it ends; plain lines in a pipe."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

MEMSTATCTL = os.environ.get("MEMSTATCTL") or os.path.join(os.path.dirname(program.MEMSTATD), "memstatctl")
LIMITS = "freebsd-15.0-amd64-2cpu-limits"
GOLDEN = os.path.join(program.SOURCE_DIR, "tests", "end_to_end", "golden", "memstatctl-top.txt")


def has_screen():
    """Whether this memstatctl was built with ncursesw."""
    with open(MEMSTATCTL, "rb") as file:
        return b"built without ncursesw" not in file.read()


class Terminal:
    """A tmux of one window with a shell."""

    def __init__(self, width=100, height=24):
        self.directory = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.directory.name, "tmux")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        environment.pop("TMUX", None)
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "-u", "new-session", "-d", "-x", str(width), "-y", str(height), "sh -i"],
                       check=True, env=environment, timeout=program.PATIENCE)
        self.keys("PS1='rea''dy$ '", "Enter")  # a shell of root sets its own
        self.wait("ready$")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")
        self.directory.cleanup()

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], check=True, capture_output=True, text=True, timeout=program.PATIENCE).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def wait(self, *words, gone=()):
        def look():
            time.sleep(0.05)
            screen = self.screen()
            return screen if all(word in screen for word in words) and not any(word in screen for word in gone) else None
        return program.wait_until(look, lambda: f"{words} on the screen, not {gone}; there is:\n{self.screen()}")

    def settled(self, *words, gone=()):
        """The screen with these words once it is drawn: a busy machine shows half of one."""
        def look():
            screen = self.wait(*words, gone=gone)
            time.sleep(0.5)
            return screen if screen == self.screen() else None
        return program.wait_until(look, lambda: f"a screen that stays; there is:\n{self.screen()}")

    def start(self, *arguments):
        self.keys(" ".join([MEMSTATCTL, "top", *arguments]), "Enter")


@unittest.skipUnless(shutil.which("tmux") and has_screen(), "no tmux, or memstatctl was built without ncursesw")
class Screens(unittest.TestCase):
    maxDiff = None

    def test_a_terminal_without_a_cursor_is_named_with_what_works(self):
        done = subprocess.run(["script", "-qec", f"{MEMSTATCTL} top", "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=program.PATIENCE, env={**os.environ, "TERM": "dumb"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("this terminal (TERM) cannot show a full screen; --count N prints lines", done.stdout)

    def test_screens_of_a_capture_and_every_size(self):
        seen = []
        with Terminal() as terminal:
            terminal.start("--from", captures.fixtures()[LIMITS])
            seen.append(terminal.settled("poll 3 of 3", "mbuf_jumbo_page", "Enter the type"))
            colours = terminal.screen("-e")
            self.assertRegex(colours, r"\x1b\[[0-9;]*31m[^\n]*mbuf_jumbo_page", "what fails is red")
            terminal.tmux("resize-window", "-x", "100", "-y", "30")
            terminal.wait("vmem btag")
            self.assertNotRegex(terminal.screen("-e"), r"\x1b\[[0-9;]*3[13]m[^\n]*vmem btag", "what fails routinely has no colour")
            terminal.tmux("resize-window", "-x", "100", "-y", "24")
            terminal.keys("n")
            seen.append(terminal.settled("by name"))
            terminal.keys("b", "/", "m", "b", "u", "f")
            seen.append(terminal.settled("filter: mbuf_ "))
            terminal.keys("Enter", "Down", "Enter")
            terminal.wait("uma mbuf_jumbo_page: ", "of its limit", "object size")
            terminal.keys("c")
            terminal.wait("uma mbuf_jumbo_page by CPU")
            terminal.keys("n")
            terminal.wait("by node", "held_bytes")
            terminal.keys("q", "Escape", "/", "d", "e", "v", "b", "u", "f", "Enter", "c")
            seen.append(terminal.settled("malloc devbuf by CPU", "allocated_bytes", "frees"))
            terminal.keys("q")
            terminal.wait("filter: devbuf")
            terminal.keys("Escape", "h")
            seen.append(terminal.settled("memstatctl top: keys", "growth, failures, limit, name"))
            terminal.keys("q")
            terminal.wait("490 types")
            terminal.keys("Home")
            terminal.tmux("resize-window", "-x", "40", "-y", "10")
            seen.append(terminal.settled("2026-11-20", "mbuf_cluster", "q quit", gone=("ALLOC ",)))
            for width, height in ((1, 1), (2, 3), (300, 90), (10, 2), (100, 24)):
                terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
            terminal.wait("490 types", "ALLOC ")
            terminal.keys("q")
            terminal.wait("ready$", gone=("ALLOC ",))
        text = "\n".join("".join(line.rstrip() + "\n" for line in screen.splitlines()) + "-" * 100 for screen in seen) + "\n"
        if os.environ.get("UPDATE_GOLDEN"):
            captures.write_file(GOLDEN, text)
        with open(GOLDEN, encoding="utf-8") as file:
            self.assertEqual(text, file.read(), "UPDATE_GOLDEN=1 writes the screens anew")

    def test_the_terminal_is_as_it_was_however_it_ends(self):
        for end in ("q", "C-c", "TERM", "HUP", "INT"):
            with self.subTest(end), Terminal() as terminal:
                terminal.keys(f"before=$(stty -g); {MEMSTATCTL} top --from {captures.fixtures()[LIMITS]}; "
                              "status=$?; [ \"$before\" = \"$(stty -g)\" ] && echo same $status", "Enter")
                terminal.wait("ALLOC ", "q quit")
                self.assertEqual(terminal.tmux("display-message", "-p", "#{alternate_on}").strip(), "1")
                if end in ("q", "C-c"):
                    terminal.keys(end)
                else:
                    shell = terminal.tmux("display-message", "-p", "#{pane_pid}").strip()
                    child = subprocess.run(["ps", "-o", "pid=", "--ppid", shell], check=True, capture_output=True, text=True).stdout.split()
                    subprocess.run(["kill", "-" + end, child[0]], check=True)
                status = {"TERM": 143, "HUP": 129}.get(end, 0)
                terminal.wait(f"same {status}", gone=("ALLOC ",))
                self.assertEqual(terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip(), "0 1")


    def test_keys_work_while_a_daemon_hangs(self):
        with program.Daemon("--replay", captures.fixtures()[LIMITS], "--polls", "1") as daemon:
            program.wait_until(lambda: daemon.request("/api/v1/types")[0] == 200, "a first poll")
            with Terminal() as terminal:
                terminal.start("--from", f"http://127.0.0.1:{daemon.port}", "--interval", "100ms")
                terminal.wait("ALLOC ")
                os.kill(daemon.process.pid, signal.SIGSTOP)
                try:
                    terminal.wait("no answer for", "these are the last figures")
                    terminal.keys("n")
                    terminal.wait("by name", "no answer for")
                    terminal.keys("c")
                    terminal.wait("reading the figures by CPU", "no answer for")
                    terminal.keys("q", "q")
                    terminal.wait("ready$", gone=("ALLOC ",))
                finally:
                    os.kill(daemon.process.pid, signal.SIGCONT)


class Lines(unittest.TestCase):
    def test_into_a_pipe_it_prints_the_last_sample_or_the_requested_number(self):
        for arguments, polls in (([], ["3"]), (["--count", "2"], ["1", "2"]), (["--count", "9"], ["1", "2", "3"])):
            done = subprocess.run([MEMSTATCTL, "top", "--from", captures.fixtures()[LIMITS], *arguments], capture_output=True, text=True,
                                  timeout=program.PATIENCE, check=True)
            self.assertEqual(done.stderr, "")
            self.assertNotIn("\x1b", done.stdout)
            found = [line.split("; poll ")[1] for line in done.stdout.splitlines() if "; poll " in line]
            self.assertEqual(found, [f"{poll} of 3" for poll in polls])
        rows = [line.split() for line in done.stdout.split("poll 3 of 3")[1].splitlines()[2:]]
        self.assertEqual(len(rows), 490)
        self.assertEqual(rows[1], ["uma", "mbuf_jumbo_page", "1.6M", "1.6M", "100%", "4096", "400", "+80K", "100%", "1532", "\u2581\u2588\u2588", "100%"])


if __name__ == "__main__":
    program.main()
