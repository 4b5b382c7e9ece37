# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# mount_devices DIRECTORY: a /dev with what programs expect, and no device of this machine. Sourced, not run.
mount_devices() {
  mount -t tmpfs -o mode=755 tmpfs "$1"
  local device
  for device in null zero full random urandom tty kmsg; do
    : >"$1/$device"
    mount --bind "/dev/$device" "$1/$device"
  done
  mkdir "$1/pts" "$1/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$1/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$1/shm"
  ln -s pts/ptmx "$1/ptmx"
  ln -s /proc/self/fd "$1/fd"
  ln -s fd/0 "$1/stdin"
  ln -s fd/1 "$1/stdout"
  ln -s fd/2 "$1/stderr"
}
