#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs rc.d/memstatd as FreeBSD would, with stand-ins for rc.subr, daemon(8) and memstatd in a temporary directory, and shows what
# it starts, what it checks first, and which process gets which signal. No arguments. Exit status 0 passed, 1 failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
script="$here/../../../rc.d/memstatd"
tmp=$(mktemp -d) || exit 1
failures=0

cleanup() {
  for file in "$tmp"/names/*; do
    if [ -e "$file" ]; then kill -KILL "${file##*/}" 2>/dev/null; fi
  done
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

mkdir "$tmp/names" "$tmp/run"

# ---- stand-ins ---------------------------------------------------------------------------------------------------------------
# Every stand-in process has its name in names/PID while it runs, so that check_pidfile can tell a right process from a wrong
# one. (Not by signal 0, which a process that init has not collected yet still takes.)

cat >"$tmp/rc.subr" <<'EOF'
load_rc_config() { if [ -r "$TMP/rc.conf" ]; then . "$TMP/rc.conf"; fi; }
warn() { echo "WARNING: $*" >&2; }
checkyesno() {
  eval value=\$"$1"
  case $value in [Yy][Ee][Ss]) return 0 ;; *) return 1 ;; esac
}
check_pidfile() {
  : >"$TMP/asked"
  [ -r "$1" ] || return 0
  read -r found <"$1"
  if [ "$(cat "$TMP/names/$found" 2>/dev/null)" = "$2" ]; then echo "$found"; fi
}
run_hook() { # name of the hook's variable
  eval hook=\$"$1"
  [ -z "$hook" ] || eval "$hook"
}
run_rc_command() {
  action=$1
  eval 'overriding=${'"${name}"'_program:-}'
  command=${overriding:-$command}
  case $action in one*) action=${action#one}; eval "$rcvar=YES" ;; esac
  case " start stop restart status rcvar $extra_commands " in
    *" $action "*) ;;
    *) echo "unknown directive '$action'" >&2; return 1 ;;
  esac
  rc_pid=$(check_pidfile "$pidfile" "$procname")
  if [ "$action" != rcvar ] && ! checkyesno "$rcvar"; then
    echo "Cannot '$action' $name. Set $rcvar to YES"
    return 0
  fi
  if [ "$action" = start ] && [ -n "$rc_pid" ]; then echo "already running" >&2; return 1; fi
  eval "custom=\${${action}_cmd:-}"
  case $action in
    rcvar) echo "$rcvar=$(eval echo \$"$rcvar")"; return 0 ;;
    stop) [ -n "$rc_pid" ] || return 1 ;;
    start) for file in ${required_files:-}; do [ -r "$file" ] || { warn "$file is not readable."; return 1; }; done ;;
  esac
  run_hook "${action}_precmd" || return 1
  if [ -n "$custom" ]; then "$custom"; return $?; fi
  case $action in
    start) eval "$command \${${name}_flags:-} $command_args" || return 1 ;;
    stop) kill -TERM "$rc_pid"; while [ -e "$TMP/names/$rc_pid" ]; do sleep 0.05; done ;;
    restart) (run_rc_command stop); (run_rc_command start) || return 1 ;;
    reload) kill -HUP "$rc_pid" ;;
    status) if [ -n "$rc_pid" ]; then echo "$name is running as pid $rc_pid."; else echo "$name is not running."; return 1; fi ;;
  esac
  run_hook "${action}_postcmd" || return 1
  case $action,$memstatd_oomprotect in
    start,ALL)
      [ -n "$rc_pid" ] || rc_pid=$(check_pidfile "$pidfile" "$procname")
      echo "protect -d -i -p $rc_pid" >>"$TMP/log" ;;
  esac
}
EOF

# daemon(8): refuses options it does not have, runs the program, writes both process ids (its own only after a first
# request for it has failed), passes SIGTERM on.
cat >"$tmp/daemon" <<'EOF'
#!/bin/sh
echo "daemon $*" >>"$TMP/log"
while getopts "cfHSP:p:rR:T:t:o:m:s:l:u:" option; do
  case $option in
    P) supervisor_file=$OPTARG ;;
    p) child_file=$OPTARG ;;
    R) echo "restart delay $OPTARG" >>"$TMP/log" ;;
    \?) exit 1 ;;
  esac
