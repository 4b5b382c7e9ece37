#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# usage: systemd_container.sh ROOT CONSOLE    starts the systemd of a directory as the first process of namespaces of its own: processes,
# mounts, network, control groups. It has this machine's kernel and no more of it than can be read: /proc/sys and /sys are read-only.
# What is written to its /dev/console goes to the file CONSOLE. Needs root, and ends when that systemd powers off.
set -eu
# shellcheck source=tests/support/mount_devices.sh
. "$(dirname "$0")/../support/mount_devices.sh"
root=$1 console=$2
if [ "${3:-}" != inside ]; then
  group=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)/memstat-systemd-$$
  mkdir "$group"
  # The script is removed with its group when all of it has ended.
  (
    echo "$BASHPID" >"$group/cgroup.procs"
    exec unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child bash "$0" "$root" "$console" inside
  ) || true
  find "$group" -depth -type d -exec rmdir {} +
  exit 0
fi

mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount_devices "$root/dev"
: >"$root/dev/console"
mount --bind "$console" "$root/dev/console"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
cd "$root"
mkdir -p outside
pivot_root . outside
cd /
umount -l /outside
exec env -i container=memstat PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal --show-status=no
