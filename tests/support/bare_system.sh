#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# usage: bare_system.sh DIRECTORY [CACHE PLACE]    the first process of a bare system: mounts the kernel's file systems and a few devices
# in DIRECTORY, and CACHE at PLACE, changes its root to DIRECTORY, and waits. Started by bare_system.py in namespaces of its own; what runs
# there ends with it.
set -eu
# shellcheck source=tests/support/mount_devices.sh
. "$(dirname "$0")/mount_devices.sh"
system=$1
mount --make-rprivate /
mount --rbind "$system" "$system"
mount -t proc proc "$system/proc"
mount --rbind /sys "$system/sys"
mount_devices "$system/dev"
[ $# -lt 3 ] || mount --bind "$2" "$3"
cd "$system"
exec chroot . /bin/sleep infinity
