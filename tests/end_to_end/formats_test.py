#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: every capture in every format, by reference parsers
"""The printed page in OpenMetrics and protobuf: valid for Debian's strict OpenMetrics parser and protoc, and equal, value by value, to
the text page of the same capture."""
import functools
import math
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import page  # noqa: E402
import program  # noqa: E402

try:
    from prometheus_client.openmetrics import parser
except ImportError:
    parser = None

PROTO = os.path.join(program.SOURCE_DIR, "tests", "support", "metrics.proto")
ODD_NAMES = [b"back\\slash", b'quo"te', b"caf\xc3\xa9", b"\\n", b"\\\\\"", b"bad\xff", b"{x=\"y\"}"]


def once(path, form):
    done = program.run("--once", "--replay", path, "--format", form)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{path}, {form}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def key(name, labels):
    return name, tuple(sorted(labels.items()))


def text_values(content):
    """{series: value} of the text page, and the page itself."""
    read, problems = page.check(content)
    if problems:
        raise AssertionError("\n".join(problems[:20]))
    return {key(sample.name, sample.labels): sample.value for sample in read.samples()}, read


@functools.cache
def catalogue():
    """Names of metrics that are the same in two runs; the rest is about memstatd itself."""
    header, *rows = program.run("--list-metrics").stdout.decode().splitlines()
    return {row.split("\t")[header.split("\t").index("name")] for row in rows}


def of_types(values):
    return {series: value for series, value in values.items() if series[0] in catalogue()}


def capture_of_odd_names(directory):
    lines = [captures.slabinfo_line(name, active=10 + index) for index, name in enumerate(ODD_NAMES)]
    return captures.write_capture(directory, [{"fs/proc/slabinfo": captures.slabinfo(*lines)}] * 2)


def captured_kernels():
    """(name, path) of the fixtures, and of a capture whose names need escapes."""
    with program.temporary_directory() as directory:
        yield "odd names", capture_of_odd_names(os.path.join(directory, "odd"))
    yield from captures.shown_fixtures().items()


@unittest.skipUnless(parser, "python3-prometheus-client is not installed")
class OpenMetricsPages(unittest.TestCase):
    def read(self, content):
        """{series: value} and {family: (type, unit, help)} from Debian's parser."""
        values, families = {}, {}
        for family in parser.text_string_to_metric_families(content.decode("utf-8")):
            self.assertNotIn(family.name, families, "a family twice")
            families[family.name] = (family.type, family.unit, family.documentation)
            for sample in family.samples:
                self.assertIsNone(sample.timestamp)
                self.assertNotIn(key(sample.name, sample.labels), values, "a series twice")
                values[key(sample.name, sample.labels)] = sample.value
        return values, families

    def test_the_strict_parser_takes_them_and_finds_the_values_of_the_text_page(self):
        for name, path in captured_kernels():
            with self.subTest(name):
                text, read = text_values(once(path, "text"))
                content = once(path, "openmetrics")
                self.assertTrue(content.endswith(b"\n# EOF\n"))
                self.assertEqual(content.count(b"# EOF"), 1)
                values, families = self.read(content)
                self.assertEqual(of_types(values), of_types(text))
                self.assertGreater(len(of_types(values)), len(ODD_NAMES))
                self.assertEqual(len(values), len(text))
                for family in read.families.values():
                    short = family.name.removesuffix("_total") if family.type == "counter" else family.name
                    kind, unit, documentation = families.pop(short)
                    self.assertEqual((kind, documentation), (family.type, family.help))
                    self.assertTrue(unit == "" or short.endswith("_" + unit), short)
                    self.assertEqual(unit, "bytes" if short.endswith("_bytes") else "seconds" if short.endswith("_seconds")
                                     else "ratio" if short.endswith("_ratio") else "")
                self.assertEqual(families, {}, "families that the text page does not have")

    def test_the_strict_parser_takes_the_beginnings_of_counters(self):
        with program.temporary_directory() as directory:
            config = captures.write_file(os.path.join(directory, "memstatd.yaml"), "created_series: true\n")
            path = captures.fixtures()["linux-6.12-4cpu"]
            done = program.run("--config", config, "--once", "--replay", path, "--format", "openmetrics")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"memstat_poll_missed_created ", done.stdout)
            self.read(done.stdout)
            self.assertNotIn(b"_created", once(path, "openmetrics"))

    def test_the_parser_would_find_faults(self):
        with program.temporary_directory() as directory:
            content = once(capture_of_odd_names(os.path.join(directory, "odd")), "openmetrics")
        self.read(content)
        for spoilt in (content.replace(b"# EOF\n", b""), content.replace(b"_errors ", b"_errors_total "),
                       content.replace(b"# UNIT memstat_type_bytes bytes", b"# UNIT memstat_type_bytes seconds"),
                       content + b"# EOF\n"):
            if spoilt != content:
                with self.assertRaises(ValueError):
                    self.read(spoilt)


