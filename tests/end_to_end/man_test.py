#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The manual pages: well-formed, and in agreement with the header, the programs and the configuration.

UPDATE_GOLDEN=1 adds keys of memstatd.yaml to memstatd.yaml(5), with the text of their comments.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

PAGES = {"memstat.3": "core/man", "cpc.3": "core/man", "memstatd.8": "daemon/man", "memstatctl.8": "daemon/man",
         "memstatd.yaml.5": "config/man", "memstatd-metrics.7": "daemon/man", "memstatd-sources.7": "daemon/man"}
MEMSTATCTL = os.environ.get("MEMSTATCTL") or os.path.join(os.path.dirname(program.MEMSTATD), "memstatctl")
LIBRARY = "libmemstat.a"  # as it ships, with the table of its sources
COLUMNS = 80


def read(*path):
    with open(os.path.join(program.SOURCE_DIR, *path), encoding="utf-8") as file:
        return file.read()


def source(page):
    return read(PAGES[page], page)


def section(page, name):
    """The lines of one section of a page's source."""
    found = re.search(rf"^\.Sh {re.escape(name)}\n(.*?)(?=^\.Sh |\Z)", source(page), re.M | re.S)
    if found is None:
        raise AssertionError(f"{page} has no section {name}")
    return found.group(1)


def rendered(page):
    """The page as a terminal of 80 columns shows it, without bold and underlined letters."""
    done = subprocess.run(["mandoc", "-T", "utf8", "-O", f"width={COLUMNS - 2}", os.path.join(PAGES[page], page)],
                          check=True, capture_output=True, text=True, cwd=program.SOURCE_DIR)
    return re.sub(".\b", "", done.stdout)


def arguments_of(line):
    """The arguments of a macro line: words, or texts in double quotes."""
    return [quoted or word for quoted, word in re.findall(r'"([^"]*)"|(\S+)', line)]


def declared():
    """{function: prototype} of memstat.h, with single blanks."""
    text = re.sub(r"/\*.*?\*/", "", read("core", "include", "memstat.h"), flags=re.S)
    found = re.findall(r"^MEMSTAT_EXPORT\s+([^;]*?)(memstat_\w+)\(([^;]*?)\);", text, re.M | re.S)
    return {name: normal(f"{kind} {name}({arguments})") for kind, name, arguments in found}


def normal(prototype):
    return re.sub(r"\s+", " ", prototype.replace("*", " * ")).strip().replace(" (", "(")


def option_of(command, name):
    """The line of that option in a command's --help; "" without it."""
    text = subprocess.run([MEMSTATCTL, command, "--help"], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"(?m)^ +{name} .*$", text)
    return found.group(0) if found else ""


def options_of(*command):
    """Long options that a program's --help prints, with their other names: the words that begin a line with a hyphen."""
    done = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True, timeout=program.PATIENCE)
    heads = re.findall(r"^\s+(-[^\s,]+(?:, --[^\s,]+)*)", done.stdout, re.M)
    return {option for head in heads for option in re.findall(r"--([a-z][a-z0-9-]*)", head)}


def options_documented(page):
    """Long options with their own entry."""
    entries = re.findall(r"^\.It (Fl .*)", source(page), re.M)
    return [option for entry in entries for option in re.findall(r"Fl Fl ([a-z][a-z0-9-]*)", entry)]


def shown():
    """Every key of config/memstatd.yaml by its path, {path: (default or None, comment)}: those in force, and those of an entry of
    `sources`, `counters` and `limits`, which stand in comments."""
    keys, parent, comment = {}, None, ""
    for line in read("config", "memstatd.yaml").splitlines():
        if line.lstrip().startswith("#"):
            comment += line.lstrip() + "\n"
        elif match := re.match(r"( *)(\w+):(?: (.*))?$", line):
            indent, name, value = match.groups()
            parent = parent if indent else name
            keys[f"{parent}.{name}" if indent else name] = value, comment
            if name in ("sources", "counters"):
                place = "sources.NAME" if name == "sources" else name
                keys.update({f"{place}.{key}": (None, "") for key in re.findall(r"^#   (\w+): ", comment, re.M)})
            if name == "limits" and not indent:
                keys.update({f"limits.{key}": (None, "") for key in re.findall(r"(\w+): ", comment[comment.index("[{"):])})
            comment = ""
        elif not line.startswith(" "):
            comment = ""
    return keys


