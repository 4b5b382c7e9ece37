# SPDX-License-Identifier: BSD-2-Clause
"""Shared by tests of events: a slab cache that only they use, and a memstatd that counts its events."""
import fcntl
import os
import unittest

import page as pages
import program

CACHE = "dnotify_struct"  # only fcntl(F_NOTIFY) allocates from it


def has_cache():
    with open("/proc/slabinfo", encoding="utf-8", errors="replace") as file:
        return any(line.startswith(CACHE + " ") for line in file)


def watch_directory(times=1, directory="/"):
    """Each call allocates an object; all but the last are freed at once, and the last with the descriptor."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(times):
        fcntl.fcntl(descriptor, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT)
    return descriptor


def descriptor_facts(process):
    """The text of each file in the fdinfo of a process."""
    found = []
    directory = f"/proc/{process}/fdinfo"
    for descriptor in os.listdir(directory):
        try:
            with open(os.path.join(directory, descriptor), encoding="utf-8") as file:
                found.append(file.read())
        except FileNotFoundError:  # closed meanwhile
            pass
    return found


class EventTest(unittest.TestCase):
    SOURCE = None

    def configuration(self, directory, text="", roster="linux_slabinfo"):
        """No sources except the roster, so that recordings are small."""
        return program.configure_only(os.path.join(directory, "memstatd.yaml"), (roster, self.SOURCE), text)

    def first_page(self, daemon, **labels):
        page = daemon.wait_page(lambda now: now.series("memstat_type_bytes", **labels), "the first poll")
        if not page.series("memstat_source_up", source=self.SOURCE):
            status = daemon.request("/api/v1/sources")[2].decode()
            self.skipTest(f"this kernel or this build lacks {self.SOURCE}: " + status[status.find(self.SOURCE):][:300])
        self.assertEqual(page.text("memstat_source_up", source=self.SOURCE), "1", daemon.log)
        return page

    def replayed(self, recording):
        page, problems = pages.check(program.run("--replay", recording, "--once").stdout)
        self.assertEqual(problems, [])
        return page
