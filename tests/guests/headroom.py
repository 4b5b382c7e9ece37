#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Headroom by experiment: a control group with a limit is filled in a certain way, memstatd polls, and a program in it allocates memory until
the kernel kills it. What it got must be memstat_memcg_headroom_bytes within 5 % or 8 MiB, else the group must have been uncertain.

The rows are lines of shell for a guest, and for this machine (tests/end_to_end/headroom_test.py). $NAME is the group's name, $G its directory, $MAX the name of the
file of its limit, $DISK a directory of a disk's file system. $MEMSTAT_HEADROOM, a regular expression, selects rows by name.
"""
import dataclasses
import os
import re

MIB = 1 << 20
CONFIGURATION = """\
listen: ["127.0.0.1:{port}"]
poll: {{interval: 1s, timeout: 5s}}
user: "{user}"
"""


@dataclasses.dataclass
class Filling:
    name: str
    fill: str                # lines of shell; `take DIRECTORY KIND NUMBER` keeps that many things of provoke in the group
    group: str = ""          # below $G, in which the program allocates
    limit: str = "192M"      # of $G
    doubts: str = ""         # reasons for which it may be uncertain, a regular expression
    polls: int = 10          # after which it is asked; swap and version 1's limits are read at every eighth, memory.min at every 64th
    undo: str = ":"
    version: int = 0         # of control groups; 0: both
    anywhere: bool = True    # it changes nothing of the machine but its group


def file_of(mib, name="file"):
    """A file that is on the disk and in nobody's cache."""
    return f"PROVOKE_FILE=$DISK/{name} provoke write {mib} >$TMP/made & wait_for $TMP/made; kill $!; sync; drop $DISK/{name}"


def below(*groups, controllers="echo +memory >$G/cgroup.subtree_control"):
    return f"[ $VERSION = 1 ] || {controllers}; mkdir -p " + " ".join(f"$G/{group}" for group in groups)


