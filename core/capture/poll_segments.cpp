// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/poll_segments.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/capture/archive_error.h"
#include "core/capture/replay_view.h"
#include "core/capture/tar.h"

namespace memstat {
namespace {

constexpr std::string_view kEnding = ".tar";
constexpr std::size_t kEndMark = 2 * kTarBlock;
constexpr std::uint64_t kMaxMember = 1ULL << 30;
constexpr std::string_view kInfo = "poll.yaml";
constexpr std::string_view kErrors = "errors.yaml";

class FilePieces final : public PieceSource {
 public:
  FilePieces(std::string name, int fd, std::uint64_t begin, std::uint64_t end)
      : name_(std::move(name)), fd_(fd), at_(begin), end_(end) {}

  Result<std::string_view> next() override {
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), end_ - at_));
    while (room != 0) {
      const ssize_t size = ::pread(fd_, buffer_.data(), room, static_cast<off_t>(at_));
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return system_error(name_, errno);
      at_ += static_cast<std::uint64_t>(size);
      return std::string_view(buffer_.data(), static_cast<std::size_t>(size));
    }
    return std::string_view();
  }

 private:
  std::string name_;
  int fd_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{256} << 10U);
};

struct Segment {
  std::string name;  // for messages
  UniqueFd file;
};

struct Place {
  std::size_t segment = 0;
  std::uint64_t begin = 0;  // offset in its file
  std::uint64_t end = 0;
  std::string info;  // poll.yaml
  std::string errors;
  bool has_errors = false;
};
using Places = std::map<std::string, Place, std::less<>>;

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }
std::string_view after_first_part(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
}

Result<std::string> content_of(TarReader& tar, std::uint64_t size, const std::string& name) {
  std::string bytes;
  if (size > kMaxMember) return refused(name, "contains a file that is larger than a poll may have");
  while (true) {
    const auto piece = tar.content();
    if (!piece) return piece.error();
    if (piece->empty()) return bytes;
    bytes.append(*piece);
  }
}

/// Finds the complete polls of a segment. Ignores a truncated one at its end.
Result<void> scan(const Segment& segment, std::size_t number, Places& places) {
  FilePieces pieces(segment.name, segment.file.get(), 0, UINT64_MAX);
  TarReader tar(pieces);
  std::string poll;  // the poll being read
  Place place;
  std::uint64_t at = 0;
  for (TarMember member;;) {
    const auto more = tar.next(member);
    if (!more && tar.is_cut()) return {};
    if (!more) {
      Error error = more.error();
      if (error.path.empty()) error.path = segment.name;
      return error;
    }
    if (!*more) return {};
    const std::uint64_t begin = at;
    at += member.header_bytes + member.size + tar_padding(member.size);
    const std::string_view path = member.path;
    if (!is_poll_directory(first_part(path))) continue;
    if (first_part(path) != poll) {
      poll = first_part(path);
      place = Place();
      place.segment = number;
      place.begin = begin;
    }
    const std::string_view inner = after_first_part(path);
    if (inner != kInfo && inner != kErrors) continue;
    auto bytes = content_of(tar, member.size, segment.name);
    if (!bytes && tar.is_cut()) return {};
    if (!bytes) return bytes.error();
    if (inner == kErrors) {
      place.errors = *std::move(bytes);
      place.has_errors = true;
      continue;
    }
    place.info = *std::move(bytes);
    place.end = at;
    places.insert_or_assign(poll, std::exchange(place, Place()));
    poll.clear();
  }
}

class SegmentedFiles final : public CaptureFiles {
 public:
  SegmentedFiles(std::unique_ptr<CaptureFiles> base, std::vector<Segment> segments, Places places)
      : base_(std::move(base)), segments_(std::move(segments)), places_(std::move(places)) {}

  [[nodiscard]] const std::string& name() const override { return base_->name(); }
  Result<FileKind> kind(std::string_view path) const override {
    const auto place = places_.find(first_part(path));
    if (place == places_.end()) return base_->kind(path);
    const std::string_view inner = after_first_part(path);
    if (inner.empty()) return FileKind::kDirectory;
    if (inner == kInfo) return FileKind::kFile;
    if (inner == kErrors) return place->second.has_errors ? FileKind::kFile : FileKind::kAbsent;
    const auto files = load(*place);
    return files ? (*files)->kind(path) : Result<FileKind>(files.error());
  }
  Result<void> read(std::string_view path, Buffer& out) const override {
    const auto place = places_.find(first_part(path));
    if (place == places_.end()) return base_->read(path, out);
    const std::string_view inner = after_first_part(path);
    if (inner == kInfo || (inner == kErrors && place->second.has_errors)) {
      out.assign(inner == kInfo ? place->second.info : place->second.errors);
      return {};
    }
    const auto files = load(*place);
    return files ? (*files)->read(path, out) : Result<void>(files.error());
  }
  Result<std::string> read_link(std::string_view path) const override {
    const auto place = places_.find(first_part(path));
    if (place == places_.end()) return base_->read_link(path);
    const auto files = load(*place);
    return files ? (*files)->read_link(path) : Result<std::string>(files.error());
  }
  Result<void> list(std::string_view path, std::vector<std::string>& names) const override {
    if (const auto place = places_.find(first_part(path)); place != places_.end()) {
      const auto files = load(*place);
      return files ? (*files)->list(path, names) : Result<void>(files.error());
    }
    if (auto listed = base_->list(path, names); !listed || !path.empty()) return listed;
    std::erase_if(names, [](const std::string& name) { return is_segment(name); });
    for (const auto& [poll, place] : places_) names.push_back(poll);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return {};
  }

 private:
  using Files = std::shared_ptr<const MemoryFiles>;
  struct Loaded {
    std::string poll;
    Files files;
  };

