#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A new file in core/sources is refused without its test and its captures, and with them it is built in without another edit. So is one of
# core/diagnosis/causes without its test and its situation, and one of core/inspect/questions without its test.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$root/CMakeLists.txt" "$root/core" "$copy/"
mkdir -p "$copy/tests/unit/diagnosis" "$copy/daemon"
cp -R "$root/daemon/package" "$root/daemon/releases.txt" "$copy/daemon/"
cp -R "$root/tests/unit/sources" "$root/tests/unit/events" "$root/tests/unit/counters" "$root/tests/unit/inspect" "$copy/tests/unit/"
cp -R "$root/tests/unit/diagnosis/causes" "$copy/tests/unit/diagnosis/"
cp -R "$root/tests/fixtures" "$root/tests/situations" "$copy/tests/"
build=$copy/build
table=$build/generated/sources_of_memstat_core.cpp
new=$copy/core/sources/new_source.cpp
captures=$copy/tests/fixtures/sources/new_source.captures

# Builds after a file was added, which the build must notice by itself. Output in $copy/log.
regenerate() {
  if [ -e "$build/build.ninja" ]; then
    ninja -C "$build" build.ninja >"$copy/log" 2>&1
  else
    cmake "$build" >"$copy/log" 2>&1
  fi
}
fail() { echo "$1"; cat "$copy/log"; exit 1; }
must_refuse() {
  ! regenerate || fail "a source $1 was accepted"
  tr -s ' \n' ' ' <"$copy/log" | grep -q "$2" || fail "a source $1 was refused for another reason than \"$2\""
}

generator=()
! command -v ninja >/dev/null || generator=(-G Ninja)
cmake -S "$copy" -B "$build" "${generator[@]}" -DMEMSTAT_DAEMON=OFF -DMEMSTAT_TESTS=OFF -DMEMSTAT_ZSTD=OFF -DMEMSTAT_UNITY=OFF \
  >"$copy/log" 2>&1 || fail "the tree as it is does not configure"
grep -q 'sources::linux_slabinfo' "$table" || fail "the table does not have the sources of the tree"

touch "$new"
must_refuse "without a test" 'new_source.cpp has no test: write tests/unit/sources/new_source_test.cpp'
touch "$copy/tests/unit/sources/new_source_test.cpp"
must_refuse "without a fixture" 'new_source.cpp has no captured fixture'
echo '# none' >"$captures"
must_refuse "with an empty list of captures" 'names no capture'
echo 'absent.tar.zst' >"$captures"
must_refuse "with a capture that is not there" 'names absent.tar.zst, which is not in tests/fixtures/captures'
basename "$(find "$copy/tests/fixtures/captures" -name '*.tar.zst' | head -n 1)" >"$captures"
regenerate || fail "a source with test and fixture was refused"
grep -q 'sources::new_source' "$table" || fail "the new source is not in the table"
grep -rqs 'core/sources/new_source.cpp' "$build/compile_commands.json" || fail "the new source is not compiled"

rm "$new"
cause=$copy/core/diagnosis/causes/new_cause.cpp
printf '    .name = "new_cause",\n' >"$cause"
must_refuse "of a cause without a test" 'write tests/unit/diagnosis/causes/new_cause_test.cpp'
touch "$copy/tests/unit/diagnosis/causes/new_cause_test.cpp"
must_refuse "of a cause without a situation" 'describe one in tests/situations/new_cause.yaml'
printf -- '- name: new\n  cause: new_cause\n  not_recorded: later\n' >"$copy/tests/situations/new_cause.yaml"
must_refuse "of a cause that has only a placeholder" 'no situation of new_cause has a capture'
printf -- '- name: new\n  cause: new_cause\n  never_seen: "needs a machine"\n' >"$copy/tests/situations/new_cause.yaml"
touch "$copy/core/inspect/questions/new_question.cpp"
must_refuse "of a question without a test" 'write tests/unit/inspect/new_question_test.cpp'
touch "$copy/tests/unit/inspect/new_question_test.cpp"
regenerate || fail "a cause and a question with what they need were refused"
grep -q 'inspections::new_question' "$build/generated/all_inspections.cpp" || fail "the new question is not in the table"
rm "$cause" "$copy/core/inspect/questions/new_question.cpp"

# Another target's sources keep the same rules, and share the names.
mkdir "$copy/extra"
printf 'add_library(extra STATIC)\nmemstat_add_sources(extra extra)\n' >>"$copy/CMakeLists.txt"
touch "$copy/extra/linux_slabinfo.cpp"
must_refuse "with the name of another target's" 'another target has a source named linux_slabinfo'
mv "$copy/extra/linux_slabinfo.cpp" "$copy/extra/extra_source.cpp"
must_refuse "of another target without a test" 'write tests/unit/extra/extra_source_test.cpp'