class Messages:
    """What protoc --decode printed, as nested lists of (field, value)."""

    TOKEN = re.compile(r'\s*(?:(\w+)\s*(?:(\{)|:\s*("(?:[^"\\]|\\.)*"|\S+))|(\}))')

    def __init__(self, text):
        self.text, self.at = text, 0

    def fields(self):
        found = []
        while True:
            match = self.TOKEN.match(self.text, self.at)
            if not match:
                if self.text[self.at:].strip():
                    raise AssertionError(f"cannot read what protoc printed: {self.text[self.at:][:200]!r}")
                return found
            self.at = match.end()
            name, opens, value, closes = match.groups()
            if closes:
                return found
            if name.isdigit():
                raise AssertionError(f"a field that metrics.proto does not have: {name}")
            found.append((name, self.fields() if opens else self.value(value)))

    @staticmethod
    def value(text):
        if text.startswith('"'):
            plain = re.sub(rb"\\([0-7]{3}|.)", lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else
                           {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(match[1], match[1]), text[1:-1].encode())
            return plain.decode("utf-8")
        return float(text) if re.match(r"[-+.\d]|inf|nan", text) else text


def split_delimited(content):
    """The messages of a delimited stream; each length must be a whole, shortest varint."""
    at = 0
    while at < len(content):
        size = shift = 0
        while True:
            byte = content[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if byte == 0 and shift > 7:
            raise AssertionError("a length that is longer than it must be")
        if at + size > len(content):
            raise AssertionError("the page ends within a message")
        yield content[at:at + size]
        at += size


PAGE_PROTO = """syntax = "proto3";
import "metrics.proto";
message Page { repeated io.prometheus.client.MetricFamily family = 1; }
"""


def decode(messages):
    """The fields of each message, decoded by one protoc: together they are field 1 of a message made here."""
    page = bytearray()
    for message in messages:
        page.append(1 << 3 | 2)
        size = len(message)
        while size >= 128:
            page.append(size & 127 | 128)
            size >>= 7
        page.append(size)
        page += message
    with program.temporary_directory() as directory:
        with open(os.path.join(directory, "page.proto"), "w", encoding="ascii") as file:
            file.write(PAGE_PROTO)
        done = subprocess.run(["protoc", f"--proto_path={directory}", f"--proto_path={os.path.dirname(PROTO)}", "--decode=Page",
                               "page.proto"], input=bytes(page), capture_output=True, check=True)
    return [value for _, value in Messages(done.stdout.decode()).fields()]


@unittest.skipUnless(shutil.which("protoc"), "protoc is not installed (Debian package protobuf-compiler)")
class ProtobufPages(unittest.TestCase):
    def read(self, content):
        """{series: value}, {family: (type, help)} and histograms by series."""
        values, families, histograms = {}, {}, {}
        for fields in decode(split_delimited(content)):
            head = {name: value for name, value in fields if name != "metric"}
            self.assertEqual(len(head) + sum(name == "metric" for name, _ in fields), len(fields), "a field twice")
            self.assertNotIn(head["name"], families, "a family twice")
            families[head["name"]] = (head["type"], head["help"])
            for metric in (value for name, value in fields if name == "metric"):
                labels = {dict(pair)["name"]: dict(pair)["value"] for name, pair in metric if name == "label"}
                series = key(head["name"], labels)
                self.assertFalse(series in values or series in histograms, "a series twice")
                (kind, figure), = [(name, value) for name, value in metric if name != "label"]
                self.assertEqual(kind.upper(), head["type"])
                if kind == "histogram":
                    histograms[series] = figure
                    continue
                values[series] = dict(figure)["value"]
                created = [dict(value) for name, value in figure if name == "created_timestamp"]
                if created:
                    self.assertEqual(kind, "counter")
                    self.assertGreater(created[0]["seconds"], 1.5e9)
        return values, families, histograms

    def test_protoc_finds_the_values_of_the_text_page(self):
        by_powers_of_two = ("memstat_allocation_size_bytes", "memstat_call_site_size_bytes", "memstat_page_fault_seconds")
        for name, path in captured_kernels():
            with self.subTest(name):
                text, read = text_values(once(path, "text"))
                content = once(path, "protobuf")
                values, families, histograms = self.read(content)
                self.assertEqual(of_types(values), {series: float(value) for series, value in of_types(text).items()})
                self.assertGreater(len(of_types(values)), len(ODD_NAMES))
                self.assertEqual(families, {family.name: (family.type.upper(), family.help)
                                            for family in read.families.values()})
                self.assertTrue(histograms)
                for series, fields in histograms.items():
                    self.check_histogram(fields, 0 if series[0] in by_powers_of_two else 3)
                    buckets = [value for other, value in text.items() if other[0] == series[0] + "_bucket"
                               and series[1] == tuple(pair for pair in other[1] if pair[0] != "le")]
                    self.assertEqual(len(buckets), sum(field == "bucket" for field, _ in fields))

    def check_histogram(self, fields, schema):
        one = {name: value for name, value in fields if not isinstance(value, list)}
        buckets = [dict(value) for name, value in fields if name == "bucket"]
        counts = [bucket["cumulative_count"] for bucket in buckets]
        bounds = [bucket["upper_bound"] for bucket in buckets]
        self.assertEqual((counts, bounds), (sorted(counts), sorted(bounds)))
        self.assertEqual((bounds[-1], counts[-1]), (math.inf, one["sample_count"]))
        lengths = [dict(value)["length"] for name, value in fields if name == "positive_span"]
        deltas = [value for name, value in fields if name == "positive_delta"]
        self.assertEqual(sum(lengths), len(deltas))
        count, total = 0, one["zero_count"]
        for delta in deltas:
            count += delta
            total += count
        self.assertEqual(total, one["sample_count"], "native buckets add up to the count")
        self.assertEqual(one["schema"], schema, "buckets of the kernel's events are powers of two, those of memstatd's durations eight times as fine")

    def test_counters_have_start_times_if_the_capture_has(self):
        with program.temporary_directory() as directory:
            polls = [{"sysctl/kern.malloc_stats": captures.malloc_stats([("a", {0: (9, 3, 2, 1)})]),
                      "sysctl/kern.boottime": (1_700_000_000).to_bytes(8, "little") + (250_000).to_bytes(8, "little")}]
            content = once(captures.write_capture(directory, polls, system="freebsd", cpus="0-3"), "protobuf")
        began = {}
        for fields in decode(split_delimited(content)):
            name = dict(fields)["name"]
            for metric in (value for field, value in fields if field == "metric"):
                for kind, figure in metric:
                    if kind == "counter":
                        began[name] = dict(dict(figure).get("created_timestamp", []))
        self.assertEqual(began["memstat_type_allocations_total"], {"seconds": 1_700_000_000, "nanos": 250_000_000})
        self.assertEqual(began["memstat_cpu_frees_total"], {"seconds": 1_700_000_000, "nanos": 250_000_000})
        self.assertGreater(began["memstat_type_resets_total"]["seconds"], 1_700_000_000, "ours: first sight")


class Command(unittest.TestCase):
    def test_the_format_belongs_to_once_and_must_exist(self):
        for arguments in (["--format", "text"], ["--once", "--format", "json"], ["--once", "--format", ""]):
            done = program.run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("--format", done.stderr)
            self.assertEqual(done.stdout, b"")


if __name__ == "__main__":
    program.main()
