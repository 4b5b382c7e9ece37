#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every C++ file is laid out with .clang-format as clang-format of the oldest release in daemon/releases.txt does it: each version differs.
set -euo pipefail
program=clang_format_test
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=daemon/setup.sh
. "$root/daemon/setup.sh"
read -r _ _ _ version < <(releases)
format=$(command -v "clang-format-$version" || find_tool clang-format || true)
if [ -z "$format" ] || [ "$(major_version "$format")" != "$version" ]; then
  echo "clang-format $version is not installed${format:+, but version $(major_version "$format"), which lays out some lines otherwise}"
  exit 77
fi

bad=$(mktemp --suffix=.cpp)
trap 'rm -f "$bad"' EXIT
echo 'int  f( ){return 1 ;}' >"$bad"
if "$format" --style=file:"$root/.clang-format" --dry-run -Werror "$bad" 2>/dev/null; then
  echo "clang-format found nothing wrong with a bad file"
  exit 1
fi

mapfile -d '' -t files < <(cd "$root" && find core config daemon tests -name fixtures -prune -o \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0)
[ ${#files[@]} -gt 20 ] || { echo "only ${#files[@]} files found"; exit 1; }
cd "$root"
if ! "$format" --dry-run -Werror "${files[@]}" 2>"$bad"; then
  echo "not laid out as .clang-format says; mend with: clang-format -i"
  sed -n 's/:[0-9]*:[0-9]*: error:.*//p' "$bad" | sort -u
  exit 1
fi
