// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's jails and what they use: the table of the source freebsd_jail. A recording keeps it instead of the sysctls that
// it is made from, which have the names of all processes and the addresses of the jails.
//
//   jails 1
//   jail racct cputime=0,memoryuse=4096,maxproc=2,... NAME    counted by the kernel, in the words of rctl(8)
//   rule maxproc:deny=20                                      a rule of the jail before
//   jail processes memoryuse=4096,vmemoryuse=...,maxproc=2,nthr=2 NAME    sums over its processes
//   end
//
// As the kernel does, both count a jail within a jail for its outer one, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

class JailTable final : public TextTableSource {
 public:
  static constexpr std::string_view kHead = "jails 1";
  static constexpr std::string_view kList = "security.jail.list";
  static constexpr std::string_view kProcesses = "kern.proc.proc";

  Result<void> open() override;
  Result<void> read(Buffer& out) override;
  /// Processes are read only if there are jails that the kernel does not count, or if that needs a privilege.
  Result<void> open_on(KernelView& machine) override;
  Result<void> read_on(KernelView& machine, Buffer& out) override;

 private:
  struct Jail {
    std::uint32_t number = 0;
    std::string_view name;  // in list_
    std::uint64_t resident_pages = 0;
    std::uint64_t address_space = 0;
    std::uint64_t processes = 0;
    std::uint64_t threads = 0;
  };
  Result<void> read_jails(KernelView& machine);
  Result<void> add_processes(KernelView& machine);
  void add_sums(const Jail& jail, std::uint64_t page_size, Buffer& out) const;

  Buffer list_;
  Buffer scratch_;
  std::vector<Jail> jails_;
};

}  // namespace memstat
