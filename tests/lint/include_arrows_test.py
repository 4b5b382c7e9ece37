#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Includes follow the arrows: daemon -> config -> core, and inside core each layer only sees those below.

With --print it prints the arrows as the includes have them, lowest floor first: an arrow leads to a lower floor, so there is no
cycle. Also: core knows no third party (except zstd, in the file that unpacks and packs captures), each third party is known to one
part only, and headers of one operating system are included only by the files that are named after it.
"""
import pathlib
import re
import sys
import tempfile

import findings

# What every layer of the daemon may include of the library.
CORE = [r"core/(query|source)\.h", r"core/(model|kernel|base)/.*", r"core/collect/view_table\.h"]

# What files of a layer may include of ours, as patterns of paths; the first line that matches a file is its layer.
LAYERS = [
    (r"core/base/.*", [r"core/base/.*"]),
    (r"core/include/.*", [r"core/include/.*"]),
    (r"core/model/.*", [r"core/(model|base)/.*"]),
    (r"core/parse/.*", [r"core/(parse|base)/.*"]),
    (r"core/kernel/.*", [r"core/(kernel|base)/.*"]),
    (r"core/capture/.*", [r"core/(capture|kernel|base)/.*"]),
    (r"core/collect/plan_reader\.(h|cpp)", [r"core/(read_plan|source)\.h", r"core/(collect|kernel|base)/.*"]),
    (r"core/collect/.*", [r"core/(collect|parse|kernel|base)/.*"]),
    (r"core/sources/.*", [r"core/source\.h", r"core/sources/event_log\.h", r"core/(parse|collect)/.*", r"core/model/(staging|field|accounts|headroom|kernel_log(_book)?|(freebsd|service)_log|[a-z]*_?metrics?)\.h", r"core/kernel/kernel_view\.h", r"core/base/.*"]),
    (r"core/diagnosis/.*", [r"core/(diagnosis|model|base)/.*"]),
    (r"core/inspect/.*", [r"core/(inspect|parse|collect|model|kernel|base)/.*"]),
    (r"core/source_option\.h", []),
    (r"core/read_plan\.h", [r"core/base/.*"]),
    (r"core/source\.(h|cpp)", [r"core/(read_plan|source(_option)?)\.h", r"core/(model|kernel|base)/.*"]),
    (r"core/query\.(h|cpp)", [r"core/(query|source)\.h", r"core/(model|kernel|base)/.*"]),
    (r"core/c_api/.*", [r"core/(c_api|include|inspect|model|collect|capture|parse|kernel|base)/.*", r"core/(query|source)\.h"]),
    (r"core/counters/.*", [r"core/(counters|model|kernel|base)/.*", r"core/source\.h", r"core/include/libcpc\.h"]),
    (r"core/postmortem/container/.*", [r"core/(postmortem/container|capture|base)/.*"]),
    (r"core/postmortem/kernel/.*", [r"core/(postmortem/(kernel|container)|base)/.*"]),
    (r"core/postmortem/linux/.*", [r"core/(postmortem/(linux|kernel|container)|capture|kernel|base)/.*"]),
    (r"core/postmortem/freebsd/.*", [r"core/(postmortem/(freebsd|kernel|container)|capture|parse|kernel|base)/.*"]),
    (r"core/postmortem/[a-z_]+\.(h|cpp)", [r"core/(postmortem|capture|kernel|base)/.*"]),
    (r"core/events/bpf/.*", [r"core/events/bpf/.*"]),
    (r"core/events/table/.*", [r"core/(events/(table|bpf)|model|kernel|base)/.*"]),
    (r"core/events/attach/.*", [r"core/(events/(attach|table|bpf)|kernel|base)/.*", r"core/source\.h"]),
    (r"core/events/sites/.*", [r"core/(events/(sites|slab|attach|table|bpf)|kernel|base)/.*"]),
    (r"core/events/sources/.*", [r"core/(events|collect|parse|model|kernel|base)/.*", r"core/source\.h"]),
    (r"core/events/slab/.*", [r"core/(events/(slab|attach|table|bpf)|kernel|base)/.*", r"core/source\.h"]),
    (r"core/events/caches/.*", [r"core/(events/(caches|attach|table|bpf)|kernel|base)/.*", r"core/source\.h"]),
    (r"core/events/vm/.*", [r"core/(events/(vm|attach|table|bpf)|parse|kernel|base)/.*", r"core/source\.h"]),
    (r"core/events/malloc/.*", [r"core/(events/(malloc|attach|table|bpf)|kernel|base)/.*", r"core/source\.h"]),
    (r"core/events/memuse/.*", [r"core/(events/(memuse|attach|table|bpf)|kernel|base)/.*", r"core/source\.h"]),
    (r"config/.*", [r"config/.*", r"core/base/.*", r"core/source_option\.h", r"core/model/metric\.h"]),
    # memstatctl reads kernels as the daemon does, with the parts of it that make a snapshot.
    (r"daemon/ctl/.*", [r"daemon/(ctl|poll|tracking|snapshot|exposition|telemetry|explain|selftest)/.*", r"daemon/incidents/incident\.h", r"config/.*", r"core/(capture|counters|diagnosis|events|include|inspect|postmortem)/.*", r"core/c_api/handle\.h", *CORE]),
    (r"daemon/explain/.*", [r"daemon/explain/.*", r"core/diagnosis/cause\.h", r"daemon/snapshot/(metric_catalogue|own_metrics)\.h", *CORE]),
    (r"daemon/selftest/.*", [r"daemon/selftest/.*", *CORE]),
    (r"daemon/privileges/.*", [r"daemon/privileges/.*", *CORE]),
    (r"daemon/http/.*", [r"daemon/http/.*", r"core/base/.*"]),
    (r"daemon/tracking/.*", [r"daemon/tracking/.*", *CORE]),
    (r"daemon/snapshot/.*", [r"daemon/(snapshot|tracking)/.*", r"config/.*", r"core/diagnosis/.*", *CORE]),
    (r"daemon/exposition/.*", [r"daemon/(exposition|snapshot)/.*", r"config/.*", r"core/diagnosis/.*", *CORE]),
    (r"daemon/telemetry/.*", [r"daemon/(telemetry|exposition)/.*", r"daemon/snapshot/own_metrics\.h", r"config/.*", *CORE]),
    (r"daemon/poll/.*", [r"daemon/(poll|tracking|snapshot|exposition|telemetry)/.*", r"config/.*", r"core/(capture|diagnosis|inspect)/.*", *CORE]),
    (r"daemon/incidents/incident\.(h|cpp)", [r"daemon/incidents/incident\.h", r"core/capture/.*", *CORE]),
    (r"daemon/incidents/program_kills\.h", [r"core/collect/journal_messages\.h", *CORE]),
    (r"daemon/incidents/.*", [r"daemon/(incidents|snapshot|telemetry)/.*", r"config/.*", r"core/(capture|diagnosis)/.*", *CORE]),
    (r"daemon/serve/.*", [r"daemon/incidents/incident\.h", r"daemon/(serve|http|exposition|snapshot|explain|telemetry)/.*", r"config/.*", *CORE]),
    (r"daemon/process/helpers\.(h|cpp)", [r"daemon/(?!ctl/).*", r"config/.*", r"core/events/attach/attach_helper\.h", r"core/inspect/inspection_channel\.h", *CORE]),
    (r"daemon/.*", [r"daemon/(?!ctl/).*", r"config/.*", *CORE]),
    (r"tests/.*", [r"(core|config|daemon|tests)/.*"]),
]

# Third-party headers and the files that may include them (tests may include any).
THIRD_PARTIES = [
    (r"bpf/.*", r"core/events/(bpf/[a-z_]+\.bpf\.c|[a-z]+/[a-z_]+_linux\.cpp|attach/(bpf_kernel|kernel_types)\.h)"),
    (r"systemd/.*", r"core/collect/journal_messages\.cpp"),
    (r"perfmon/.*", r"core/counters/libpfm_linux\.cpp"),
    (r"elf\.h", r"core/postmortem/(container/elf_core|kernel/kernel_file)\.cpp"),
    (r"zlib\.h|lzo/lzo1x\.h", r"core/postmortem/container/packed_(file|page)\.cpp"),
    (r"zstd\.h", r"core/postmortem/container/packed_(file|page)\.cpp|core/capture/archive_stream\.cpp"),
    (r"yaml-cpp/.*", r"config/.*\.cpp"),
    (r"re2/.*", r"config/name_pattern\.cpp"),
    (r"prometheus/.*", r"daemon/.*"),
    (r"spdlog/.*", r"daemon/telemetry/log\.cpp"),
    (r"CLI/.*", r"config/command_line_help\.h|daemon/ctl/commands/options\.cpp"),
    (r"ncurses\.h", r"daemon/ctl/top/screen\.cpp"),
    (r"nlohmann/.*", r"daemon/ctl/source/document\.h"),
    (r"civetweb\.h", r"daemon/http/(server|civetweb_calls)\.cpp"),
    (r"isa-l(/.*)?\.h", r"daemon/serve/gzip\.cpp"),
    (r"seccomp\.h", r"daemon/.*_linux\.cpp"),
    (r"crypt\.h", r"daemon/serve/authentication\.cpp"),
]

# Headers of only one system, and the names of the files that may include them.
ONE_SYSTEM = [
    (r"(linux|asm)/.*|sys/(prctl|capability|epoll|signalfd|timerfd|inotify|personality|sysmacros|vfs)\.h", r".*_linux\.(h|cpp)"),
    (r"link\.h", r"daemon/(.*_freebsd|process/startup)\.(h|cpp)"),
    (r"sys/(sysctl|cpuset|capsicum|module|procdesc|event|jail|linker|mount|rctl|user)\.h|(sys/)?pmc\.h|malloc_np\.h|dtrace\.h|(kvm|nlist)\.h|libutil\.h", r".*_freebsd\.(h|cpp)"),
]

# Headers of one C library, and the files that may include them, where there is that library.
ONE_C_LIBRARY = [(r"malloc\.h", r"core/base/free_heap\.h"), (r"pthread_np\.h", r"core/base/thread_name\.h")]

# What any system with a C++20 compiler and POSIX has: headers of the standard library, and these (eventfd: Linux, FreeBSD 13).
POSIX = re.compile(r"(arpa/inet|dirent|dlfcn|errno|fcntl|fnmatch|grp|ifaddrs|langinfo|limits|locale|net/if|netdb|netinet/(in|tcp)|poll|pthread|pwd|regex|sched"
                   r"|signal|spawn|stdio|stdlib|string|strings|sys/(eventfd|file|ioctl|mman|param|resource|select|socket|stat|statvfs|syscall"
                   r"|time|types|uio|un|utsname|wait)|syslog|termios|time|unistd)\.h")
STANDARD = re.compile(r"[a-z_0-9]+")
C_STANDARD = re.compile(r"std(arg|def|int)\.h")  # for the public header, which is C as well


def problem(file, included, quoted):
    """What is wrong with `file` including `included`, or None."""
    if quoted:
        for layer, allowed in LAYERS:
            if re.fullmatch(layer, file):
                if any(re.fullmatch(pattern, included) for pattern in allowed):
                    return None
                return f"{file} includes {included}: no arrow leads there"
        return f"{file}: this place has no layer in tests/lint/include_arrows_test.py"
    if file.startswith("tests/") or STANDARD.fullmatch(included):
        return None
    for header, users in THIRD_PARTIES + ONE_SYSTEM + ONE_C_LIBRARY:
        if re.fullmatch(header, included):
            return None if re.fullmatch(users, file) else f"{file} includes <{included}>: only {users} may"
    if POSIX.fullmatch(included) or file.startswith("core/include/") and C_STANDARD.fullmatch(included):
        return None
    return f"{file} includes <{included}>, which is neither C++ nor POSIX: see the tables in tests/lint/include_arrows_test.py"


def unguarded(file, text):
    """Headers of another system that a .cpp includes outside of that system's #if: each system compiles every file."""
    if not re.fullmatch(r"(core|daemon)/.*\.cpp", file):
        return
    is_guarded = False
    for line in text.splitlines():
        is_guarded = is_guarded or re.match(r"\s*#\s*if.*(__linux__|__FreeBSD__|MEMSTAT_HAVE_)", line) is not None
        match = re.match(r"\s*#\s*include\s*<([^>]+)>", line)
        if match and not is_guarded and any(re.fullmatch(header, match[1]) for header, _ in ONE_SYSTEM):
            yield f"{file} includes <{match[1]}> on every system: put it behind #if defined(__linux__) or the like"