READ = "PROVOKE_FILE=$DISK/file take $G{group} read {mib}"
KERNEL = "kernel_memory"
FILLINGS = (
    Filling("nothing", ":"),
    Filling("program memory", "take $G memory 64"),
    Filling("nearly full", "take $G memory 180"),
    Filling("clean cache, read once", f"{file_of(150)}; {READ.format(group='', mib=150)}"),
    Filling("clean cache, read three times", f"{file_of(96)}; {READ.format(group='', mib=288)}"),
    Filling("a file larger than the limit", f"{file_of(300)}; {READ.format(group='', mib=300)}"),
    Filling("cache and program memory", f"{file_of(120)}; {READ.format(group='', mib=120)}; take $G memory 60"),
    Filling("cache of a mapped file", f"{file_of(96)}; PROVOKE_MIB=96 PROVOKE_FILE=$DISK/file take $G mapped 192"),
    Filling("dirty cache", "PROVOKE_FILE=$DISK/file take $G write 96"),
    Filling("tmpfs", "PROVOKE_FILE=/dev/shm/$NAME take $G write 64", undo="rm -f /dev/shm/$NAME"),
    Filling("a memfd", "take $G filled_memfd 40"),
    Filling("a locked file", f"{file_of(64)}; PROVOKE_FILE=$DISK/file take $G locked_file 64"),
    Filling("locked memory", "take $G locked 48"),
    Filling("names of missing files", "PROVOKE_FILE=$DISK take $G missing 150000", doubts=KERNEL),
    Filling("files without content", "mkdir $DISK/files; PROVOKE_FILE=$DISK/files take $G file 15000", doubts=KERNEL, undo="rm -r $DISK/files"),
    Filling("page tables", "take $G page_table 600", doubts=KERNEL),
    Filling("full pipes", "take $G full_pipe 40", doubts=KERNEL),
    Filling("unread unix sockets", "take $G unread_unix 150", doubts=KERNEL),
    Filling("unread TCP sockets", "take $G tcp_unread 8", doubts=KERNEL),
    Filling("threads", "take $G thread 400", doubts=KERNEL),
    Filling("segments of System V", "take $G shm 40"),
    Filling("the group above is tighter", f"{below('inner', 'sibling')}; echo 256M >$G/inner/$MAX; take $G/sibling memory 100", group="/inner"),
    Filling("the group itself is tighter", f"{below('inner', 'sibling')}; echo 96M >$G/inner/$MAX; take $G/sibling memory 40; take $G/inner memory 20",
            group="/inner"),
    Filling("cache of a sibling", f"{below('inner', 'sibling')}; {file_of(120)}; {READ.format(group='/sibling', mib=240)}", group="/inner"),
    Filling("memory.low of a sibling", f"{below('inner', 'sibling')}; echo 80M >$G/sibling/memory.low; {file_of(120)}; "
            f"{READ.format(group='/sibling', mib=240)}", group="/inner", version=2),
    Filling("memory.min of a sibling", f"{below('inner', 'sibling')}; echo 80M >$G/sibling/memory.min; {file_of(120)}; "
            f"{READ.format(group='/sibling', mib=240)}", group="/inner", version=2, polls=66),
    Filling("memory.min of the group", f"{below('inner', 'sibling')}; echo 80M >$G/inner/memory.min; {file_of(120)}; "
            f"{READ.format(group='/inner', mib=240)}; take $G/sibling memory 20", group="/inner", version=2, polls=66),
    Filling("swap", "swapon /dev/ram0; take $G memory 150", undo="swapoff /dev/ram0", anywhere=False),
    Filling("a share of swap", "swapon /dev/ram0; echo 40M >$G/memory.swap.max; take $G memory 150", undo="swapoff /dev/ram0", version=2, anywhere=False),
    Filling("a limit of memory and swap", "swapon /dev/ram0; echo 230M >$G/memory.memsw.limit_in_bytes; take $G memory 150", undo="swapoff /dev/ram0",
            version=1, anywhere=False),
    Filling("no swap for the group below", f"swapon /dev/ram0; {below('inner', 'sibling')}; echo 0 >$G/inner/memory.swap.max; take $G/sibling memory 100",
            group="/inner", undo="swapoff /dev/ram0", doubts="swap", version=2, anywhere=False),
    Filling("huge pages", "take $G huge 8", anywhere=False),
    Filling("the machine is tighter", f"{file_of(100)}; {READ.format(group='', mib=100)}", limit="8G", doubts=f"{KERNEL}|swap", anywhere=False),
)

PRELUDE = r"""
wait_for() { for _ in $(seq 600); do [ -s $1 ] && return; sleep 0.2; done; result wrong "nothing in $1"; }
drop() { dd if=$1 iflag=nocache count=0 2>/dev/null || echo 1 >/proc/sys/vm/drop_caches; }
polls() { until page $TMP/page 2>/dev/null; do sleep 0.2; done; sed -n 's/^memstat_poll_duration_seconds_count //p' $TMP/page; }
after_polls() { end=$(($(polls) + $1)); until [ "$(polls)" -ge $end ]; do sleep 0.2; done; }
# take DIRECTORY KIND NUMBER
take() {
  rm -f $TMP/taken
  sh -c 'echo $$ >$0/cgroup.procs; exec provoke $1 $2' "$@" >$TMP/taken 2>&1 &
  TAKERS="$TAKERS $!"
  wait_for $TMP/taken
  grep -q ": made" $TMP/taken || result "  $(cat $TMP/taken)"
}
# clear DIRECTORY...: from the innermost
clear() { for directory in "$@"; do [ -d $directory ] && for _ in $(seq 100); do rmdir $directory 2>/dev/null && break; sleep 0.1; done; done; }
value() { sed -n "s|^memstat_memcg_headroom_$1{group=\"$2\",until=\"max\"$3} ||p" $TMP/page; }
"""
ROW = r"""
G=$CGROUPS/$NAME; TAKERS=; mkdir $G; echo {limit} >$G/$MAX
{fill}
after_polls {polls}
group=/$NAME{group}
figure=$(value bytes $group)
doubt=$(sed -n "s|^memstat_memcg_headroom_uncertain{{group=\"$group\",until=\"max\",reason=\"\(.*\)\"}} 1|\1|p" $TMP/page)
echo 0 >$TMP/count
{{ PROVOKE_FILE=$TMP/count sh -c 'echo 1000 >/proc/self/oom_score_adj; echo $$ >$0/cgroup.procs; exec provoke counted 1000000' $G{group}; }} >/dev/null 2>&1
read -r count <$TMP/count
result headroom {number} "${{figure:-none}}" "${{doubt:-certain}}" $((count * 262144))
for process in $TAKERS; do kill -9 $process; wait $process; done 2>/dev/null
{undo}
rm -f $DISK/file
clear $G/inner $G/sibling $G
"""
START = r"""
insmod /modules/brd.ko rd_nr=2 rd_size=400000
for name in crc32c_generic crc16 mbcache jbd2 ext4; do insmod /modules/$name.ko; done
mkdir -p /tmp/disk /dev/shm; mount -t tmpfs tmpfs /dev/shm; mke2fs -m 0 /dev/ram1 >/dev/null; mount -t ext4 /dev/ram1 /tmp/disk; mkswap /dev/ram0 >/dev/null
TMP=/tmp; NAME=headroom; DISK=/tmp/disk; CGROUPS=/sys/fs/cgroup; VERSION=2; MAX=memory.max
[ -d /sys/fs/cgroup/memory ] && { CGROUPS=/sys/fs/cgroup/memory; VERSION=1; MAX=memory.limit_in_bytes; }
start_memstatd || return 0
"""


