// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/fixed_path.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/capture/archive_error.h"
#include "core/capture/archive_stream.h"
#include "core/capture/packed_sysctls.h"
#include "core/capture/reference.h"
#include "core/capture/tar.h"
#include "core/capture/time_line.h"
#include "core/kernel/open_view.h"

namespace memstat {
namespace {

struct Member {
  std::string path;
  FileKind kind = FileKind::kFile;
  std::string bytes;
};

/// Whether a replay may read this path, relative to the capture.
bool is_part_of_capture(std::string_view path) {
  return path == "manifest.yaml" || is_poll_directory(path.substr(0, path.find('/')));
}

/// Reads the relevant members in order. Can be rewound.
class MemberReader {
 public:
  MemberReader(std::string name, const ArchiveLimits& limits) : name_(std::move(name)), limits_(limits) {}

  /// Restarts at the first member.
  Result<void> rewind(int fd) {
    total_ = count_ = ordinal_ = 0;
    auto opened = open_archive_stream(name_, fd);
    if (!opened) return std::move(opened.error());
    stream_ = *std::move(opened);
    tar_.emplace(*stream_);
    return {};
  }

  /// Number of relevant members read since rewind().
  [[nodiscard]] std::uint64_t ordinal() const { return ordinal_; }
  /// Bytes unpacked, or skipped, since rewind().
  [[nodiscard]] std::uint64_t total_bytes() const { return total_; }

  /// Reads the next relevant member, with its content only if `wants(path)`. False at the end of the archive.
  template <typename Wants>
  Result<bool> next(Member& member, const Wants& wants) {
    while (true) {
      const auto more = tar_->next(entry_);
      if (!more) return with_path(more.error(), {});
      if (!*more) break;
      if (++count_ > limits_.members) return refused(name_, "has more than " + std::to_string(limits_.members) + " members");
      bool matters = false;
      if (auto taken = take(member, matters, wants); !taken) return taken.error();
      if (!matters) continue;
      ++ordinal_;
      return true;
    }
    if (tar_->has_end_mark()) return false;
    return refused(
        name_, count_ == 0 ? "is not a .tar or .tar.zst (it is empty)" : "is cut short: the archive's end mark is missing");
  }

 private:
  [[nodiscard]] Error member_error(std::string_view path, const std::string& what) const {
    return refused(name_ + "/" + std::string(path), what);
  }
  /// Adds the path, which errors from the tar and zstd layers lack.
  [[nodiscard]] Error with_path(Error error, std::string_view member) const {
    if (error.path.empty()) error.path = member.empty() ? name_ : name_ + "/" + std::string(member);
    return error;
  }

  template <typename Wants>
  Result<void> take(Member& member, bool& matters, const Wants& wants) {
    std::string_view path = entry_.path;
    while (path.substr(0, 2) == "./") path.remove_prefix(2);
    member.path = path;
    member.kind = FileKind::kFile;
    member.bytes.clear();
    const auto inner = below_top(path);
    const auto most = std::min({limits_.member_bytes, most_of(path), inner ? most_of(*inner) : limits_.member_bytes});
    if (entry_.size > most) return oversized(name_ + "/" + std::string(path), most);
    if (auto counted = count(entry_.header_bytes + path.size() + entry_.size, member); !counted) return counted;
    if (entry_.type == TarType::kDirectory) {
      if (!path.empty() && path.back() == '/') path.remove_suffix(1);
      if (path.empty() || path == ".") return {};
      member.path = path;
    }
    if (!is_safe_relative_path(path))
      return member_error(entry_.path, "a name that is absolute or has empty, \".\" or \"..\" parts is refused");
    matters = is_part_of_capture(path) || (inner && is_part_of_capture(*inner));
    switch (entry_.type) {
      case TarType::kFile: return read_content(matters && wants(path), member);
      case TarType::kSparseFile: return member_error(path, "is sparse; pack the capture without --sparse");
      case TarType::kDirectory: member.kind = FileKind::kDirectory; return {};
      case TarType::kLink:
        member.kind = FileKind::kLink;
        member.bytes = entry_.target;
        return {};
      case TarType::kHardLink:
        if (!matters) return {};
        return member_error(path, "is a hard link; pack the capture from a directory without them");
      case TarType::kOther: break;
    }
    if (!matters) return {};
    return member_error(path, "is neither a file nor a directory nor a symbolic link");
  }

