// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/poll_plan.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/fixed_path.h"
#include "core/base/kernel_address.h"
#include "core/base/text.h"
#include "core/capture/files.h"

namespace memstat {
namespace {

using Kind = PollRecord::Kind;

/// The place of a record; kLink and kListing belong to files.
PollPlace place_of(Kind kind) {
  switch (kind) {
    case Kind::kSysctl:
    case Kind::kSysctlError: return PollPlace::kSysctl;
    case Kind::kTable:
    case Kind::kTableError: return PollPlace::kSource;
    default: return PollPlace::kFile;
  }
}

/// `path` without ".", ".." and empty components; "" if it is too long.
std::string normalized(std::string_view path) {
  FixedPath result;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part == "..") {
      result.remove_last_component();
    } else if (!part.empty() && part != "." && !result.append_component(part)) {
      return {};
    }
  }
  return std::string(result.view());
}

class Planner {
 public:
  explicit Planner(std::span<PollRecord> records) : records_(records) {}

  PollPlan plan(const std::vector<RecordedError>& standing_errors, const PollInfo& info) {
    for (const PollRecord& record : records_) {
      if (record.kind == Kind::kLink) add_link(record);
    }
    for (PollRecord& record : records_) {
      if (record.kind == Kind::kFile || record.kind == Kind::kSysctl || record.kind == Kind::kTable) add_content(record);
    }
    for (const PollRecord& record : records_) {
      if (record.kind == Kind::kListing) add_listing(record);
    }
    plan_.errors = errors(standing_errors);
    plan_.info = format_poll_info(info);
    return std::move(plan_);
  }

 private:
  void add_link(const PollRecord& record) {
    if (record.name.substr(0, 1) != "/") return;
    const std::string path = record.name.substr(1);
    if (!is_safe_relative_path(path) || !link_stays_inside(path, record.bytes.view())) return;
    plan_.links["fs/" + path] = record.bytes.view();
  }

  void add_content(PollRecord& record) {
    const std::string path = path_of(place_of(record.kind), record.name);
    if (path.empty()) return;
    zero_kernel_addresses(record.bytes.data(), record.bytes.size());
    plan_.files[path] = record.bytes.view();
  }

  void add_listing(const PollRecord& record) {
    const std::string directory = record.name == "/" ? "fs" : path_of(PollPlace::kFile, record.name);
    if (directory.empty()) return;
    const auto add = [this](const std::string& path) {
      if (plan_.files.count(path) == 0 && plan_.links.count(path) == 0) plan_.empty_directories.insert(path);
    };
    add(directory);
    std::string_view rest = record.bytes.view();
    std::string_view name;
    while (next_line(rest, name)) {
      if (is_safe_component(name)) add(directory + "/" + std::string(name));
    }
  }

  // The location of a file, sysctl or table in the capture; "" if a capture cannot store it. Content read through a recorded
  // link is stored at the link's target, because the link takes its own place.
  [[nodiscard]] std::string path_of(PollPlace place, std::string_view name) const {
    if (place != PollPlace::kFile) {
      const std::string directory = place == PollPlace::kSysctl ? "sysctl/" : "source/";
      return is_safe_component(name) ? directory + std::string(name) : std::string();
    }
    if (name.substr(0, 1) != "/" || !is_safe_relative_path(name.substr(1))) return {};
    constexpr int kMaxLinks = 40;
    std::string path = "fs" + std::string(name);
    for (int followed = 0; followed < kMaxLinks; ++followed) {
      auto link = plan_.links.end();
      std::size_t end = 2;
      while (link == plan_.links.end() && end != std::string::npos) {
        end = path.find('/', end + 1);
        link = plan_.links.find(path.substr(0, end));
      }
      if (link == plan_.links.end()) return path;
      const std::string rest = end == std::string::npos ? "" : path.substr(end);
      path = normalized(link->first.substr(0, link->first.rfind('/') + 1) + link->second + rest);
      if (path.substr(0, 3) != "fs/") return {};  // chained links may leave `fs` even if no single one does
    }
    return {};
  }

  [[nodiscard]] bool is_known(PollPlace place, const std::string& name) const {
    const std::string path = path_of(place, name);
    return plan_.files.count(path) != 0 || plan_.empty_directories.count(path) != 0 || plan_.links.count("fs" + name) != 0;
  }

  [[nodiscard]] std::string errors(const std::vector<RecordedError>& standing_errors) const {
    std::map<std::pair<PollPlace, std::string>, int> last;
    for (const RecordedError& error : standing_errors) last[{error.place, error.name}] = error.system_errno;
    for (const PollRecord& record : records_) {
      if (record.kind != Kind::kFileError && record.kind != Kind::kSysctlError && record.kind != Kind::kTableError) continue;
      last[{place_of(record.kind), record.name}] = record.system_errno;
    }
    std::vector<RecordedError> all;
    for (const auto& [key, system_errno] : last) {
      const auto& [place, name] = key;
      if (system_errno == ENOENT || name.empty() || is_known(place, name)) continue;
      all.push_back({.place = place, .name = name, .system_errno = system_errno});
    }
    return format_recorded_errors(all);
  }

  std::span<PollRecord> records_;
  PollPlan plan_;
};

}  // namespace

PollRecord::Kind error_kind_of(PollRecord::Kind kind) {
  if (kind == Kind::kSysctl) return Kind::kSysctlError;
  return kind == Kind::kTable ? Kind::kTableError : Kind::kFileError;
}

int replayed_errno(const Error& error) {
  if (error.system_errno != 0) return error.system_errno;
  switch (error.code) {
    case ErrorCode::kNotPresent: return ENOENT;
    case ErrorCode::kPermission: return EACCES;
    case ErrorCode::kNoMemory: return ENOMEM;
    case ErrorCode::kTimeout: return ETIMEDOUT;
    default: return EIO;
  }
}

PollPlan plan_poll(std::span<PollRecord> records, const std::vector<RecordedError>& standing_errors, const PollInfo& info) {
  return Planner(records).plan(standing_errors, info);
}

}  // namespace memstat
