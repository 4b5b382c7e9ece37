#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd in each shortage that it reports: a guest makes the shortages of a table one after the other, and this machine asks the guest's
memstatd through QEMU's network, as a Prometheus would.

The guest runs memstatd with the account, the capability, the limits and the control group of its systemd unit. It makes a shortage, prints
"shortage N holds", and waits while this machine asks: on one connection that is kept, on a new one each time, and `memstatctl why --from URL`.
Then it asks by `memstatctl why` on the spot as root and as the user who caused it, stops memstatd, and starts it again, all within the
shortage. These programs wait in processes that were made before, since the kernel may refuse new ones. An answer to a scrape within 3 s is
*answered*, within 15 s *late*, otherwise *silent*. `why` on the spot and a start take long in an emulated machine: compare with the first row. $MEMSTAT_SHORTAGE is a regular expression for the names of the shortages to make,
$MEMSTAT_SHORTAGE_SECONDS how long each is asked about.
"""
import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import program  # noqa: E402

PORT = 8947
INTERVAL = 5   # seconds between two polls
ANSWERED, LATE = 3, 15
PATIENCE = 60  # seconds for what takes long in an emulated machine even without a shortage: starting, and `why` on the spot
SECONDS = int(os.environ.get("MEMSTAT_SHORTAGE_SECONDS", "40"))  # how long each shortage is asked about
CONFIGURATION = """\
listen: ["0.0.0.0:{port}"]
allow: ["10.0.2.0/24", "127.0.0.0/8"]
poll: {{interval: 5s}}
"""
GROUP = "/sys/fs/cgroup/system.slice/memstatd.service"


@dataclasses.dataclass
class Shortage:
    name: str             # in the table
    causes: tuple         # one of which `why` must have first; empty: there is no shortage
    take: str = ""        # KIND NUMBER [PER_SECOND] of provoke; empty: `prepare` makes the shortage
    prepare: str = ""     # lines of shell, once memstatd serves; its process is $MEMSTATD
    user: int = 1001      # who takes; 0: root
    inside: str = ":"     # lines of shell of the process that takes
    undo: str = ":"       # lines of shell; the processes that took are gone by then, unless the kernel refuses new processes before
    silent: dict = dataclasses.field(default_factory=dict)  # {column: the reason that the kernel gives for no answer there}
    patience: int = 30    # seconds until it is made
    unit: str = ":"       # lines of shell of memstatd's own process, before it becomes memstatd; without double quotes
    options: str = ""     # more of memstatd's arguments
    counts: bool = False  # memstatd counts in turn what shows the shortage, with CAP_SYS_PTRACE as holders.conf permits it


# The columns of the table, by what they are called here.
COLUMNS = {"kept": "kept connection", "new": "new connections", "polls": "longest time between polls", "url": "`why --from URL`", "root": "`why` as root",
           "user": "`why` as the user", "stop": "stop", "start": "start", "log": "log"}


def at(path, value):
    return f"echo '{value}' >/proc/sys/{path}"


JOIN = "echo $$ >/sys/fs/cgroup/crowd/cgroup.procs"
SWAP = "insmod /modules/virtio_blk.ko 2>/dev/null; sleep 1; mkswap /dev/vda >/dev/null; swapon /dev/vda"
NO_THREADS = {"start": "clone(2) of its threads fails with EAGAIN"}
COUNT_SECONDS = 400  # in which memstatd has counted each limit once, even if each question takes all of its time
# A disk of 64 MiB with a directory in which memstatd may write.
MOUNT = ("[ -d /tmp/disk ] || { for name in virtio_blk crc16 mbcache jbd2 ext4; do insmod /modules/$name.ko; done; sleep 1; mke2fs -m 0 /dev/vda; "
         "mkdir /tmp/disk; mount -t ext4 /dev/vda /tmp/disk; mkdir /tmp/disk/own; chown 997:997 /tmp/disk/own; } >/dev/null 2>&1").replace("$", r"\$")
SHORTAGES = (
    Shortage("none", (), "nothing 1"),
    Shortage("open files: `fs.file-max=1500`, each that is freed is taken", ("open_files_full",), "open 5000",
             at("fs/file-max", 1500), inside="ulimit -n 6000", undo=at("fs/file-max", 100000),
             silent=dict.fromkeys(("user", "start"), "open(2) of the program's libraries fails with ENFILE, except for CAP_SYS_ADMIN")),
    Shortage("threads: `kernel.threads-max=200`", ("threads_full",), "process 400", at("kernel/threads-max", 200), undo=at("kernel/threads-max", 7000),
             silent=NO_THREADS),
    Shortage("process numbers: `kernel.pid_max=400`", ("threads_full",), "thread 500", at("kernel/pid_max", 400), undo=at("kernel/pid_max", 32768),
             silent=NO_THREADS),
    Shortage("threads of another user (`RLIMIT_NPROC`)", ("user_tasks_full",), "process 200", inside="ulimit -u 60", counts=True),
    Shortage("threads of memstatd's own user", ("user_tasks_full",), "process 200", user=997, inside="ulimit -u 30", unit="ulimit -u 30", counts=True),
    Shortage("tasks of its own group: `pids.max` as many as there are", ("cgroup_tasks_full",), "nothing 1",
             f"read -r now <{GROUP}/pids.current; echo $now >{GROUP}/pids.max", undo=f"echo 128 >{GROUP}/pids.max", silent=NO_THREADS),
    Shortage("memory of its own group: `memory.max` 1 MiB more than it uses", (), "nothing 1",  # not at its limit, so there is nothing to find
             f"read -r now <{GROUP}/memory.current; echo $((now + 1048576)) >{GROUP}/memory.max", undo=f"echo 256M >{GROUP}/memory.max",
             silent={"start": "the group's limit kills it, which is below the 20 MiB that a start needs"}),
    Shortage("TCP memory: `net.ipv4.tcp_mem` 1024 pages", ("tcp_memory_full", "tcp_pressure"), "tcp_unread 30",
             f"read -r mem </proc/sys/net/ipv4/tcp_mem; {at('net/ipv4/tcp_mem', '256 512 1024')}", undo="echo $mem >/proc/sys/net/ipv4/tcp_mem"),
    Shortage("tracked connections: `nf_conntrack_max=50`", ("conntrack_full",), "send_to_new_address 100000 100",
             "; ".join((at("net/netfilter/nf_conntrack_udp_timeout", 3600), at("net/netfilter/nf_conntrack_max", 50))),
             undo=at("net/netfilter/nf_conntrack_max", 65536),
             silent=dict.fromkeys(("new", "url", "start"), "the kernel drops the packets of connections that it cannot track")),
    Shortage("listen queue of another server", ("accept_queue_full", "listen_overflow"), "unaccepted 4000 20"),
    Shortage("a tmpfs of 4 MiB", ("tmpfs_full",), "write 20", user=0, inside="export PROVOKE_FILE=/tmp/small/file", undo="rm /tmp/small/file"),
    Shortage("a disk of 64 MiB, to which memstatd records", (), "write 100", user=0, inside="export PROVOKE_FILE=/tmp/disk/file", unit=MOUNT,
             options="--record /tmp/disk/own/polls", undo="rm /tmp/disk/file; umount -l /tmp/disk; rmdir /tmp/disk"),
    Shortage("inotify watches: `max_user_watches=20`", ("inotify_watches_full",), "watch 40", at("fs/inotify/max_user_watches", 20),
             undo=at("fs/inotify/max_user_watches", 8192), counts=True),
    Shortage("inotify instances: `max_user_instances=20`", ("inotify_instances_full",), "inotify 40", at("fs/inotify/max_user_instances", 20),
             undo=at("fs/inotify/max_user_instances", 128), counts=True),
    Shortage("pipe pages: `fs.pipe-user-pages-soft=1024`, `-hard=1100`", ("pipes_full", "pipe_quota", "pipe_buffers_full"), "pipe 2000",
             "; ".join((at("fs/pipe-user-pages-soft", 1024), at("fs/pipe-user-pages-hard", 1100))), inside="ulimit -n 6000",
             undo="; ".join((at("fs/pipe-user-pages-soft", 16384), at("fs/pipe-user-pages-hard", 0))), counts=True),
    Shortage("mappings: `vm.max_map_count=100`, fewer than memstatd has", ("process_maps_full",), "map 200", at("vm/max_map_count", 100),
             undo=at("vm/max_map_count", 65530), counts=True,
             silent={"start": "mprotect(2) of its libraries fails with ENOMEM", "url": "above the limit memstatd can neither make nor split a mapping"}),
    Shortage("BPF and perf descriptors: a program has all that it may open", ("process_files_full",), "perf_ring 400 100", user=0,
             inside="export PROVOKE_FILES=200", counts=True),
    Shortage("memory: all that is free, and the kernel kills", ("machine_oom_kill", "memory_low", "killed_before"), "memory 4000", user=1001,
             inside="while :; do ( echo 1000 >/proc/self/oom_score_adj; exec /bin/setpriv --reuid 1001 provoke memory 4000 ); sleep 0.2; done", patience=20),
    Shortage("memory and swap", ("machine_oom_kill", "memory_low", "killed_before", "swap_full", "swap_thrash"), "random 4000", SWAP, user=1001,
             inside="while :; do ( echo 1000 >/proc/self/oom_score_adj; exec /bin/setpriv --reuid 1001 provoke random 4000 ); sleep 0.2; done",
             undo="swapoff /dev/vda", patience=60),
)
MATCHING = os.environ.get("MEMSTAT_SHORTAGE", "")
ROWS = tuple(row for row in SHORTAGES if re.search(MATCHING, row.name))
FUNCTIONS = f"""
exec 8<>/tmp/never
# pause SECONDS: without a new process; a child that ends interrupts read
pause() {{
  read -r now rest </proc/uptime; until=$((${{now%.*}} + $1))
  while [ "${{now%.*}}" -lt $until ]; do read -t 1 nothing <&8; read -r now rest </proc/uptime; done
}}
# SERVICE: what systemd's unit runs
SERVICE="/bin/setpriv --reuid 997 --regid 997 --clear-groups --inh-caps -all,+dac_read_search --ambient-caps -all,+dac_read_search"
SERVICE="$SERVICE --bounding-set -all,+dac_read_search --no-new-privs memstatd --config /memstatd.yaml"
# COUNTING: the same with holders.conf
COUNTING=$(echo "$SERVICE" | sed 's/+dac_read_search/&,+sys_ptrace/g')
# prepared NAME COMMAND...: a process that waits for `begin NAME` and becomes the command then
prepared() {{
  name=$1; shift; rm -f "/tmp/begin_$name" "/tmp/said_$name"; mkfifo "/tmp/begin_$name"
  "$@" <>"/tmp/begin_$name" >"/tmp/said_$name" 2>&1 &
  eval "PID_$name=$!"
}}
begin() {{ echo >"/tmp/begin_$1"; }}
# ended NAME SECONDS: waits for its end; its status is in $status, or "none"
ended() {{
  eval "pid=\\$PID_$1"; waited=0; status=none
  while [ $waited -lt "$2" ]; do
    read -r stat <"/proc/$pid/stat" 2>/dev/null || break
    case $stat in *") Z "*) break ;; esac
    pause 1; waited=$((waited + 1))
  done
  [ $waited -lt "$2" ] || return 1
  wait "$pid"; status=$?
}}
said() {{ while read -r line; do echo "SAID $1 $line"; done <"/tmp/said_$1"; }}
ask() {{ result "shortage $1 asks $2"; begin "$2"; ended "$2" 60 || kill -KILL $pid; said "$2"; result "shortage $1 asked_by $2 $status"; }}
"""
BEGIN = f"""
mkdir /tmp/small; mount -t tmpfs -o size=4M tmpfs /tmp/small
mkdir -p /sys/fs/cgroup/system.slice; echo "+memory +pids" >/sys/fs/cgroup/system.slice/cgroup.subtree_control
mkdir -p {GROUP}; echo 256M >{GROUP}/memory.max; echo 128 >{GROUP}/pids.max
ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; echo 0 >/proc/sys/vm/panic_on_oom
echo 0 >/proc/sys/kernel/printk
"""


def one_script(number, row):
    taker = f'{row.inside}; exec {f"/bin/setpriv --reuid {row.user} --clear-groups " if row.user else ""}provoke {row.take}'
    service = f"read go; . /unit.sh; {row.unit}; exec {'$COUNTING' if row.counts else '$SERVICE'} {row.options}"
    why = "memstatctl why --json=compact"
    return f"""