  /// Maximum size of a member at this path of a capture, in bytes. Several sources may hold the same text at once; only
  /// FreeBSD's streams, which are sysctls, may be as large as a capture.
  [[nodiscard]] std::uint64_t most_of(std::string_view path) const {
    constexpr std::uint64_t kTextShare = 16;
    const std::string_view in_poll = below_top(path).value_or("");
    const bool is_text = is_poll_directory(path.substr(0, path.find('/'))) && !in_poll.starts_with("sysctl");
    return is_text ? std::min(max_file_bytes(path), limits_.total_bytes / kTextShare) : max_file_bytes(path);
  }

  /// Count headers too: names take memory, and a million empty files are not small.
  Result<void> count(std::uint64_t bytes, const Member& member) {
    if (bytes > limits_.total_bytes - total_) {
      return member_error(member.path, "exceeds the " + std::to_string(limits_.total_bytes) +
                                           " bytes that a capture may have when unpacked; "
                                           "if you trust this archive, "
                                           "raise the limit in the environment: MEMSTAT_CAPTURE_MAX=4GiB");
    }
    total_ += bytes;
    return {};
  }

  Result<void> read_content(bool keep, Member& member) {
    // The claimed size is within the limits. Growing step by step would hold the bytes twice.
    if (keep) member.bytes.reserve(static_cast<std::size_t>(entry_.size));
    while (true) {
      const auto piece = tar_->content();
      if (!piece) return with_path(piece.error(), member.path);
      if (piece->empty()) return {};
      if (keep) member.bytes.append(*piece);
    }
  }

  std::string name_;
  ArchiveLimits limits_;
  std::unique_ptr<PieceSource> stream_;
  std::optional<TarReader> tar_;  // reads stream_
  TarMember entry_;
  std::uint64_t total_ = 0;  // at most limits_.total_bytes
  std::uint64_t count_ = 0;
  std::uint64_t ordinal_ = 0;
};

/// The first and the last relevant member of one poll, numbered from 1. Members of other polls may lie between them.
struct Span {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Adds a member to `files`, at its path in the capture.
Result<void> add_member(MemoryFiles& files, const std::string& archive, std::string_view path, const Member& member,
                        std::string bytes) {
  if (member.kind == FileKind::kDirectory) return files.add_directory(path);
  if (member.kind == FileKind::kFile) return add_poll_file(files, path, std::move(bytes));
  return add_poll_link(files, path, member.bytes, archive + "/" + member.path);
}

/// A possible location of the capture in the archive: the root, or one top directory.
class Candidate {
 public:
  Candidate(std::string archive, const ArchiveLimits& limits)
      : archive_(std::move(archive)),
        limits_(limits),
        index_(std::make_unique<MemoryFiles>(archive_, limits.total_bytes / kIndexShare)) {}

  void take(std::string_view path, const Member& member, std::uint64_t ordinal) {
    if (fault_) return;
    if (auto taken = take_or_fail(path, member, ordinal); !taken) fault_ = taken.error();
  }
  [[nodiscard]] bool has_manifest() const { return has_manifest_; }
  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }
  std::unique_ptr<MemoryFiles> index() { return std::move(index_); }
  std::map<std::string, Span, std::less<>> polls() { return std::move(polls_); }

 private:
  Result<void> take_or_fail(std::string_view path, const Member& member, std::uint64_t ordinal) {
    const std::string_view poll = path.substr(0, path.find('/'));
    if (poll == "manifest.yaml") {
      has_manifest_ = has_manifest_ || (path == poll && member.kind == FileKind::kFile);
      return add_member(*index_, archive_, path, member, member.bytes);
    }
    if (poll != current_) {
      // A poll that continues here (tar -r appended to it) is checked as a whole when it is unpacked.
      current_ = poll;
      seen_ = std::make_unique<MemoryFiles>(archive_, limits_.total_bytes);
      polls_.emplace(poll, Span{.first = ordinal, .last = ordinal});
    }
    polls_.find(poll)->second.last = ordinal;
    // The content, of which packed sysctls are made files, is read when the poll is.
    auto seen = member.kind == FileKind::kFile ? seen_->add_file(path, {}) : add_member(*seen_, archive_, path, member, {});
    if (!seen) return seen;
    if (is_in_index(path)) return add_member(*index_, archive_, path, member, member.bytes);
    return index_->add_directory(poll);
  }

  static constexpr std::uint64_t kIndexShare = 4;

