// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/kernel_list.h"

#include <new>
#include <string_view>

#include "daemon/ctl/commands/options.h"

namespace memstat::ctl {

KernelList::KernelList() : list_(memstat_mtl_alloc(), memstat_mtl_free) {
  if (list_ == nullptr) throw std::bad_alloc();
}

bool KernelList::reads(const CommandLine& options) const {
  return !options.from || memstat_mtl_set_capture(list_.get(), options.from->c_str()) == 0;
}

Report KernelList::failure(const std::string& wanted) const {
  std::string text = memstat_mtl_get_message(list_.get());
  const int error = memstat_mtl_geterror(list_.get());
  if (text.empty()) text = memstat_strerror(error);  // out of memory for a longer text
  if (error == MEMSTAT_ERROR_NOTPRESENT && !wanted.empty()) text += "\n" + wanted;
  return {.problem = text, .notes = notes()};
}

std::vector<std::string> KernelList::notes() const {
  std::vector<std::string> lines;
  for (std::string_view rest = memstat_mtl_get_notes(list_.get()); !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    lines.emplace_back(rest.substr(0, rest.find('\n')));
  }
  return lines;
}

std::string only_freebsd(const CommandLine& options) {
  return "memstatctl " + std::string(options.command->name) +
         " shows FreeBSD kernels only: give a capture of one with --from CAPTURE[@POLL]; memstatctl types shows every "
         "kernel";
}

}  // namespace memstat::ctl