def shown_keys():
    return {path: default for path, (default, _) in shown().items()}


def documented_keys():
    """{path: (default or None, text)} of memstatd.yaml(5)."""
    keys = {}
    for entry in re.split(r"^\.It ", section("memstatd.yaml.5", "KEYS"), flags=re.M)[1:]:
        head, _, text = entry.partition("\n")
        default = re.search(r"Pq Li (\S+)$", head)
        path = head.split()[1]
        if not head.startswith("Ic ") or path in keys:
            raise AssertionError(f"memstatd.yaml.5: not a key, or there twice: {head}")
        keys[path] = (default.group(1).replace(r"\(dq", '"') if default else None, text)
    return keys


def entry_of(path, default, comment):
    """An entry of memstatd.yaml(5) for a key of memstatd.yaml."""
    kinds = {r"true|false": "boolean", r"\d+(d|h|m|s|ms)": "duration", r"\d+[kKMGTP]i?B": "size", r"\d+": "number", r"\d+%": "percentage",
             r"\[.*\]": "list", r"\{.*\}": "map"}
    kind = next((kind for pattern, kind in kinds.items() if re.fullmatch(pattern, default or "")), "text")
    head = f".It Ic {path}" + ("" if default is None else f" : Ar {kind} Pq Li " + default.replace('"', r"\(dq"))
    words = " ".join(line.removeprefix("#").strip() for line in comment.splitlines()).replace("\\", "\\e")
    return "\n".join([head, *("\\&" * (line[:1] in (".", "'")) + line for line in re.split(r"(?<=[\w)]\.) (?=[A-Z])", words)), ""])


def add_missing_entries():
    page = source("memstatd.yaml.5")
    before = ""  # the key that the last one follows
    for path, (default, comment) in shown().items():
        if path not in documented_keys():
            # After the entry of the previous key, which ends where the next one begins.
            place = re.search(rf"^\.It Ic {re.escape(before)}(?: .*)?\n(?:(?!\.It |\.El).*\n)*", page, re.M).end()
            page = page[:place] + entry_of(path, default, comment) + page[place:]
        before = path
    captures.write_file(os.path.join(program.SOURCE_DIR, PAGES["memstatd.yaml.5"], "memstatd.yaml.5"), page)


def another_value(default):
    """A value other than the default, of a key that is a switch or begins with a number; None for others."""
    number = re.match(r"\d+", default)
    switched = {"true": "false", "false": "true"}.get(default)
    return switched or (f"{int(number.group()) + 1}{default[number.end():]}" if number else None)


class Pages(unittest.TestCase):
    def test_every_page_is_well_formed(self):
        for page, directory in PAGES.items():
            with self.subTest(page):
                done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(directory, page)], check=False,
                                      capture_output=True, text=True, cwd=program.SOURCE_DIR)
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
                self.assertTrue(source(page).isascii())

    def test_every_page_has_what_is_looked_for_first(self):
        for page in PAGES:
            wanted = {"EXAMPLES", "SEE ALSO"} | ({"FILES"} if page != "cpc.3" else set()) | ({"EXIT STATUS"} if page.endswith(".8") else set())
            sections = set(re.findall(r"^\.Sh (.*)$", source(page), re.M))
            self.assertEqual(wanted - sections, set(), page)

    def test_every_page_fits_a_terminal_and_refers_to_existing_pages(self):
        for page in PAGES:
            with self.subTest(page):
                text = rendered(page)
                self.assertGreater(len(text.splitlines()), 60)
                self.assertEqual([line for line in text.splitlines() if len(line) > COLUMNS], [])
                for name, number in re.findall(r"^\.Xr (\S+) (\d)", source(page), re.M):
                    self.assertTrue(f"{name}.{number}" in PAGES or name in ("regex", "re_format"), f"{name}({number})")