done
shift $((OPTIND - 1))
rm -f "$TMP/asked"
(
  trap 'kill -TERM $child; wait $child; own="$TMP/names/$(cat "$supervisor_file")"
        rm -f "$supervisor_file" "$child_file" "$own"; exit 0' TERM
  trap 'echo "HUP to daemon" >>"$TMP/log"' HUP
  "$@" &
  child=$!
  echo $child >"$child_file"
  until [ -e "$TMP/asked" ]; do sleep 0.05; done
  cp "$TMP/supervisor" "$supervisor_file"
  while :; do wait $child; sleep 0.05; done
) >/dev/null 2>&1 &
echo "$TMP/daemon" >"$TMP/names/$!"
echo $! >"$TMP/supervisor"
EOF

cat >"$tmp/memstatd" <<'EOF'
#!/bin/sh
echo "memstatd $*" >>"$TMP/log"
case " $* " in *" --check-config "*)
  case "$(cat "$TMP/memstatd.yaml")" in *bad*) echo "memstatd.yaml:1:1: bad: unknown key" >&2; exit 2 ;; esac
  echo "memstatd: the configuration is valid"
  exit 0
  ;;
esac
trap 'echo "HUP to memstatd" >>"$TMP/log"' HUP
trap 'rm -f "$TMP/names/$$"; exit 0' TERM
echo "$TMP/memstatd" >"$TMP/names/$$"
mkfifo "$TMP/never.$$"
while :; do read -r nothing <>"$TMP/never.$$"; done
EOF
chmod +x "$tmp/daemon" "$tmp/memstatd"

sed -e "s|^\. /etc/rc\.subr|. $tmp/rc.subr|" -e "s|/usr/sbin/daemon|$tmp/daemon|" -e "s|/var/run|$tmp/run|" -e "s|/var/db|$tmp/db|" "$script" >"$tmp/service"
export TMP="$tmp"

# ---- helpers -------------------------------------------------------------------------------------------------------------------

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
service() { sh "$tmp/service" "$@" >"$tmp/out" 2>&1; }
expect_status() { # wanted, action
  wanted=$1
  shift
  service "$@"
  got=$?
expect_no_out() { if grep -q -e "$1" "$tmp/out"; then fail "\"$1\" is in the output"; fi; }
  [ "$got" -eq "$wanted" ] || { fail "$*: exit status $got, not $wanted"; sed 's/^/  | /' "$tmp/out"; }
}
expect_out() { grep -q -e "$1" "$tmp/out" || { fail "no \"$1\" in the output:"; sed 's/^/  | /' "$tmp/out"; }; }
expect_log() { grep -q -x -e "$1" "$tmp/log" || { fail "no \"$1\" in the log:"; sed 's/^/  | /' "$tmp/log"; }; }
expect_no_log() { if grep -q -e "$1" "$tmp/log"; then fail "\"$1\" is in the log"; fi; }
wait_for() { # a function, at most a minute
  tries=0
  until "$1"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 1200 ]; then fail "waited in vain for: $1"; return 1; fi
    sleep 0.05
  done
}
child_runs() { [ -n "$(cat "$tmp/run/memstatd_child.pid" 2>/dev/null)" ] && [ -e "$tmp/names/$(cat "$tmp/run/memstatd_child.pid")" ]; }
hup_arrived() { grep -q -x "HUP to memstatd" "$tmp/log"; }
conf() { printf '%s\n' "$@" "memstatd_config=$tmp/memstatd.yaml" "memstatd_bin=$tmp/memstatd" >"$tmp/rc.conf"; }
good() { echo "user: nobody" >"$tmp/memstatd.yaml"; }
bad() { echo "bad: key" >"$tmp/memstatd.yaml"; }
forget() { : >"$tmp/log"; }

# ---- the script ------------------------------------------------------------------------------------------------------------------

