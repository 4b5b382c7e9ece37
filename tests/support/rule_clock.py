# SPDX-License-Identifier: BSD-2-Clause
"""The shipped rules in a clock of their own: a real Prometheus stores and answers, and each group is computed at its interval and offset as the rule
manager would, but as fast as the machine can. promtool computes all groups at the same moments and so never sees what an offset does.

Samples go in by remote write, a minute of them after the other; an empty Prometheus takes them from any time on."""
import heapq
import http.client
import json
import math
import os
import struct
import urllib.parse

import yaml

import program
import prometheus_server
import shipped_rules

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds(duration):
    return int(duration[:-1]) * SECONDS[duration[-1]]


def shipped_groups():
    groups = []
    for name in shipped_rules.NAMES:
        with open(os.path.join(shipped_rules.DIRECTORY, name), encoding="utf-8") as file:
            groups += yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["groups"]
    return groups


def varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, content):
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def encoded_labels(labels):
    return b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in sorted(labels.items()))


def snappy(data):
    """Only as literals, which every reader accepts."""
    out = varint(len(data))
    for start in range(0, len(data), 65536):
        part = data[start:start + 65536]
        out += b"\xf4" + struct.pack("<H", len(part) - 1) + part
    return out


class RuleClock:
    """`scrape(now)` returns the samples of that moment as {labels as a tuple of pairs: value}; `offsets`: {group: seconds}, and "" of scrapes."""

    def __init__(self, directory, groups, scrape, offsets, scrape_interval=60):
        self.server = prometheus_server.Prometheus(directory, None, "--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=60d",
                                                   config="global: {evaluation_interval: 1h}\n")
        host, port = self.server.address.split(":")
        self.connection = http.client.HTTPConnection(host, int(port), timeout=program.PATIENCE)
        self.groups, self.scrape, self.offsets, self.scrape_interval = groups, scrape, offsets, scrape_interval
        self.written, self.encoded, self.active, self.fired = {}, {}, {}, {}

    def stop(self):
        self.connection.close()
        self.server.stop()

    def request(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        return response.status, response.read()

    def write(self, samples, now):
        series = []
        for labels, value in samples.items():
            if labels not in self.encoded:
                self.encoded[labels] = encoded_labels(dict(labels))
            sample = b"\x09" + struct.pack("<d", value) + b"\x10" + varint(int(now * 1000))
            series.append(field(1, self.encoded[labels] + field(2, sample)))
        if series:
            status, text = self.request("POST", "/api/v1/write", snappy(b"".join(series)), {
                "Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0"})
            if status not in (200, 204):
                raise AssertionError(f"remote write: {status} {text}")

    def replace(self, key, samples, now):
        """Writes the current samples of a source, and marks those that it no longer has as gone."""
        gone = {labels: STALE for labels in self.written.get(key, ()) if labels not in samples}
        self.written[key] = set(samples)
        self.write({**samples, **gone}, now)

    def query(self, expression, now):
        """[(labels, value)]."""
        body = urllib.parse.urlencode({"query": expression, "time": f"{now:.3f}"})
        _, text = self.request("POST", "/api/v1/query", body, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = json.loads(text)
        if answer["status"] != "success":
            raise AssertionError(f"{expression}: {answer['error']}")
        if answer["data"]["resultType"] == "scalar":
            return [({}, float(answer["data"]["result"][1]))]
        return [(entry["metric"], float(entry["value"][1])) for entry in answer["data"]["result"]]

    def compute(self, number, group, now):
        for index, rule in enumerate(group["rules"]):
            found = self.query(rule["expr"], now)
            key = (number, index)
            if "record" in rule:
                self.replace(key, {tuple(sorted({**labels, "__name__": rule["record"]}.items())): value for labels, value in found}, now)
            else:
                self.replace(key, self.alerts(key, rule, found, now), now)

    def alerts(self, key, rule, found, now):
        """The current series ALERTS of a rule; notes in `fired` when each began to fire."""
        before, states, samples = self.active.get(key, {}), {}, {}
        for labels, _ in found:
            own = {**{name: value for name, value in labels.items() if name != "__name__"}, **rule["labels"], "alertname": rule["alert"]}
            identity = tuple(sorted(own.items()))
            if identity in states:
                raise AssertionError(f"{rule['alert']}: two alerts with the same labels: {own}")  # as Prometheus refuses them
            since, fires = before.get(identity, (now, False))
            fires = fires or now - since >= seconds(rule["for"])
            if fires and not before.get(identity, (0, False))[1]:
                self.fired.setdefault(identity, []).append(now)
            states[identity] = (since, fires)
            samples[tuple(sorted({**own, "__name__": "ALERTS", "alertstate": "firing" if fires else "pending"}.items()))] = 1
        self.active[key] = states
        return samples

    def firing(self):
        return {identity for states in self.active.values() for identity, (_, fires) in states.items() if fires}

    def run(self, start, end, each_minute=None):
        """From start to end; calls each_minute(now) in between."""
        events = []
        interval_of = {-1: self.scrape_interval, **{number: seconds(group["interval"]) for number, group in enumerate(self.groups)}}
        for number, interval in interval_of.items():
            offset = self.offsets.get("" if number < 0 else self.groups[number]["name"], 0) % interval
            first = math.ceil((start - offset) / interval) * interval + offset
            heapq.heappush(events, (first, number))
        look = start
        while events[0][0] < end:
            now, number = heapq.heappop(events)
            while each_minute and look <= now:
                each_minute(look)
                look += 60
            if number < 0:
                self.replace("scrape", self.scrape(now), now)
            else:
                self.compute(number, self.groups[number], now)
            heapq.heappush(events, (now + interval_of[number], number))