  std::string archive_;
  ArchiveLimits limits_;
  std::unique_ptr<MemoryFiles> index_;
  std::map<std::string, Span, std::less<>> polls_;
  std::string current_;                // the poll being read
  std::unique_ptr<MemoryFiles> seen_;  // its names, to reject duplicates and paths through links
  bool has_manifest_ = false;
  std::optional<Error> fault_;  // matters only if this candidate is the capture
};

/// By path prefix: "" or "top/".
using Candidates = std::map<std::string, Candidate, std::less<>>;

Result<Candidates::iterator> find_capture(const std::string& name, Candidates& candidates) {
  std::vector<Candidates::iterator> found;
  for (auto it = candidates.begin(); it != candidates.end(); ++it) {
    if (it->second.has_manifest()) found.push_back(it);
  }
  if (found.empty())
    return refused(name, "is not a capture: it has no manifest.yaml, neither at its root nor in a top directory");
  if (found.size() == 1 || found.front()->first.empty()) return found.front();
  return refused(name,
                 "holds more than one capture, in " + found[0]->first + " and " + found[1]->first + "; pack each by itself");
}

/// The files of a capture in an archive. Reading the polls in order costs one pass over the archive.
class ArchiveFiles final : public PackedFiles {
 public:
  static Result<std::unique_ptr<CaptureFiles>> open(const std::string& name, UniqueFd fd, const ArchiveLimits& limits) {
    std::unique_ptr<ArchiveFiles> files(new ArchiveFiles(name, std::move(fd), limits));
    if (auto scanned = files->scan(); !scanned) return scanned.error();
    return std::unique_ptr<CaptureFiles>(std::move(files));
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  static constexpr std::size_t kMaxCandidates = 16;

  ArchiveFiles(const std::string& name, UniqueFd fd, const ArchiveLimits& limits)
      : name_(name), fd_(std::move(fd)), limits_(limits), reader_(name, limits) {}

  Result<void> scan() {
    const MutexLock lock(mutex_);
    if (auto opened = reader_.rewind(fd_.get()); !opened) return opened;
    Candidates candidates;
    bool is_crowded = false;
    Member member;
    const auto wants = [](std::string_view path) {
      const auto inner = below_top(path);
      return is_in_index(path) || (inner && is_in_index(*inner));
    };
    while (true) {
      const auto more = reader_.next(member, wants);
      if (!more) return more.error();
      if (!*more) break;
      const std::string_view path = member.path;
      const std::uint64_t ordinal = reader_.ordinal();
      const auto offer = [&](std::string_view top, std::string_view inner) {
        if (!is_part_of_capture(inner)) return;
        auto found = candidates.find(top);
        if (found == candidates.end() && candidates.size() < kMaxCandidates)
          found = candidates.emplace(std::string(top), Candidate(name_, limits_)).first;
        if (found != candidates.end()) found->second.take(inner, member, ordinal);
        is_crowded = is_crowded || found == candidates.end();
      };
      offer("", path);
      if (const auto inner = below_top(path)) offer(path.substr(0, path.size() - inner->size()), *inner);
    }
    if (is_crowded)
      return refused(name_, "holds more than " + std::to_string(kMaxCandidates) + " captures; pack each by itself");
    const auto found = find_capture(name_, candidates);
    if (!found) return found.error();
    if (const auto& fault = (*found)->second.fault()) return *fault;
    top_ = (*found)->first;
    index_ = others_ = (*found)->second.index();
    polls_ = (*found)->second.polls();
    if (reader_.total_bytes() <= kSmallArchive) kept_polls_ = polls_.size() + 1;  // all
    return {};
  }

  [[nodiscard]] bool is_packed(std::string_view poll) const override { return polls_.contains(poll); }

  Result<Files> unpack(std::string_view poll) const MEMSTAT_REQUIRES(mutex_) override {
    try {
      const Span span = polls_.find(poll)->second;
      const std::string directory = top_ + std::string(poll);
      const auto is_of_poll = [&](std::string_view path) {
        return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
      };
      if (reader_.ordinal() >= span.first || !is_rewound_) {
        if (auto opened = reader_.rewind(fd_.get()); !opened) return opened.error();
        is_rewound_ = true;
      }
      auto files = std::make_shared<MemoryFiles>(name_, limits_.total_bytes);
      for (Member member; reader_.ordinal() < span.last;) {
        const auto more = reader_.next(member, is_of_poll);
        if (!more) return spoiled(more.error());
        const bool is_end = reader_.ordinal() == span.first || reader_.ordinal() == span.last;
        if (!*more || (is_end && !is_of_poll(member.path)))
          return spoiled(refused(name_, "has changed since it was opened; open it again"));
        if (!is_of_poll(member.path)) continue;
        std::string bytes = std::move(member.bytes);
        if (member.kind == FileKind::kLink) member.bytes = bytes;
        auto added = add_member(*files, name_, std::string_view(member.path).substr(top_.size()), member, std::move(bytes));
        if (!added) return spoiled(added.error());
      }
      return Files(std::move(files));
    } catch (const std::bad_alloc&) {
      return spoiled(no_memory_error(name_, "no memory to unpack the poll"));
    }
  }
  /// Forces a rewind: the position in the archive is unknown after an error.
  Error spoiled(const Error& error) const MEMSTAT_REQUIRES(mutex_) {
    is_rewound_ = false;
    return error;
  }

  const std::string name_;
  const UniqueFd fd_;
  const ArchiveLimits limits_;
  std::string top_;
  std::map<std::string, Span, std::less<>> polls_;
  static constexpr std::uint64_t kSmallArchive = 96U << 20U;  // B, unpacked
  mutable MemberReader reader_ MEMSTAT_GUARDED_BY(mutex_);
  mutable bool is_rewound_ MEMSTAT_GUARDED_BY(mutex_) = false;
};

}  // namespace

namespace {

/// The polls of a recorder that was killed before it packed them into `archive`; nothing if there are none.
std::unique_ptr<CaptureFiles> unpacked_polls(const std::string& archive) {
  if (!archive.ends_with(".tar") && !archive.ends_with(".tar.zst")) return nullptr;
  auto files = open_directory_files(polls_beside(archive));
  if (!files) return nullptr;
  return require_manifest(**files) ? *std::move(files) : nullptr;
}

}  // namespace

std::string polls_beside(const std::string& archive) {
  const std::size_t name = archive.rfind('/') + 1;
  return archive.substr(0, name) + "." + archive.substr(name) + ".polls";
}

Result<std::unique_ptr<CaptureFiles>> open_capture_files(const std::string& path, const ArchiveLimits& limits) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));  // opening a pipe must not block
  struct stat status {};
  if (!fd) {
    const int failure = errno;
    if (auto polls = unpacked_polls(path)) return polls;
    const std::size_t at = path.rfind('@');
    const bool is_reference =
        failure == ENOENT && at != std::string::npos && at != 0 && ::stat(path.substr(0, at).c_str(), &status) == 0;
    return system_error(
        path, failure,
        is_reference ? "cannot open the capture; after its last @ write the number of a poll, from 0, or leave both out"
                     : "cannot open the capture");
  }
  if (::fstat(fd.get(), &status) != 0) return system_error(path, errno);
  if (S_ISDIR(status.st_mode)) {
    const std::vector<std::string> captures = captures_in(path);
    if (captures.empty()) return open_directory_files(path);
    auto line = TimeLine::open(path, captures, limits);
    if (!line) return line.error();
    return std::unique_ptr<CaptureFiles>(*std::move(line));
  }
  if (!S_ISREG(status.st_mode))
    return refused(path, "is a device, a pipe or a socket; a capture is a directory, a .tar or a .tar.zst");
  if (status.st_size == 0) {
    if (auto polls = unpacked_polls(path)) return polls;
  }
  try {
    return ArchiveFiles::open(path, std::move(fd), limits);
  } catch (const std::bad_alloc&) {
    return no_memory_error(path, "no memory to unpack the archive");
  }
}

