# SPDX-License-Identifier: BSD-2-Clause
"""Parses pages of all wire formats into the same structure, so that they can be compared series by series. Raises AssertionError
for any error in a page: duplicate series, split families, truncated documents.

Names are those of the text format: a counter's family ends in _total, a histogram is its _bucket, _sum and _count, and `le`
is a number's shortest text.
"""
import dataclasses
import functools
import gzip
import os
import re
import struct
import zlib

import captures
import page
import program

ACCEPT = {
    "text": "text/plain;version=0.0.4",
    "openmetrics": "application/openmetrics-text;version=1.0.0",
    "protobuf": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
}
CONTENT_TYPE = {
    "text": program.TEXT_FORMAT,
    "openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "protobuf": "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
}
AGE = "memstat_poll_age_seconds"
ITSELF = r"process_|memstat_poll_age_seconds"  # may change without a poll
PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "metrics.proto")


@dataclasses.dataclass
class Document:
    values: dict    # {(name, ((label, value), ...)): number}
    families: dict  # {name: (type, help)}, in the order of the page
    native: set     # names of histograms that have native buckets

    def of(self, pattern):
        """{series: value} of the names whose beginning matches this regular expression."""
        return {series: value for series, value in self.values.items() if re.match(pattern, series[0])}


def key(name, labels):
    labels = dict(labels)
    if "le" in labels:
        labels["le"] = f"{float(labels['le']):g}"
    return name, tuple(sorted(labels.items()))


def read(form, content):
    return {"text": read_text, "openmetrics": read_openmetrics, "protobuf": read_protobuf}[form](content)


def read_text(content):
    found, problems = page.check(content)
    if problems:
        raise AssertionError("the page has faults:\n" + "\n".join(problems[:20]))
    return Document({key(sample.name, sample.labels): sample.value for sample in found.samples()},
                    {family.name: (family.type, family.help) for family in found.families.values()}, set())


def read_openmetrics(content):
    """Checks what differs from the text format. The remaining lines are a text page and are parsed as one."""
    end = b"# EOF\n"
    if not content.endswith(b"\n" + end) or content.count(b"# EOF") != 1:
        raise AssertionError(f"no # EOF at the end, or more than one: {content[-80:]!r}")
    lines = content[:-len(end)].decode("utf-8").splitlines(keepends=True)
    text, counters = [], set()
    for number, line in enumerate(lines):
        words = line.split(" ", 3)
        if words[:2] == ["#", "TYPE"] and words[3] == "counter\n":
            counters.add(words[2])
        if words[:2] == ["#", "UNIT"]:
            before = lines[number - 1].split(" ", 3)
            if before[:3] != ["#", "TYPE", words[2]] or not words[2].endswith("_" + words[3].strip()):
                raise AssertionError(f"UNIT of another family: {line!r} after {lines[number - 1]!r}")
            continue
        text.append(line)
    for number, line in enumerate(text):
        words = line.split(" ", 3)
        if words[0] == "#" and words[2] in counters:
            text[number] = " ".join([*words[:2], words[2] + "_total", words[3]])
    return read_text("".join(text).encode())


# ---- protobuf, decoded by the field numbers of metrics.proto ------------------------------------------------------------

@functools.cache
def schema():
    """{message: {field number: (is repeated, type, name)}} and {number: name} of the metric types."""
    with open(PROTO, encoding="ascii") as file:
        text = file.read()
    messages = {name: {int(number): (how == "repeated", kind, field) for how, kind, field, number in
                       re.findall(r"(optional|repeated) (\w+) (\w+) = (\d+);", body)}
                for name, body in re.findall(r"message (\w+) \{[^\n]*\n(.*?)\n\}", text, re.DOTALL)}
    (types,) = re.findall(r"enum MetricType \{\n(.*?)\n\}", text, re.DOTALL)
    return messages, {int(number): name for name, number in re.findall(r"(\w+) = (\d+);", types)}


def varint(content, at):
    number = shift = 0
    while True:
        if at >= len(content):
            raise AssertionError("the page ends within a number")
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def slice_of(content, at):
    size, at = varint(content, at)
    if at + size > len(content):
        raise AssertionError("the page ends within a message")
    return content[at:at + size], at + size


