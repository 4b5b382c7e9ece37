# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Alertmanager for the end-to-end tests."""
import contextlib
import http.server
import json
import os
import shutil
import subprocess
import threading
import unittest
import urllib.request

import program
from prometheus_server import free_port

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
needs_alertmanager = unittest.skipUnless(PROGRAM, "alertmanager is not installed (Debian package prometheus-alertmanager)")
CONFIG = """
route: {receiver: nowhere, group_wait: 0s}
receivers: [{name: nowhere}]
"""


class Alertmanager:
    """A server on loopback without neighbours."""

    def __init__(self, directory, config):
        self.log_path = os.path.join(directory, "alertmanager.log")
        with open(os.path.join(directory, "alertmanager.yml"), "w", encoding="utf-8") as file:
            file.write(config)
        for _ in range(5):  # another program may take the port between our looking and its binding
            self.address = f"127.0.0.1:{free_port()}"
            with open(self.log_path, "wb") as log:
                self.process = subprocess.Popen(
                    [PROGRAM, f"--config.file={directory}/alertmanager.yml", f"--storage.path={directory}/alertmanager",
                     f"--web.listen-address={self.address}", "--cluster.listen-address="],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=directory)
            try:
                program.wait_until(lambda: self.process.poll() is not None or self.is_ready(), self.log)
            except BaseException:
                self.stop()
                raise
            if self.process.poll() is None:
                return
        raise AssertionError("alertmanager does not start:\n" + self.log())

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return "the log of alertmanager:\n" + file.read()[-4000:]

    def is_ready(self):
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


def example(receiver, group_wait):
    """The example that ships, which sends to this receiver and waits so long for the alerts of a group."""
    with open(os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "alertmanager.yml"), encoding="utf-8") as file:
        text = file.read()
    for old, new in (("group_wait: 1m", f"group_wait: {group_wait}"), ("http://127.0.0.1:9099", f"http://{receiver.address}")):
        if old not in text:
            raise AssertionError(f"the example no longer says {old}")
        text = text.replace(old, new)
    return text


class Receiver:
    """Keeps the notifications that it is sent: (receiver, names of the alerts, labels of the alerts)."""

    def __init__(self):
        self.notifications = []
        notifications = self.notifications

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                notifications.append((sent["receiver"], [alert["labels"] for alert in sent["alerts"]]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:{}".format(self.server.server_address[1])
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def alertmanager(directory, config=CONFIG):
    server = Alertmanager(directory, config)
    try:
        yield server
    finally:
        server.stop()
