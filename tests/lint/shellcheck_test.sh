#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every shell script passes shellcheck.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
if ! command -v shellcheck >/dev/null; then
  echo "shellcheck is not installed"
  exit 77
fi

bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
# shellcheck disable=SC2016
printf '#!/bin/sh\nrm $1\n' >"$bad"
if shellcheck "$bad" >/dev/null; then
  echo "shellcheck found nothing wrong with a bad script"
  exit 1
fi

cd "$root"
files=()
while IFS= read -r -d '' file; do
  if [[ $file == *.sh ]] || head -c 64 "$file" | head -n 1 | grep -aqE '^#!.*[/ ](ba)?sh( |$)'; then
    files+=("$file")
  fi
done < <(find . -path ./.git -prune -o -path ./build -prune -o -name fixtures -prune -o -type f -print0)
[ ${#files[@]} -ge 5 ] || { echo "only ${#files[@]} scripts found"; exit 1; }
# rc.d scripts set what rc.subr reads and read what it sets, and it is only on FreeBSD.
mapfile -t rc_scripts < <(printf '%s\n' "${files[@]}" | grep '^\./rc\.d/')
mapfile -t scripts < <(printf '%s\n' "${files[@]}" | grep -v '^\./rc\.d/')
shellcheck -x -P "$root" "${scripts[@]}"
[ ${#rc_scripts[@]} = 0 ] || shellcheck -e SC1091,SC2034,SC2154 "${rc_scripts[@]}"