def decode(message, content):
    """{field: value, or list of values where it is repeated} of one message."""
    fields, types = schema()[0][message], schema()[1]
    found = {name: [] for repeated, _, name in fields.values() if repeated}
    at = 0
    while at < len(content):
        tag, at = varint(content, at)
        if tag >> 3 not in fields:
            raise AssertionError(f"{message} has a field {tag >> 3} that metrics.proto does not have")
        repeated, kind, name = fields[tag >> 3]
        wire = {"double": 1, "string": 2}.get(kind, 2 if kind in schema()[0] else 0)
        if tag & 7 != wire:
            raise AssertionError(f"{message}.{name} has wire type {tag & 7}, not {wire}")
        if wire == 1:
            value, at = struct.unpack_from("<d", content, at)[0], at + 8
        elif wire == 2:
            value, at = slice_of(content, at)
            value = value.decode("utf-8") if kind == "string" else decode(kind, value)
        else:
            value, at = varint(content, at)
            if kind.startswith("sint"):
                value = value >> 1 ^ -(value & 1)
            if kind == "MetricType":
                value = types[value]
        if repeated:
            found[name].append(value)
        elif name in found:
            raise AssertionError(f"{message}.{name} appears twice")
        else:
            found[name] = value
    return found


def read_protobuf(content):
    document = Document({}, {}, set())

    def put(name, labels, value):
        series = key(name, labels)
        if series in document.values:
            raise AssertionError(f"a series twice: {series}")
        document.values[series] = value

    at = 0
    while at < len(content):
        message, at = slice_of(content, at)
        family = decode("MetricFamily", message)
        name, kind = family["name"], family["type"].lower()
        if name in document.families or not family["metric"]:
            raise AssertionError(f"family {name} appears twice or is empty")
        document.families[name] = kind, family["help"]
        for metric in family["metric"]:
            labels = {pair["name"]: pair["value"] for pair in metric["label"]}
            if len(labels) != len(metric["label"]) or set(metric) != {"label", kind}:
                raise AssertionError(f"{name} is a {kind}, but has {metric}")
            figure = metric[kind]
            if kind != "histogram":
                put(name, labels, figure["value"])
                continue
            for bucket in figure["bucket"]:
                put(name + "_bucket", {**labels, "le": bucket["upper_bound"]}, bucket["cumulative_count"])
            put(name + "_sum", labels, figure["sample_sum"])
            put(name + "_count", labels, figure["sample_count"])
            if "schema" in figure:
                document.native.add(name)
    return document


# ---- as it is served ---------------------------------------------------------------------------------------------------

def accepting(form, coding):
    return {"Accept": ACCEPT[form], "Accept-Encoding": coding}


def plain(headers, body):
    """The body without its coding; it must be one gzip member, since curl and browsers ignore a second one."""
    if dict(headers).get("content-encoding") != "gzip":
        return body
    member = zlib.decompressobj(16 + zlib.MAX_WBITS)
    content = member.decompress(body)
    if not member.eof or member.unused_data or gzip.decompress(body) != content:
        raise AssertionError("not exactly one gzip member")
    return content


def without_age(form, content):
    """The bytes without the one value that depends on the moment of the scrape."""
    if form == "protobuf":
        place = content.rindex(AGE.encode())
        tag = content.index(b"\x22\x0b\x12\x09\x09", place) + 5  # metric, 11 bytes; gauge, 9 bytes; its double
        return content[:tag] + content[tag + 8:]
    stripped, count = re.subn(rb"\n%s [^\n]+\n" % AGE.encode(), b"\n", content)
    if count != 1:
        raise AssertionError(f"{AGE} appears {count} times")
    return stripped


def serving(path):
    """A daemon at the last poll of the fixture, so that its page no longer changes."""
    polls = sum(name.endswith("/poll.yaml") for name in captures.read_fixture(path))
    daemon = program.Daemon("--replay", path, "--replay-speed", "1000000")
    try:
        daemon.wait_page(lambda now: now.number("memstat_poll_duration_seconds_count") == polls, f"{polls} polls")
        program.wait_until(lambda: without_age("text", daemon.scrape()) == without_age("text", daemon.scrape()), "one page")
        return daemon
    except BaseException:
        daemon.kill()
        raise
