#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatd in each shortage of a FreeBSD that it reports, as shortages.py does it for Linux.

    tests/guests/shortages_freebsd.py ADDRESS COMMAND...

COMMAND is a shell of root on that machine which stays while the shortages hold: `ssh root@freebsd sh`, better one that needs no network, such as
a serial line. ADDRESS is where its memstatd is reached from here: `freebsd:8947`. There, memstatd, memstatctl and provoke_freebsd
(`cc -o provoke_freebsd provoke_freebsd.c`) are in the PATH, and memstatd's account exists. Some limits are only set at boot, so that machine needs
the lines of BOOT in /boot/loader.conf, or those of MBUFS or KMEM, each in a boot of its own; rows whose limit is higher are left out. It is a machine for this purpose: its limits are
changed, and in some rows the kernel kills processes. $MEMSTAT_SHORTAGE and $MEMSTAT_SHORTAGE_SECONDS are those of shortages.py.
"""
import dataclasses
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import shortages  # noqa: E402
from shortages import Shortage  # noqa: E402

BOOT = {"kern.maxproc": 300, "kern.ipc.nmbclusters": 6000, "kern.ipc.maxpipekva": 4 << 20}
MBUFS = {"kern.ipc.maxmbufmem": 24 << 20}   # makes kern.ipc.nmbufs small
KMEM = {"vm.kmem_size": 192 << 20}


@dataclasses.dataclass
class OnFreeBsd(Shortage):
    boot: tuple = ()  # a sysctl, and its greatest value for which the row is made


def limit(name, value):
    return f"old=$(sysctl -n {name}); sysctl {name}={value} >/dev/null"


def back(name):
    return f"sysctl {name}=$old >/dev/null"


LIBRARIES = "open(2) of the program's libraries fails with ENFILE, except for root"
ROWS = (
    OnFreeBsd("none", (), "connection 1"),
    OnFreeBsd("open files: `kern.maxfiles=1200`, each that is freed is taken", ("files_full",), "file 5000", limit("kern.maxfiles", 1200),
              inside="ulimit -n 5000", undo=back("kern.maxfiles"), silent={"user": LIBRARIES, "start": "open(2) of the password file fails with ENFILE"}),
    OnFreeBsd("the table of processes: `kern.maxproc=300`", ("processes_full",), "process 400", limit("kern.maxprocperuid", 300),
              undo=back("kern.maxprocperuid"), boot=("kern.maxproc", 300)),
    OnFreeBsd("mbuf clusters: `kern.ipc.nmbclusters=6000`, 20 writers wait for one", ("mbuf_limit",), "cluster 100000",
              boot=("kern.ipc.nmbclusters", 6000)),
    OnFreeBsd("mbufs: all of `kern.ipc.nmbufs`, 20 writers wait for one", ("mbuf_limit",), "mbuf 1000000", inside="ulimit -n 9000",
              boot=("kern.ipc.nmbufs", 40000), silent=dict.fromkeys(("kept", "new", "url", "start"), "no packet is received without an mbuf")),
    OnFreeBsd("pipe buffers: `kern.ipc.maxpipekva` of 4 MiB", ("pipe_buffers_full",), "pipe 4000", inside="ulimit -n 9000",
              boot=("kern.ipc.maxpipekva", 4 << 20), silent={"start": "pipe(2) fails with ENOMEM"}),
    OnFreeBsd("vnodes: `kern.maxvnodes=1500`", ("vnode_waits", "table_full"), "vnode 4000", limit("kern.maxvnodes", 1500), inside="ulimit -n 9000",
              undo=back("kern.maxvnodes")),
    OnFreeBsd("wired pages of users: `vm.max_user_wired` of 16 MiB", ("user_wired_full",), "wired 4000", limit("vm.max_user_wired", 4096),
              undo=back("vm.max_user_wired")),
    OnFreeBsd("kernel memory: `vm.kmem_size` of 192 MiB", ("kmem_soft_limit", "kqueue_growth"), "kmem 4000", inside="ulimit -n 25000",
              boot=("vm.kmem_size", 192 << 20)),
    OnFreeBsd("listen queue of another server", ("accept_queue_full",), "connection 4000", inside="ulimit -n 5000"),
    OnFreeBsd("memory: all that is free, and the kernel kills", ("freebsd_oom_reclaim", "freebsd_oom_page_wait", "memory_low", "page_daemon_short"),
              "memory 8000", "swapoff -a 2>/dev/null", inside="while :; do chroot -u 1001 / provoke_freebsd memory 8000; sleep 0.2; done", user=0,
              patience=30),
    OnFreeBsd("memory and swap", ("freebsd_oom_reclaim", "freebsd_oom_page_wait", "swap_full", "swap_thrash", "memory_low", "page_daemon_short"),
              "memory 8000", "swapon -a",
              inside="while :; do chroot -u 1001 / provoke_freebsd memory 8000; sleep 0.2; done", user=0, undo="swapoff -a", patience=60),
)
ROWS = tuple(row for row in ROWS if re.search(shortages.MATCHING, row.name))
CONFIGURATION = shortages.CONFIGURATION.format(port=shortages.PORT).replace("10.0.2.0/24", "0.0.0.0/0")
# As in shortages.py, without /proc: nothing here needs a new process or a descriptor once the shortage holds.
FUNCTIONS = f"""
cat >/tmp/memstatd.yaml <<'END'
{CONFIGURATION}END
rm -rf /tmp/vnodes /tmp/never; mkdir /tmp/vnodes; chmod 1777 /tmp/vnodes; mkfifo /tmp/never; exec 8<>/tmp/never
SERVICE="memstatd --config /tmp/memstatd.yaml"
if command -v protect >/dev/null; then protect -p $$; SERVICE="protect -i $SERVICE"; fi
result() {{ echo "RESULT $*"; }}
# pause SECONDS: a child that ends interrupts read
pause() {{ paused=0; while [ $paused -lt "$1" ]; do read -t 1 nothing <&8; paused=$((paused + 1)); done; }}
# prepared NAME COMMAND...: a process that waits for `begin NAME` and becomes the command then
prepared() {{
  name=$1; shift; rm -f "/tmp/begin_$name" "/tmp/said_$name"; mkfifo "/tmp/begin_$name"
  "$@" <>"/tmp/begin_$name" >"/tmp/said_$name" 2>&1 8>&- &
  eval "PID_$name=$!"
}}
begin() {{ echo >"/tmp/begin_$1"; }}
# ended NAME SECONDS: waits for its end; its status is in $status, or "none"
ended() {{
  eval "pid=\\$PID_$1"; waited=0; status=none
  while [ $waited -lt "$2" ]; do
    case $(jobs -l) in *" $pid Running"*) ;; *) break ;; esac
    pause 1; waited=$((waited + 1))
  done
  [ $waited -lt "$2" ] || return 1
  wait "$pid"; status=$?
}}
said() {{ while read -r line; do echo "SAID $1 $line"; done <"/tmp/said_$1"; }}
ask() {{ result "shortage $1 asks $2"; begin "$2"; ended "$2" {shortages.PATIENCE} || kill -KILL $pid; said "$2"; result "shortage $1 asked_by $2 $status"; }}
"""


def one_script(number, row):
    taker = f'{row.inside}; exec {f"chroot -u {row.user} -g {row.user} / " if row.user else ""}provoke_freebsd {row.take}'
    why = "memstatctl why --json=compact"
    made = f"""