class Library(unittest.TestCase):
    page = "memstat.3"

    def test_the_name_section_has_every_function_of_the_header(self):
        names = re.findall(r"^\.Nm (\w+)", section(self.page, "NAME"), re.M)
        self.assertGreater(len(names), 60)
        self.assertEqual(sorted(names), sorted(declared()))

    def test_the_synopsis_is_what_the_header_declares(self):
        found = {}
        for kind, call in re.findall(r"^\.Ft (.*)\n\.Fn (.*)$", section(self.page, "SYNOPSIS"), re.M):
            name, *arguments = arguments_of(call)
            self.assertNotIn(name, found)
            found[name] = normal(f"{' '.join(arguments_of(kind))} {name}({', '.join(arguments)})")
        self.assertEqual(found, declared())

    def test_every_function_is_described_and_no_other(self):
        rest = source(self.page).replace(section(self.page, "NAME"), "").replace(section(self.page, "SYNOPSIS"), "")
        named = set(re.findall(r"\bFn (memstat_\w+)", rest))
        self.assertEqual(named, set(declared()))

    def test_every_constant_of_the_header_is_named_errors_with_their_numbers(self):
        header = read("core", "include", "memstat.h")
        constants = dict(re.findall(r"^#define ((?:MEMSTAT_|ALLOCATOR_|MEMTYPE_)\w+) (\S+)", header, re.M))
        constants = {name: value for name, value in constants.items() if name not in ("MEMSTAT_H_", "MEMSTAT_EXPORT")}
        self.assertEqual(set(re.findall(r"\bDv ((?:MEMSTAT_|ALLOCATOR_|MEMTYPE_)\w+)", source(self.page))), set(constants))
        errors = re.findall(r"^\.It Dv (\w+) Pq (\d+)$", section(self.page, "ERRORS"), re.M)
        self.assertEqual(errors, [(name, value) for name, value in constants.items() if name.startswith("MEMSTAT_ERROR_")])

    def test_the_example_compiles_as_strict_c11_and_reads_captures(self):
        compiler = shutil.which(os.environ.get("CC", "cc"))
        directory = os.path.join(os.environ.get("BUILD_DIR") or os.path.join(program.SOURCE_DIR, "build"), "lib")
        library = os.path.join(directory, LIBRARY)
        if compiler is None or not os.path.exists(library):
            self.skipTest(f"no C compiler, or not built: {library}")
        literal = re.search(r"^\.Bd -literal\n(#include.*?)^\.Ed", section(self.page, "EXAMPLES"), re.M | re.S).group(1)
        with open(os.path.join(directory, "..", "package", "memstat.pc"), encoding="utf-8") as file:
            needs = re.search(r"^Libs.private: (.*)$", file.read(), re.M).group(1).split()
        sanitizers = {"address": ["-fsanitize=address,undefined"], "thread": ["-fsanitize=thread"]}.get(program.SANITIZER, [])
        with program.temporary_directory() as work:
            code, binary = os.path.join(work, "types.c"), os.path.join(work, "types")
            captures.write_file(code, literal.replace(r"\e", "\\").replace(r"\&", ""))
            done = subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", *sanitizers, "-I",
                                   os.path.join(program.SOURCE_DIR, "core", "include"), "-o", binary, code, library,
                                   *needs], check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

            def run(capture):
                done = subprocess.run([binary], capture_output=True, text=True, check=False, timeout=program.PATIENCE,
                                      env={**os.environ, "MEMSTAT_CAPTURE": capture})
                program.check_no_report(done.stderr)
                return done.returncode, done.stdout, done.stderr

            status, printed, complaints = run(captures.fixtures()["freebsd-15.0-amd64-2cpu-limits"])
            self.assertEqual((status, complaints), (0, ""))
            self.assertRegex(printed, r"(?m)^1 devbuf +\d+ objects +\d+ bytes$")
            self.assertRegex(printed, r"(?m)^2 mbuf_cluster +\d+ objects +\d+ bytes +100% of limit")
            status, printed, complaints = run(captures.fixtures()["linux-6.1-4cpu-2nodes"])
            self.assertEqual((status, complaints), (0, ""))
            self.assertRegex(printed, r"(?m)^3 dentry +\d+ objects +\d+ bytes$")
            status, printed, complaints = run(os.path.join(work, "absent"))
            self.assertEqual((status, printed), (1, ""))
            self.assertIn("absent", complaints)


