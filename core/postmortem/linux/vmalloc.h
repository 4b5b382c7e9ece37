// SPDX-License-Identifier: BSD-2-Clause
// /proc/vmallocinfo of a crashed Linux kernel: the areas of mm/vmalloc.c.
//
//   vmap_area_list -> vmap_area -> vmap_area -> ...           until Linux 6.8; freed areas: purge_vmap_area_list (5.11)
//   vmap_nodes[nr_vmap_nodes]: busy.head -> vmap_area -> ...   since 6.9 (d093602919ad); freed areas: lazy.head
//   vmap_area.vm -> vm_struct: size, flags, pages, caller
#pragma once

#include <cstdint>
#include <string>

#include "core/postmortem/linux/cpus.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// /proc/vmallocinfo of the dumped kernel.
struct LinuxVmallocinfo {
  std::string text;    ///< "" if no area was readable.
  std::string damage;  ///< The first problem found, for display; usually "".
};

/// One line per area, as printed by s_show().
LinuxVmallocinfo read_linux_vmallocinfo(KernelImage& image, const LinuxMachine& machine);

}  // namespace memstat::postmortem