prepared first sh -c "{service}"; begin first; MEMSTATD=$PID_first
result shortage {number} begins; read -t 200 answer
prepared root sh -c 'read go; exec {why}'
prepared user sh -c 'read go; exec /bin/setpriv --reuid 1001 --clear-groups {why}'
prepared next sh -c "{service}"
prepared take sh -c 'read go; {taker}'
{row.prepare or ":"}
begin take; waited=0
while [ ! -s /tmp/said_take ] && [ $waited -lt {row.patience} ]; do pause 1; waited=$((waited + 1)); done
said take; result shortage {number} holds; read -t 900 answer
ask {number} root; ask {number} user
result shortage {number} stops; kill -TERM $MEMSTATD; ended first 30 || kill -KILL $pid; result shortage {number} stopped $status
begin next; ended next 4; result shortage {number} starts $status; read -t 200 answer
kill -KILL $PID_take $PID_root $PID_user 2>/dev/null; pause 1
{{ {row.undo}; }} 2>/dev/null
killall -KILL provoke 2>/dev/null
[ $status = none ] && {{ kill -TERM $PID_next; ended next 30 || kill -KILL $pid; }}
said first; said next
result shortage {number} over; read -t 200 answer
"""


def script(rows=ROWS):
    unit = f"cat >/unit.sh <<'END'\necho -900 >/proc/self/oom_score_adj; echo 0 >{GROUP}/cgroup.procs; ulimit -l unlimited; ulimit -n 1024; ulimit -c 0\nEND\n"
    return unit + FUNCTIONS + BEGIN + "".join(one_script(number, row) for number, row in enumerate(rows))


def verdict(seconds):
    """The word for an answer after that time; None: there was none."""
    return "silent" if seconds is None or seconds > LATE else "answered" if seconds <= ANSWERED else "late"


class Asker:
    """Asks for the page again and again, on a kept connection or on new ones, and keeps how long each answer took."""

    def __init__(self, address, keeps):
        self.address, self.keeps = address, keeps
        self.connection = None
        self.took, self.failures, self.polled = [], [], []  # seconds or None; texts; (this machine's time, time of the page's poll)

    def ask(self):
        begin = time.monotonic()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.address, timeout=LATE)
            self.connection.request("GET", "/metrics")
            page = self.connection.getresponse().read().decode()
            self.took.append(time.monotonic() - begin)
            if match := re.search(r"^memstat_poll_timestamp_seconds (\S+)", page, re.M):
                self.polled.append((time.monotonic(), float(match[1])))
        except (OSError, http.client.HTTPException) as error:
            self.took.append(None)
            self.failures.append(f"{type(error).__name__}: {error}")
        if not self.keeps or self.took[-1] is None:
            self.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def ask_until(self, end):
        while time.monotonic() < end:
            self.ask()
            time.sleep(2)

    def words(self):
        """"9 of 10 answered, 1 late (7 s)"."""
        verdicts = [verdict(seconds) for seconds in self.took]
        late = max((seconds for seconds in self.took if verdict(seconds) == "late"), default=0)
        rest = [f"{verdicts.count(word)} {word}{f' ({late:.0f} s)' if word == 'late' else ''}" for word in ("late", "silent") if word in verdicts]
        failures = f" ({self.failures[0]})" if self.failures else ""
        return ", ".join([f"{verdicts.count('answered')} of {len(verdicts)} answered", *rest]) + failures


def cause_of(text, causes):
    """What the answer of `why`, compact JSON, has first, and whether that is one of the causes."""
    try:
        answer = next(line for line in text.splitlines() if line.startswith("{"))
        answer = json.loads(answer)
        found = [finding["cause"] for finding in answer["findings"]]
    except (StopIteration, ValueError, KeyError):
        return f"says {text.strip()[:200]!r}", False
    if not causes:
        return f"{len(found)} findings", True
    place = next((number for number, cause in enumerate(found) if cause in causes), None)
    if place is None:
        unchecked = next((f"not checked: {one['why']}" for one in answer.get("not_checked", []) if one["cause"] in causes), "ruled out")
        return f"{unchecked}; it has {', '.join(found[:2]) or 'nothing'}", False
    return (f"`{found[0]}` first" if place == 0 else f"`{found[place]}` after {', '.join(found[:place])}"), place == 0


class Watch:
    """What this machine saw of each shortage."""

    def __init__(self, rows, programs, address):
        self.rows, self.programs, self.address = rows, programs, address
        self.cells = {}   # number: {column: text}
        self.wrong = []
        self.said = {}    # name: lines
        self.asked = {}   # what: this machine's time
        self.kept = None
        self.devices = ()  # of the guest

    def hear(self, line):
        """The answer to a line of the guest, or None. Returns once what the line asks for is done."""
        if match := re.match(r"SAID (\w+) (.*)", line):
            self.said.setdefault(match[1], []).append(match[2].strip())
        match = re.match(r"RESULT shortage (\d+) (\w+)\s*(\S*)\s*(\S*)", line)
        return getattr(self, match[2])(int(match[1]), match[3], match[4]) if match else None

    def first_answer(self, patience):
        """Seconds until a page comes, or None."""
        begin = time.monotonic()
        while time.monotonic() < begin + patience:
            asker = Asker(self.address, False)
            asker.ask()
            if asker.polled:
                return time.monotonic() - begin
            time.sleep(0.5)
        return None

    def begins(self, number, *_):
        self.said, self.cells[number] = {}, {}
        if self.first_answer(180) is None:
            self.wrong.append(f"{self.rows[number].name}: memstatd did not start before the shortage")
        self.kept = Asker(self.address, True)
        self.kept.ask()
        self.kept.took.clear()
        self.kept.polled.clear()
        return "go\n"

    def why_by_url(self):
        begin = time.monotonic()
        try:
            done = subprocess.run([self.programs / "memstatctl", "why", "--json=compact", "--from", f"http://{self.address}"],
                                  capture_output=True, text=True, timeout=30, check=False)
        except subprocess.TimeoutExpired:
            return None, ""
        return time.monotonic() - begin, done.stdout or done.stderr

    def holds(self, number, *_):
        """The shortage is made: asks for SECONDS."""
        row, cells = self.rows[number], self.cells[number]
        begin = time.monotonic()
        cells["made"] = " ".join(self.said.get("take", ["-"]))
        new = Asker(self.address, False)
        end = time.monotonic() + SECONDS
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asking = [pool.submit(asker.ask_until, end) for asker in (self.kept, new)]
            time.sleep(SECONDS - 5)  # some sources are read each 30 s
            took, text = self.why_by_url()
            for future in asking:
                future.result()
        words, is_good = cause_of(text, row.causes)
        while row.counts and not is_good and time.monotonic() < begin + COUNT_SECONDS:
            time.sleep(5)
            took, text = self.why_by_url()
            words, is_good = cause_of(text, row.causes)
        if row.counts and is_good:
            words += f", {time.monotonic() - begin:.0f} s after the shortage began"
        polls = sorted({poll for _, poll in self.kept.polled + new.polled})
        gaps = [later - earlier for earlier, later in zip(polls, polls[1:])]
        cells |= {"kept": self.kept.words(), "new": new.words(), "polls": f"{max(gaps):.0f} s" if gaps else "none"}
        for column, asker in (("kept", self.kept), ("new", new)):
            self.judge(number, column, sum(verdict(seconds) == "answered" for seconds in asker.took) >= 0.9 * len(asker.took))
        cells["url"] = f"{took or 0:.1f} s: {words}" if verdict(took) != "silent" else "silent"
        self.judge(number, "url", is_good)
        return "go\n"

    def judge(self, number, column, is_good):
        """What is not good is wrong, unless the row has the kernel's reason for it."""
        row, cells = self.rows[number], self.cells[number]
        if is_good:
            return
        if reason := row.silent.get(column):
            cells[column] = f"silent: {reason}"
        else:
            self.wrong.append(f"{row.name}: {column}: {cells[column]}")

    def asks(self, _, name, *_rest):
        self.asked[name] = time.monotonic()

    def asked_by(self, number, name, status):
        """`why` on the spot has ended."""
        took = time.monotonic() - self.asked[name]
        text = "\n".join(self.said.get(name, []))
        words, is_good = cause_of(text, self.rows[number].causes)
        self.cells[number][name] = "silent" if status == "none" else f"{took:.0f} s: {words}"
        has_no_time = "had time for only" in words  # an inspection may use 0.2 s of CPU, in which an emulated one reads a process or two
        self.judge(number, name, (is_good or has_no_time) and status != "none")

    def stops(self, *_):
        self.asked["stop"] = time.monotonic()

    def stopped(self, number, status, *_):
        self.cells[number]["stop"] = f"{time.monotonic() - self.asked['stop']:.0f} s" if status == "0" else f"status {status}"
        self.judge(number, "stop", status == "0")

    def starts(self, number, status, *_):
        took = self.first_answer(PATIENCE) if status == "none" else None
        self.cells[number]["start"] = "silent" if took is None else f"{took:.0f} s"
        self.judge(number, "start", took is not None)
        self.kept.close()
        return "go\n"

    def over(self, number, *_):
        logged = [re.sub(r"^\S+ ", "", line) for name in ("first", "next") for line in self.said.get(name, [])]
        self.cells[number]["log"] = " / ".join(line for line in dict.fromkeys(logged) if re.match("warning|error", line))[:200] or "nothing"
        print("  " + self.row(number), flush=True)
        return "go\n"

    def row(self, number):
        cells = self.cells[number]
        return f"| {self.rows[number].name} | " + " | ".join(cells.get(name, "-") for name in COLUMNS) + " |"


@contextlib.contextmanager
def outside(rows=ROWS):
    """A Watch for the time of one guest."""
    with tempfile.TemporaryDirectory(prefix="memstat-shortages-") as directory:
        swap = pathlib.Path(directory) / "swap"
        with open(swap, "wb") as file:
            file.truncate(64 << 20)
        print("  | shortage | " + " | ".join(COLUMNS.values()) + " |\n  |" + "---|" * (len(COLUMNS) + 1))
        watch = Watch(rows, ROOT / "build/bin", f"127.0.0.1:{program.free_port()}")
        watch.devices = ("-device", "e1000,netdev=net", "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:{watch.address}-:{PORT}",
                         "-drive", f"file={swap},if=none,id=swap,format=raw", "-device", "virtio-blk-pci,drive=swap")
        yield watch


def check(outcome):
    """Returns the errors; the table has been printed."""
    watch = outcome.watch
    return watch.wrong + [f"{row.name}: it did not end" for number, row in enumerate(watch.rows) if "log" not in watch.cells.get(number, {})]
