#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Part `installed` of systemd.py: the package as it is installed, and with each of the drop-ins that ship as examples: states of sources, alerts
# of the shipped rules, scrapes from another network namespace.
# The names that the functions define, and their path in the guest.
# shellcheck disable=SC1091,SC2016,SC2086,SC2154
. /systemd_functions.sh

drop_ins=/etc/systemd/system/$unit.d
examples=/usr/share/doc/memstatd/examples
# own_log: memstatd's log since its start.
own_log() {
  journalctl --sync
  journalctl -q -o cat _SYSTEMD_INVOCATION_ID="$(property InvocationID)"
}
is_logged() { own_log | grep -qE "$1"; }
has() { page | grep -qE "$1"; }
is_up() { has "^memstat_source_up\{source=\"$1\"\} 1$"; }
is_not_permitted() { has "^memstat_source_not_permitted\{needs=\"CAP_BPF,CAP_PERFMON\",source=\"$1\"\} 1$"; }
# doctor STATUS PATTERN: memstatctl doctor ends with STATUS and prints PATTERN.
doctor() {
  memstatctl doctor >/tmp/doctor 2>&1
  [ $? -eq "$1" ] && grep -qE "$2" /tmp/doctor && return
  cat /tmp/doctor >>/dev/console
  return 1
}
# watched WHEN: the Prometheus outside scrapes the page for a while through a relay, and answers with the alerts that fired.
watched() {
  result "alerts $1"
  read -t 1800 -r answer </dev/console
  expect "$1: no alert of the shipped rules fires (${answer:-no answer})" [ "$answer" = none ]
}
# restart_with DROP-IN...: the service, with these and no others.
restart_with() {
  rm -rf $drop_ins
  mkdir $drop_ins
  for name in "$@"; do cp "$examples/$name.conf" $drop_ins/; done
  systemctl daemon-reload
  systemctl restart $unit
}

result begin "$(uname -r), $(systemctl --version | head -n 1)"
# Relays from outside this guest to the page on loopback.
busybox insmod /e1000.ko && ip link set eth0 up && ip address add 10.0.2.15/24 dev eth0
expect "relays from outside are open" systemctl start relay.socket
iterator=no
if grep -q ' bpf_iter_kmem_cache$' /proc/kallsyms; then iterator=yes; fi
result "the kernel has an iterator over slab caches: $iterator"

