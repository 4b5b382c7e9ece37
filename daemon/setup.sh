# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154  # program and root are the caller's
# Functions shared by daemon/run and tests/run: install missing packages, configure, build. Sourced, not run.
# The caller sets `program` (its name, for messages) and `root` (the repository). All output goes to standard error, because
# standard output belongs to the started program (`daemon/run -- --once > page`).

# A root shell from plain `su` lacks these, and dpkg requires them.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

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

# missing_packages FILE...: prints the packages of these lists that are not installed; all of them if there is no dpkg.
missing_packages() {
  local wanted installed
  wanted=$(sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' -- "$@" | sort -u)
  # shellcheck disable=SC2016,SC2086  # dpkg-query's own placeholders; one argument per package
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^.i  *//p' | sort -u)
  comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed")
}

# install_missing FILE...: installs the missing packages of these lists. A failure is only reported: the libraries may come
# from elsewhere, which CMake checks.
install_missing() {
  local missing list
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  list=$(printf '%s' "$missing" | tr '\n' ' ')
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian; memstatd needs what Debian 12 calls $list"
    say "continuing with what is installed"
    return 0
  fi
  say "installing $list"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  # A stale index names packages that the mirror no longer has, so update it, but only if something is missing.
  as_root "${apt[@]}" update >&2 || say "apt-get update failed; trying with the old index"
  # shellcheck disable=SC2086  # one argument per package
  if as_root "${apt[@]}" install -y --no-install-recommends $missing >&2; then
    return 0
  fi
  say "could not install; as root: apt-get install $list"
  say "continuing with what is installed"
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
    say "$1 is not writable for $(id -un): remove $root/build (another user made it), or run as root"
    return 1
  fi
}
