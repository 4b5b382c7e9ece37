// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/processes.h"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <set>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::uint64_t kBytesOfKilobyte = 1024;

/// The number in "  12 kB", in bytes.
std::uint64_t kilobytes(std::string_view value) {
  std::string_view word;
  const auto number = next_word(value, word) ? parse_u64(word) : std::nullopt;
  return number && *number <= UINT64_MAX / kBytesOfKilobyte ? *number * kBytesOfKilobyte : 0;
}

}  // namespace

std::optional<Process> parse_status(std::string_view status, std::string_view key) {
  Process process;
  bool has_memory = false;
  bool has_uid = false;
  std::string_view line;
  while (next_line(status, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    std::string_view word;
    if (!key.empty() && name == key) process.bytes = kilobytes(value);
    if (name == "Name") {
      process.command = trim(value);
    } else if (name == "Uid" && next_word(value, word) && parse_u64(word)) {
      process.uid = word;
      has_uid = true;
    } else if (name == "FDSize" && next_word(value, word)) {
      process.descriptor_room = parse_u64(word).value_or(0);
    } else if (name == "VmSize") {
      has_memory = true;
    }
  }
  return has_memory && has_uid ? std::optional(std::move(process)) : std::nullopt;
}

namespace {

/// The numbers of all processes that /proc shows.
Result<std::vector<std::uint64_t>> list_pids(Inspector& inspector) {
  Buffer names;
  if (auto listed = inspector.view().list_directories("/proc", names); !listed) return listed.error();
  std::vector<std::uint64_t> pids;
  std::string_view rest = names.view();
  std::string_view name;
  while (next_name(rest, name)) {
    if (const auto pid = parse_u64(name); pid && *pid != 0) pids.push_back(*pid);
  }
  if (pids.empty()) return system_error("/proc", ENOENT, "shows no process");
  return pids;
}

/// The text of a process's status, "" if it has ended or may not be read, which is counted.
std::string_view read_status(Inspector& inspector, std::uint64_t pid, Buffer& status) {
  const auto read = inspector.view().read_file("/proc/" + std::to_string(pid) + "/status", status);
  // hidepid=1, or there are no descriptors
  if (!read && (read.error().code == ErrorCode::kPermission || lacks_descriptors(read.error()))) inspector.refuse();
  return read ? status.view() : std::string_view();
}

}  // namespace

Result<void> walk_statuses(Inspector& inspector, const VisitStatus& visit) {
  const auto pids = list_pids(inspector);
  if (!pids) return pids.error();
  inspector.begin_seeing(pids->size());
  Buffer status;
  for (const std::uint64_t pid : *pids) {
    if (!inspector.take()) break;
    visit(pid, read_status(inspector, pid, status));
    inspector.see();
  }
  return {};
}

std::string_view status_value(std::string_view status, std::string_view key) {
  std::string_view line;
  while (next_line(status, line)) {
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ':')
      return trim(line.substr(key.size() + 1));
  }
  return {};
}

std::optional<std::uint64_t> status_number(std::string_view status, std::string_view key) {
  std::string_view value = status_value(status, key);
  std::string_view word;
  return next_word(value, word) ? parse_u64(word) : std::nullopt;
}

