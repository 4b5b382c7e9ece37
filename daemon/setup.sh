# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154  # program and root are the caller's
# Functions shared by daemon/run and tests/run: install missing packages, configure, build. Sourced, not run.
# The caller sets `program` (its name, for messages) and `root` (the repository). All output goes to standard error, because
# standard output belongs to the started program (`daemon/run -- --once > page`).

# A root shell from plain `su` lacks these, and dpkg requires them.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# Where packages are installed, in tests a directory.
system=

# Prefix of the build command; tests/run runs sanitizer builds through setarch.
build_prefix=()

say() { printf '%s: %s\n' "$program" "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    return 127
  fi
}

# releases: the lines of daemon/releases.txt: RELEASE SUITE G++ CLANG, the oldest first.
releases() { sed -e '/^#/d' "$root/daemon/releases.txt"; }

# is_supported FILE: false if FILE, an os-release(5), is that of a Debian older than the oldest of releases.txt.
is_supported() {
  local oldest release
  read -r oldest _ < <(releases)
  # shellcheck disable=SC1090,SC2153  # os-release(5) defines both names
  release=$(. "$1" 2>/dev/null && [ "${ID:-}" = debian ] && release=${VERSION_ID:-} && printf "%s" "${release%%.*}")
  if [ -n "$release" ] && [ "$release" -lt "$oldest" ]; then
    say "Debian $release is too old for memstatd, which needs Debian $oldest or newer"
    return 1
  fi
}

# find_tool NAME: the path of NAME, or of its newest version (NAME-19 before NAME-14).
find_tool() {
  local newest
  newest=$(compgen -c -- "$1-" | sed 's/.*-//' | grep -x '[0-9][0-9]*' | sort -n | tail -n 1)
  command -v "$1" || command -v "$1-$newest"
}

# major_version PROGRAM: the first number of its version.
major_version() { "$1" --version 2>/dev/null | sed -n 's/.*version \([0-9][0-9]*\).*/\1/p' | head -n 1; }

