#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 90
"""The alert names the cause that memstatctl why names: memstatd replays each edited situation of tests/situations, and each twentieth of
the others. A real Prometheus scrapes its last page and evaluates the shipped rules, and an alert of the right severity has cause, headline and
command of the first finding. A calm machine raises nothing above info. Prints a table, and counts by half. `finding_situations_test.py [--texts]
[--all | HALF...]` takes all situations, or other halves, and prints the notifications."""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "support"), os.path.join(TESTS, "situations")]
try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import captures  # noqa: E402
import corpus  # noqa: E402
import program  # noqa: E402
import prometheus_server  # noqa: E402
import shipped_rules  # noqa: E402

MEMSTATCTL = os.environ["MEMSTATCTL"]
ACTIVE = re.compile(r'^memstat_finding\{cause="(\w+)",object="((?:[^"\\]|\\.)*)"\} [1-4]$', re.MULTILINE)
INFO = r'^memstat_finding_info\{{cause="{cause}",certainty="[a-z]*",culprit="(.*)",headline="(.*)",next="(.*)",object="{object}"(?:,since="[^"]*")?\}} 1$'
# A finding is active from the second poll that has it.
MORE_POLLS = 2
# Of a level, and of the next, because a page has the highest level of five minutes.
ALERTS = {"now": ("Critical", "Warning"), "soon": ("Critical", "Warning"), "wasteful": ("Info", "Warning"), "notable": ("Info", "Warning")}
BY_INSPECTION, TOO_NEW = "only by inspection", "only in the last poll"
PAGES = 100  # that one Prometheus scrapes every five seconds
SAMPLE = 20  # of the provoked situations and public reports, every SAMPLE-th is tried with the edited ones