class Programs(unittest.TestCase):
    def check_options(self, page, printed):
        documented = options_documented(page)
        self.assertEqual(sorted(documented), sorted(printed))
        # Examples and prose name no others, and the synopsis names each.
        named = set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", rendered(page)))
        self.assertEqual(named, set(documented))
        synopsis = set(re.findall(r"Fl Fl ([a-z][a-z0-9-]*)", section(page, "SYNOPSIS")))
        self.assertEqual(synopsis, set(documented))

    def test_memstatd_8_has_exactly_the_options_that_help_prints(self):
        self.check_options("memstatd.8", options_of(program.MEMSTATD))

    def test_memstatctl_8_has_exactly_the_options_that_help_prints(self):
        if not os.path.exists(MEMSTATCTL):
            self.skipTest(f"{MEMSTATCTL} is not built")
        common, synopsis = options_of(MEMSTATCTL), section("memstatctl.8", "SYNOPSIS")
        forms = {}  # {command: options of its lines of the synopsis}
        for commands, lines in re.findall(r"^\.Cm (.*)\n((?:(?!\.Nm).*\n)*)", synopsis, re.M):
            forms.update({command: set(re.findall(r"Fl Fl ([a-z-]+)", lines)) for command in commands.split(" | ")})
        help_text = subprocess.run([MEMSTATCTL, "--help"], check=True, capture_output=True, text=True).stdout
        groups = re.findall(r"^(?:Look|Growth|Captures|FreeBSD|Machine|Help):\n((?:  .*\n)+)", help_text, re.M)
        self.assertEqual(len(groups), 6, help_text)
        self.assertEqual(forms.pop("help"), set())
        self.assertEqual(forms.pop("version"), forms.pop("Fl Fl version"))
        self.assertEqual(set(forms), set(re.findall(r"^  ([a-z]+) ", "".join(groups), re.M)))
        self.assertEqual({*forms, "help", "version"}, set(re.findall(r"^\.It Cm (\w+)$", source("memstatctl.8"), re.M)))
        for command, options in forms.items():
            self.assertEqual(options, options_of(MEMSTATCTL, command) - {"help"}, command)
        self.check_options("memstatctl.8", common.union(*forms.values()))

    def test_the_commands_that_take_a_url_and_the_columns_of_list_sources_are_those_of_the_programs(self):
        help_text = subprocess.run([MEMSTATCTL, "--help"], check=True, capture_output=True, text=True).stdout
        listed = re.search(r"takes the URL of a running memstatd with ([a-z, ]+)\.", help_text).group(1)
        taken = set(re.split(r", | and ", listed))
        self.assertEqual(taken, {command for command in re.findall(r"(?m)^  ([a-z]+)  ", help_text) if "URL" in option_of(command, "--from")})
        paragraph = re.search(r"^\.It Ar URL\n(.*?)^\.El", source("memstatctl.8"), re.M | re.S).group(1)
        self.assertEqual(set(re.findall(r"^\.Cm (\w+)", paragraph, re.M)), taken)
        columns = program.run("--list-sources").stdout.decode().splitlines()[0].split("\t")
        self.assertIn(f"The columns are {', '.join(columns[:-1])} and {columns[-1]}.", source("memstatd.8"))

    def test_memstatd_8_names_paths_that_are_served(self):
        listed = re.search(r"^\.Ss Paths\n(.*?)^\.Ss ", source("memstatd.8"), re.M | re.S).group(1)
        paths = re.findall(r"^\.It Pa (/\S*)", listed, re.M)
        self.assertLessEqual({"/", "/metrics", "/metrics/percpu", "/-/healthy", "/-/ready", "/-/reload"}, set(paths))
        with program.temporary_directory() as directory:
            config = captures.write_file(os.path.join(directory, "memstatd.yaml"), 'enable_reload: true\nper_cpu: {types: ["mbuf.*"]}\n')
            with program.Daemon("--config", config, "--replay", captures.fixtures()["freebsd-15.0-amd64-4cpu"]) as daemon:
                daemon.wait_page(lambda now: now.series("memstat_type_bytes"), "a poll")
                for path in paths:
                    self.assertNotIn(daemon.request(path)[0], (404, 500, 503), path)
                self.assertEqual(daemon.request("/not-" + paths[0].strip("/"))[0], 404)
                self.assertEqual(daemon.request("/-/reload", "POST")[0], 200)