def layers_of(root):
    """What includes what, by directory: {"core/query": {"core/model", ...}}. Files beside the directories count as their own."""
    arrows = {}
    for directory in ("core", "config", "daemon"):
        for path in sorted((root / directory).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                place = room(path.relative_to(root))
                for line in path.read_text(encoding="utf-8").splitlines():
                    match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
                    if match:
                        arrows.setdefault(place, set()).add(room(pathlib.PurePath(match[1])))
    return {place: sorted(targets - {place}) for place, targets in sorted(arrows.items())}


def room(path):
    directory = path.parent.as_posix()
    return path.with_suffix("").as_posix() if directory in ("core", "daemon") else directory


def floors(arrows):
    """{place: its floor}: 0 includes nothing of ours, and any other is one above the highest that it includes. A cycle has no floor."""
    known, left = {}, {place: set(targets) for place, targets in arrows.items()}
    for target in set().union(*left.values()) - set(left):
        known[target] = 0
    while left:
        ready = [place for place, targets in left.items() if targets <= set(known)]
        if not ready:
            return known, sorted(left)
        known.update({place: 1 + max((known[target] for target in left[place]), default=-1) for place in ready})
        left = {place: targets for place, targets in left.items() if place not in known}
    return known, []


def problems(root):
    found, includes = [], 0
    cycle = floors(layers_of(root))[1]
    if cycle:
        found.append(f"these include each other, in a circle: {', '.join(cycle)}")
    for directory in ("core", "config", "daemon", "tests"):
        for path in sorted((root / directory).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c"):
                continue
            file = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            found.extend(unguarded(file, text))
            for line in text.splitlines():
                match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
                if match:
                    includes += 1
                    found.append(problem(file, match[2], match[1] == '"'))
    return [text for text in found if text], includes


def check_self():
    """Every line of BAD must be found and none of GOOD."""
    bad = [("core/base/a.h", '"core/model/field.h"'), ("core/sources/a.cpp", '"core/query.h"'), ("core/sources/a.cpp", '"core/sources/b.h"'),
           ("core/query.cpp", '"config/config.h"'), ("daemon/a.cpp", '"tests/support/a.h"'), ("daemon/a.cpp", '"a.h"'), ("core/base/a.cpp", "<spdlog/spdlog.h>"),
           ("core/capture/archive.cpp", "<zstd.h>"), ("core/kernel/a.cpp", "<linux/fs.h>"), ("core/base/a.cpp", "<boost/any.hpp>"), ("elsewhere/a.h", '"core/source.h"'),
           ("daemon/ctl/a.cpp", '"core/sources/a.h"'), ("daemon/poll/a.cpp", '"daemon/ctl/a.h"'), ("core/base/a.h", "<stdint.h>"), ("daemon/a.cpp", "<malloc.h>")]
    good = [("core/base/a.h", '"core/base/error.h"'), ("core/sources/a.cpp", '"core/source.h"'), ("core/sources/a.cpp", "<cstdint>"), ("core/kernel/a_linux.cpp", "<linux/fs.h>"),
            ("core/capture/archive_stream.cpp", "<zstd.h>"), ("tests/unit/a_test.cpp", '"daemon/app.h"'), ("daemon/ctl/commands/options.cpp", "<CLI/CLI.hpp>"),
            ("core/include/memstat.h", "<stdint.h>"), ("core/base/free_heap.h", "<malloc.h>")]
    for wanted, table in ((True, bad), (False, good)):
        for file, include in table:
            found = problem(file, include[1:-1], include[0] == '"')
            assert (found is not None) == wanted, (file, include, found)
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "core/base").mkdir(parents=True)
        (root / "core/base/a.h").write_text('# include "daemon/app.h"\n', encoding="utf-8")
        assert len(problems(root)[0]) == 1
    guarded = "#if defined(__linux__)\n#include <linux/fs.h>\n#endif\n"
    assert not list(unguarded("core/a_linux.cpp", guarded))
    assert len(list(unguarded("core/a_linux.cpp", "#include <linux/fs.h>\n" + guarded))) == 1
    assert floors({"a": ["b", "c"], "b": ["c"], "c": []}) == ({"c": 0, "b": 1, "a": 2}, [])
    assert floors({"a": ["b"], "b": ["a"], "c": []}) == ({"c": 0}, ["a", "b"])


def main():
    if sys.argv[1:] == ["--print"]:
        arrows = layers_of(findings.ROOT)
        floor, cycle = floors(arrows)
        for place in sorted(arrows, key=lambda place: (floor.get(place, -1), place)):
            print(f"{floor.get(place, 'cycle'):2} {place:25} -> {', '.join(arrows[place]) or '(nothing of ours)'}")
        return 0
    check_self()
    return findings.report(*problems(findings.ROOT), 50)


if __name__ == "__main__":
    sys.exit(main())