def quoted(text):
    """As in the value of a label on a page."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def needs_inspection(cause):
    """Whether processes must be inspected to find it, which a poll does not do."""
    done = subprocess.run([MEMSTATCTL, "explain", cause], check=True, capture_output=True, text=True, timeout=program.PATIENCE)
    return "it looks at who/" in done.stdout


def why(capture):
    done = subprocess.run([MEMSTATCTL, "why", "--json", "--from", capture], capture_output=True, text=True, check=False, timeout=120)
    return json.loads(done.stdout)["findings"]


def observed(situation):
    """(situation, findings of memstatctl why, the page of memstatd, whether only the last poll has the first finding)."""
    with corpus.scratch() as directory:
        root = str(corpus.prepare({**situation.label, "polls": situation.label.get("polls", 3) + MORE_POLLS}, situation.capture, directory))
        # Tier full keeps no history with --once, in which growth is looked for.
        page = program.run("--once", "--tier", "default", "--replay", root).stdout.decode()
        findings = why(root)
        # The page holds a finding for five minutes.
        polls = [int(name) for name in sorted(os.listdir(root)) if name.isdigit()]
        for poll in reversed([] if findings or not ACTIVE.search(page) else polls):
            findings = findings or why(f"{root}@{poll}")
        # It is active from the second poll that has it, which some recordings lack.
        is_new = bool(findings) and findings[0]["certainty"] != "confirmed" and len(polls) > 1 and (findings[0]["severity"], findings[0]["cause"]) not in [
            (one["severity"], one["cause"]) for one in why(f"{root}@{polls[-2]}")]
    return situation, findings, page, is_new


def rules_of_findings(directory):
    """The paths of the shipped rules, without those that use no findings: a busy machine would not compute all of them for so many hosts each second."""
    paths = shipped_rules.write(directory)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            groups = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["groups"]
        for group in groups:
            group["rules"] = [rule for rule in group["rules"] if "memstat_finding" in rule["expr"]]
        captures.write_file(path, yaml.safe_dump({"groups": [group for group in groups if group["rules"]]}))
    return paths


def fired(pages):
    """[alerts about findings] of each page."""
    answers = lambda request: prometheus_server.send(request, pages[int(request.path.strip("/"))].encode())  # noqa: E731
    with program.temporary_directory() as directory, prometheus_server.Served(answers) as served:
        targets = [{"targets": [served.address], "labels": {"instance": f"{number}:8947", "__metrics_path__": f"/{number}"}} for number in range(len(pages))]
        config = yaml.safe_dump({"global": {"scrape_interval": "5s", "scrape_timeout": "5s", "evaluation_interval": "1s"}, "rule_files": rules_of_findings(directory),
                                 "scrape_configs": [{"job_name": "memstatd", "static_configs": targets}]})
        with prometheus_server.Prometheus(directory, None, config=config) as server:
            # Each finding of a page has an alert as soon as all pages are scraped and the rules evaluated.
            wanted = {(number, cause) for number, page in enumerate(pages) for cause, _ in ACTIVE.findall(page)}
            found = {}

            def ask():
                found.clear()
                for alert in server.api("alerts")["alerts"]:
                    if alert["labels"]["alertname"].startswith("MemstatFinding"):
                        found.setdefault(int(alert["labels"]["instance"].split(":")[0]), []).append(alert)
                return wanted == {(number, alert["labels"]["cause"]) for number, alerts in found.items() for alert in alerts}
            program.wait_until(ask, lambda: f"an alert for each of {len(wanted)} findings; {server.log()}")
            return [found.get(number, []) for number in range(len(pages))]


def verdict(situation, findings, page, is_new, alerts):
    """"" or what is wrong with the alerts."""
    names = {(alert["labels"]["alertname"].removeprefix("MemstatFinding"), alert["labels"]["cause"]) for alert in alerts}
    if situation.is_calm:
        return ", ".join(f"{name} {cause}" for name, cause in sorted(names) if name != "Info")
    if not findings:
        return f"why finds nothing, but {sorted(names)}" if names else ""
    first = findings[0]
    if not any((name, first["cause"]) in names for name in ALERTS[first["severity"]]):
        return TOO_NEW if is_new else BY_INSPECTION if needs_inspection(first["cause"]) else f"no alert, but {sorted(names)}"
    for alert in alerts:
        # The rules write one word for the IDs of containers and sessions.
        of_object = re.escape(quoted(alert["labels"].get("object", ""))).replace(r"\*", '[^"]*')
        info = INFO.format(cause=alert["labels"]["cause"], object=of_object)
        for words in re.search(info, page, re.MULTILINE).groups():
            if words not in quoted(alert["annotations"]["summary"]):
                return f"without: {words}"
    return ""


def chosen():
    """The situations that the command line names."""
    halves = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    others = [situation for situation in corpus.seen() if situation.half != corpus.EDITED]
    if "--all" in sys.argv or halves:
        return [situation for situation in corpus.seen() if not halves or situation.half in halves]
    return [situation for situation in corpus.seen() if situation.half == corpus.EDITED] + others[::SAMPLE]


def tell(situation, findings, alerts, wrong):
    """Prints the situation's row of the table, and with --texts its notifications."""
    first = f"{findings[0]['severity']}: {findings[0]['cause']}" if findings else "-"
    of_first = sorted({alert["labels"]["alertname"] for alert in alerts if findings and alert["labels"]["cause"] == findings[0]["cause"]})
    print(f"| {situation.name} | {first} | {' '.join(of_first) or '-'} | {wrong or 'right'} |", flush=True)
    for alert in alerts if "--texts" in sys.argv else []:
        print(yaml.safe_dump({"labels": alert["labels"], "annotations": alert["annotations"]}, width=1000))


def main():
    if not shutil.which("prometheus"):
        print("prometheus is not installed (Debian package prometheus)")
        return 77
    situations = chosen()
    active = []
    halves = collections.defaultdict(collections.Counter)
    for first in range(0, len(situations), PAGES):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            seen = list(pool.map(observed, situations[first:first + PAGES]))
        for one, alerts in zip(seen, fired([page for _, _, page, _ in seen])):
            situation, findings, page, is_new = one
            if not situation.is_calm:
                active.append(len(ACTIVE.findall(page)))
            wrong = verdict(situation, findings, page, is_new, alerts)
            halves[situation.half][wrong if wrong in (BY_INSPECTION, TOO_NEW) else "wrong" if wrong else "right"] += 1
            tell(situation, findings, alerts, wrong)
    for half, found in sorted(halves.items()):
        print(f"{half}: {', '.join(f'{count} {what}' for what, count in found.items())}")
    counts = sum(halves.values(), collections.Counter())
    print(f"all: {', '.join(f'{count} {what}' for what, count in counts.items())}; active findings on a page that is not calm: "
          f"median {statistics.median(active):.0f}, at most {max(active)}")
    return 1 if counts["wrong"] or counts["right"] < 2 * (counts[BY_INSPECTION] + counts[TOO_NEW]) else 0


if __name__ == "__main__":
    sys.exit(main())
