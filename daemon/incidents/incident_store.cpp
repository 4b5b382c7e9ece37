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
#include "daemon/incidents/incident_figures.h"

namespace memstat {
namespace {

constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::size_t kMaxFile = 64 << 20;

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

Result<void> IncidentStore::write_once(Incident& incident, const KeptPolls& polls) {
  if (auto removed = writer_.remove_tree(kUnfinished); !removed) return removed;
  const auto file = writer_.create_file(kUnfinished);
  if (!file) return file.error();
  const std::string path = directory() + "/" + incident.file;
  const auto sink = open_archive_sink(path, file->get(), incident.file.ends_with(".zst"));
  if (!sink) return sink.error();
  auto written = write_polls(polls, kIncidentNote, format_incident(incident), **sink);
  if (written && ::fsync(file->get()) != 0) written = system_error(path, errno, "cannot write the incident");
  struct stat status {};
  if (written && ::fstat(file->get(), &status) == 0) incident.bytes = static_cast<std::uint64_t>(status.st_size);
  if (written) written = writer_.rename(kUnfinished, incident.file);
  if (written) written = writer_.sync_directory("");
  if (!written) (void)writer_.remove_tree(kUnfinished);  // report the first failure
  return written;
}

Result<void> IncidentStore::write(Incident& incident, const KeptPolls& polls) {
  incident.polls = std::min(polls.ring.poll_count(), polls.most);
  incident.left_out = polls.ring.left_out();
  incident.figures = figures_of(polls, incident.object);
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
