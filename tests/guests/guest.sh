#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash disable=SC1091,SC2013,SC2046
# The first process of a guest (tests/guests/machine.py): mounts what the test asks for, runs it, hands over what it recorded.
# /environment says what to mount: CGROUP (1 or 2), DEBUGFS, SYSFS, HIDEPID, ACCOUNT (who runs memstatd),
# LEAVE how to end (reboot, where the kernel cannot switch off).
/bin/busybox mkdir -p /bin /sbin
/bin/busybox --install -s /bin
export PATH=/bin LC_ALL=C
. /environment
mount -t proc ${HIDEPID:+-o hidepid=$HIDEPID} proc /proc
mount -t devtmpfs dev /dev
if [ "$SYSFS" != no ]; then
  mount -t sysfs sysfs /sys
  if [ "$DEBUGFS" != no ]; then
    mount -t debugfs debugfs /sys/kernel/debug
    mount -t tracefs tracefs /sys/kernel/tracing
  fi
  if [ "$CGROUP" = 1 ]; then
    mount -t tmpfs tmpfs /sys/fs/cgroup
    mkdir /sys/fs/cgroup/memory
    mount -t cgroup -o memory memory /sys/fs/cgroup/memory && mkdir -p /sys/fs/cgroup/memory/small/inner
    echo 64M >/sys/fs/cgroup/memory/small/memory.limit_in_bytes
    sh -c 'echo $$ >/sys/fs/cgroup/memory/small/inner/cgroup.procs; exec sleep 100000' &
  else
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    echo "+memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p /sys/fs/cgroup/small
    echo +memory >/sys/fs/cgroup/small/cgroup.subtree_control
    echo 100 >/sys/fs/cgroup/small/pids.max
    mkdir -p /sys/fs/cgroup/small/inner
    echo 64M >/sys/fs/cgroup/small/memory.max
    echo 48M >/sys/fs/cgroup/small/inner/memory.high
    sh -c 'echo $$ >/sys/fs/cgroup/small/inner/cgroup.procs; exec sleep 100000' &
  fi
fi
ip link set lo up

# result WORDS: one answer of the test.
result() { echo "RESULT $*"; }

printf '#!/bin/sh\nexec grep -H "" "$@"\n' >/bin/read_lines
chmod 755 /bin/read_lines

# The kernel's files that the checker knows, by the patterns in /patterns: "path:line" for each line, errors in FILE.errors.
list_files() {
  for pattern in $(cat /patterns); do
    for path in $pattern; do [ -f "$path" ] && echo "$path"; done
  done
}
read_files() { by_account xargs read_lines <"$1" >"$2" 2>"$2.errors"; }

rounds() { for round in 1 2 3; do round "$1.$round"; done; }

# by_account COMMAND...: as the account that the test asks for: root, a user, or nobody as root of a user namespace.
by_account() {
  case "${ACCOUNT:-root}" in
    root) "$@" ;;
    namespace) su nobody -s /bin/sh -c "unshare -U -r $*" ;;
    *) su "$ACCOUNT" -s /bin/sh -c "$*" ;;
  esac
}

# start_memstatd: the daemon with /memstatd.yaml.
start_memstatd() {
  by_account memstatd --config /memstatd.yaml "$@" >>/out/log 2>&1 &
  MEMSTATD=$!
  for _ in $(seq 200); do
    wget -q -O /dev/null http://127.0.0.1:8947/-/ready 2>/dev/null && return 0
    kill -0 $MEMSTATD 2>/dev/null || break
    usleep 50000
  done
  result wrong "memstatd does not serve: $(tail -n 1 /out/log)"
  return 1
}
page() { timeout 60 wget -q -O "$1" http://127.0.0.1:8947/metrics; }

# keep_connection: one that memstatd keeps; kept_page FILE: the page on it.
keep_connection() {
  rm -f /tmp/requests
  mkfifo /tmp/requests
  nc 127.0.0.1 8947 </tmp/requests >/tmp/answers &
  CONNECTION=$!
  exec 9>/tmp/requests
  printf 'GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n' >&9
}
kept_page() {
  printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&9
  for _ in $(seq 100); do
    kill -0 "$CONNECTION" 2>/dev/null || break
    usleep 100000
  done
  exec 9>&-
  awk 'BEGIN { RS = "\r\n\r\n"; ORS = "" } NR == 3' /tmp/answers >"$1"
  grep -q '^memstat_' "$1"
}

# is_fresh PAGE TIME: whether all sources that are up have been read since that Unix time.
is_fresh() {
  awk -F '[" ]' -v since="$2" '/^memstat_source_last_success_timestamp_seconds/ { read[$2] = $NF }
    /^memstat_source_up/ && $NF == 1 { up[$2] } END { for (source in up) if (read[source] < since) exit 1 }' "$1"
}

# round NAME: the files, the page, the files again, below /out/NAME. Rounds GROUP.1, GROUP.2 are judged together.
# Reading thousands of files moves what is counted, and a source that is read once a second would see that: the page is one
# whose sources were all read in the quiet after it, which begins at the Unix time in the file "quiet".
round() {
  mkdir -p "/out/$1"
  echo "$1" >>/out/order
  chmod 777 "/out/$1"
  list_files >"/out/$1/paths"
  read_files "/out/$1/paths" "/out/$1/before"
  echo $(($(date +%s) + 1)) >"/out/$1/quiet"
  sleep 1
  for _ in $(seq 10); do
    sleep 1.5
    page "/out/$1/page" || result wrong "$1: no page"
    is_fresh "/out/$1/page" "$(cat "/out/$1/quiet")" && break
  done
  read_files "/out/$1/paths" "/out/$1/after"
}

for module in $(cat /modules/order 2>/dev/null); do
  insmod "/modules/$module" $(grep -o "${module%.ko}\.[a-z_]*=[^ ]*" /proc/cmdline | sed 's/.*\.//') || result wrong "module $module was refused"
done
result begin "$(uname -r)"
. /test.sh
stty -F "${RECORD:=/dev/ttyS1}" raw 2>/dev/null
tar c -C /out . | gzip -1 >"$RECORD"
result end
${LEAVE:-poweroff} -f