sh -n "$script" || fail "sh -n"
[ -x "$script" ] || fail "the script is not executable"
for line in "PROVIDE: memstatd" "REQUIRE: LOGIN" "KEYWORD: shutdown"; do
  grep -q -x "# $line" "$script" || fail "no line \"# $line\" for rcorder"
done

# Not enabled (the default): nothing starts, unless requested once.
good
conf
forget
expect_status 0 rcvar
expect_out "memstatd_enable=NO"
expect_status 0 start
expect_out "Cannot 'start' memstatd"
expect_no_log "memstatd"
expect_status 0 onestart
wait_for child_runs
expect_status 0 onestop

# Enabled: the configuration is checked, then daemon(8) runs memstatd with it and with the further arguments.
conf "memstatd_enable=YES" "memstatd_args='--interval 30s'" "memstatd_restart_delay=7"
forget
expect_status 1 status
expect_out "memstatd is not running"
expect_status 0 start
expect_no_out "is valid"  # a boot prints nothing if all is well
wait_for child_runs
expect_log "memstatd --check-config --config $tmp/memstatd.yaml --interval 30s"
expect_log "memstatd --config $tmp/memstatd.yaml --interval 30s"
[ -d "$tmp/db/memstatd" ] || fail "the directory in which memstatd makes that of incidents"
expect_log "restart delay 7"
expect_log "protect -d -i -p $(cat "$tmp/run/memstatd.pid")"
[ "$(head -n 1 "$tmp/log" | cut -d' ' -f1-2)" = "memstatd --check-config" ] || fail "the configuration is not checked first"
grep -q "^daemon .*-S .*-P $tmp/run/memstatd.pid -p $tmp/run/memstatd_child.pid" "$tmp/log" || fail "options of daemon(8)"
expect_status 0 status
expect_out "memstatd is running as pid $(cat "$tmp/run/memstatd.pid")"
expect_status 1 start

# configtest reports whether the configuration is good, and changes nothing.
forget
expect_status 0 configtest
expect_out "the configuration is valid"
bad
expect_status 1 configtest
expect_out "memstatd.yaml:1:1: bad: unknown key"
expect_no_log "HUP"

# Reload with a bad configuration: refused, no signal. Restart likewise: the running process continues.
before=$(cat "$tmp/run/memstatd_child.pid")
expect_status 1 reload
expect_out "is not valid"
expect_status 1 restart
if [ "$(cat "$tmp/run/memstatd_child.pid")" != "$before" ] || [ ! -e "$tmp/names/$before" ]; then
  fail "restart with a bad configuration stopped memstatd"
fi

# Reload with a good one: one SIGHUP, to memstatd and not to daemon(8). Shown to come after the refused one, which left nothing.
good
expect_status 0 reload
wait_for hup_arrived
[ "$(grep -c HUP "$tmp/log")" -eq 1 ] || fail "$(grep -c HUP "$tmp/log") signals instead of one"

expect_status 0 restart
wait_for child_runs
[ "$(cat "$tmp/run/memstatd_child.pid")" != "$before" ] || fail "restart did not start a new memstatd"

# daemon(8) alone, its memstatd gone: status says so, and reload has no process to signal.
echo "another program" >"$tmp/names/$(cat "$tmp/run/memstatd_child.pid")"
expect_status 1 status
expect_out "memstatd itself is not running"
expect_status 1 reload
expect_out "not running"

expect_status 0 stop
expect_status 1 status
expect_status 1 reload

# A bad or absent configuration: nothing starts.
bad
forget
expect_status 1 start
expect_no_log "^daemon"
rm "$tmp/memstatd.yaml"
expect_status 1 start
expect_out "is not readable"
expect_no_log "^daemon"

# Values of rc.conf must win over the defaults of the script, so loading comes first, and only once.
[ "$(grep -c '^load_rc_config' "$script")" -eq 1 ] || fail "load_rc_config is not called exactly once"

if [ "$failures" -ne 0 ]; then echo "$failures failed"; exit 1; fi
echo "passed"
