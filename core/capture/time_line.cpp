// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/time_line.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/base/fixed_path.h"
#include "core/base/text.h"
#include "core/capture/manifest.h"
#include "core/capture/poll_segments.h"
#include "core/capture/replay_view.h"

namespace memstat {
namespace {

constexpr std::string_view kInfo = "/poll.yaml";
constexpr std::string_view kErrors = "/errors.yaml";

/// Polls that a recorder has not packed yet: polls_beside() of any archive.
bool is_unpacked(std::string_view name) { return name.starts_with('.') && name.ends_with(".polls"); }

bool is_archive(std::string_view name) {
  return !name.starts_with('.') && (name.ends_with(".tar") || name.ends_with(".tar.zst"));
}

/// One poll of a capture, under another number.
class RenumberedPoll final : public CaptureFiles {
 public:
  RenumberedPoll(std::shared_ptr<const CaptureFiles> capture, std::string directory)
      : capture_(std::move(capture)), directory_(std::move(directory)) {}

  [[nodiscard]] const std::string& name() const override { return capture_->name(); }
  Result<FileKind> kind(std::string_view path) const override {
    FixedPath real;
    if (!translate(path, real)) return FileKind::kAbsent;
    return capture_->kind(real.view());
  }
  Result<void> read(std::string_view path, Buffer& out) const override {
    FixedPath real;
    if (!translate(path, real)) return too_long(path);
    return capture_->read(real.view(), out);
  }
  Result<std::string> read_link(std::string_view path) const override {
    FixedPath real;
    if (!translate(path, real)) return too_long(path);
    return capture_->read_link(real.view());
  }
  Result<void> list(std::string_view path, std::vector<std::string>& names) const override {
    FixedPath real;
    if (!translate(path, real)) return too_long(path);
    return capture_->list(real.view(), names);
  }

 private:
  [[nodiscard]] Error too_long(std::string_view path) const {
    return system_error(full_name(path.substr(0, 200)), ENAMETOOLONG);
  }
  [[nodiscard]] bool translate(std::string_view path, FixedPath& real) const {
    const auto inner = below_top(path);
    return real.assign(directory_) && (!inner || real.append_component(*inner));
  }

