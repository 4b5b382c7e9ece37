// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/processes.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::uint64_t kBytesOfKilobyte = 1024;
/// Processes that may have more descriptors are examined last, because they may use up the limits.
constexpr std::uint64_t kManyDescriptors = 4096;

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

Result<void> walk_statuses(Inspector& inspector, const VisitStatus& visit) {
  Buffer names;
  Buffer status;
  if (auto listed = inspector.view().list_directories("/proc", names); !listed) return listed.error();
  bool has_any = false;
  std::string_view rest = names.view();
  std::string_view name;
  while (next_name(rest, name)) {
    const auto pid = parse_u64(name);
    if (!pid || *pid == 0) continue;
    has_any = true;
    if (!inspector.take()) break;
    const auto read = inspector.view().read_file("/proc/" + std::string(name) + "/status", status);
    if (!read && read.error().code == ErrorCode::kPermission) inspector.refuse();  // hidepid=1
    visit(*pid, read ? status.view() : std::string_view());
  }
  return has_any ? Result<void>() : system_error("/proc", ENOENT, "shows no process");
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
  if (const auto own = inspector.view().read_link("/proc/self/" + link)) seen.insert(*own);
  for (const Process& process : processes) {
    if (!inspector.take()) break;
    const auto space = inspector.view().read_link(path_of(process, link));
    if (space && seen.insert(*space).second) chosen.push_back(process);
    if (!space) note_refusal(inspector, process, space.error());
  }
  return chosen;
}

std::string directory_of(const Process& process) {
  return process.pid == 0 ? "/proc/self/" : "/proc/" + std::to_string(process.pid) + "/";
}

Result<std::vector<Process>> list_processes(Inspector& inspector, std::string_view key) {
  std::vector<Process> processes;
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
  if (error.code != ErrorCode::kPermission) return;
  if (parse_status(inspector.read(path_of(process, "status")), {})) inspector.refuse();
}

Result<void> look_at_status(Inspector& inspector, std::string_view key) {
  const auto processes = list_processes(inspector, key);
  if (!processes) return processes.error();
  for (const Process& process : *processes) {
    if (process.bytes != 0) inspector.add(holder_of(process)).bytes = process.bytes;
  }
  return {};
}

Result<void> walk_descriptors(Inspector& inspector, const VisitDescriptor& visit, const LeaveProcess& leave) {
  auto processes = list_processes(inspector);
  if (!processes) return processes.error();
  std::stable_partition(processes->begin(), processes->end(),
                        [](const Process& process) { return process.descriptor_room <= kManyDescriptors; });
  std::vector<std::string> descriptors;
  for (const Process& process : *processes) {
    const std::string directory = path_of(process, "fd");
    if (auto listed = inspector.view().list_directory(directory, descriptors); !listed) {
      note_refusal(inspector, process, listed.error());
      continue;
    }
    for (const std::string& descriptor : descriptors) {
      if (!inspector.take()) break;
      if (const auto target = inspector.view().read_link(directory + "/" + descriptor)) visit(process, descriptor, *target);
    }
    leave(process);
    if (inspector.answer().is_cut) break;
  }
  return {};
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
