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

#include "core/base/text.h"
#include "core/capture/archive_error.h"
#include "core/capture/file_pieces.h"
#include "core/capture/packed_sysctls.h"
#include "core/capture/replay_view.h"
#include "core/capture/tar.h"

namespace memstat {
namespace {

constexpr std::string_view kEnding = ".tar";
constexpr std::size_t kEndMark = 2 * kTarBlock;
constexpr std::string_view kInfo = "poll.yaml";
constexpr std::string_view kErrors = "errors.yaml";

struct Segment {
  std::string name;  // for messages
  UniqueFd file;
};

struct Place {
  static constexpr std::size_t kDirectory = SIZE_MAX;  // the poll is a directory with packed sysctls

  std::size_t segment = 0;
  std::uint64_t begin = 0;  // offset in its file
  std::uint64_t end = 0;
  std::string info;  // poll.yaml
  std::string errors;
  bool has_errors = false;
};
using Places = std::map<std::string, Place, std::less<>>;

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

Result<std::string> content_of(TarReader& tar, const TarMember& member, const std::string& name) {
  std::string bytes;
  if (member.size > max_file_bytes(member.path)) return oversized(name + "/" + member.path, max_file_bytes(member.path));
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
    const std::string_view inner = below_top(path).value_or("");
    if (inner != kInfo && inner != kErrors) continue;
    auto bytes = content_of(tar, member, segment.name);
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

class SegmentedFiles final : public PackedFiles {
 public:
  SegmentedFiles(std::unique_ptr<CaptureFiles> base, std::unique_ptr<MemoryFiles> index, std::vector<Segment> segments,
                 Places places)
      : segments_(std::move(segments)), places_(std::move(places)) {
    index_ = std::move(index);
    others_ = std::move(base);
  }

  [[nodiscard]] const std::string& name() const override { return others_->name(); }
  Result<void> list(std::string_view path, std::vector<std::string>& names) const override {
    if (auto listed = PackedFiles::list(path, names); !listed || !path.empty()) return listed;
    std::erase_if(names, [](const std::string& name) { return is_segment(name); });
    for (const auto& [poll, place] : places_) names.push_back(poll);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return {};
  }

 private:
  [[nodiscard]] bool is_packed(std::string_view poll) const override { return places_.contains(poll); }

  Result<Files> unpack(std::string_view poll) const MEMSTAT_REQUIRES(mutex_) override {
    const Place& place = places_.find(poll)->second;
    if (place.segment == Place::kDirectory) return unpack_directory(poll);
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
        auto bytes = content_of(tar, member, segment.name);
        if (!bytes) return refused(segment.name, "has changed since it was opened; open the capture again");
        added = add_poll_file(*files, member.path, *std::move(bytes));
      } else if (member.type == TarType::kLink) {
        added = add_poll_link(*files, member.path, member.target, segment.name + "/" + member.path);
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

  Result<Files> unpack_directory(std::string_view poll) const {
    auto files = std::make_shared<MemoryFiles>(name());
    auto copied = copy_poll(*others_, std::string(poll), *files);
    if (!copied) return copied.error();
    return Files(std::move(files));
  }

  const std::vector<Segment> segments_;
  const Places places_;
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

std::string poll_directory(std::uint64_t number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%06llu", static_cast<unsigned long long>(number));
  return text.data();
}

std::string segment_of(std::uint64_t first_poll) { return poll_directory(first_poll) + std::string(kEnding); }

Result<std::unique_ptr<CaptureFiles>> with_segments(std::unique_ptr<CaptureFiles> base, int directory) {
  std::vector<std::string> names;
  if (auto listed = base->list("", names); !listed) return listed.error();
  std::vector<Segment> segments;
  Places places;
  for (const std::string& name : names) {
    if (is_poll_directory(name)) {
      const auto packed = base->kind(name + "/" + std::string(kPackedSysctls));
      if (packed && *packed == FileKind::kFile) places[name].segment = Place::kDirectory;
    }
    if (!is_segment(name)) continue;
    UniqueFd file(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) return system_error(base->full_name(name), errno);
    segments.push_back({.name = base->full_name(name), .file = std::move(file)});
    if (auto scanned = scan(segments.back(), segments.size() - 1, places); !scanned) return scanned.error();
  }
  if (places.empty() && segments.empty()) return base;
  auto index = std::make_unique<MemoryFiles>(base->name());
  for (auto& [poll, place] : places) {
    if (place.segment == Place::kDirectory) {
      for (const std::string_view file : {kInfo, kErrors}) {
        if (auto added = copy_poll(*base, poll + "/" + std::string(file), *index); !added) return added.error();
      }
      continue;
    }
    auto added = index->add_file(poll + "/" + std::string(kInfo), std::move(place.info));
    if (added && place.has_errors) added = index->add_file(poll + "/" + std::string(kErrors), std::move(place.errors));
    if (!added) return added.error();
  }
  return std::unique_ptr<CaptureFiles>(
      std::make_unique<SegmentedFiles>(std::move(base), std::move(index), std::move(segments), std::move(places)));
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
  constexpr std::string_view kSysctl = "sysctl/";
  std::string packed;
  SysctlPacker packer(packed);
  for (const auto& [path, bytes] : plan.files) {
    if (path.starts_with(kSysctl)) {
      packer.add(std::string_view(path).substr(kSysctl.size()), bytes);
    } else {
      append_member(out, poll + "/" + path, bytes, mtime);
    }
  }
  if (!packed.empty()) append_member(out, poll + "/" + std::string(kPackedSysctls), packed, mtime);
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
