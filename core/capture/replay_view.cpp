// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/replay_view.h"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "core/capture/archive_error.h"

namespace memstat {
namespace {

constexpr int kMaxLinks = 40;  // as on Linux

Error absent(std::string_view path) { return system_error(path, ENOENT, "not in this poll of the capture"); }

Error too_long(std::string_view path) { return system_error(path.substr(0, 200), ENAMETOOLONG); }

const RecordedError* find_error(const std::vector<RecordedError>& errors, PollPlace place, std::string_view name) {
  const auto found =
      std::lower_bound(errors.begin(), errors.end(), name, [place](const RecordedError& error, std::string_view wanted) {
        return std::make_tuple(error.place, std::string_view(error.name)) < std::make_tuple(place, wanted);
      });
  if (found == errors.end() || found->place != place || found->name != name) return nullptr;
  return &*found;
}

Error replayed(const RecordedError& error) {
  return system_error(error.name, error.system_errno, "failed in this way when it was captured");
}

/// Reads a text file of the capture if it exists; `present` is set accordingly.
Result<void> read_optional(const CaptureFiles& files, const std::string& path, Buffer& out, bool& present) {
  const auto kind = files.kind(path);
  if (!kind) return kind.error();
  present = *kind != FileKind::kAbsent;
  if (!present) return {};
  if (*kind != FileKind::kFile) return refused(files.full_name(path), "is not a plain file");
  return files.read(path, out);
}

}  // namespace

bool is_poll_directory(std::string_view name) {
  const bool digits = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && (name.size() == 6 || (name.size() > 6 && name.size() <= 18 && name.front() != '0'));
}

ReplayKernelView::ReplayKernelView(std::unique_ptr<CaptureFiles> files, CaptureManifest manifest, std::vector<Poll> polls)
    : files_(std::move(files)), manifest_(std::move(manifest)), polls_(std::move(polls)), selected_(polls_.data()) {}

Result<ReplayKernelView::Poll> ReplayKernelView::open_poll(const CaptureFiles& files, const std::string& directory) {
  Poll poll;
  poll.directory = directory;
  Buffer text;
  bool present = false;
  const std::string info_path = directory + "/poll.yaml";
  if (auto read = read_optional(files, info_path, text, present); !read) return read.error();
  if (!present) {
    poll.directory.clear();  // not a complete poll
    return poll;
  }
  auto info = parse_poll_info(text.view(), files.full_name(info_path));
  if (!info) return info.error();
  poll.info = std::move(*info);
  const std::string errors_path = directory + "/errors.yaml";
  if (auto read = read_optional(files, errors_path, text, present); !read) return read.error();
  if (!present) return poll;
  auto errors = parse_recorded_errors(text.view(), files.full_name(errors_path));
  if (!errors) return errors.error();
  poll.errors = std::move(*errors);
  std::sort(poll.errors.begin(), poll.errors.end());
  return poll;
}

Result<std::unique_ptr<ReplayKernelView>> ReplayKernelView::open(std::unique_ptr<CaptureFiles> files) {
  if (auto found = require_manifest(*files); !found) return found.error();
  Buffer text;
  if (auto read = files->read(kManifestName, text); !read) return read.error();
  auto manifest = parse_manifest(text.view(), files->full_name(kManifestName));
  if (!manifest) return manifest.error();

  std::vector<std::string> names;
  if (auto listed = files->list("", names); !listed) return listed.error();
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::make_tuple(a.size(), std::string_view(a)) < std::make_tuple(b.size(), std::string_view(b));
  });
  std::vector<Poll> polls;
  for (const std::string& name : names) {
    if (!is_poll_directory(name)) continue;
    const auto kind = files->kind(name);
    if (!kind) return kind.error();
    if (*kind != FileKind::kDirectory) return refused(files->full_name(name), "is not a directory, as a poll must be");
    auto poll = open_poll(*files, name);
    if (!poll) return poll.error();
    if (!poll->directory.empty()) polls.push_back(std::move(*poll));
  }
  if (polls.empty())
    return refused(files->name(), "the capture holds no complete poll (a directory like 000000 with a poll.yaml)");
  return std::unique_ptr<ReplayKernelView>(new ReplayKernelView(std::move(files), std::move(*manifest), std::move(polls)));
}

