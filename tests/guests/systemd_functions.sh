# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2086
# Shared by the scripts that run in the guest of systemd.py, as a unit that systemd starts at the end of its boot. They print a
# result for each check: RESULT ok WHAT, or RESULT wrong WHAT.
set -u
unit=memstatd.service
config=/etc/memstatd/memstatd.yaml
settings=/run/systemd/system/$unit.d

result() { echo "RESULT $*" >>/dev/console; }
# expect WHAT COMMAND...: COMMAND is true.
expect() {
  local what=$1
  shift
  if "$@"; then
    result "ok $what"
  else
    result "wrong $what"
    journalctl -q -o cat -n 30 UNIT=$unit + _SYSTEMD_UNIT=$unit >>/dev/console
  fi
}
# soon COMMAND...: COMMAND becomes true.
soon() {
  local end=$((SECONDS + 120))
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.5
  done
}
not() { ! "$@"; }
property() { systemctl show --value -p "$1" $unit; }
is() { [ "$(property "$1")" = "$2" ]; }
at_least() { [ "$(property "$1")" -ge "$2" ]; }
pid() { property MainPID; }
# page [ADDRESS]: memstatd's page.
page() { timeout 20 bash -c "exec 3<>/dev/tcp/${1:-127.0.0.1}/8947 && printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3 && cat <&3" 2>/dev/null; }
is_served() { [ "$(page "$@" | grep -c '^memstat_type_bytes')" -gt 10 ]; }
# of_status FIELD VALUE: the field of /proc/PID/status has this value.
of_status() { [ "$(sed -n "s/^$1:\t\([^\t]*\).*/\1/p" "/proc/$(pid)/status")" = "$2" ]; }

# mark: starts here; unit_log: systemd's log of the unit since then; heard MESSAGE: memstatd has sent it through the socket.
mark() {
  journalctl --sync
  cursor=$(journalctl -q -n 1 --show-cursor | sed -n 's/^-- cursor: //p')
}
unit_log() {
  journalctl --sync
  journalctl -q -o cat --after-cursor="$cursor" UNIT=$unit
}
has_logged() { unit_log | grep -qE "$1"; }
heard() { has_logged "Got notification message from PID [0-9]+ \(.*$1"; }
exposure() { systemd-analyze security --no-pager $unit | sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p'; }
is_exposed_at_most() { [ "$(exposure | tr -d .)" -le "$1" ]; }
# set_unit LINES: the lines of a drop-in for the unit's section Service; empty for none.
set_unit() {
  rm -rf $settings
  mkdir -p $settings
  printf '[Service]\n%b' "$1" >$settings/test.conf
  systemctl daemon-reload
}
configure() { printf '%b' "$1" >$config; }
