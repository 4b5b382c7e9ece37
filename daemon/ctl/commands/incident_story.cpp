// SPDX-License-Identifier: BSD-2-Clause
// An incident poll by poll, before its findings.
#include <algorithm>

#include "core/base/amount_text.h"
#include "core/diagnosis/words.h"
#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/snapshot/active_findings.h"

namespace memstat::ctl {
namespace {

/// The type that the incident is about, in one poll: "/app 60 MiB of 64 MiB".
std::string amount_of_object(const Incident& incident, std::span<const TypeRow> types) {
  const auto found = std::find_if(types.begin(), types.end(), [&](const TypeRow& type) {
    return incident.object == (type.allocator == "memcg" ? type.name : type.allocator + "/" + type.name);
  });
  if (found == types.end()) return {};
  const NearestLimit limit = nearest_limit(*found);
  const bool is_bytes = limit.column == nullptr ? has(*found, kBytesInUse) : limit.column->is_bytes;
  const auto amount = [&](const Column& column) {
    return amount_text(static_cast<double>(figure_of(*found, column)), is_bytes);
  };
  std::string text = incident.object + " " + amount(is_bytes ? kBytesInUse : kObjectsInUse);
  return limit.column == nullptr ? text : text + " of " + amount(*limit.column);
}

/// One poll of the story.
struct StoryPoll {
  std::string line;  ///< with its time
  std::optional<std::uint64_t> available_bytes;
  std::string object;  ///< what the incident is about: "/app 60 MiB of 64 MiB"
};
struct StoryPolls {
  std::vector<StoryPoll> polls;
  std::size_t noticed = 0;  ///< the one that noticed it
};

StoryPolls read_polls(const Incident& incident, ReportSource& source) {
  StoryPolls story;
  PollWalk walk(source, {});
  while (walk.next()) {
    const Sample& sample = walk.sample();
    StoryPoll poll{.line = "  " + time_text(sample.time_ns, false),
                   .available_bytes = sample.memory ? sample.memory->available : std::nullopt,
                   .object = printable(amount_of_object(incident, sample.types))};
    if (poll.available_bytes) {
      poll.line += "  available " + amount_text(static_cast<double>(*poll.available_bytes), true);
    }
    if (!poll.object.empty()) poll.line += "  " + poll.object;
    if (sample.time_ns <= incident.realtime_ns) story.noticed = story.polls.size();
    story.polls.push_back(std::move(poll));
  }
  return story;
}

/// The polls before it, fewer of those long before, and those after it.
std::string table_of(const StoryPolls& story, std::size_t last, std::size_t width) {
  constexpr std::size_t kBefore = 6, kOfHour = 4;
  const std::size_t begin = story.noticed < kBefore ? 0 : story.noticed - kBefore;
  const std::size_t step = (begin + kOfHour - 1) / kOfHour;  // of those before
  std::string out;
  for (std::size_t i = 0; i < begin; i += step) out += fitted(story.polls[i].line + "\n", width);
  for (std::size_t i = begin; i <= last && i < story.polls.size(); ++i)
    out += fitted(story.polls[i].line + (i == story.noticed ? "  <- noticed" : "") + "\n", width);
  return out;
}

/// What was free again.
std::string afterwards(const StoryPolls& story, std::size_t last, std::size_t width) {
  const StoryPoll& before = story.polls[story.noticed == 0 ? 0 : story.noticed - 1];
  const StoryPoll& after = story.polls[last];
  if (!before.available_bytes || !after.available_bytes || last == 0) return {};
  const bool is_more = *after.available_bytes >= *before.available_bytes;
  const std::uint64_t change =
      is_more ? *after.available_bytes - *before.available_bytes : *before.available_bytes - *after.available_bytes;
  const auto text = [](std::uint64_t bytes) { return amount_text(static_cast<double>(bytes), true); };
  const std::string compared = change == 0 ? "as much as" : text(change) + (is_more ? " more" : " less") + " than";
  return wrapped("Afterwards: " + text(*after.available_bytes) + " available, " + compared + " at the poll before" +
                     (after.object.empty() ? "" : "; " + after.object) + ".",
                 "", width);
}

/// The events of the log of a boot of which only that is left, the last ones.
std::string events_of_log(ReportSource& source, std::size_t width) {
  constexpr std::size_t kMaxShown = 8;
  const EventsAnswer answer = source.events();
  const std::size_t size = answer.events.size();
  std::string out = wrapped("Only the kernel's log of that boot is left, so no cause can be examined. It has " +
                                counted(static_cast<double>(size), "line") + " about memory" + (size == 0 ? "." : ":"),
                            "", width);
  for (std::size_t i = size - std::min(size, kMaxShown); i < size; ++i) {
    const EventRow& row = answer.events[i];
    const std::string time = row.since_boot ? duration_words(*row.since_boot) + " after boot" : std::string();
    out += fitted("  " + to_left(time, 20) + printable(row.lines.empty() ? row.event : row.lines.front()) + "\n", width);
  }
  return out + "\n";
}

}  // namespace

const Finding* finding_of(const Incident& incident, std::span<const Finding> findings) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& one) {
    return one.cause == incident.cause && object_of(one) == incident.object && one.killed == incident.killed;
  });
  return found == findings.end() ? nullptr : &*found;
}

std::string incident_story(const Incident& incident, ReportSource& source, std::size_t width) {
  constexpr std::size_t kAfter = 2;
  const StoryPolls story = read_polls(incident, source);
  const FindingsAnswer found = source.findings();
  const std::string time = time_text(incident.realtime_ns, true);
  std::string out;
  // What is below says all this, and more.
  if (finding_of(incident, found.diagnosis.findings) != nullptr) {
    out = time + ": " + printable(incident.cause) + "\n";
  } else {
    out = wrapped(time + ": " + printable(incident.headline) + ".", "", width);
    if (!incident.killer.empty()) {
      const std::string killed = incident.killed.empty() ? "a process that the log does not name" : incident.killed;
      out += wrapped("Killed: " + printable(killed) + ". Decided by: " + printable(incident.killer) + ".", "", width);
    }
    if (!incident.culprit.empty()) out += wrapped("Who: " + printable(incident.culprit), "", width);
  }
  if (incident.cause == kPreviousBoot)
    return out + events_of_log(source, width) + "Next: " + printable(incident.next) + "\n";
  if (story.polls.empty()) return out + "\n";
  const std::size_t last = std::min(story.noticed + kAfter, story.polls.size() - 1);
  out += table_of(story, last, width) + afterwards(story, last, width);
  if (incident.left_out != 0)
    out += wrapped(counted(static_cast<double>(incident.left_out), "file") + " had no room in this incident, and " +
                       (incident.left_out == 1 ? "is" : "are") + " not checked.",
                   "", width);
  return out + "\n";
}

}  // namespace memstat::ctl
