#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A script runs in the trees that its line "# Trees:" names, or in release without one; an unknown word is refused.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$copy" -xf -
scripts=$copy/tests/end_to_end
printf '# Trees: release asan\n' >"$scripts/trees_two_test.py"
printf '# Trees: tsan\n' >"$scripts/trees_one_test.py"
printf '# no line\n' >"$scripts/trees_none_test.py"

fail() { echo "$1"; cat "$copy/log"; exit 1; }
# tests_of SANITIZER: the scripts above that its tree runs.
tests_of() {
  cmake -S "$copy" -B "$copy/build/of$1" -DMEMSTAT_TESTS=ON "-DMEMSTAT_SANITIZER=$1" >"$copy/log" 2>&1 || fail "no configuration"
  ctest --test-dir "$copy/build/of$1" -N | sed -n 's/.*end_to_end.trees_\([a-z]*\)_test.py/\1/p' | tr '\n' ' '
}
expect() { [ "$(tests_of "$1")" = "$2" ] || fail "with sanitizer \"$1\" these scripts run: $(tests_of "$1"), expected: $2"; }
expect '' 'none two '
expect address 'two '
expect thread 'one '

printf '# Trees: release adan\n' >"$scripts/trees_one_test.py"
! cmake "$copy/build/of" >"$copy/log" 2>&1 || fail "a word that is no tree was accepted"
tr -s ' \n' ' ' <"$copy/log" | grep -q 'trees_one_test.py: "# Trees:" names adan' || fail "refused for another reason"