def rows_of(version, anywhere=False, usual=".*"):
    """[(number, Filling)] for control groups of that version, or those that change nothing else. `usual`: without $MEMSTAT_HEADROOM."""
    wanted = re.compile(os.environ.get("MEMSTAT_HEADROOM", usual))
    return [(number, row) for number, row in enumerate(FILLINGS)
            if row.version in (0, version) and (row.anywhere or not anywhere) and wanted.fullmatch(row.name)]


def lines(rows):
    return PRELUDE + "".join(ROW.format(number=number, **dataclasses.asdict(row)) for number, row in rows)


def script(version):
    return START + lines(rows_of(version))


def judge(answers, rows):
    """(a table, the errors) of the answers "headroom NUMBER FIGURE DOUBT GOT"."""
    found = {int(match[1]): match.groups()[1:] for answer in answers if (match := re.fullmatch(r"headroom (\d+) (\S+) (\S+) (\d+)", answer))}
    table, wrong, differences = ["| filling | figure, MiB | really, MiB | difference, MiB | |", "|---|---|---|---|---|"], [], []
    for number, row in rows:
        if number not in found:
            wrong.append(f"{row.name}: it did not end")
            continue
        figure, doubt, got = found[number][0], found[number][1], int(found[number][2])
        if figure == "none":
            table.append(f"| {row.name} | uncertain | {got / MIB:.1f} | | {doubt} |")
            if not re.fullmatch(row.doubts, doubt):
                wrong.append(f"{row.name}: no figure ({doubt}), which this filling does not excuse")
            continue
        difference = int(figure) - got
        differences.append(abs(difference))
        table.append(f"| {row.name} | {int(figure) / MIB:.1f} | {got / MIB:.1f} | {difference / MIB:+.1f} | {100 * difference / max(got, 1):+.1f} % |")
        if abs(difference) > max(8 * MIB, 0.05 * got):
            wrong.append(f"{row.name}: {int(figure) / MIB:.1f} MiB, and the program got {got / MIB:.1f}")
    if differences:
        differences.sort()
        table.append(f"{len(differences)} figures: half within {differences[len(differences) // 2] / MIB:.1f} MiB, all within {differences[-1] / MIB:.1f} MiB")
    return table, wrong


def check(version):
    def check_outcome(outcome):
        table, wrong = judge(outcome.lines, rows_of(version))
        print("\n".join(f"  {line}" for line in table))
        return wrong
    return check_outcome