Result<std::unique_ptr<ReplayKernelView>> open_capture(const std::string& path, const ArchiveLimits& limits) {
  auto files = open_capture_files(path, limits);
  if (!files) return files.error();
  try {
    return ReplayKernelView::open(*std::move(files));
  } catch (const std::bad_alloc&) {
    return no_memory_error(path, "no memory to open the capture");
  }
}

// Packing.

namespace {

class ArchiveWriter {
 public:
  ArchiveWriter(const CaptureFiles& files, ArchiveSink& sink, std::string top, const std::function<bool()>& must_stop)
      : files_(files), sink_(sink), top_(std::move(top)), must_stop_(must_stop) {}

  Result<void> add_tree(const std::string& path, int depth) {
    std::vector<std::string> names;
    if (auto added = add_header(path, TarType::kDirectory); !added) return added;
    if (auto listed = files_.list(path, names); !listed) return listed;
    for (const std::string& name : names) {
      if (depth == 0 && name.ends_with(".tmp")) continue;
      const std::string inner = path.empty() ? name : path + "/" + name;
      const auto kind = files_.kind(inner);
      if (!kind) return kind.error();
      Result<void> added;
      if (*kind == FileKind::kDirectory) {
        if (depth > 64) return refused(files_.full_name(inner), "is nested more deeply than any directory of a kernel");
        added = add_tree(inner, depth + 1);
      } else if (*kind == FileKind::kFile) {
        added = add_file(inner);
      } else if (*kind == FileKind::kLink) {
        auto target = files_.read_link(inner);
        if (!target) return target.error();
        added = add_header(inner, TarType::kLink, 0, *std::move(target));
      } else {
        added = refused(files_.full_name(inner), "is neither a file nor a directory nor a symbolic link");
      }
      if (!added) return added;
    }
    return {};
  }

