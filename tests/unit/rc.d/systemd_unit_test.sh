#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Shows that systemd understands every line of rc.d/memstatd.service, that its exposure stays at or below 1.5, and that it has
# and lacks what memstatd depends on. No arguments. Exit status 0 passed, 1 failed, 77 skipped.
set -u

here=$(cd "$(dirname "$0")" && pwd)
unit="$here/../../../rc.d/memstatd.service"
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
expect_line() { grep -q -x -e "$1" "$unit" || fail "no line \"$1\""; }

expect_line "Type=notify"
expect_line "WatchdogSec=60s"
expect_line "User=_memstatd"
expect_line "DynamicUser=yes"
expect_line "AmbientCapabilities=CAP_DAC_READ_SEARCH"
expect_line "CapabilityBoundingSet=CAP_DAC_READ_SEARCH"
expect_line "ExecStart=/usr/bin/memstatd --config /etc/memstatd/memstatd.yaml"
# These two are recommended everywhere and would each make /proc/slabinfo unreadable.
if grep -q -E '^(ProcSubset|PrivateUsers)=' "$unit"; then fail "ProcSubset= or PrivateUsers= is set"; fi
# The check comes before the signal: systemd runs the lines in order and stops at the first that fails. The shell's own kill is always there.
# shellcheck disable=SC2016
[ "$(sed -n 's/^ExecReload=//p' "$unit")" = '/usr/bin/memstatd --check-config --config /etc/memstatd/memstatd.yaml
/bin/sh -c "kill -HUP ${MAINPID}"' ] || fail "ExecReload: check, then HUP"
# RestartPreventExitStatus= covers only the main process: with a separate check, a wrong configuration would be tried for ever.
expect_line "RestartPreventExitStatus=2"
if grep -q '^ExecStartPre=' "$unit"; then fail "ExecStartPre= is set"; fi

if ! command -v systemd-analyze >/dev/null; then
  [ "$failures" -eq 0 ] || exit 1
  echo "skipped: systemd-analyze is not installed (Debian package systemd)"
  exit 77
fi

if [ ! -d /run/systemd ] && [ "$(id -u)" -ne 0 ]; then
  [ "$failures" -eq 0 ] || exit 1
  echo "skipped: systemd does not run here, and systemd-analyze may not make /run/systemd as a user"
  exit 77
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# verify needs the programs to exist, and memstatd may not be installed here.
sed 's|=/usr/bin/memstatd |=/bin/true |' "$unit" >"$tmp/memstatd.service"

# An unknown key or value is a warning for verify, with exit status 0: its warnings about our file count as well.
systemd-analyze verify --man=no "$tmp/memstatd.service" >"$tmp/out" 2>&1 || fail "systemd-analyze verify"
if grep -q "memstatd" "$tmp/out"; then fail "systemd-analyze verify complains"; fi
sed 's/^/  | /' "$tmp/out"

# The threshold is in tenths.
if ! systemd-analyze security --offline=true --threshold=15 --no-pager "$tmp/memstatd.service" >"$tmp/out" 2>&1; then
  if grep -q -i -E 'unrecognized option|unknown' "$tmp/out"; then
    echo "skipped: this systemd-analyze cannot judge a unit offline (needs version 250)"
    [ "$failures" -eq 0 ] && exit 77
  else
    fail "exposure above 1.5:"
    cat "$tmp/out"
  fi
fi
tail -n 1 "$tmp/out"

# The drop-ins that ship as examples: network adds clients, journal a group, the others privileges at start.
for limit in network:15 events:16 kernel-log:19 journal:15; do
  name=${limit%:*}
  mkdir -p "$tmp/memstatd.service.d"
  cp "$here/../../../rc.d/memstatd.service.d/$name.conf" "$tmp/memstatd.service.d/"
  systemd-analyze verify --man=no "$tmp/memstatd.service" >"$tmp/out" 2>&1 || fail "systemd-analyze verify with $name.conf"
  if grep -q "memstatd" "$tmp/out"; then fail "systemd-analyze verify complains of $name.conf: $(cat "$tmp/out")"; fi
  systemd-analyze security --offline=true --threshold="${limit#*:}" --no-pager "$tmp/memstatd.service" >"$tmp/out" 2>&1 || fail "exposure with $name.conf: $(tail -n 1 "$tmp/out")"
  echo "with $name.conf: $(tail -n 1 "$tmp/out")"
  rm -r "$tmp/memstatd.service.d"
done

if [ "$failures" -ne 0 ]; then echo "$failures failed"; exit 1; fi
echo "passed"
