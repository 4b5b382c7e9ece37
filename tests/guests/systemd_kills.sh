#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Part `kills` of systemd.py: the service as installed, with the drop-ins for the log, the journal and holders, while the kernel, earlyoom,
# nohang and systemd-oomd kill. For each kill: how long until its incident is in the directory, who is named as the killer, and who as
# the holder of the memory. Incidents of one cause are a minute apart, so each round has a kill of each of five causes.
# shellcheck disable=SC1091,SC2016,SC2086,SC2154,SC2206
. /systemd_functions.sh
shopt -s nullglob

incidents=/var/lib/memstatd/incidents
examples=/usr/share/doc/memstatd/examples
rounds=$(cat /rounds)
killers=(earlyoom nohang systemd-oomd)
kills=0 named=0 held=0 quick=0

# list PATTERNS: files of incidents of these causes, into the array `found`. No command is run, since each takes a while here.
list() {
  local pattern
  found=()
  for pattern in $1; do found+=("$incidents"/*-$pattern.tar.zst); done
}
# pause SECONDS: waits for input that never comes.
pause() { read -r -t "$1" -u 9 || true; }
# microseconds TIME: of EPOCHREALTIME.
microseconds() { echo $((${1/[.,]/})); }

# is_killed KILLER CAUSES PROPERTIES -- COMMAND...: COMMAND runs in a scope with these properties until it is killed.
is_killed() {
  local killer=$1 causes=$2 properties=() dead wait=0 before word hog guard right
  shift 2
  while [ "$1" != -- ]; do
    properties+=(-p "$1")
    shift
  done
  shift
  list "$causes"
  before=" ${found[*]} "
  kills=$((kills + 1))
  systemd-run --quiet --scope --unit="hog$kills" "${properties[@]}" "$@" >/dev/null 2>&1 &
  hog=$!
  {
    pause 150
    kill -KILL $hog
  } &
  guard=$!
  if [ "$killer" = "kernel (SysRq f)" ]; then
    pause 6
    echo f >/proc/sysrq-trigger
  fi
  wait $hog
  dead=$EPOCHREALTIME
  if ! kill $guard; then
    result "kill $kills by $killer: nobody killed it"
    return
  fi
  new=
  while [ -z "$new" ] && [ $wait -lt 600 ]; do
    list "$causes"
    for word in "${found[@]}"; do
      case $before in *" $word "*) ;; *) new=$word ;; esac
    done
    [ -n "$new" ] || pause 0.05
    wait=$((wait + 1))
  done
  local ms=$((($(microseconds "$EPOCHREALTIME") - $(microseconds "$dead")) / 1000))
  if [ -z "$new" ]; then
    result "kill $kills by $killer: no incident; there are ${found[*]##*/}"
    memstatctl incidents >>/dev/console
    return
  fi
  # It is kept a second time with the lines of the log that follow.
  read -r by holder < <(memstatctl incidents --json --from $incidents | python3 -c "
import json, sys
row = next(row for row in json.load(sys.stdin)['incidents'] if row['file'].endswith('${new##*/}'))
print(row.get('killer', '-').replace(' ', '_'), (row.get('culprit') or row.get('killed') or '-').replace(' ', '_'))")
  [ "$by" = "${killer// /_}" ] && named=$((named + 1))
  # The first holder is this victim, or its group.
  right=wrong
  [[ $holder == "process_hog_(pid_$hog)"* || ${holder%%,*} == group_*"/hog$kills.scope" ]] && right=right held=$((held + 1))
  [ $ms -le 2000 ] && quick=$((quick + 1))
  result "kill $kills by $killer: ${new##*/} after $ms ms; by $by, holder $right: $holder"
}

# with_program NAME CAUSES...: while this program runs.
with_program() {
  systemctl restart "$1" || result "wrong $1 does not start"
  pause 3
  is_killed "$@"
  systemctl stop "$1"
}
# with_swap COMMAND...: systemd-oomd kills only where pages are scanned, and without swap nobody scans program memory.
with_swap() {
  busybox swapon /dev/ram0
  "$@"
  busybox swapoff /dev/ram0
}

# round NUMBER: a kill of each of five causes, since a cause has an incident in a minute at most.
round() {
  local of_node=(-- /hog memory_of_node 2000 200)
  if [ $(($1 % 2)) -eq 0 ]; then
    is_killed kernel cgroup_oom_kill MemoryMax=48M MemorySwapMax=0 -- /hog memory 100 30
    of_node=(AllowedMemoryNodes=1 -- /hog memory 2000 200)
  else
    is_killed kernel cgroup_oom_kill MemoryMax=48M MemorySwapMax=0 -- /bin/bash -c \
      'read -r group </proc/self/cgroup; echo 1 >"/sys/fs/cgroup${group#0::}/memory.oom.group"; sleep 1000 & exec /hog memory 100 30'
  fi
  is_killed kernel numa_bound_oom "${of_node[@]}"
  is_killed kernel machine_oom_kill -- /hog memory 4000 200
  is_killed 'kernel (SysRq f)' kill_requested -- /hog memory 300 100
  local killer=${killers[$(($1 % 3))]}
  if [ "$killer" = systemd-oomd ]; then
    with_swap with_program systemd-oomd program_kill ManagedOOMMemoryPressure=kill ManagedOOMMemoryPressureLimit=1% MemoryHigh=40M -- /hog memory 400 40
  else
    with_program "$killer" program_kill -- /hog memory 4000 60
  fi
}

exec 9<> <(:)
result begin "$(uname -r), $(systemctl --version | head -n 1), $(dpkg-query -W -f '${Package} ${Version}, ' earlyoom nohang systemd-oomd)"
# One of nohang's two services runs as installed.
systemctl stop earlyoom 'nohang*' systemd-oomd.socket systemd-oomd
echo 'EARLYOOM_ARGS="-r 0 -m 40,30"' >/etc/default/earlyoom
sed -i 's/^\(soft_threshold_min_mem\|hard_threshold_min_mem\) *=.*/\1 = 40 %/' /etc/nohang/nohang.conf
mkdir -p /etc/systemd/oomd.conf.d
printf '[OOM]\nDefaultMemoryPressureDurationSec=2s\n' >/etc/systemd/oomd.conf.d/test.conf
busybox insmod /brd.ko rd_nr=1 rd_size=524288
busybox mkswap /dev/ram0
dpkg -i /memstatd.deb
mkdir -p /etc/systemd/system/$unit.d
for name in kernel-log journal holders; do cp "$examples/$name.conf" /etc/systemd/system/$unit.d/; done
systemctl daemon-reload
systemctl restart $unit
expect "the service is active" soon systemctl -q is-active $unit
expect "it serves its page" soon is_served
expect "no source is down or not permitted but events" [ "$(page | grep -E '^memstat_source_(up\{.*\} 0|not_permitted\{.*\} 1)$' | grep -cvE 'vm_events|slab_bpf|slab_events')" = 0 ]
result "sources: $(page | sed -n 's/^memstat_source_up{source="\([^"]*\)"} 1$/\1/p' | tr '\n' ' ')"
started=$(property MainPID)

for ((number = 0; number < rounds; ++number)); do
  begin=$SECONDS
  round $number
  while [ $((SECONDS - begin)) -lt 75 ]; do pause 1; done
done
expect "memstatd is the same process" [ "$(property MainPID)" = "$started" ]
expect "the killer is right in all: $named of $kills" [ $named -eq $kills ]
expect "the holder is right in nine of ten: $held of $kills" [ $((10 * held)) -ge $((9 * kills)) ]
expect "the incident is on disk within 2 s in 95 of 100: $quick of $kills" [ $((100 * quick)) -ge $((95 * kills)) ]
for cause in cgroup_oom_kill numa_bound_oom machine_oom_kill kill_requested program_kill; do
  list $cause
  [ ${#found[@]} -eq 0 ] || memstatctl why --from "${found[-1]}" >>/dev/console
done
result end
systemctl poweroff -ff
