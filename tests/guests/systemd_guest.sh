#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Part `service` of systemd.py: account, notification, reload, addresses, watchdog, restarts, upgrade, purge.
# The names that the functions define, and their path in the guest.
# shellcheck disable=SC1091,SC2086,SC2154
. /systemd_functions.sh

# slabinfo_is VALUE: the served value of memstat_source_up.
slabinfo_is() { page | grep -qE "^memstat_source_up\{[^}]*source=\"linux_slabinfo\"[^}]*\} $1$"; }
has_timeout() { page | grep -qE '^memstat_source_errors_total\{reason="timeout",source="linux_slabinfo"\} [1-9]'; }

result begin "$(uname -r), $(systemctl --version | head -n 1)"
systemctl log-level debug

mark
dpkg -i /memstatd.deb
expect "dpkg installs the package, whose dependencies are installed" grep -q "^Status: install ok installed" <(dpkg -s memstatd)
expect "the package made the account _memstatd" grep -q ":/nonexistent:/usr/sbin/nologin$" <(getent passwd _memstatd)
expect "the service is enabled" systemctl -q is-enabled $unit
expect "the service is active" soon systemctl -q is-active $unit
expect "it was started by READY=1" heard READY=1
expect "it runs as _memstatd" of_status Uid "$(id -u _memstatd)"
for field in CapInh CapPrm CapEff CapAmb; do expect "$field is empty" of_status $field 0000000000000000; done
expect "it cannot gain privileges" of_status NoNewPrivs 1
expect "it has a system call filter" of_status Seccomp 2
expect "it serves types, including those of slabinfo" grep -q 'memstat_type_bytes{allocator="slab"' <(page)
expect "STATUS describes its state" grep -qE '^serving; sources up: [1-9]' <(property StatusText)

systemctl restart $unit
expect "when systemctl restart returns, the first poll is served" is_served

result "exposure $(exposure)"
expect "systemd-analyze security: exposure at most 1.5" is_exposed_at_most 15

cp $config /root/memstatd.yaml
first=$(pid)
mark
configure 'log: {level: debug}\n'
expect "systemctl reload succeeds" systemctl reload $unit
expect "it sends RELOADING=1" soon heard RELOADING=1
expect "and READY=1 after it" soon heard READY=1
expect "it is active again" soon is SubState running
expect "it is the same process" is MainPID "$first"
configure 'interval: never\n'
expect "systemctl reload of a wrong configuration fails" not systemctl reload $unit
expect "and the old one stays in force" is MainPID "$first"
expect "and serves" is_served
cp /root/memstatd.yaml $config

ip address add 192.0.2.1/32 dev lo
configure 'listen: ["0.0.0.0:8947"]\nallow: [127.0.0.0/8, 192.0.2.0/24]\n'
systemctl restart $unit
expect "this machine is served" is_served
expect "another address is not, by IPAddressDeny" not is_served 192.0.2.1
set_unit 'IPAddressAllow=192.0.2.0/24\n'
systemctl restart $unit
expect "unless IPAddressAllow names it" is_served 192.0.2.1
cp /root/memstatd.yaml $config

set_unit 'WatchdogSec=8s\n'
systemctl restart $unit
mark
sleep 20
expect "the watchdog receives WATCHDOG=1" heard WATCHDOG=1
expect "and does nothing while it works" is NRestarts 0
kill -STOP "$(pid)"
expect "the watchdog notices that it hangs" soon has_logged "Watchdog timeout"
expect "and it is started again" soon at_least NRestarts 1
expect "and serves" soon is_served

# hanging_read.c: reads of /proc/slabinfo do not return while the file /hang begins with a 1.
turn() { printf %b "\\0$1" | dd of=/hang conv=notrunc status=none; }
dd if=/dev/zero of=/hang bs=4096 count=1 status=none
set_unit 'WatchdogSec=8s\nEnvironment=LD_PRELOAD=/hanging_read.so MEMSTAT_TEST_HANG=/hang\n'
configure 'poll: {interval: 1s, timeout: 2s}\nevents: {mode: off}\n'
systemctl restart $unit
turn 1
expect "a read that hangs makes its source down" soon slabinfo_is 0
expect "with reason timeout" soon has_timeout
sleep 20
expect "and has no other effect: the watchdog is notified because of the other sources" is NRestarts 0
turn 0
expect "when it returns, the source is up" soon slabinfo_is 1
configure 'poll: {interval: 1s, timeout: 1h}\nevents: {mode: off}\n'
systemctl restart $unit
expect "with a timeout of an hour it also serves" soon slabinfo_is 1
mark
turn 1
began=$SECONDS
expect "during a hanging poll the watchdog is not notified, and acts" soon has_logged "Watchdog timeout"
result "watchdog of 8 s: noticed $((SECONDS - began)) s after the poll began to hang"
expect "within twice WatchdogSec" [ $((SECONDS - began)) -le 16 ]
turn 0
expect "and it is started again" soon at_least NRestarts 1
expect "and polls" soon slabinfo_is 1
cp /root/memstatd.yaml $config
set_unit ''
systemctl restart $unit

mark
systemctl set-property --runtime $unit MemoryMax=2M
expect "out of memory, it is killed" soon has_logged "oom-kill"
systemctl set-property --runtime $unit MemoryMax=256M
expect "and started again" soon at_least NRestarts 1
expect "and serves" soon is_served

systemctl restart $unit
first=$(pid)
kill -KILL "$first"
expect "killed, it is started again" soon at_least NRestarts 1
expect "and serves" soon is_served

mark
systemctl stop $unit
expect "systemctl stop: it sends STOPPING=1" heard STOPPING=1
expect "and ends successfully" is Result success
expect "and stays inactive" is ActiveState inactive

configure 'interval: never\n'
expect "with a wrong configuration it does not start" not systemctl start $unit
sleep 20
expect "and is not tried again" is ActiveState failed
result "restarts after a wrong configuration: $(property NRestarts)"
cp /root/memstatd.yaml $config
systemctl reset-failed $unit

systemctl stop $unit
userdel _memstatd
expect "without the package's account it starts" systemctl start $unit
expect "as a temporary one" grep -qE '^Uid:[[:space:]]6[1-5][0-9]{3}[[:space:]]' "/proc/$(pid)/status"
expect "and serves" is_served

first=$(pid)
dpkg -i /memstatd.deb
expect "installed again it is another process" not is MainPID "$first"
expect "and serves" soon is_served
expect "as _memstatd, which exists again" of_status Uid "$(id -u _memstatd)"

dpkg -P memstatd
expect "after the purge it does not run" not pidof memstatd
expect "and systemd no longer knows it" is LoadState not-found
expect "and its directory is gone" not ls -d /var/lib/private/memstatd /var/lib/memstatd
expect "the account stays" getent passwd _memstatd
result "failed units: $(systemctl --failed --plain --no-legend | tr '\n' ';')"

result end
systemctl poweroff -ff
