// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/freebsd_processes.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/text.h"
#include "core/collect/jail_table.h"
#include "core/collect/sysctl_list.h"

namespace memstat {
namespace {

constexpr std::string_view kProcesses = "kern.proc.proc";
constexpr std::string_view kFiles = "kern.file";

std::optional<std::uint64_t> read_sysctl_number(KernelView& view, std::string_view name) {
  Buffer bytes;
  return view.read_sysctl(name, bytes, sizeof(std::uint64_t)) ? sysctl_number(bytes.view()) : std::nullopt;
}

/// Names of jails, read when the first is asked for.
class JailNames {
 public:
  explicit JailNames(KernelView& view) : view_(view) {}

  std::string name_of(std::uint32_t number) {
    if (!is_read_) read();
    const auto found = names_.find(number);
    return found != names_.end() ? found->second : std::to_string(number);
  }

 private:
  void read() {
    is_read_ = true;
    Buffer bytes;
    if (!view_.read_sysctl(JailTable::kList, bytes, 0)) return;
    // Of an unknown structure, numbers are shown.
    static_cast<void>(for_each_jail(JailTable::kList, bytes.view(), [&](const ExportedJail& jail) {
      names_[jail.number] = make_label_text(jail.name);
      return true;
    }));
  }

  KernelView& view_;
  bool is_read_ = false;
  std::map<std::uint32_t, std::string> names_;
};

/// The kernel does not report how many processes it hides: that is the number of all processes minus the visible ones.
void count_hidden(Inspector& inspector, std::uint64_t seen) {
  constexpr std::array<std::string_view, 3> kPolicies = {"security.bsd.see_other_uids", "security.bsd.see_other_gids",
                                                         "security.bsd.see_jail_proc"};
  const bool hides = std::any_of(kPolicies.begin(), kPolicies.end(), [&](std::string_view policy) {
    return read_sysctl_number(inspector.view(), policy) == 0U;
  });
  if (!hides) return;
  const auto others = read_sysctl_number(inspector.view(), "vm.uma.PROC.stats.current");  // without process 0
  if (others && *others >= seen) inspector.refuse(saturating_sum(*others - seen, 1));
}

}  // namespace

Result<ProcessHolders> exported_processes(Inspector& inspector, const std::function<void(const ExportedProcess&)>& visit) {
  Buffer bytes;
  if (auto read = inspector.view().read_sysctl(kProcesses, bytes, 0); !read) return read.error();
  ProcessHolders processes;
  JailNames jails(inspector.view());
  auto walked = for_each_process(kProcesses, bytes.view(), [&](const ExportedProcess& process) {
    if (!inspector.take_read()) return false;
    Holder& holder = processes[process.pid];
    holder.pid = process.pid;
    holder.command = process.command;
    holder.user = std::to_string(process.uid);
    if (process.jail != 0) holder.group = "jail " + jails.name_of(process.jail);
    if (visit != nullptr) visit(process);
    return true;
  });
  if (!walked) return walked.error();
  if (!inspector.answer().is_cut) count_hidden(inspector, processes.size());
  return processes;
}

Result<void> visit_exported_files(Inspector& inspector, const std::function<void(const ExportedFile&)>& visit) {
  Buffer bytes;
  if (auto read = inspector.view().read_sysctl(kFiles, bytes, 0); !read) return read;
  return for_each_file(kFiles, bytes.view(), [&](const ExportedFile& file) {
    visit(file);
    return true;
  });
}

Holder holder_of(const ProcessHolders& processes, std::uint64_t pid, std::uint32_t uid) {
  if (const auto found = processes.find(pid); found != processes.end()) return found->second;
  Holder holder;
  holder.pid = pid;
  holder.user = std::to_string(uid);
  return holder;
}

Result<void> count_exported_files(Inspector& inspector, std::optional<DescriptorType> type) {
  const auto processes = exported_processes(inspector);
  if (!processes) return processes.error();
  ProcessHolders found;
  auto visited = visit_exported_files(inspector, [&](const ExportedFile& file) {
    if (type && file.type != *type) return;
    Holder& holder = found.try_emplace(file.pid, holder_of(*processes, file.pid, file.uid)).first->second;
    holder.count = holder.count.value_or(0) + 1;
  });
  if (!visited) return visited;
  for (auto& [pid, holder] : found) inspector.add(std::move(holder));
  return {};
}

}  // namespace memstat