  const std::shared_ptr<const CaptureFiles> capture_;
  const std::string directory_;
};

bool is_of_same_machine(const CaptureManifest& a, const CaptureManifest& b) {
  return std::tie(a.os, a.machine, a.byte_order, a.page_size, a.cpu_count) ==
         std::tie(b.os, b.machine, b.byte_order, b.page_size, b.cpu_count);
}

}  // namespace

/// The manifest of a capture, and its polls without their files.
struct TimeLine::Listed {
  struct ListedPoll {
    std::string directory;
    std::int64_t realtime_ns = 0;
    std::int64_t monotonic_ns = 0;
    std::string info;    // poll.yaml
    std::string errors;  // "" without any
  };
  std::string manifest_text;
  CaptureManifest manifest;
  std::vector<ListedPoll> polls;
};

std::vector<std::string> captures_in(const std::string& directory) {
  std::vector<std::string> captures;
  std::error_code failed;
  if (std::filesystem::exists(std::filesystem::path(directory) / kManifestName, failed)) return captures;
  for (std::filesystem::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;  // an empty archive is still to be written
    if (is_unpacked(name) ? std::filesystem::exists(it->path() / kManifestName, ignored)
                          : is_archive(name) && it->file_size(ignored) != 0)
      captures.push_back(it->path().string());
  }
  std::sort(captures.begin(), captures.end());
  return captures;
}

TimeLine::TimeLine(std::string name, const ArchiveLimits& limits) : name_(std::move(name)), limits_(limits) {}

Result<TimeLine::Listed> TimeLine::list_capture(const std::string& path) const {
  const auto files = open_capture_files(path, limits_);
  if (!files) return files.error();
  if (auto found = require_manifest(**files); !found) return found.error();
  Buffer text;
  Listed listed;
  if (auto read = (*files)->read(kManifestName, text); !read) return read.error();
  listed.manifest_text = text.view();
  auto manifest = parse_manifest(text.view(), (*files)->full_name(kManifestName));
  if (!manifest) return manifest.error();
  listed.manifest = *std::move(manifest);
  std::vector<std::string> names;
  if (auto read = (*files)->list("", names); !read) return read.error();
  for (std::string& name : names) {
    if (!is_poll_directory(name) || !(*files)->read(name + std::string(kInfo), text)) continue;
    const auto info = parse_poll_info(text.view(), (*files)->full_name(name + std::string(kInfo)));
    if (!info) return info.error();
    Listed::ListedPoll& poll = listed.polls.emplace_back();
    poll.realtime_ns = info->realtime_ns;
    poll.monotonic_ns = info->monotonic_ns;
    poll.info = text.view();
    if ((*files)->read(name + std::string(kErrors), text)) poll.errors = text.view();
    poll.directory = std::move(name);
  }
  return listed;
}

Result<void> TimeLine::take(const std::vector<std::string>& captures, const Keep& keep) {
  std::optional<Error> first;
  std::vector<Listed> all;
  for (const std::string& path : captures) {
    auto listed = list_capture(path);
    if (!listed) {
      notes_.push_back("left out: " + to_string(listed.error()));
      if (!first) first = listed.error();
      continue;
    }
    if (listed->polls.empty()) continue;
    captures_.push_back(path);
    all.push_back(*std::move(listed));
  }
  if (all.empty()) {
    return first ? *first : make_error(ErrorCode::kNotPresent, name_, "there is no capture with a complete poll in it");
  }
  const auto last_time = [](const Listed& listed) {
    return std::max_element(listed.polls.begin(), listed.polls.end(),
                            [](const auto& a, const auto& b) { return a.realtime_ns < b.realtime_ns; })
        ->realtime_ns;
  };
  const auto newest = std::max_element(all.begin(), all.end(),
                                       [&](const Listed& a, const Listed& b) { return last_time(a) < last_time(b); });
  struct Found {
    std::pair<std::int64_t, std::int64_t> time;  // realtime, monotonic
    std::size_t capture;
    Listed::ListedPoll* poll;
  };
  std::vector<Found> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_of_same_machine(all[i].manifest, newest->manifest)) {
      notes_.push_back("left out: " + captures_[i] + ": is of another machine (system, page size or CPUs differ)");
      continue;
    }
    for (Listed::ListedPoll& poll : all[i].polls) found.push_back({{poll.realtime_ns, poll.monotonic_ns}, i, &poll});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.time < b.time; });
  const auto is_same = [](const Found& a, const Found& b) { return a.time == b.time; };
  found.erase(std::unique(found.begin(), found.end(), is_same), found.end());

  auto manifest = std::make_shared<MemoryFiles>(name_);
  if (auto added = manifest->add_file(kManifestName, newest->manifest_text); !added) return added;
  auto index = std::make_shared<MemoryFiles>(name_, limits_.total_bytes);
  for (const Found& one : found) {
    if (keep && !keep(one.poll->realtime_ns)) continue;
    const std::string number = poll_directory(polls_.size());
    if (auto added = index->add_file(number + std::string(kInfo), std::move(one.poll->info)); !added) return added;
    if (!one.poll->errors.empty()) {
      auto added = index->add_file(number + std::string(kErrors), std::move(one.poll->errors));
      if (!added) return added;
    }
    polls_.push_back(
        {.realtime_ns = one.poll->realtime_ns, .capture = one.capture, .directory = std::move(one.poll->directory)});
  }
  others_ = std::move(manifest);
  index_ = std::move(index);
  return {};
}

Result<std::unique_ptr<TimeLine>> TimeLine::open(std::string name, const std::vector<std::string>& captures,
                                                 const ArchiveLimits& limits, const Keep& keep) {
  std::unique_ptr<TimeLine> line(new TimeLine(std::move(name), limits));
  if (auto taken = line->take(captures, keep); !taken) return taken.error();
  return line;
}

const TimeLine::Poll* TimeLine::find(std::string_view poll) const {
  if (!is_poll_directory(poll)) return nullptr;
  const auto number = parse_u64(poll);
  return number && *number < polls_.size() ? &polls_[static_cast<std::size_t>(*number)] : nullptr;
}

Result<void> TimeLine::list(std::string_view path, std::vector<std::string>& names) const {
  if (!path.empty()) return PackedFiles::list(path, names);
  names.clear();
  for (std::size_t i = 0; i < polls_.size(); ++i) names.push_back(poll_directory(i));
  names.emplace_back(kManifestName);
  return {};
}

std::vector<std::int64_t> TimeLine::times() const {
  std::vector<std::int64_t> times;
  for (const Poll& poll : polls_) times.push_back(poll.realtime_ns);
  return times;
}

Result<PackedFiles::Files> TimeLine::unpack(std::string_view poll) const {
  const Poll& wanted = *find(poll);
  if (open_ == nullptr || open_capture_ != wanted.capture) {
    open_.reset();  // before the next one takes memory
    auto opened = open_capture_files(captures_[wanted.capture], limits_);
    if (!opened) return opened.error();
    open_ = *std::move(opened);
    open_capture_ = wanted.capture;
  }
  return Files(std::make_shared<RenumberedPoll>(open_, wanted.directory));
}

}  // namespace memstat
