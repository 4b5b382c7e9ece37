#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seconds: 200
"""memstatctl in each kind of namespace, on a healthy host and on one where a process outside holds thousands of files and pipes: each
question and each cause says what it did not see, and accuses nobody inside. Prints the table of namespaces and results."""
import contextlib
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)
import captures  # noqa: E402
import program  # noqa: E402
from ctl import MEMSTATCTL, run  # noqa: E402

# Questions about processes, which a PID namespace hides; of users, sockets and IPC objects of a namespace; and of the machine.
OF_PROCESSES = {"anonymous", "bpf", "eventfds", "files", "inotify", "locked", "maps", "mounts", "page-tables", "pinned", "pipes", "queues", "quotas", "rings",
                "threads", "tmpfs", "user-tasks", "watches", "zombies"}
OF_USERS = {"quotas", "user-tasks"}
OF_NETWORKS = {"queues"}
OF_IPC = {"segments", "message-queues"}
# How the namespace is made, its words, the questions that cannot be answered in it, and a cause that cannot be ruled out.
KINDS = {
    "host": ([], (), set(), None),
    "mount": (["--mount"], (), set(), None),  # has all file systems of the host
    "pid": (["--pid", "--fork", "--mount-proc"], ("PID namespace",), OF_PROCESSES, "files_without_descriptor"),
    "net": (["--net"], ("network namespace",), OF_NETWORKS, "sockets_elsewhere"),
    "ipc": (["--ipc"], ("IPC namespace",), OF_IPC, "sysv_shm_full"),
    "user": (["--user", "--map-root-user"], ("user namespace",), OF_USERS, "user_tasks_full"),
    "rootless": (["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--net", "--ipc", "--uts", "--cgroup"],
                 ("PID namespace", "network namespace", "IPC namespace", "user namespace"), OF_PROCESSES | OF_IPC, "files_without_descriptor"),
}
# They compare what the kernel counts with what processes hold.
COMPARING = {"files_without_descriptor", "namespaces_left", "sockets_elsewhere"}
HOARD = """
import os, resource, sys
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
open("/proc/self/comm", "w").write("hoarder")
held = [open("/dev/null") for _ in range(5000)] + [os.pipe() for _ in range(1000)]
print("ready", flush=True)
sys.stdin.read()
"""


# Of lxcfs: the total is a container's, stacks and page tables are the host's.
MEMINFO = """\
MemTotal: 1048576 kB
MemFree: 2612 kB
MemAvailable: 619376 kB
Buffers: 0 kB
Cached: 616764 kB
SwapCached: 0 kB
Active: 440648 kB
Inactive: 524804 kB
Unevictable: 132 kB
Mlocked: 0 kB
SwapTotal: 0 kB
SwapFree: 0 kB
AnonPages: 109796 kB
Mapped: 145200 kB
Shmem: 296 kB
KReclaimable: 70068 kB
Slab: 0 kB
SReclaimable: 0 kB
SUnreclaim: 0 kB
KernelStack: 22252 kB
PageTables: 136128 kB
VmallocUsed: 8648 kB
Percpu: 10288 kB
"""


def can_unshare(options):
    return not options or subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0


def inside(options, *command):
    """The result of memstatctl in that kind of namespace."""
    return subprocess.run([*(["unshare", *options] if options else []), MEMSTATCTL, *command], capture_output=True, text=True, timeout=program.PATIENCE, check=False)


def causes_of(answer):
    return {finding["cause"] for finding in answer["findings"]}


