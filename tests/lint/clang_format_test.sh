#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every C++ file is laid out as clang-format 14 does it with .clang-format.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
if ! command -v clang-format-14 >/dev/null; then
  echo "clang-format-14 is not installed"
  exit 77
fi

bad=$(mktemp --suffix=.cpp)
trap 'rm -f "$bad"' EXIT
echo 'int  f( ){return 1 ;}' >"$bad"
if clang-format-14 --style=file:"$root/.clang-format" --dry-run -Werror "$bad" 2>/dev/null; then
  echo "clang-format found nothing wrong with a bad file"
  exit 1
fi

mapfile -d '' -t files < <(cd "$root" && find core config daemon tests -name fixtures -prune -o \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0)
[ ${#files[@]} -gt 20 ] || { echo "only ${#files[@]} files found"; exit 1; }
cd "$root"
if ! clang-format-14 --dry-run -Werror "${files[@]}" 2>"$bad"; then
  echo "not laid out as .clang-format says; mend with: clang-format-14 -i"
  sed -n 's/:[0-9]*:[0-9]*: error:.*//p' "$bad" | sort -u
  exit 1
fi
