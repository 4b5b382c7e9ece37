// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD's <pmc.h> and <sys/pmc.h> declare, as far as core/counters/pmc_freebsd.cpp uses it (libpmc, FreeBSD 13 to
// 15).
#pragma once

#include <sys/types.h>

#include <cstdint>

using pmc_id_t = std::uint32_t;
using pmc_value_t = std::uint64_t;

inline constexpr pmc_id_t PMC_ID_INVALID = ~pmc_id_t{0};
inline constexpr int PMC_CPU_ANY = -1;
inline constexpr std::uint32_t PMC_F_DESCENDANTS = 0x00000004;

enum pmc_mode { PMC_MODE_SS = 0, PMC_MODE_SC = 1, PMC_MODE_TS = 2, PMC_MODE_TC = 3 };
enum pmc_class { PMC_CLASS_TSC = 0x00, PMC_CLASS_K7 = 0x01, PMC_CLASS_SOFT = 0x8000 };
enum pmc_cputype { PMC_CPU_GENERIC };

struct pmc_classinfo {
  enum pmc_class pm_class;
  std::uint32_t pm_caps;
  std::uint32_t pm_width;
  std::uint32_t pm_num;
};

struct pmc_cpuinfo {
  enum pmc_cputype pm_cputype;
  std::uint32_t pm_ncpu;
  std::uint32_t pm_npmc;
  std::uint32_t pm_nclass;
  struct pmc_classinfo pm_classes[8];
};

extern "C" {
int pmc_init(void);
int pmc_allocate(const char* event, enum pmc_mode mode, std::uint32_t flags, int cpu, pmc_id_t* pmcid, std::uint64_t count);
int pmc_attach(pmc_id_t pmc, pid_t pid);
int pmc_start(pmc_id_t pmc);
int pmc_stop(pmc_id_t pmc);
int pmc_read(pmc_id_t pmc, pmc_value_t* value);
int pmc_release(pmc_id_t pmc);
int pmc_cpuinfo(const struct pmc_cpuinfo** info);
int pmc_event_names_of_class(enum pmc_class pmcs, const char*** names, int* count);
}