  /// Loads a poll's files. Keeps the last poll loaded, and the one before it for reads that are still running.
  Result<Files> load(const Places::value_type& wanted) const {
    const MutexLock lock(mutex_);
    for (const Loaded& one : loaded_) {
      if (one.poll == wanted.first) return one.files;
    }
    auto files = read_poll(wanted.second);
    if (!files) return files;
    if (loaded_.size() > 1) loaded_.erase(loaded_.begin());
    loaded_.push_back({.poll = wanted.first, .files = *files});
    return files;
  }

  [[nodiscard]] Result<Files> read_poll(const Place& place) const {
    const Segment& segment = segments_[place.segment];
    FilePieces pieces(segment.name, segment.file.get(), place.begin, place.end);
    TarReader tar(pieces);
    auto files = std::make_shared<MemoryFiles>(name());
    for (TarMember member;;) {
      const auto more = tar.next(member);
      if (!more) return refused(segment.name, "has changed since it was opened; open the capture again");
      if (!*more) return Files(std::move(files));
      Result<void> added;
      if (member.type == TarType::kFile) {
        auto bytes = content_of(tar, member.size, segment.name);
        if (!bytes) return refused(segment.name, "has changed since it was opened; open the capture again");
        added = files->add_file(member.path, *std::move(bytes));
      } else if (member.type == TarType::kLink) {
        const std::string_view inner = after_first_part(member.path);
        constexpr std::string_view kTree = "fs/";
        if (!inner.starts_with(kTree) || !link_stays_inside(inner.substr(kTree.size()), member.target)) {
          return refused(segment.name + "/" + member.path,
                         "a link that leaves the capture is refused; it points to \"" + member.target + "\"");
        }
        added = files->add_link(member.path, member.target);
      } else if (member.type == TarType::kDirectory) {
        std::string_view path = member.path;
        if (path.ends_with('/')) path.remove_suffix(1);
        added = files->add_directory(path);
      } else {
        added = refused(segment.name + "/" + member.path, "is neither a file nor a directory nor a symbolic link");
      }
      if (!added) return added.error();
    }
  }

  const std::unique_ptr<CaptureFiles> base_;
  const std::vector<Segment> segments_;
  const Places places_;
  mutable Mutex mutex_;
  mutable std::vector<Loaded> loaded_ MEMSTAT_GUARDED_BY(mutex_);
};

/// Returns 0 or an errno.
int write_at(int fd, std::string_view bytes, std::uint64_t at, std::atomic<std::uint64_t>& progress) {
  constexpr std::size_t kPiece = std::size_t{256} << 10U;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), std::min(bytes.size(), kPiece), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written == 0 ? EIO : errno;
    progress.fetch_add(1, std::memory_order_relaxed);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return 0;
}

}  // namespace

bool is_segment(std::string_view name) {
  return name.ends_with(kEnding) && is_poll_directory(name.substr(0, name.size() - kEnding.size()));
}

std::string segment_of(std::uint64_t first_poll) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%06llu.tar", static_cast<unsigned long long>(first_poll));
  return text.data();
}

Result<std::unique_ptr<CaptureFiles>> with_segments(std::unique_ptr<CaptureFiles> base, int directory) {
  std::vector<std::string> names;
  if (auto listed = base->list("", names); !listed) return listed.error();
  std::vector<Segment> segments;
  Places places;
  for (const std::string& name : names) {
    if (!is_segment(name)) continue;
    UniqueFd file(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) return system_error(base->full_name(name), errno);
    segments.push_back({.name = base->full_name(name), .file = std::move(file)});
    if (auto scanned = scan(segments.back(), segments.size() - 1, places); !scanned) return scanned.error();
  }
  if (segments.empty()) return base;
  return std::unique_ptr<CaptureFiles>(
      std::make_unique<SegmentedFiles>(std::move(base), std::move(segments), std::move(places)));
}

void append_member(std::string& out, const std::string& path, std::string_view bytes, std::uint64_t mtime) {
  out += tar_header({.path = path, .size = bytes.size()}, mtime);
  out += bytes;
  out.append(tar_padding(bytes.size()), '\0');
}

void append_members(std::string& out, const std::string& poll, const PollPlan& plan, std::uint64_t mtime) {
  for (const auto& [path, target] : plan.links) {
    out += tar_header({.path = poll + "/" + path, .target = target, .type = TarType::kLink}, mtime);
  }
  for (const auto& [path, bytes] : plan.files) append_member(out, poll + "/" + path, bytes, mtime);
  for (const std::string& path : plan.empty_directories) {
    out += tar_header({.path = poll + "/" + path, .type = TarType::kDirectory}, mtime);
  }
  if (!plan.errors.empty()) append_member(out, poll + "/" + std::string(kErrors), plan.errors, mtime);
  append_member(out, poll + "/" + std::string(kInfo), plan.info, mtime);
}

std::uint64_t SegmentWriter::size() const { return end_ + kEndMark; }

int SegmentWriter::append(std::string_view members, bool durable, std::atomic<std::uint64_t>& progress) {
  static constexpr std::array<char, kEndMark> kZeros{};
  constexpr std::string_view kEnd(kZeros.data(), kZeros.size());
  int failure = write_at(file_.get(), members, end_, progress);
  if (failure == 0) failure = write_at(file_.get(), kEnd, end_ + members.size(), progress);
  if (failure == 0 && durable && ::fsync(file_.get()) != 0) failure = errno;
  if (failure != 0) {
    (void)!::ftruncate(file_.get(), static_cast<off_t>(end_));
    (void)write_at(file_.get(), kEnd, end_, progress);
    return failure;
  }
  end_ += members.size();
  return 0;
}

}  // namespace memstat
