# SPDX-License-Identifier: BSD-2-Clause
"""The Prometheus outside of a guest of systemd.py: it scrapes the installed service by a relay in the guest and computes the shipped rules, five seconds
of it for each minute of theirs, until the guest asks which alerts fired."""
import contextlib
import re
import shutil
import tempfile
import time

import limits
from limits import program, prometheus_server, shipped_rules

RELAY_PORT = 9947
MINUTE = 5
WATCHED = 180  # seconds: 36 minutes of the rules
PATIENCE = 120
FIRING = 'ALERTS{alertstate="firing",severity!~"none|info"}'  # the watchdog always fires, and nobody is told of what is only notable
CONFIGURATION = limits.PROMETHEUS.replace("scrape_interval: 1s, scrape_timeout: 1s", "scrape_interval: 5s, scrape_timeout: 5s")  # a guest without KVM is slow


class Watch:
    def __init__(self, server, forwarded):
        self.server = server
        self.devices = ("-device", "e1000,netdev=net", "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:{forwarded}-:{RELAY_PORT}")

    def hear(self, line):
        """The answer to a line of the guest, or None: "none", or the alerts that fired."""
        if not re.match(r"RESULT alerts ", line):
            return None
        limits.Watch.wait(lambda: self.server.query('up{job="memstatd"} == 1'), PATIENCE)
        limits.Watch.wait(lambda: not self.server.query(FIRING), PATIENCE)  # the restart before is over
        time.sleep(2)
        began = time.time()
        time.sleep(WATCHED)
        seconds = int(time.time() - began)
        if not self.server.query("count(instance:memstat_series:sum)"):
            return "the rules were not computed\n"
        scrapes = self.server.query(f'sum_over_time(up{{job="memstatd"}}[{seconds}s])')
        if not scrapes or scrapes[0][1] < seconds / 20:
            return f"{scrapes} scrapes in {seconds} s\n"
        fired = self.server.api("query", query=f"{FIRING}[{seconds}s]")["result"]
        names = {" ".join(series["metric"].get(label, "") for label in ("alertname", "source", "allocator", "type")).strip() for series in fired}
        missed = self.server.query(f'count_over_time((up{{job="memstatd"}} == 0)[{seconds}s:5s])')
        return (", ".join(sorted(names)) + f" with {missed[0][1] if missed else 0} scrapes missed" if names else "none") + "\n"


@contextlib.contextmanager
def outside():
    with tempfile.TemporaryDirectory(prefix="memstat-installed-") as directory:
        address = f"127.0.0.1:{program.free_port()}"
        config = CONFIGURATION.format(rules=shipped_rules.write(directory, MINUTE), address=address)
        with prometheus_server.Prometheus(directory, None, config=config) as server:
            yield Watch(server, address)


def missing():
    return "" if shutil.which("prometheus") else "prometheus is not installed (Debian's prometheus)"