@contextlib.contextmanager
def hoarder():
    """A process outside that holds 5000 files and 1000 pipes."""
    with subprocess.Popen([sys.executable, "-c", HOARD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            yield child.pid
        finally:
            child.stdin.close()


@contextlib.contextmanager
def other_user():
    """A process of another user with pipes and a mapping."""
    code = "import os, sys\nheld = [os.pipe() for _ in range(50)]\nprint('ready', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            yield
        finally:
            child.stdin.close()


def shipped(*path):
    with open(os.path.join(program.SOURCE_DIR, "dashboards", "examples", *path), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def in_container(spaces, capabilities, has_root, *command):
    """Runs the command with these namespaces and capabilities, without the host's mounts of tmpfs, unless the host's root is mounted."""
    bounds = ",".join(["-all", *(f"+{name.lower()}" for name in capabilities)])
    with program.temporary_directory() as directory:
        script = ("set -e\n" + (f"mount --rbind / {directory}\nmount --make-rslave {directory}\n" if has_root else "") +
                  "for mount in $(awk '$3 == \"tmpfs\" {print $2}' /proc/self/mounts | grep -v -e '^/sys' -e '^" + directory + "' | tac); do umount -l $mount 2>/dev/null || true; done\n" +
                  f'exec setpriv --bounding-set {bounds} "$@"\n')
        return subprocess.run(["unshare", "--mount", "--uts", "--cgroup", *spaces, "sh", "-c", script, "sh", *command], capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)


@program.needs_host
class Namespaces(unittest.TestCase):
    def ask_all(self, kind):
        """The questions whose answer says that it was seen from inside a container."""
        options, words, unseen, _ = KINDS[kind]
        partial = set()
        for question in sorted(OF_PROCESSES | OF_IPC | {"groups", "group-limits", "modules", "unmapped"}):
            done = inside(options, "who", question)
            if done.returncode == 1:  # the kernel, or this namespace, has no such thing
                continue
            self.assertIn(done.returncode, (0, 3), (kind, question, done.stderr))
            if "seen from inside a container" not in done.stderr:
                self.assertNotIn(question, unseen, (kind, done.stdout, done.stderr))
                continue
            self.assertEqual(done.returncode, 3, (kind, question))
            self.assertIn("; run it", done.stderr)
            self.assertTrue(any(word in done.stderr for word in words), (kind, question, done.stderr))
            self.assertNotIn("Nobody.\n", done.stdout)
            partial.add(question)
        self.assertLessEqual(partial, unseen, kind)
        return partial

    def ask_why(self, kind, of_host):
        options, words, _, cause = KINDS[kind]
        done = inside(options, "why", "--json")
        found = json.loads(done.stdout)
        names = causes_of(found)
        why = {one["cause"]: one["why"] for one in found["not_checked"]}
        if not words:
            self.assertNotIn("view", found)
            return names, len(why), done.returncode
        self.assertIn(done.returncode, (3, 10, 11), done.stderr)
        self.assertIn("not checked: seen from inside a container", done.stderr)
        for word in words:
            self.assertIn(word, found["view"]["words"])
        self.assertFalse(names & COMPARING & set(why), kind)
        if "PID namespace" in words or "network namespace" in words:
            self.assertFalse(names & COMPARING - (set() if "PID namespace" in words else {"files_without_descriptor", "namespaces_left"}), found["findings"])
        self.assertIn("seen from inside a container", why.get(cause, ""), (kind, cause, sorted(why)))
        if "PID namespace" in words:
            for finding in found["findings"]:  # nobody inside is accused of what the machine has
                self.assertNotIn("memstatctl", str(finding["who"]))
        if names & COMPARING - of_host:  # other tests may have left namespaces since the host was asked
            of_host = of_host | causes_of(json.loads(inside((), "why", "--json").stdout))
        self.assertLessEqual(names & COMPARING, of_host, "what the host does not have")
        return names, len(why), done.returncode

    @program.needs_root
    def test_each_question_and_cause_in_each_kind(self):
        lines = [f"{'NAMESPACES':10} {'HOST':8} {'who: partial':>12} {'who files':24} {'why':>4} {'not checked':>11}  findings"]
        for state in ("healthy", "sick"):
            with hoarder() if state == "sick" else contextlib.nullcontext() as pid:
                of_host = set()
                for kind, (options, words, unseen, _) in KINDS.items():
                    if not can_unshare(options):
                        print(f"{kind}: unshare {' '.join(options)} is not permitted here")
                        continue
                    partial = self.ask_all(kind)
                    holders = json.loads(inside(options, "who", "files", "--json").stdout)["holders"]
                    named = pid in [row["pid"] for row in holders]
                    if pid is not None and kind != "user":  # root of a user namespace may not examine the host's
                        self.assertEqual(named, "PID namespace" not in words, (kind, holders[:3]))
                    names, unchecked, status = self.ask_why(kind, of_host)
                    of_host = of_host or names
                    seen = "partial" if "files" in partial else "names the hoarder" if named else "whole"
                    lines.append(f"{kind:10} {state:8} {len(partial):12} {seen:24} {status:4} {unchecked:11}  {', '.join(sorted(names)) or 'none'}")
        print("\n".join(lines))

    @program.needs_root
    def test_a_mount_namespace_that_lacks_file_systems_is_recognised(self):
        with open("/proc/mounts", encoding="utf-8") as file:
            mounts = [line.split()[1] for line in file if line.split()[2] == "tmpfs"]
        if not mounts:
            self.skipTest("this machine has no mount of tmpfs")
        done = subprocess.run(["unshare", "--mount", "sh", "-c", f'umount -l {mounts[-1]} && exec {MEMSTATCTL} why --json'], capture_output=True, text=True,
                              timeout=program.PATIENCE, check=False)
        found = json.loads(done.stdout)
        self.assertEqual(found["view"]["lacks"], "mount_namespace")
        self.assertIn("mount namespace", {one["cause"]: one["why"] for one in found["not_checked"]}["tmpfs_full"])

    @program.needs_root
    def test_the_pod_and_the_service_as_shipped_see_the_host_whole(self):
        pod, service = shipped("kubernetes", "daemonset.yaml")[-1]["spec"]["template"]["spec"], shipped("container", "compose.yaml")[0]["services"]["memstatd"]
        container = pod["containers"][0]
        of_pod = {kind for kind, key in (("--pid", "hostPID"), ("--net", "hostNetwork"), ("--ipc", "hostIPC")) if not pod.get(key)}
        of_service = {kind for kind, key in (("--pid", "pid"), ("--net", "network_mode"), ("--ipc", "ipc")) if service.get(key) != "host"}
        has_root = any(volume.get("hostPath", {}).get("path") == "/" for volume in pod["volumes"]) and \
            any(mount["name"] == "root" and mount["mountPropagation"] == "HostToContainer" for mount in container["volumeMounts"])
        with hoarder() as pid:
            for name, spaces, capabilities, is_whole in (
                    ("pod", of_pod, container["securityContext"]["capabilities"]["add"], has_root),
                    ("service", of_service, service["cap_add"], "/:/host:ro,rslave" in service["volumes"]),
                    ("pod without hostIPC", of_pod | {"--ipc"}, container["securityContext"]["capabilities"]["add"], has_root),
                    ("pod without the root", of_pod, container["securityContext"]["capabilities"]["add"], False)):
                done = in_container(spaces, capabilities, is_whole, MEMSTATCTL, "who", "files", "--json")
                self.assertEqual(done.returncode, 0, (name, done.stderr))
                self.assertIn(pid, [row["pid"] for row in json.loads(done.stdout)["holders"]], name)
                page = in_container(spaces, capabilities, is_whole, program.MEMSTATD, "--once", "--no-sandbox").stdout
                self.assertIn('memstat_source_up{source="linux_view"} 1\n', page)
                lacks = re.findall(r'memstat_partial_view\{reason="(\w+)"\} 1', page)
                self.assertEqual(lacks, {"pod without hostIPC": ["ipc_namespace"], "pod without the root": ["mount_namespace"]}.get(name, []), name)

    @program.needs_root
    def test_each_capability_that_is_shipped_is_needed(self):
        """What is lost without it: partial answers, an account that is kept, or a bounding set that is."""
        shipped_ones = shipped("container", "compose.yaml")[0]["services"]["memstatd"]["cap_add"]
        self.assertEqual(shipped_ones, shipped("kubernetes", "daemonset.yaml")[-1]["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"])

        def refused(capabilities, question):
            return json.loads(in_container(set(), capabilities, True, MEMSTATCTL, "who", question, "--json").stdout)["refused"]

        def log(capabilities):
            done = in_container(set(), capabilities, True, program.MEMSTATD, "--listen", "127.0.0.1:0", "--polls", "1")
            return done.stdout + done.stderr

        with other_user():
            for name, lost in (("DAC_READ_SEARCH", lambda kept: refused(kept, "pipes") > refused(shipped_ones, "pipes")),
                               ("SYS_PTRACE", lambda kept: refused(kept, "tmpfs") > refused(shipped_ones, "tmpfs")),
                               ("SETUID", lambda kept: "setresuid failed" in log(kept)),
                               ("SETGID", lambda kept: "setgroups failed" in log(kept)),
                               ("SETPCAP", lambda kept: "the bounding set keeps" in log(kept))):
                self.assertIn(name, shipped_ones)
                self.assertTrue(lost([one for one in shipped_ones if one != name]), f"nothing is lost without {name}")
            self.assertEqual(len(shipped_ones), 5)
        whole = log(shipped_ones)
        self.assertIn("listening on", whole)
        self.assertNotIn("the bounding set keeps", whole)

    @program.needs_root
    def test_a_recording_gives_the_same_answer(self):
        with program.temporary_directory() as directory:
            capture = os.path.join(directory, "inside.tar")
            made = inside(KINDS["pid"][0], "record", "--who", "--count", "2", "--interval", "1s", capture)
            self.assertEqual(made.returncode, 0, made.stderr)
            done = run("who", "files", "--from", capture)
            self.assertEqual(done.returncode, 3)
            self.assertIn("seen from inside a container (PID namespace)", done.stderr)
            found = json.loads(run("why", "--json", "--from", capture).stdout)
            self.assertEqual(found["view"]["lacks"], "pid_namespace")
            self.assertNotIn("files_without_descriptor", [finding["cause"] for finding in found["findings"]])

    @program.needs_root
    def test_doctor_says_what_is_not_visible(self):
        self.assertIn("not all of the machine is visible: seen from inside a container (PID namespace)", inside(KINDS["pid"][0], "doctor", "--from", "live").stdout)
        self.assertNotIn("not all of the machine is visible", inside([], "doctor", "--from", "live").stdout)


class Rights(unittest.TestCase):
    def test_each_right_has_its_reason_beside_it(self):
        rights = {"container/compose.yaml": ("network_mode", "pid", "ipc"), "kubernetes/daemonset.yaml": ("hostNetwork", "hostPID", "hostIPC")}
        capabilities = shipped("container", "compose.yaml")[0]["services"]["memstatd"]["cap_add"]
        for path, names in rights.items():
            with open(os.path.join(program.SOURCE_DIR, "dashboards", "examples", path), encoding="utf-8") as file:
                comments = re.findall(r"(?m)^ *# ([\w/]+(?:, [\w/]+)*): \S", file.read())
            reasons = {name for comment in comments for name in comment.split(", ")}
            self.assertLessEqual({*names, *capabilities, "/sys/fs/cgroup", "/host"}, reasons, path)


class Recordings(unittest.TestCase):
    """Views that this machine cannot have."""

    FILES = "fs/proc/sys/fs/file-nr"

    def test_a_full_table_names_nobody_inside(self):
        table = ("memstat who 1\nasked_ns 1764119000000000000 looked_at 2 refused 0 unlisted 0 is_cut 0\n{lacks}"
                 "7\tsleep\troot\t/\t\t6\t\t\nend 1\n")
        for lacks, expected in (("", [{"kind": "process", "name": "sleep (pid 7)"}]), ("lacks pid_namespace\n", [])):
            polls = [{self.FILES: "9990\t0\t10000\n", "source/who_files": table.format(lacks=lacks), "source/linux_view": f"view 1\n{lacks}end\n"} for _ in range(2)]
            with program.temporary_directory() as directory:
                capture = captures.write_capture(os.path.join(directory, "full"), polls)
                finding = json.loads(run("why", "--json", "--from", capture).stdout)["findings"][0]
                self.assertEqual((finding["cause"], finding["who"]), ("open_files_full", expected))

    def test_behind_lxcfs_and_on_other_kernels_memory_is_not_checked(self):
        for reason, word in (("lxcfs", "lxcfs"), ("other_kernel", "gVisor")):
            polls = [{"fs/proc/meminfo": MEMINFO, "source/linux_view": f"view 1\nlacks {reason}\nend\n"} for _ in range(2)]
            with program.temporary_directory() as directory:
                found = json.loads(run("why", "--json", "--from", captures.write_capture(os.path.join(directory, reason), polls)).stdout)
                self.assertEqual(found["findings"], [])
                self.assertIn(word, {one["cause"]: one["why"] for one in found["not_checked"]}["page_tables_large"])
            del polls[0]["source/linux_view"], polls[1]["source/linux_view"]
            with program.temporary_directory() as directory:  # a recording that does not say so is whole
                found = json.loads(run("why", "--json", "--from", captures.write_capture(os.path.join(directory, "whole"), polls)).stdout)
                self.assertIn("page_tables_large", [finding["cause"] for finding in found["findings"]])

    def test_a_total_below_the_zones_is_that_of_a_container(self):
        zones = ("Node 0, zone   Normal\n  pages free     653\n        min      10\n        low      20\n        high     30\n        spanned  {pages}\n"
                 "        present  {pages}\n        managed  {pages}\n        protection: (0)\n  node_unreclaimable:  0\n  start_pfn:           1\n")
        for pages, lacks in ((4098291, "lxcfs"), (262144, None)):
            polls = [{"fs/proc/meminfo": MEMINFO, "fs/proc/zoneinfo": zones.format(pages=pages)} for _ in range(2)]
            with program.temporary_directory() as directory:
                found = json.loads(run("why", "--json", "--from", captures.write_capture(os.path.join(directory, "zones"), polls)).stdout)
                self.assertEqual(found.get("view", {}).get("lacks"), lacks)


if __name__ == "__main__":
    program.main()