class Configuration(unittest.TestCase):
    def test_memstatd_yaml_5_has_exactly_the_keys_of_the_shipped_file(self):
        self.assertGreater(len(shown_keys()), 35)
        self.assertEqual(sorted(documented_keys()), sorted(shown_keys()))

    def test_defaults_are_those_of_the_shipped_file(self):
        shown, documented = shown_keys(), documented_keys()
        self.assertEqual({key: default for key, (default, _) in documented.items() if shown[key] is not None},
                         {key: default for key, default in shown.items() if default is not None})

    def test_memstatd_takes_every_documented_default_and_refuses_a_key_that_is_not_documented(self):
        with program.temporary_directory() as directory:
            path = os.path.join(directory, "memstatd.yaml")

            def check(text):
                captures.write_file(path, text)
                done = program.run("--config", path, "--check-config")
                return done.returncode, done.stderr

            checked = 0
            for key, (default, _) in documented_keys().items():
                if default is None:
                    continue
                checked += 1
                words = key.replace("NAME", "linux_slabinfo").split(".")
                nested = ": {".join(words) + f": {default}" + "}" * (len(words) - 1)
                self.assertEqual(check(nested + "\n"), (0, ""), nested)
            self.assertGreater(checked, 25)
            self.assertEqual(check("surely_no_key: 1\n")[0], 2)

    def test_the_examples_are_good_configurations(self):
        examples = section("memstatd.yaml.5", "EXAMPLES")
        literals = re.findall(r"^\.Bd -literal -offset indent\n(.*?)^\.Ed", examples, re.M | re.S)
        self.assertGreater(len(literals), 1)
        with program.temporary_directory() as directory:
            path = os.path.join(directory, "memstatd.yaml")
            for literal in literals:
                captures.write_file(path, literal)
                done = program.run("--config", path, "--check-config")
                self.assertEqual((done.returncode, done.stderr), (0, ""), literal)

    def test_the_keys_that_need_a_restart_are_those_that_a_reload_warns_of(self):
        needing = {key.partition(".")[0] for key, (_, text) in documented_keys().items() if "Needs a restart." in text}
        restart = {"listen": 'listen: ["127.0.0.1:0", "127.0.0.2:0"]', "allow": 'allow: ["10.0.0.0/8"]', "user": "user: daemon",
                   "enable_reload": "enable_reload: true", "capture": "capture: {max_age: 23h}", "sandbox": "sandbox: false",
                   "lock_memory": "lock_memory: false", "events": "events: {mode: off}", "textfile": "textfile: /var/tmp/memstat.prom",
                   "counters": "counters: [{set: few, events: [page-faults]}]", "unix_socket": 'unix_socket: {mode: "0600"}', "findings": "findings: {holders: false}",
                   "incidents": "incidents: {max_files: 19}"}
        others = {"poll": "poll: {interval: 11s}", "tier": "tier: full", "per_cpu": 'per_cpu: {types: ["x"]}',
                  "sources": "sources: {linux_slabinfo: {enabled: off}}", "growth": "growth: {window: 2h}",
                  "limits": 'limits: [{allocator: ".*", type: ".*", bytes: 1}]', "retention": "retention: 7", "history": "history: 0",
                  "log": "log: {level: debug}", "filters": 'filters: {exclude: [{type: "x"}]}',
                  "min_bytes": "min_bytes: 1", "series_limit": "series_limit: 19999"}
        defaults = shown_keys()
        restart.update({key: f"{key}: {another_value(defaults[key])}" for key in needing - set(restart) if defaults[key]})
        self.assertEqual(needing, set(restart))
        self.assertEqual({key for key in documented_keys() if key in {*restart, *others}}, {*restart, *others})
        with program.temporary_directory() as directory:
            path, listen = os.path.join(directory, "memstatd.yaml"), 'listen: ["127.0.0.1:0"]\n'  # a flag would hide the key
            captures.write_file(path, listen)
            with program.Daemon("--config", path, "--replay", captures.fixtures()["linux-6.1-4cpu-2nodes"],
                                listen=False) as daemon:
                for number, (key, text) in enumerate([*others.items(), *restart.items()], 1):
                    before = daemon.log.count("these keys need a restart")
                    captures.write_file(path, ("" if key == "listen" else listen) + text + "\n")
                    daemon.process.send_signal(signal.SIGHUP)
                    daemon.wait_log("the configuration was reloaded", number)
                    self.assertEqual(daemon.log.count("these keys need a restart") > before, key in restart, key)


if __name__ == "__main__":
    if shutil.which("mandoc") is None:
        print("mandoc is not installed (tests/support/packages.txt)")
        sys.exit(77)
    if os.environ.get("UPDATE_GOLDEN"):
        add_missing_entries()
    program.main()