Result<void> ReplayKernelView::select_poll(std::size_t index) {
  if (index >= polls_.size()) {
    return make_error(
        ErrorCode::kNotPresent, files_->name(),
        "there is no poll " + std::to_string(index) + "; the capture has polls 0 to " + std::to_string(polls_.size() - 1));
  }
  selected_.store(&polls_[index]);
  return {};
}

std::size_t ReplayKernelView::selected_poll() const { return static_cast<std::size_t>(selected_.load() - polls_.data()); }

Result<FileKind> ReplayKernelView::walk(std::string_view path, bool follow_last, std::size_t base,
                                        FixedPath& resolved) const {
  FixedPath pending;  // components still to walk; link targets are prepended
  if (!pending.assign(path)) return too_long(path);
  std::size_t taken = 0;
  int links = 0;
  FileKind kind = FileKind::kDirectory;
  while (taken < pending.size()) {
    const std::string_view rest = pending.view().substr(taken);
    const std::string_view part = rest.substr(0, rest.find('/'));
    taken += std::min(part.size() + 1, rest.size());
    const bool is_last = taken >= pending.size();
    if (part.empty() || part == ".") continue;  // only a link's target has such components
    if (part == "..") {
      if (resolved.size() <= base) return refused(files_->full_name(resolved.view()), "a link points out of the capture");
      resolved.remove_last_component();
      kind = FileKind::kDirectory;
      continue;
    }
    if (!resolved.append_component(part)) return too_long(path);
    const auto found = files_->kind(resolved.view());
    if (!found) return found.error();
    kind = *found;
    if (kind == FileKind::kLink && (!is_last || follow_last)) {
      if (++links > kMaxLinks) return system_error(files_->full_name(resolved.view()), ELOOP);
      const auto target = files_->read_link(resolved.view());
      if (!target) return target.error();
      if (target->empty() || target->front() == '/') {
        return refused(files_->full_name(resolved.view()), "the link points out of the capture, to \"" + *target + "\"");
      }
      FixedPath ahead;
      if (!ahead.assign(*target) || (!is_last && !(ahead.append("/") && ahead.append(pending.view().substr(taken))))) {
        return too_long(path);
      }
      pending = ahead;
      taken = 0;
      resolved.remove_last_component();
      kind = FileKind::kDirectory;
      continue;
    }
    if (kind == FileKind::kAbsent || (!is_last && kind != FileKind::kDirectory)) return FileKind::kAbsent;
  }
  return kind;
}

Result<FileKind> ReplayKernelView::resolve(std::string_view path, bool follow_last, FixedPath& resolved) const {
  const Poll& poll = *selected_.load();
  if (path.substr(0, 1) != "/" || (path.size() > 1 && !is_safe_relative_path(path.substr(1)))) {
    return refused(path, "not an absolute path without empty, \".\" and \"..\" parts");
  }
  if (const RecordedError* error = find_error(poll.errors, PollPlace::kFile, path)) return replayed(*error);
  if (!resolved.assign(poll.directory) || !resolved.append_component("fs")) return too_long(path);
  const auto top = files_->kind(resolved.view());
  if (!top) return top.error();
  if (*top != FileKind::kDirectory) return absent(path);
  const auto kind = walk(path.substr(1), follow_last, resolved.size(), resolved);
  return kind && *kind == FileKind::kAbsent ? absent(path) : kind;
}

Result<void> ReplayKernelView::read_file(std::string_view path, Buffer& out) {
  FixedPath resolved;
  const auto kind = resolve(path, true, resolved);
  if (!kind) return kind.error();
  if (*kind == FileKind::kDirectory) return system_error(path, EISDIR);
  if (*kind != FileKind::kFile) return refused(path, "is not a plain file in the capture");
  return files_->read(resolved.view(), out);
}

