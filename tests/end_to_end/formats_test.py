#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: every capture in every format, by reference parsers
# Seconds: 60
"""The printed page in OpenMetrics and protobuf: valid for Debian's strict OpenMetrics parser and protoc, and equal, value by value, to
the text page of the same capture."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import documents  # noqa: E402
import program  # noqa: E402

try:
    from prometheus_client.openmetrics import parser
except ImportError:
    parser = None

ODD_NAMES = [b"back\\slash", b'quo"te', b"caf\xc3\xa9", b"\\n", b"\\\\\"", b"bad\xff", b"{x=\"y\"}"]
OF_THE_RUN = re.compile(r"process_|memstat_(poll|source)_.*seconds|memstat_build_info")  # differ between two runs
PAGE_PROTO = 'syntax = "proto3";\nimport "metrics.proto";\nmessage Page { repeated io.prometheus.client.MetricFamily family = 1; }\n'


def once(path, form, *more):
    done = program.run("--once", "--replay", path, "--format", form, *more)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{path}, {form}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def stable(values):
    return {series: float(value) for series, value in values.items() if not OF_THE_RUN.match(series[0])}


def captured_kernels():
    """(name, path) of the fixtures, and of a capture whose names need escapes."""
    with program.temporary_directory() as directory:
        lines = [captures.slabinfo_line(name, active=10 + index) for index, name in enumerate(ODD_NAMES)]
        yield "odd names", captures.write_capture(os.path.join(directory, "odd"), [{"fs/proc/slabinfo": captures.slabinfo(*lines)}] * 2)
    yield from captures.shown_fixtures().items()


class Pages(unittest.TestCase):
    def read_openmetrics(self, content):
        """{series: value} and {family: (type, unit, help)} from Debian's parser."""
        values, families = {}, {}
        for family in parser.text_string_to_metric_families(content.decode("utf-8")):
            self.assertNotIn(family.name, families, "a family twice")
            families[family.name] = (family.type, family.unit, family.documentation)
            for sample in family.samples:
                self.assertIsNone(sample.timestamp)
                self.assertNotIn(documents.key(sample.name, sample.labels), values, "a series twice")
                values[documents.key(sample.name, sample.labels)] = sample.value
        return values, families

    @unittest.skipUnless(parser, "python3-prometheus-client is not installed")
    def test_the_strict_parser_finds_the_values_of_the_text_page(self):
        for name, path in captured_kernels():
            with self.subTest(name):
                text = documents.read_text(once(path, "text"))
                values, families = self.read_openmetrics(once(path, "openmetrics"))
                self.assertEqual(stable(values), stable(text.values))
                self.assertEqual(len(values), len(text.values))
                for family, (kind, words) in text.families.items():
                    short = family.removesuffix("_total") if kind == "counter" else family
                    unit = next((unit for unit in ("bytes", "seconds", "ratio") if short.endswith("_" + unit)), "")
                    self.assertEqual(families.pop(short), (kind, unit, words))
                self.assertEqual(families, {}, "families that the text page does not have")

    @unittest.skipUnless(parser, "python3-prometheus-client is not installed")
    def test_the_strict_parser_takes_the_beginnings_of_counters(self):
        with program.temporary_directory() as directory:
            config = captures.write_file(os.path.join(directory, "memstatd.yaml"), "created_series: true\n")
            path = captures.fixtures()["linux-6.12-4cpu"]
            content = once(path, "openmetrics", "--config", config)
            self.assertIn(b"memstat_poll_missed_created ", content)
            self.read_openmetrics(content)
            self.assertNotIn(b"_created", once(path, "openmetrics"))

    @unittest.skipUnless(shutil.which("protoc"), "protoc is not installed (Debian package protobuf-compiler)")
    def test_protoc_decodes_the_values_of_the_text_page(self):
        with program.temporary_directory() as directory:
            captures.write_file(os.path.join(directory, "page.proto"), PAGE_PROTO)
            for name, path in captured_kernels():
                with self.subTest(name):
                    text, content = documents.read_text(once(path, "text")), once(path, "protobuf")
                    document = documents.read_protobuf(content)
                    self.assertEqual(stable(document.values), stable(text.values))
                    self.assertEqual(list(document.families.items()), list(text.families.items()))
                    # Each message as field 1 of one that is made here, so that one protoc reads them all.
                    page, at = bytearray(), 0
                    while at < len(content):
                        _, end = documents.slice_of(content, at)
                        page += b"\x0a" + content[at:end]
                        at = end
                    done = subprocess.run(["protoc", f"--proto_path={directory}", f"--proto_path={os.path.dirname(documents.PROTO)}", "--decode=Page",
                                           "page.proto"], input=bytes(page), capture_output=True, check=True)
                    printed = done.stdout.decode()
                    self.assertEqual(re.findall(r"(?m)^ *\d+[: ].*", printed), [], "fields that metrics.proto does not have")
                    self.assertEqual(len(re.findall(r"(?m)^family \{", printed)), len(document.families))


if __name__ == "__main__":
    program.main()
