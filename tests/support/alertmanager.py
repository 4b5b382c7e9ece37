# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Alertmanager for the end-to-end tests."""
import http.server
import json
import os
import shutil
import threading
import unittest

import program
import prometheus_server

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
needs_alertmanager = unittest.skipUnless(PROGRAM, "alertmanager is not installed (Debian package prometheus-alertmanager)")
CONFIG = """
route: {receiver: nowhere, group_wait: 0s}
receivers: [{name: nowhere}]
"""


class Alertmanager(prometheus_server.LoopbackServer):
    """A single server on loopback."""

    def __init__(self, directory, config=CONFIG):
        super().__init__("alertmanager", directory, config, lambda address: [
            PROGRAM, f"--config.file={directory}/alertmanager.yml", f"--storage.path={directory}/alertmanager",
            f"--web.listen-address={address}", "--cluster.listen-address="])

    def is_ready(self):
        try:
            self.alerts()
        except OSError:
            return False
        return True

    def alerts(self):
        """The firing alerts, as API version 2 returns them."""
        return json.loads(self.get("/api/v2/alerts?active=true"))


def example(receiver, group_wait):
    """The shipped example, sending to this receiver, with this time to wait for the alerts of a group."""
    with open(os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "alertmanager.yml"), encoding="utf-8") as file:
        text = file.read()
    for old, new in (("group_wait: 1m", f"group_wait: {group_wait}"), ("http://127.0.0.1:9099", f"http://{receiver.address}")):
        if old not in text:
            raise AssertionError(f"the example no longer says {old}")
        text = text.replace(old, new)
    return text


class Receiver:
    """Stores the notifications that it receives: (receiver, names of the alerts, labels of the alerts)."""

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