prepared first sh -c "read go; exec $SERVICE"; begin first; MEMSTATD=$PID_first
result shortage {number} begins; read answer
prepared root sh -c 'read go; exec {why}'
prepared user sh -c 'read go; exec chroot -u 1001 -g 1001 / {why}'
prepared next sh -c "read go; exec $SERVICE"
{row.prepare or ":"}
prepared take sh -c 'read go; {taker}'
begin take; waited=0
while [ ! -s /tmp/said_take ] && [ $waited -lt {row.patience} ]; do pause 1; waited=$((waited + 1)); done
said take; result shortage {number} holds; read answer
ask {number} root; ask {number} user
result shortage {number} stops; kill -TERM $MEMSTATD; ended first 30 || kill -KILL $pid; result shortage {number} stopped $status
begin next; ended next 4; result shortage {number} starts $status; read answer
kill -KILL $PID_take $PID_root $PID_user 2>/dev/null; pause 1; pkill -KILL provoke_freebsd; cd /; rm -rf /tmp/vnodes/*
{{ {row.undo}; }} 2>/dev/null
[ $status = none ] && {{ kill -TERM $PID_next; ended next 30 || kill -KILL $pid; }}
said first; said next
result shortage {number} over; read answer
"""
    if not row.boot:
        return made
    name, most = row.boot
    return f"if [ $(sysctl -n {name}) -gt {most} ]; then result shortage {number} unmade {name}={most}; else\n{made}\nfi\n"


class Watch(shortages.Watch):
    def unmade(self, number, setting, _):
        self.cells[number] = {"log": f"not made: the machine was not booted with {setting}"}
        print("  " + self.row(number), flush=True)


def main():
    address, *command = sys.argv[1:]
    watch = Watch(ROWS, shortages.ROOT / "build/bin", address)
    print("  | shortage | " + " | ".join(shortages.COLUMNS.values()) + " |\n  |" + "---|" * (len(shortages.COLUMNS) + 1), flush=True)
    script = FUNCTIONS + "".join(one_script(number, row) for number, row in enumerate(ROWS)) + "result shortages done\n"
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace") as shell:
        shell.stdin.write(f"cat >/tmp/shortages.sh <<'END_OF_SCRIPT'\n{script}END_OF_SCRIPT\nsh /tmp/shortages.sh\n")
        shell.stdin.flush()
        for line in shell.stdout:
            if "RESULT shortages done" in line:
                break
            if answer := watch.hear(re.sub(r"^.*?(?=RESULT |SAID )", "", line).strip()):  # without prompts of the shell
                shell.stdin.write(answer)
                shell.stdin.flush()
        shell.terminate()
    wrong = watch.wrong + [f"{row.name}: it did not end" for number, row in enumerate(ROWS) if "log" not in watch.cells.get(number, {})]
    print("\n".join(wrong) or "nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
