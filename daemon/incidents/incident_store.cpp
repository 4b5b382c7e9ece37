// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/incident_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/capture/archive_stream.h"
#include "core/kernel/read_all.h"
#include "daemon/incidents/incident_cut.h"
#include "daemon/incidents/incident_figures.h"

namespace memstat {
namespace {

constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::size_t kMaxFile = 64 << 20;
/// Of the polls before, the last shows what has changed.
constexpr std::size_t kMinPolls = 2;

}  // namespace

Result<std::unique_ptr<IncidentStore>> IncidentStore::open(const std::string& directory, const DirectoryOwner& owner,
                                                           const Limits& limits) {
  auto writer = DirectoryWriter::open(directory, owner);
  if (!writer) return writer.error();
  if (auto removed = writer->remove_tree(kUnfinished); !removed) return removed.error();
  auto found = list_incidents(directory);
  if (!found) return found.error();
  std::unique_ptr<IncidentStore> store(new IncidentStore(*std::move(writer), limits));
  const MutexLock lock(store->mutex_);
  store->incidents_ = *std::move(found);
  return store;
}

std::vector<Incident> IncidentStore::incidents() const {
  const MutexLock lock(mutex_);
  return incidents_;
}

bool IncidentStore::has(std::string_view file) const {
  const MutexLock lock(mutex_);
  return std::any_of(incidents_.begin(), incidents_.end(), [&](const Incident& one) { return one.file == file; });
}

Result<std::string> IncidentStore::read(std::string_view file) const {
  if (!has(file)) return system_error(file, ENOENT);
  const auto directory = writer_.reopen();
  if (!directory) return directory.error();
  const std::string name(file);
  const UniqueFd opened(::openat(directory->get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!opened) return system_error(writer_.name() + "/" + name, errno);
  Buffer bytes;
  auto result = read_all(name, bytes, {.max_bytes = kMaxFile},
                         [fd = opened.get()](char* to, std::size_t room) -> long { return ::read(fd, to, room); });
  if (result) return std::string(bytes.view());
  result.error().path = writer_.name() + "/" + name;
  return result.error();
}

bool IncidentStore::is_over_limits() const {
  const MutexLock lock(mutex_);
  std::uint64_t bytes = 0;
  for (const Incident& one : incidents_) bytes += one.bytes;
  return incidents_.size() > limits_.max_files || bytes > limits_.max_bytes;
}

/// False if there is no other.
bool IncidentStore::remove_oldest(std::string_view except) {
  const MutexLock lock(mutex_);
  if (incidents_.empty() || incidents_.back().file == except) return false;
  if (auto removed = writer_.remove_tree(incidents_.back().file); !removed) return false;
  incidents_.pop_back();
  return true;
}

/// Replaces the content of the file.
Result<void> IncidentStore::pack(Incident& incident, const KeptPolls& polls, int fd) {
  const std::string path = directory() + "/" + incident.file;
  incident.polls = std::min(polls.ring.poll_count(), polls.most);
  incident.figures = figures_of(polls, incident.object);
  if (::ftruncate(fd, 0) != 0 || ::lseek(fd, 0, SEEK_SET) < 0) return system_error(path, errno);
  const auto sink = open_archive_sink(path, fd, incident.file.ends_with(".zst"));
  if (!sink) return sink.error();
  if (auto written = write_polls(polls, kIncidentNote, format_incident(incident), **sink); !written) return written;
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(path, errno);
  incident.bytes = static_cast<std::uint64_t>(status.st_size);
  return {};
}

/// Packs until the file is small enough. What is left out stays so in `polls`.
Result<void> IncidentStore::pack_small(Incident& incident, KeptPolls& polls, int fd) {
  const std::uint64_t max_bytes = limits_.max_file_bytes;
  auto packed = pack(incident, polls, fd);
  if (!packed || incident.bytes <= max_bytes) return packed;
  std::vector<OtherGroup> others = other_groups(polls, incident.object);
  while (incident.bytes > max_bytes && (!others.empty() || incident.polls > kMinPolls)) {
    // What is left is larger than its share of the file was, so aim below.
    constexpr double kAim = 0.8;
    const double share = kAim * static_cast<double>(max_bytes) / static_cast<double>(incident.bytes);
    const auto keep = [&](std::size_t count) { return static_cast<std::size_t>(share * static_cast<double>(count)); };
    if (others.empty()) {
      polls.most = std::max(kMinPolls, keep(incident.polls));
    } else {
      for (const std::size_t kept = keep(others.size()); others.size() > kept; others.pop_back()) {
        incident.left_out += others.back().files;
        polls.without.insert(std::move(others.back().directory));
      }
    }
    if (packed = pack(incident, polls, fd); !packed) return packed;
  }
  return packed;
}

Result<void> IncidentStore::write_once(Incident& incident, KeptPolls& polls) {
  if (auto removed = writer_.remove_tree(kUnfinished); !removed) return removed;
  const auto file = writer_.create_file(kUnfinished);
  if (!file) return file.error();
  auto written = pack_small(incident, polls, file->get());
  if (written && ::fsync(file->get()) != 0)
    written = system_error(directory() + "/" + incident.file, errno, "cannot write the incident");
  if (written) written = writer_.rename(kUnfinished, incident.file);
  if (written) written = writer_.sync_directory("");
  if (!written) (void)writer_.remove_tree(kUnfinished);  // report the first failure
  return written;
}

Result<void> IncidentStore::write(Incident& incident, KeptPolls polls) {
  incident.left_out = polls.ring.left_out();
  auto written = write_once(incident, polls);
  while (!written && written.error().system_errno == ENOSPC && remove_oldest(incident.file))
    written = write_once(incident, polls);
  if (!written) return written;
  {
    const MutexLock lock(mutex_);
    std::erase_if(incidents_, [&](const Incident& one) { return one.file == incident.file; });
    const auto before = [&](const Incident& one) { return one.file < incident.file; };
    incidents_.insert(std::find_if(incidents_.begin(), incidents_.end(), before), incident);
    forget_old_figures(incidents_);
  }
  while (is_over_limits() && remove_oldest(incident.file)) continue;
  return {};
}

}  // namespace memstat
