#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Scrapes ten a second while one allowed address attacks memstatd: front_attack.py MEMSTATD [SECONDS [CONNECTIONS [ATTACK...]]].
Prints a row for each attack: scrapes answered within Prometheus's default timeout (10 s), their times, and the daemon's largest
resident memory. A connection that the daemon closes is made again at once. Attacker and scraper come from the same address
(loopback) by default, which is the harder case; --other-address lets the attacker come from 127.0.0.2. --on says over what:
ipv4, ipv6, unix or, one after the other, all.

  stalled      connections on which nothing is sent
  half-header  half of a request's header is sent, and no more
  drip         a header that grows by a byte a second
  slow-read    a whole request; of the answer one byte a second is read, the receive buffer is as small as can be
  resets       300 connections a second that are reset at once
"""
import argparse
import collections
import errno
import http.client
import itertools
import json
import os
import re
import resource
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

ATTACKS = ("stalled", "half-header", "drip", "slow-read", "resets")
REQUEST = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
TIMEOUT = 10
RESETS_A_SECOND = 300


def address_of(target):
    """The family and address of "127.0.0.1:8947", "[::1]:8947" or "unix:/run/memstatd/memstatd.sock"."""
    if target.startswith("unix:"):
        return socket.AF_UNIX, target[len("unix:"):]
    host, _, port = target.rpartition(":")
    return (socket.AF_INET6 if host.startswith("[") else socket.AF_INET), (host.strip("[]"), int(port))


class Attack:
    """Runs in a separate process, like an attacker."""

    def __init__(self, kind, target, connections, source):
        self.kind, self.wanted, self.source = kind, connections, source
        self.family, self.address = address_of(target)
        self.poll = select.epoll()
        self.sockets = {}
        self.due = collections.deque()  # (time, descriptor): when to drip or to read a byte
        self.made = 0
        self.source_port = {}

    def connect(self):
        made = socket.socket(self.family)
        if self.kind == "slow-read":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        if self.family == socket.AF_INET:
            made.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
            made.bind((self.source, 0))
        made.setblocking(False)
        if made.connect_ex(self.address) == errno.EAGAIN:  # the queue of a unix socket is full
            made.close()
            return False
        self.sockets[made.fileno()] = made
        self.poll.register(made.fileno(), select.EPOLLOUT)
        self.made += 1
        return True

    def connected(self, descriptor):
        made = self.sockets[descriptor]
        if self.kind == "resets":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close(descriptor)
            return
        if self.kind == "half-header":
            made.send(REQUEST[:30])
        elif self.kind in ("drip", "slow-read"):
            made.send(REQUEST[:1] if self.kind == "drip" else REQUEST)
            self.due.append((time.monotonic() + 1, descriptor, made))
        # Slow readers leave data unread; the others only notice that they were closed.
        self.poll.modify(descriptor, select.EPOLLRDHUP if self.kind == "slow-read" else select.EPOLLIN | select.EPOLLRDHUP)

    def close(self, descriptor):
        made = self.sockets.pop(descriptor, None)
        if made is not None:
            made.close()

    def drip(self, now):
        while self.due and self.due[0][0] <= now:
            _, descriptor, made = self.due.popleft()
            if self.sockets.get(descriptor) is not made:
                continue
            try:
                if self.kind == "drip":
                    made.send(b"G")
                elif not made.recv(1):
                    raise OSError
            except BlockingIOError:
                pass
            except OSError:
                self.close(descriptor)
                continue
            self.due.append((now + 1, descriptor, made))

    def run(self, until, tell=False):
        begin = time.monotonic()
        while (now := time.monotonic()) < until:
            if self.kind == "resets":
                while self.made < (now - begin) * RESETS_A_SECOND and self.connect():
                    pass
            else:
                for _ in range(min(500, self.wanted - len(self.sockets))):
                    if not self.connect():
                        break
            for descriptor, events in self.poll.poll(0.01, 2000):
                if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR | select.EPOLLIN):
                    self.close(descriptor)
                elif events & select.EPOLLOUT:
                    try:
                        self.connected(descriptor)
                    except OSError:
                        self.close(descriptor)
            self.drip(now)
            if tell and self.made >= self.wanted:
                print(json.dumps({"made": self.made}), flush=True)
                tell = False
        print(json.dumps({"made": self.made, "open": len(self.sockets)}), flush=True)


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


class Connection(http.client.HTTPConnection):
    """Connects to a target of any family."""

    def __init__(self, target):
        super().__init__("localhost", timeout=TIMEOUT)
        self.target = target

    def connect(self):
        family, address = address_of(self.target)
        self.sock = socket.socket(family)
        if family == socket.AF_UNIX:  # with a timeout, connect would not wait for room in the queue
            self.sock.connect(address)
        self.sock.settimeout(TIMEOUT)
        if family != socket.AF_UNIX:
            self.sock.connect(address)


class Scrapes:
    """One scrape every tenth of a second, however long the previous one takes: each in its own thread and connection."""

    def __init__(self, target):
        self.target, self.seconds, self.failures = target, [], collections.Counter()
        self.lock = threading.Lock()

    def scrape(self):
        begin = time.monotonic()
        try:
            connection = Connection(self.target)
            connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip", "Connection": "close"})
            answer = connection.getresponse()
            answer.read()
            good = answer.status == 200
            why = str(answer.status)
        except (OSError, http.client.HTTPException) as error:
            good, why = False, type(error).__name__
        took = time.monotonic() - begin
        with self.lock:
            if good and took <= TIMEOUT:
                self.seconds.append(took)
            else:
                self.failures[why] += 1

    def run(self, until):
        threads = []
        begin = time.monotonic()
        while time.monotonic() < until:
            threads.append(threading.Thread(target=self.scrape))
            threads[-1].start()
            time.sleep(max(0.0, begin + len(threads) * 0.1 - time.monotonic()))
        for thread in threads:
            thread.join()


def start(memstatd, arguments, over):
    log = tempfile.TemporaryFile("w+")
    where = {"ipv4": "127.0.0.1:0", "ipv6": "[::1]:0", "unix": f"unix:{tempfile.gettempdir()}/front_attack.{os.getpid()}.sock"}[over]
    daemon = subprocess.Popen([memstatd, "--listen", where, *arguments], stderr=log)
    deadline = time.monotonic() + 20
    while True:
        log.seek(0)
        found = re.search(r"listening on (?:http://(\S+)/|(unix:\S+))", log.read())
        if found:
            break
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("memstatd did not start")
        time.sleep(0.02)
    target = found.group(1) or found.group(2)
    while True:  # until the first poll is done
        connection = Connection(target)
        connection.request("GET", "/metrics")
        if connection.getresponse().status == 200:
            return daemon, target
        time.sleep(0.02)


def measure(memstatd, arguments, kind, connections, seconds, source, over):
    """One attack, on its own daemon."""
    daemon, target = start(memstatd, arguments, over)
    attack = None
    try:
        attack = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), "--attack", kind, target, str(connections), source,
                                   str(seconds + 2)], stdout=subprocess.PIPE, text=True)
        scrapes = Scrapes(target)
        scraper = threading.Thread(target=scrapes.run, args=(time.monotonic() + seconds,))
        scraper.start()
        largest = 0
        while scraper.is_alive():
            largest = max(largest, resident_kib(daemon.pid))
            scraper.join(0.1)
        results = json.loads(attack.communicate(timeout=60)[0])
        with open(f"/proc/{daemon.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    finally:
        if attack is not None and attack.poll() is None:
            attack.kill()
        daemon.terminate()
        daemon.wait(10)
    times = sorted(scrapes.seconds)
    total = len(times) + sum(scrapes.failures.values())
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))] if times else float("nan")
    return {"attack": kind, "over": over, "connections": results["made"], "scrapes": total, "answered_percent": 100 * len(times) / max(total, 1),
            "median_ms": statistics.median(times) * 1e3 if times else None, "p95_ms": at(0.95) * 1e3, "longest_ms": at(1) * 1e3,
            "resident_mb": largest * 1024 / 1e6, "cpu_seconds": cpu, "failures": dict(scrapes.failures)}


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if sys.argv[1] == "--attack":
        kind, target, connections, source, seconds, *tell = sys.argv[2:]
        Attack(kind, target, int(connections), source).run(time.monotonic() + float(seconds), bool(tell))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memstatd")
    parser.add_argument("seconds", nargs="?", type=float, default=20)
    parser.add_argument("connections", nargs="?", type=int, default=10_000)
    parser.add_argument("attacks", nargs="*", default=ATTACKS)
    parser.add_argument("--other-address", action="store_true")
    parser.add_argument("--on", choices=("ipv4", "ipv6", "unix", "all"), default="ipv4")
    parser.add_argument("--replay", help="serve this capture instead of the live kernel")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    arguments = ["--replay", options.replay] if options.replay else []
    source = "127.0.0.2" if options.other_address else "127.0.0.1"
    overs = ("ipv4", "ipv6", "unix") if options.on == "all" else (options.on,)
    for over, kind in itertools.product(overs, options.attacks):
        row = measure(options.memstatd, arguments, kind, options.connections, options.seconds, source, over)
        if options.json:
            print(json.dumps(row), flush=True)
        else:
            print(f"{row['over']} {row['attack']:12} {row['connections']:7} connections made; {row['answered_percent']:6.2f} % of {row['scrapes']} scrapes, "
                  f"median {row['median_ms'] or 0:.1f} ms, p95 {row['p95_ms']:.1f} ms, longest {row['longest_ms']:.1f} ms; "
                  f"{row['resident_mb']:.1f} MB, {row['cpu_seconds']:.1f} s of CPU {row['failures'] or ''}", flush=True)


if __name__ == "__main__":
    main()
