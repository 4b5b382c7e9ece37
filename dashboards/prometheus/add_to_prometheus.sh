#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# add_to_prometheus.sh [FILE]: adds the job memstatd and its rules to a configuration of Prometheus, by default
# /etc/prometheus/prometheus.yml. Keeps its content, and a backup in the same directory; changes nothing unless promtool accepts the
# result. The hosts are in memstatd-targets.yml in the same directory. That file begins with this machine, is yours, and is never
# overwritten.
set -eu
program=add_to_prometheus.sh
rules=/usr/share/memstatd/dashboards/prometheus
file=${1-/etc/prometheus/prometheus.yml}

say() { echo "$program: $*" >&2; }

case $file in
  /*) ;;
  *) file=$PWD/$file ;;
esac
if [ ! -f "$file" ]; then
  say "there is no $file. Install Prometheus first, or name its configuration: $program FILE"
  exit 1
fi
if ! command -v promtool >/dev/null; then
  say "promtool is not installed, and without it nothing is changed. It comes with Prometheus."
  exit 1
fi
targets=$(dirname "$file")/memstatd-targets.yml
if grep -q 'job_name:.*memstat' "$file"; then
  say "$file has a job for memstatd already; nothing was changed."
  exit 0
fi

new=$file.memstatd-new
trap 'rm -f "$new"' EXIT
made_targets=
if [ ! -e "$targets" ]; then
  made_targets=yes
  cat >"$targets" <<END
# The hosts on which memstatd runs. Prometheus rereads this file when it changes.
- targets:
    - 127.0.0.1:8947
END
fi

# Insert entries at the top of existing lists, with the indentation of the entries that follow.
awk -v rules="$rules" -v targets="$targets" '
  function put_rules(indent) {
    print indent "- " rules "/recording_rules.yml"
    print indent "- " rules "/alerts.yml"
  }
  function put_job(indent) {
    print indent "# Alerts use jobs with memstat in their name. The hosts are in the file, one per line."
    print indent "- job_name: memstatd"
    print indent "  scrape_interval: 60s"
    print indent "  # A page that is larger than expected is rejected as a whole."
    print indent "  sample_limit: 25000"
    print indent "  label_limit: 12"
    print indent "  body_size_limit: 16MB"
    print indent "  file_sd_configs:"
    print indent "    - files: [" targets "]"
    print indent "  metric_relabel_configs:"
    print indent "    # Drops metrics that dashboards and rules do not use and that cost a series per type. Remove this to keep everything."
    print indent "    - source_labels: [__name__]"
    print indent "      regex: memstat_type_(peak_bytes|resets_total|delta_objects|allocated_bytes_total|freed_bytes_total)"
    print indent "      action: drop"
  }
  function indent_after(line,    i, found) {
    for (i = line + 1; i <= NR; ++i) {
      if (lines[i] ~ /^ *(#|$)/) continue
      if (lines[i] !~ /^ *- /) break
      found = lines[i]
      sub(/-.*/, "", found)
      return found
    }
    return "  "
  }
  { lines[NR] = $0 }
  END {
    for (n = 1; n <= NR; ++n) {
      print lines[n]
      if (lines[n] ~ /^rule_files: *(#.*)?$/) { put_rules(indent_after(n)); has_rules = 1 }
      if (lines[n] ~ /^scrape_configs: *(#.*)?$/) { put_job(indent_after(n)); has_jobs = 1 }
    }
    if (!has_rules) { print "rule_files:"; put_rules("  ") }
    if (!has_jobs) { print "scrape_configs:"; put_job("  ") }
  }' "$file" >"$new"

if ! result=$(promtool check config "$new" 2>&1); then
  [ -z "$made_targets" ] || rm -f "$targets"
  say "cannot add to $file, which stays as it was. Add by hand what $rules/scrape/file_discovery.yml has. promtool says:"
  echo "$result" >&2
  exit 1
fi
before=$file.before-memstatd
[ -e "$before" ] || cp -p "$file" "$before"
cat "$new" >"$file"
say "added the job memstatd and its rules to $file; as it was: $before. Put your hosts into $targets, then reload Prometheus."
