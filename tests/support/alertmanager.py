# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Alertmanager for the end-to-end tests."""
import contextlib
import json
import os
import shutil
import subprocess
import unittest
import urllib.request

import program
from prometheus_server import free_port

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
needs_alertmanager = unittest.skipUnless(PROGRAM, "alertmanager is not installed (Debian package prometheus-alertmanager)")
CONFIG = """
route: {receiver: nobody, group_wait: 0s}
receivers: [{name: nobody}]
"""


class Alertmanager:
    """A server on loopback without neighbours, which tells nobody."""

    def __init__(self, folder):
        self.log_path = os.path.join(folder, "alertmanager.log")
        with open(os.path.join(folder, "alertmanager.yml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        self.address = f"127.0.0.1:{free_port()}"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/alertmanager",
                 f"--web.listen-address={self.address}", "--cluster.listen-address="],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            program.wait_until(self.is_ready, self.log)
        except BaseException:
            self.stop()
            raise

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return "the log of alertmanager:\n" + file.read()[-4000:]

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(self.log())
        try:
            self.alerts()
        except OSError:
            return False
        return True

    def alerts(self):
        """The alerts that fire, as the API of version 2 has them."""
        with urllib.request.urlopen(f"http://{self.address}/api/v2/alerts?active=true", timeout=program.PATIENCE) as response:
            return json.loads(response.read())

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


@contextlib.contextmanager
def alertmanager(folder):
    server = Alertmanager(folder)
    try:
        yield server
    finally:
        server.stop()