dpkg -i /memstatd.deb
expect "installed, the service is active" soon systemctl -q is-active $unit
expect "it serves its page" soon is_served
expect "slab caches are those of slabinfo" is_up linux_slabinfo
expect "no source is down" not has '^memstat_source_up\{.*\} 0$'
result "sources up: $(page | grep -c '^memstat_source_up{.*} 1$'), not permitted: $(page | sed -n 's/^memstat_source_not_permitted.*source="\([^"]*\)".*/\1/p' | tr '\n' ' ')"
expect "events of the kernel are not permitted" is_not_permitted linux_vm_events
expect "the log reports it once, as information" [ "$(own_log | grep -cE 'info: [0-9]+ sources are not permitted, .*linux_vm_events')" = 1 ]
expect "and nothing as an error" not is_logged ' error: '
if [ $iterator = yes ]; then expect "nor is the pass over slab caches" is_not_permitted linux_slab_bpf; fi
expect "doctor names the privilege" doctor 0 '^linux_vm_events +not permitted +- +[^ ]+ +needs CAP_BPF,CAP_PERFMON: '
expect "and the status page" grep -q 'not permitted, needs CAP_BPF,CAP_PERFMON' <(timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/8947 && printf "GET /plain HTTP/1.0\r\nHost: localhost\r\n\r\n" >&3 && cat <&3')
result "exposure $(exposure)"
watched "as installed"

restart_with kernel-log
expect "with kernel-log.conf, the kernel's log is up" soon is_up linux_kernel_log
for field in CapInh CapPrm CapEff CapAmb; do expect "$field is empty while it serves" of_status $field 0000000000000000; done
result "exposure $(exposure)"
watched "with kernel-log.conf"

restart_with holders
# As an account that memstatd may not examine without the drop-in. Most files are then held by one process, which may still be bash when
# the finding begins. This root has no sysctl.
echo $(($(cut -f 1 /proc/sys/fs/file-nr) + 4100)) >/proc/sys/fs/file-max
systemd-run --quiet --unit=opener --uid=65534 -p LimitNOFILE=8192 bash -c 'for i in {10..4000}; do eval "exec $i</dev/null"; done; exec sleep 3000'
expect "with holders.conf, a finding names the process that holds the files" soon has '^memstat_finding_info\{.*cause="[a-z_]*files[a-z_]*".*culprit="(.*, )?process (bash|sleep) \(pid [0-9]+\)'
result "findings about files: $(page | grep -E '^memstat_finding(_info)?\{.*cause="[a-z_]*files' | tr '\n' ' ')"
expect "only the process that asks has the capability" [ "$(grep -l '^CapEff:.*[1-9a-f]' /proc/[0-9]*/status | while read -r it; do sed -n 's/^Name:\t//p' "$it"; done | grep -c '^memstatd')" -le 1 ]
for field in CapPrm CapEff CapAmb; do expect "$field is empty while it serves, with holders.conf" of_status $field 0000000000000000; done
systemctl stop opener
echo 100000 >/proc/sys/fs/file-max
result "exposure $(exposure)"

restart_with events kernel-log journal
expect "with events.conf, events of the kernel are up" soon is_up linux_vm_events
expect "no source is down or not permitted" not has '^memstat_source_(up\{.*\} 0|not_permitted\{.*\} 1)$'
if [ $iterator = yes ]; then
  expect "and so is the pass over slab caches" is_up linux_slab_bpf
  result "slab bytes in use: $(page | sed -n 's/^memstat_type_bytes{allocator="slab".* //p' | awk '{ sum += $1 } END { printf "%.0f", sum }'), by slabinfo $(awk 'NR > 2 { sum += $2 * $4 } END { printf "%.0f", sum }' /proc/slabinfo)"
fi
for field in CapInh CapPrm CapEff CapAmb; do expect "$field is empty while it serves" of_status $field 0000000000000000; done
result "exposure $(exposure)"
expect "doctor reports nothing" doctor 0 '^Every source that this kernel has works'
expect "nor about events" not grep -q 'not permitted' /tmp/doctor
watched "with events.conf"

busybox insmod /veth.ko
ip netns add other
ip link add here type veth peer name there netns other
ip address add 192.0.2.1/24 dev here
ip link set here up
ip -n other address add 192.0.2.2/24 dev there
ip -n other link set there up
export -f page is_served
elsewhere() { ip netns exec other bash -c 'is_served 192.0.2.1'; }
configure 'listen: ["0.0.0.0:8947"]\nallow: [192.0.2.0/24]\n'
restart_with
expect "with listen and allow alone, this machine is served" soon is_served
expect "another network namespace is not" not elsewhere
expect "memstatd warned at its start" is_logged 'warning: clients in 192\.0\.2\.0/24 \(key allow\) cannot connect: the filter of memstatd\.service .*IPAddressAllow=192\.0\.2\.0/24'
expect "doctor reports it" doctor 1 '^  warning: clients in 192\.0\.2\.0/24 '
restart_with network
expect "with network.conf, another network namespace is served" soon elsewhere
expect "memstatd does not warn" not is_logged 'cannot connect'
expect "doctor reports nothing" doctor 0 '^Every source that this kernel has works'
expect "addresses that allow does not name are still not served" not ip netns exec other bash -c 'ip address add 192.0.3.2/24 dev there; exec 3<>/dev/tcp/192.0.3.1/8947'

result "failed units: $(systemctl --failed --plain --no-legend | tr '\n' ';')"
result end
systemctl poweroff -ff
