# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Alertmanager for the end-to-end tests."""
import json
import os
import shutil
import unittest
import urllib.request

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

    def post(self, alerts):
        """Alerts with these labels begin to fire."""
        body = json.dumps([{"labels": labels} for labels in alerts]).encode()
        asked = urllib.request.Request(f"http://{self.address}/api/v2/alerts", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=program.PATIENCE):
            pass


def example(receiver, group_wait, group_interval="10m"):
    """The shipped example, sending to this receiver, with these times to wait for the alerts of a group, and for changes of it."""
    with open(os.path.join(program.SOURCE_DIR, "dashboards", "prometheus", "alertmanager.yml"), encoding="utf-8") as file:
        text = file.read()
    for old, new in (("group_wait: 1m", f"group_wait: {group_wait}"), ("group_interval: 10m", f"group_interval: {group_interval}"),
                     ("http://127.0.0.1:9099", f"http://{receiver.address}")):
        if old not in text:
            raise AssertionError(f"the example no longer says {old}")
        text = text.replace(old, new)
    return text


class Receiver(prometheus_server.Served):
    """Stores the notifications that it receives: (receiver, labels of the alerts), and their alerts whole."""

    def __init__(self):
        super().__init__(self.receive)
        self.notifications, self.alerts = [], []

    def receive(self, request):
        sent = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.alerts += sent["alerts"]
        self.notifications.append((sent["receiver"], [alert["labels"] for alert in sent["alerts"]]))
        prometheus_server.send(request)