std::optional<std::uint64_t> soft_limit(Inspector& inspector, std::uint64_t pid, std::string_view name) {
  std::string_view rest = inspector.read("/proc/" + std::to_string(pid) + "/limits");
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view word;
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    return next_word(line, word) ? parse_u64(word) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> setting(Inspector& inspector, std::string_view path) {
  return parse_u64(trim(inspector.read(path)));
}

std::vector<Process> one_of_each(Inspector& inspector, const std::vector<Process>& processes, std::string_view kind) {
  const std::string link = "ns/" + std::string(kind);
  std::vector<Process> chosen{Process{}};
  std::set<std::string> seen;
  begin_examining(inspector, processes);
  if (const auto own = inspector.view().read_link("/proc/self/" + link)) seen.insert(*own);
  for (const Process& process : processes) {
    if (!inspector.take()) break;
    inspector.see();
    const auto space = inspector.view().read_link(path_of(process, link));
    if (space && seen.insert(*space).second) chosen.push_back(process);
    if (!space) note_refusal(inspector, process, space.error());
  }
  return chosen;
}

void begin_examining(Inspector& inspector, const std::vector<Process>& processes) {
  // Those that could not be listed in time are not known.
  inspector.begin_seeing(inspector.answer().is_cut ? inspector.answer().total : std::optional(processes.size()));
}

std::string directory_of(const Process& process) {
  return process.pid == 0 ? "/proc/self/" : "/proc/" + std::to_string(process.pid) + "/";
}

Result<std::vector<Process>> list_processes(Inspector& inspector, std::string_view key) {
  std::vector<Process> processes;
  const HalfOfTheRest half(inspector);
  auto walked = walk_statuses(inspector, [&](std::uint64_t pid, std::string_view status) {
    auto process = parse_status(status, key);
    if (!process) return;
    process->pid = pid;
    processes.push_back(*std::move(process));
  });
  if (!walked) return walked.error();
  std::stable_sort(processes.begin(), processes.end(),
                   [](const Process& a, const Process& b) { return a.descriptor_room > b.descriptor_room; });
  return processes;
}

Holder holder_of(const Process& process) {
  return {.pid = process.pid,
          .command = process.command,
          .user = process.uid,
          .group = {},
          .name = {},
          .count = {},
          .bytes = {}};
}

std::string path_of(const Process& process, std::string_view file) {
  return "/proc/" + std::to_string(process.pid) + "/" + std::string(file);
}

void note_refusal(Inspector& inspector, const Process& process, const Error& error) {
  if (lacks_descriptors(error)) return inspector.refuse();
  if (error.code != ErrorCode::kPermission) return;
  if (parse_status(inspector.read(path_of(process, "status")), {})) inspector.refuse();
}

Result<void> look_at_status(Inspector& inspector, std::string_view key) {
  return walk_statuses(inspector, [&](std::uint64_t pid, std::string_view status) {
    auto process = parse_status(status, key);
    if (!process || process->bytes == 0) return;
    process->pid = pid;
    inspector.add(holder_of(*process)).bytes = process->bytes;
  });
}

namespace {

/// The size of /proc/PID/fd is the number of its descriptors since Linux 6.2 ("proc: report open files as size in stat() for
/// /proc/pid/fd", fs/proc/fd.c, proc_fd_getattr). Before it is 0 for every process. Kernel threads have none.
std::vector<Process> count_by_size(Inspector& inspector, const std::vector<std::uint64_t>& pids) {
  std::vector<Process> processes;
  const auto own = inspector.view().file_size("/proc/self/fd");
  if (!own || *own == 0) return processes;
  const HalfOfTheRest half(inspector);
  for (const std::uint64_t pid : pids) {
    if (!inspector.take()) break;
    const auto size = inspector.view().file_size("/proc/" + std::to_string(pid) + "/fd");
    if (!size && size.error().code == ErrorCode::kPermission) inspector.refuse();  // hidepid=1
    if (!size || *size == 0) continue;
    Process& process = processes.emplace_back();
    process.pid = pid;
    process.descriptors = *size;
  }
  std::stable_sort(processes.begin(), processes.end(),
                   [](const Process& a, const Process& b) { return *a.descriptors > *b.descriptors; });
  return processes;
}

/// The number of open files of the machine: "1234 0 9223372036854775807". Those that processes share count once.
std::optional<std::uint64_t> open_files(Inspector& inspector) {
  std::string_view numbers = inspector.read("/proc/sys/fs/file-nr");
  std::string_view word;
  return next_word(numbers, word) ? parse_u64(word) : std::nullopt;
}

/// Reads the status of a process of which only the numbers are known. Returns false if it has ended.
bool identify(Inspector& inspector, Process& process, Buffer& status) {
  auto found = parse_status(read_status(inspector, process.pid, status), {});
  if (!found) return false;
  found->pid = process.pid;
  found->descriptors = process.descriptors;
  process = *std::move(found);
  return true;
}

/// Those with the most descriptors first, by their number or, on kernels that do not report it, by FDSize of their status:
/// the room for descriptors, which is doubled when it is full and never reduced (fs/file.c, expand_fdtable).
Result<std::vector<Process>> list_by_descriptors(Inspector& inspector) {
  const auto pids = list_pids(inspector);
  if (!pids) return pids.error();
  std::vector<Process> processes = count_by_size(inspector, *pids);
  if (processes.empty()) {
    auto listed = list_processes(inspector);
    if (listed) inspector.begin_seeing(open_files(inspector));
    return listed;
  }
  std::uint64_t total = 0;
  for (const Process& process : processes) total = saturating_sum(total, *process.descriptors);
  inspector.begin_seeing(inspector.answer().is_cut ? std::nullopt : std::optional(total));
  return processes;
}

/// i * step % count is each of `count` numbers once, and the first few are spread over all of them. So of a process that is
/// cut, every kind of descriptor is seen, and not only those that it opened first.
std::size_t spread_step(std::size_t count) {
  constexpr double kGoldenRatio = 0.618;
  auto step = std::max<std::size_t>(1, static_cast<std::size_t>(kGoldenRatio * static_cast<double>(count)));
  while (std::gcd(step, count) > 1) ++step;
  return step;
}

}  // namespace

Result<void> walk_by_descriptors(Inspector& inspector, const std::function<void(const Process&)>& visit) {
  auto processes = list_by_descriptors(inspector);
  if (!processes) return processes.error();
  Buffer status;
  for (Process& process : *processes) {
    if (!inspector.take()) break;
    if (process.command.empty() && !identify(inspector, process, status)) continue;
    visit(process);
  }
  return {};
}

Result<void> walk_descriptors(Inspector& inspector, const VisitDescriptor& visit, const LeaveProcess& leave) {
  std::vector<std::string> descriptors;
  const auto look_into = [&](const Process& process) {
    const std::string directory = path_of(process, "fd");
    if (auto listed = inspector.view().list_directory(directory, descriptors); !listed) {
      note_refusal(inspector, process, listed.error());
      return;
    }
    const HalfOfTheRest half(inspector);
    const std::size_t step = spread_step(descriptors.size());
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const std::string& descriptor = descriptors[i * step % descriptors.size()];
      if (!inspector.take()) break;
      inspector.see();
      if (const auto target = inspector.view().read_link(directory + "/" + descriptor)) visit(process, descriptor, *target);
    }
    leave(process);
  };
  return walk_by_descriptors(inspector, look_into);
}

Result<void> count_descriptors(Inspector& inspector, std::string_view wanted) {
  std::uint64_t count = 0;
  return walk_descriptors(
      inspector, [&](const Process&, std::string_view, std::string_view target) { count += target == wanted ? 1 : 0; },
      [&](const Process& process) {
        if (count != 0) inspector.add(holder_of(process)).count = count;
        count = 0;
      });
}

std::optional<std::uint64_t> inode_of(std::string_view target, std::string_view kind) {
  if (!target.starts_with(kind) || !target.ends_with(']')) return std::nullopt;
  target.remove_prefix(kind.size());
  if (!target.starts_with(":[")) return std::nullopt;
  return parse_u64(target.substr(2, target.size() - 3));
}

}  // namespace memstat
