# SPDX-License-Identifier: BSD-2-Clause
"""Parses a page in Prometheus text format 0.0.4 and finds all errors in it: check(bytes) returns the Page and the list of problems. It is
stricter than the format: memstatd's pages have no timestamps, comments or double blanks, and each family is contiguous under its HELP and
TYPE. promtool does not detect duplicate series or split families.
"""
import dataclasses
import math
import re

NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"  # of a metric or label; colons are for recording rules
LABEL = re.compile(rf'({NAME})="((?:[^"\\]|\\[\\"n])*)"')
SAMPLE = re.compile(rf'({NAME})(?:\{{({LABEL.pattern}(?:,{LABEL.pattern})*)\}})? (NaN|[+-]Inf|[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)')
SPECIAL = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


@dataclasses.dataclass
class Sample:
    """One line of figures. `text` is the value as printed, so that integers beyond 2^53 can be compared."""
    name: str
    labels: dict
    text: str
    line: int

    @property
    def value(self):
        return SPECIAL[self.text] if self.text in SPECIAL else float(self.text)


@dataclasses.dataclass
class Family:
    name: str
    help: str
    type: str = ""
    samples: list = dataclasses.field(default_factory=list)


class Page:
    def __init__(self):
        self.families = {}  # by name, in the order of the page

    def samples(self):
        return [sample for family in self.families.values() for sample in family.samples]

    def series(self, name, **labels):
        """The samples of that name with these labels."""
        return [sample for sample in self.samples()
                if sample.name == name and labels.items() <= sample.labels.items()]

    def text(self, name, **labels):
        """The value, as printed, of the one series of that name with these labels; None if there is none."""
        found = self.series(name, **labels)
        if len(found) > 1:
            raise LookupError(f"{name}{labels} names {len(found)} series")
        return found[0].text if found else None

    def number(self, name, **labels):
        text = self.text(name, **labels)
        if text is None:
            return None
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)

    def by_type(self, name, allocator):
        """{type: value text} of one metric of one allocator."""
        return {sample.labels["type"]: sample.text for sample in self.series(name, allocator=allocator)}


def _parse_sample(line, number):
    match = SAMPLE.fullmatch(line)
    if not match:
        raise ValueError('not a sample: NAME{LABEL="VALUE",...} NUMBER')
    labels = LABEL.findall(match[2] or "")
    if len(dict(labels)) < len(labels):
        raise ValueError("a label appears twice")
    if any(name.startswith("__") for name, _ in labels):
        raise ValueError("names of labels with two underscores in front are reserved")
    values = {name: re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], value) for name, value in labels}
    return Sample(match[1], values, match[match.re.groups], number)


class _Checker:
    def __init__(self):
        self.page = Page()
        self.problems = []
        self.family = None   # the one being read
        self.seen = {}       # series: its line

    def problem(self, number, text):
        self.problems.append(f"line {number}: {text}")

    def comment(self, number, line):
        match = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.*)", line)
        if not match:
            return self.problem(number, f"neither HELP nor TYPE with a name and a text: {line!r}")
        kind, name, text = match.groups()
        if kind == "HELP":
            return self.begin(number, name, text)
        if self.family is None or self.family.name != name:
            self.problem(number, f"TYPE of {name} does not follow its HELP")
            self.begin(number, name, "")
        for is_wrong, words in ((self.family.type, "a second TYPE"), (self.family.samples, "TYPE after its samples"), (text not in TYPES, f"{text!r} is no type"),
                                ((text == "counter") != name.endswith("_total"), "counters end in _total, and nothing else does")):
            if is_wrong:
                self.problem(number, f"{name}: {words}")
        self.family.type = text

    def begin(self, number, name, text):
        self.end(number)
        if name in self.page.families:
            self.problem(number, f"a second HELP or TYPE of {name}: the family is split or repeated")
            self.family = self.page.families[name]
            return
        if re.search(r"\\(?![\\n])", text.replace("\\\\", "")):
            self.problem(number, f"HELP of {name} has an unknown escape")
        self.family = Family(name, text)
        self.page.families[name] = self.family

    def sample(self, number, line):
        try:
            sample = _parse_sample(line, number)
        except ValueError as error:
            return self.problem(number, f"{error}: {line!r}")
        family = self.family
        names = [family.name + suffix for suffix in SUFFIXES.get(family.type, ("",))] if family else []
        if sample.name not in names:
            owner = next((other for other in self.page.families.values() if other is not family and
                          sample.name in [other.name + suffix for suffix in SUFFIXES.get(other.type, ("",))]), None)
            why = f"its family {owner.name} is split" if owner else "its family has no HELP and TYPE"
            return self.problem(number, f"{sample.name}: {why}")
        if not family.type:
            self.problem(number, f"{sample.name} has no TYPE before it")
        key = (sample.name, frozenset(sample.labels.items()))
        if key in self.seen:
            self.problem(number, f"duplicate series, as on line {self.seen[key]}: {line!r}")
        self.seen[key] = number
        if family.type == "counter" and not 0 <= sample.value < math.inf:
            self.problem(number, f"a counter that is not a number from 0 up: {line!r}")
        family.samples.append(sample)

    def end(self, number):
        if self.family is None:
            return
        if not self.family.samples:
            self.problem(number, f"{self.family.name} has no sample before this line")
        if not self.family.help.strip():
            self.problem(number, f"{self.family.name} has no help")
        if self.family.type == "histogram":
            self.check_histogram()

    def check_histogram(self):
        groups = {}
        for sample in self.family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "le"}
            groups.setdefault(frozenset(labels.items()), []).append(sample)
        for samples in groups.values():
            line = samples[0].line
            name = self.family.name
            buckets = [sample for sample in samples if sample.name == name + "_bucket"]
            counts = [sample.value for sample in samples if sample.name == name + "_count"]
            sums = [sample for sample in samples if sample.name == name + "_sum"]
            if any("le" not in sample.labels for sample in buckets) or any(
                    "le" in sample.labels for sample in samples if sample not in buckets):
                self.problem(line, f"{name}: label le belongs to the buckets, and to each of them")
                continue
            bounds = [SPECIAL.get(sample.labels["le"]) or float(sample.labels["le"]) for sample in buckets]
            values = [sample.value for sample in buckets]
            if len(counts) != 1 or len(sums) != 1 or not bounds or bounds[-1] != math.inf or values[-1] != counts[0]:
                self.problem(line, f"{name}: wants one _sum, one _count and buckets up to le=\"+Inf\" that equals _count")
            if bounds != sorted(set(bounds)) or values != sorted(values):
                self.problem(line, f"{name}: bounds and counts of buckets must not fall")

    def read(self, content):
        if not content:
            return self.problem(1, "the page is empty")
        if not content.endswith(b"\n"):
            self.problem(content.count(b"\n") + 1, "the last line has no end")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            self.problem(content.count(b"\n", 0, error.start) + 1, "not UTF-8")
            text = content.decode("utf-8", "replace")
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        for number, line in enumerate(lines, 1):
            if not line:
                self.problem(number, "an empty line")
            elif line.startswith("#"):
                self.comment(number, line)
            else:
                self.sample(number, line)
        self.end(len(lines) + 1)


def check(content):
    """The Page in these bytes and the list of its errors."""
    checker = _Checker()
    checker.read(content)
    return checker.page, checker.problems
