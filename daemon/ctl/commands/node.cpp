// SPDX-License-Identifier: BSD-2-Clause
// Finds the NUMA node of a physical address.
#include <array>
#include <string>

#include "core/base/ascii.h"
#include "daemon/ctl/commands/kernel_list.h"
#include "daemon/ctl/commands/shared_options.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 6> kNodeColumns{{{.key = "address", .title = "", .unit = Unit::kNumber},
                                                    {.key = "node", .title = "", .unit = Unit::kNumber},
                                                    {.key = "kind", .title = ""},
                                                    {.key = "first", .title = "", .unit = Unit::kNumber},
                                                    {.key = "last", .title = "", .unit = Unit::kNumber},
                                                    {.key = "state", .title = ""}}};

constexpr std::array kNodeOptions{argument("ADDRESS", {1, Option::kAny}, "Physical addresses, as 0x1a2b or 6699",
                                           store<&CommandLine::addresses>, check_address),
                                  kKernelOption, kFromOption, kJsonOption, kCsvOption};

/// Prints a line for each address. Addresses without memory are reported in the problem.
Report run_node(const CommandLine& options) {
  const KernelList list;
  if (!list.reads(options)) return list.failure();
  ReportTable table("addresses", kNodeColumns);
  std::string text;
  Report report{.notes = list.notes()};
  for (const std::uint64_t address : options.addresses) {
    memstat_memory_block block;
    if (memstat_find_memory_block(list.get(), address, &block) != 0) {
      report.problem += (report.problem.empty() ? "" : "\nmemstatctl: ") + std::string(memstat_mtl_get_message(list.get()));
      continue;
    }
    const std::string kind = block.is_block != 0 ? "block" : "zone";
    table.add({address, static_cast<std::uint64_t>(block.node), kind, block.first, block.last,
               std::string(block.is_online != 0 ? "online" : "offline")});
    text += hex(address) + ": node " + std::to_string(block.node) + " (" + kind + " " + hex(block.first) + "-" +
            hex(block.last) + (block.is_online != 0 ? ")\n" : ", offline)\n");
  }
  report.output = options.view.layout == Layout::kText ? text : table.print(options.view);
  return report;
}

}  // namespace

const Command kNodeCommand{"node",
                           Group::kMachine,
                           "The NUMA node that holds a physical address, on Linux",
                           "memstatctl node 0x1a2b000\n"
                           "memstatctl node 0x1a2b000 --from bug.tar.zst",
                           kNodeOptions,
                           run_node};

}  // namespace memstat::ctl