Result<std::string> ReplayKernelView::read_link(std::string_view path) {
  FixedPath resolved;
  const auto kind = resolve(path, false, resolved);
  if (!kind) return kind.error();
  if (*kind != FileKind::kLink) return system_error(path, EINVAL, "is not a link");
  auto target = files_->read_link(resolved.view());
  if (target && !link_stays_inside(path.substr(1), *target)) {
    return refused(files_->full_name(resolved.view()), "the link points out of the capture, to \"" + *target + "\"");
  }
  return target;
}

Result<void> ReplayKernelView::list_directory(std::string_view path, std::vector<std::string>& names) {
  names.clear();
  FixedPath resolved;
  const auto kind = resolve(path, true, resolved);
  if (!kind) return kind.error();
  if (*kind != FileKind::kDirectory) return system_error(path, ENOTDIR);
  return files_->list(resolved.view(), names);
}

Result<void> ReplayKernelView::named_path(PollPlace place, std::string_view name, FixedPath& path) const {
  const Poll& poll = *selected_.load();
  const bool is_sysctl = place == PollPlace::kSysctl;
  if (!is_safe_component(name)) return refused(name, is_sysctl ? "not a sysctl name" : "not a source's name");
  if (const RecordedError* error = find_error(poll.errors, place, name)) return replayed(*error);
  if (!path.assign(poll.directory) || !path.append_component(is_sysctl ? "sysctl" : "source")) return too_long(name);
  const auto directory = files_->kind(path.view());
  if (!directory) return directory.error();
  if (*directory != FileKind::kDirectory) return absent(name);
  if (!path.append_component(name)) return too_long(name);
  const auto kind = files_->kind(path.view());
  if (!kind) return kind.error();
  if (*kind == FileKind::kAbsent) return absent(name);
  if (*kind != FileKind::kFile) {
    return refused(files_->full_name(path.view()), is_sysctl ? "is not a plain file, as a captured sysctl must be"
                                                             : "is not a plain file, as a source's table must be");
  }
  return {};
}

Result<void> ReplayKernelView::read_sysctl(std::string_view name, Buffer& out, std::size_t /*size_hint*/) {
  FixedPath path;
  if (auto found = named_path(PollPlace::kSysctl, name, path); !found) return found;
  return files_->read(path.view(), out);
}

Result<void> ReplayKernelView::open_table(std::string_view source, TextTableSource& /*table*/) {
  FixedPath path;
  return named_path(PollPlace::kSource, source, path);
}

Result<void> ReplayKernelView::read_table(std::string_view source, TextTableSource& /*table*/, Buffer& out) {
  FixedPath path;
  if (auto found = named_path(PollPlace::kSource, source, path); !found) return found;
  return files_->read(path.view(), out);
}

Result<void> ReplayKernelView::list_sysctls(std::string_view prefix, std::vector<std::string>& names) {
  names.clear();
  const Poll& poll = *selected_.load();
  if (const RecordedError* error = find_error(poll.errors, PollPlace::kSysctl, prefix)) return replayed(*error);
  const std::string directory = poll.directory + "/sysctl";
  const auto kind = files_->kind(directory);
  if (!kind) return kind.error();
  if (*kind != FileKind::kDirectory) return absent(prefix);
  if (auto listed = files_->list(directory, names); !listed) return listed;
  const auto is_other = [prefix](std::string_view name) {
    const bool below = name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix && name[prefix.size()] == '.';
    return !prefix.empty() && !below;
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_other), names.end());
  if (names.empty()) return absent(prefix);
  return {};
}

Result<void> ReplayKernelView::keep_open(std::string_view path) {
  FixedPath resolved;
  const auto kind = resolve(path, true, resolved);
  return kind ? Result<void>() : kind.error();
}

}  // namespace memstat