# packages FILE...: the names in these lists.
packages() { sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' -- "$@" | sort -u; }

# missing_packages FILE...: prints the packages of these lists that are not installed; all of them if there is no dpkg.
missing_packages() {
  local wanted installed
  wanted=$(packages "$@")
  # shellcheck disable=SC2016,SC2086  # dpkg-query's own placeholders; one argument per package
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^.i  *//p' | sort -u)
  comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed")
}

# with_uses PACKAGES FILE...: a line for each package, with what the lists say it is for.
with_uses() {
  local names=$1 name
  shift
  for name in $names; do
    printf '%s (%s)\n' "$name" "$(awk -v name="$name" '$1 == name { sub(/^[^#]*#[ ]*/, ""); print; exit }' "$@")"
  done
}

# boot_links: the links by which systemd and the scripts of /etc/init.d start something at boot or login.
boot_links() {
  find "$system/etc/systemd/system" "$system/etc/systemd/user" "$system"/etc/rc[0-9S].d -type l ! -name '*.target' \
    \( -path '*.wants/*' -o -path '*.requires/*' -o -name 'S[0-9]*' \) 2>/dev/null | LC_ALL=C sort
}

# without_services COMMAND...: runs COMMAND, which installs packages. What they would start is not started, neither now nor at the next
# boot; what was enabled before stays so. A policy of the administrator's remains in force.
without_services() {
  local policy=$system/usr/sbin/policy-rc.d mark='made by memstatd' before link name made='' status=0
  local helper=(env DPKG_MAINTSCRIPT_PACKAGE=memstatd deb-systemd-helper)  # it refuses callers other than dpkg
  # With the mark, it is left from a run that was killed.
  if [ ! -e "$policy" ] || grep -qs "$mark" "$policy"; then
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" | as_root sh -c 'cat >"$1" && chmod 755 "$1"' sh "$policy" && made=yes
  fi
  # shellcheck disable=SC2064  # expanded now on purpose
  trap "[ -z '$made' ] || as_root rm -f '$policy'" EXIT
  before=$(boot_links)
  "$@" || status=$?
  while read -r link; do
    name=${link##*/}
    case $link in
      */etc/rc?.d/*) as_root update-rc.d "${name#S[0-9][0-9]}" disable ;;
      */etc/systemd/user/*) as_root "${helper[@]}" --user disable "$name" ;;
      ?*) as_root "${helper[@]}" disable "$name" ;;
    esac
  done < <(comm -13 <(printf '%s\n' "$before") <(boot_links)) >/dev/null 2>&1
  [ -z "$made" ] || as_root rm -f "$policy"
  trap - EXIT
  return $status
}

apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)

# install_together PACKAGE...: installs all, or, if that fails, each that can be.
install_together() {
  local package
  as_root "${apt[@]}" install -y --no-install-recommends "$@" >&2 && return 0
  [ $# -gt 1 ] || return 1
  for package in "$@"; do
    as_root "${apt[@]}" install -y --no-install-recommends "$package" >&2
  done
}

# The packages that could not be installed at an earlier start. They are tried again once apt has another index or other sources.
tried=$root/build/not-installed
was_tried() {
  [ -e "$tried" ] && [ -z "$(find "$system/var/lib/apt/lists" "$system/etc/apt/sources.list" "$system/etc/apt/sources.list.d" -maxdepth 1 -newer "$tried" 2>/dev/null)" ]
}

# install_missing FILE...: installs what is missing of these lists, as far as this release has it, and names the rest with its use: a
# library may come from elsewhere, which CMake checks, or be optional. Fails only on a release that is too old.
install_missing() {
  local missing available line updated=yes
  is_supported /etc/os-release || return 1
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian; memstatd needs what Debian calls $(tr '\n' ' ' <<<"$missing")"
    say "continuing with what is installed"
    return 0
  fi
  if was_tried && [ -z "$(comm -23 <(printf '%s\n' "$missing") "$tried")" ]; then
    say "without $(tr '\n' ' ' <<<"$missing")(not tried again before the next apt-get update)"
    return 0
  fi
  say "installing $(tr '\n' ' ' <<<"$missing")"
  # A stale index names packages that the mirror no longer has, so update it, but only if something is missing.
  as_root "${apt[@]}" update >&2 || { updated=; say "apt-get update failed; trying with the old index"; }
  # shellcheck disable=SC2086  # one argument per package
  available=$(apt-cache show $missing 2>/dev/null | sed -n 's/^Package: //p' | sort -u)
  # shellcheck disable=SC2086
  [ -z "$available" ] || without_services install_together $available
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  while read -r line; do
    if grep -qxF -- "${line%% *}" <<<"$available"; then
      say "could not install $line; as root: apt-get install ${line%% *}"
    else
      say "apt does not have $line"
    fi
  done < <(with_uses "$missing" "$@")
  say "continuing with what is installed"
  [ -z "$updated" ] || { mkdir -p "$root/build" && printf '%s\n' "$missing" >"$tried"; } 2>/dev/null
  return 0
}

# Number of parallel compilers: one per CPU, limited by memory (about 1 GB each).
build_jobs() {
  local cpus memory
  cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1000000)}' /proc/meminfo 2>/dev/null)
  [ -n "$memory" ] || memory=$cpus
  [ "$memory" -ge 1 ] || memory=1
  echo $((cpus < memory ? cpus : memory))
}

# is_configured DIR -DNAME=VALUE...: whether DIR has a complete configuration of this tree with these settings.
is_configured() {
  local directory=$1 setting
  shift
  [ -e "$directory/build.ninja" ] || [ -e "$directory/Makefile" ] || return 1
  grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$directory/CMakeCache.txt" 2>/dev/null || return 1
  for setting in "$@"; do
    setting=${setting#-D}
    sed -n 's/^\([A-Za-z_]*\):[A-Z]*=/\1=/p' "$directory/CMakeCache.txt" | grep -xF -- "$setting" >/dev/null || return 1
  done
}

# configure DIR [-DNAME=VALUE...]: configures DIR, unless it already has this configuration.
configure() {
  local directory=$1 generator=()
  shift
  ! is_configured "$directory" "$@" || return 0
  if ! command -v cmake >/dev/null; then
    say "cmake is not installed"
    return 1
  fi
  may_write "$directory" || return 1
  # Remove an incomplete configuration, or one of another tree; the generator cannot be changed later.
  if ! is_configured "$directory"; then
    rm -rf "$directory/CMakeCache.txt" "$directory/CMakeFiles"
    ! command -v ninja >/dev/null || generator=(-G Ninja)
  fi
  say "configuring $directory"
  cmake -S "$root" -B "$directory" "${generator[@]}" "$@" >&2
}

# build DIR [TARGET...]: builds the targets, or everything. Files built by root are given to the owner of the tree, who would
# otherwise be locked out after one `sudo daemon/run`.
build() {
  may_write "$1" || return 1
  say "building $1"
  # Continue after an error, to show all of them at once.
  local status=0 keep_going=-k0 directory=$1
  shift
  [ -e "$directory/build.ninja" ] || keep_going=-k
  "${build_prefix[@]}" cmake --build "$directory" -j "$(build_jobs)" ${1:+--target "$@"} -- $keep_going >&2 || status=$?
  [ "$(id -u)" != 0 ] || chown -R --reference="$root" "$root/build"
  return $status
}

may_write() {
  if ! mkdir -p "$1" 2>/dev/null || ! [ -w "$1" ]; then
    local advice="clone the tree into a directory of your own"
    if [ "$(id -u)" = 0 ]; then
      advice="its file system is mounted read-only; clone the tree into another one"
    elif [ -e "$root/build" ] && [ -w "$root" ]; then
      advice="another user made it; remove $root/build, or run as root"
    fi
    say "$1 is not writable for $(id -un): $advice"
    return 1
  fi
}