 private:
  Result<void> check_time(const std::string& path) const {
    if (!must_stop_ || !must_stop_()) return {};
    return system_error(files_.full_name(path), ETIMEDOUT, "there is no time to pack it");
  }

  Result<void> add_header(const std::string& path, TarType type, std::uint64_t size = 0, std::string target = {}) {
    if (auto checked = check_time(path); !checked) return checked;
    const TarMember member{
        .path = path.empty() ? top_ : top_ + "/" + path, .target = std::move(target), .type = type, .size = size};
    return sink_.write(tar_header(member, now_));
  }

  Result<void> add_file(const std::string& path) {
    if (auto read = files_.read(path, buffer_); !read) return read;
    if (auto added = add_header(path, TarType::kFile, buffer_.size()); !added) return added;
    constexpr std::size_t kPiece = std::size_t{1} << 20;  // no machine takes long to compress one
    for (std::string_view rest = buffer_.view(); !rest.empty(); rest.remove_prefix(std::min(kPiece, rest.size()))) {
      if (auto checked = check_time(path); !checked) return checked;
      if (auto written = sink_.write(rest.substr(0, kPiece)); !written) return written;
    }
    return sink_.write(std::string(tar_padding(buffer_.size()), '\0'));
  }

  const CaptureFiles& files_;
  ArchiveSink& sink_;
  const std::string top_;
  const std::function<bool()>& must_stop_;
  const std::uint64_t now_ =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, system_clock().realtime_ns() / 1'000'000'000));
  Buffer buffer_;
};

Result<void> write_archive(const CaptureFiles& files, const std::string& archive_path, bool compressed, int fd,
                           const std::function<bool()>& must_stop) {
  if (auto found = require_manifest(files); !found) return found;
  const auto sink = open_archive_sink(archive_path, fd, compressed);
  if (!sink) return sink.error();
  std::string top = archive_path.substr(archive_path.rfind('/') + 1);
  top.resize(top.find(".tar"));
  if (!is_safe_component(top)) top = "capture";
  if (auto added = ArchiveWriter(files, **sink, top, must_stop).add_tree("", 0); !added) return added;
  if (auto ended = (*sink)->write(std::string(2 * kTarBlock, '\0')); !ended) return ended;
  return (*sink)->finish();
}

}  // namespace

Result<void> pack_capture(const CaptureFiles& files, const std::string& archive_path, int fd,
                          const std::function<bool()>& must_stop) {
  const bool compressed = archive_path.ends_with(".tar.zst");
  if (!compressed && !archive_path.ends_with(".tar"))
    return refused(archive_path, "an archive's name must end in .tar or .tar.zst");
  Result<void> written;
  try {
    written = write_archive(files, archive_path, compressed, fd, must_stop);
  } catch (const std::bad_alloc&) {
    written = system_error(archive_path, ENOMEM);
  }
  if (written && ::fsync(fd) != 0 && errno != EINVAL)
    written = system_error(archive_path, errno, "cannot sync the archive to the disk");
  return written ? check_name(archive_path, fd) : written;
}

// Opening by reference; core/kernel/open_view.h finds the opener by the name `capture`.

namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// All of it in memory, for a process about to lose the right to read it.
Result<std::unique_ptr<ReplayKernelView>> load_capture(const std::string& path, const ArchiveLimits& limits) {
  const auto files = open_capture_files(path, limits);
  if (!files) return files.error();
  auto memory = load_into_memory(**files, limits.total_bytes);
  if (!memory) return memory.error();
  return ReplayKernelView::open(*std::move(memory));
}

/// Any path may name a capture; opening it reports what is wrong.
bool takes_anything(const std::string& /*reference*/) { return true; }

Result<OpenedView> open_capture_view(const std::string& reference, const ViewOptions& options) {
  CaptureReference parsed{.path = reference, .poll = 0};
  if (options.takes_poll) parsed = parse_capture_reference(reference);
  // An archive stays open and is read from the descriptor; the files of a directory are opened one by one.
  const ArchiveLimits limits{.member_bytes = options.max_bytes, .total_bytes = options.max_bytes};
  return open_at(
      options.load_now && is_directory(parsed.path) ? load_capture(parsed.path, limits) : open_capture(parsed.path, limits),
      parsed);
}

}  // namespace

namespace view_openers {
// Also declared by the generated table.
extern const ViewOpener capture{.recognizes = takes_anything, .open = open_capture_view};
}  // namespace view_openers

}  // namespace memstat
