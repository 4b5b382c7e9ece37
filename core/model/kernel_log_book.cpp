// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/kernel_log_book.h"

#include <algorithm>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/model/kill_tasks.h"
#include "core/model/log_fields.h"
#include "core/model/log_privacy.h"
#include "core/model/log_wordings.h"

namespace memstat {
namespace {

constexpr std::string_view kCacheLine = "  cache: ";
constexpr std::string_view kOldVmalloc = "vmalloc: allocation failure";  // before 4.10; a page allocation failure follows

/// Places of the lines that precede a kill. Readers of an older memstatd use the first five.
enum Before : std::uint8_t {
  kInvokedLine,
  kOldContextLine,
  kUsageLine,
  kAnnouncement,
  kContextLine,
  kTaskHeader,
  kLargestTask,
  kSecondTask
};

/// Whether the number behind `key` in the line is this process.
bool names_process(std::string_view line, std::string_view key, std::string_view pid) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos || pid.empty()) return false;
  const std::string_view rest = line.substr(at + key.size());
  return rest.starts_with(pid) && rest.substr(pid.size()).starts_with(' ');
}

/// Whether the context line names the process that the kill line names, or the one that was announced: before 5.2 the kernel
/// kills a child of that one instead. Lines of two kills may interleave.
bool is_context_of(std::string_view context, std::string_view kill, std::string_view announcement) {
  const std::size_t at = context.rfind(",pid=");
  if (at == std::string_view::npos) return false;
  std::string_view pid = context.substr(at + 5);
  pid = pid.substr(0, pid.find(','));
  return names_process(kill, "Killed process ", pid) || names_process(announcement, "Kill process ", pid);
}

/// Replaces unprintable bytes, and addresses. The kernel escapes bytes already, but one newline would make the rest of the
/// table unreadable.
void assign_line(std::string& place, std::string_view line) {
  place.assign(line.substr(0, KernelLogBook::kMaxLine));
  std::replace_if(
      place.begin(), place.end(), [](char byte) { return byte < ' ' || byte > '~'; }, '?');
  mask_addresses(place);
}

void append_number(Buffer& out, std::string_view word, std::uint64_t number) {
  out.append(word);
  out.append(std::to_string(number));
  out.append("\n");
}

}  // namespace

void KernelLogBook::add(std::string_view bytes) {
  const auto record = read_log_record(bytes);
  if (!record) return;
  if (has_begun_ && record->sequence > expected_) lost_ = saturating_sum(lost_, record->sequence - expected_);
  has_begun_ = true;
  expected_ = saturating_sum(record->sequence, std::uint64_t{1});
  if (!record->is_of_kernel) return;
  const std::string_view text = with_backslashes(record->text);
  if (keep_for_kill(text)) return;
  if (const auto event = event_of_line(text)) {
    if (!keep_for_vmalloc(*event, record->time_us, text)) add(*event, record->time_us, text);
  } else if (text.starts_with(kCacheLine) && size_ > 0 && last().more[0].empty() &&
             last().event == LogEvent::kSlabAllocationFailure) {
    assign_line(last().more[0], text);
  }
}

/// /dev/kmsg escapes backslashes, which systemd puts into names of groups: "system-getty\x5cx2dtty" is
/// "system-getty\x2dtty".
std::string_view KernelLogBook::with_backslashes(std::string_view line) {
  constexpr std::string_view kEscaped = "\\x5c";
  std::size_t at = line.find(kEscaped);
  if (at == std::string_view::npos) return line;
  unescaped_.clear();
  for (; at != std::string_view::npos; at = line.find(kEscaped)) {
    unescaped_.append(line.substr(0, at)).push_back('\\');
    line.remove_prefix(at + kEscaped.size());
  }
  return unescaped_.append(line);
}

/// Keeps a line that reports the failure of the last event again: vmalloc's own after that of the missing address range,
/// and, before 4.10, "COMMAND: page allocation failure: order:0", though a page is not what was missing.
bool KernelLogBook::keep_for_vmalloc(LogEvent event, std::uint64_t time_us, std::string_view line) {
  constexpr std::uint64_t kSoon = 1'000'000;
  if (size_ == 0 || last().event != LogEvent::kVmallocFailure) return false;
  if (!last().time_us || time_us > saturating_sum(*last().time_us, kSoon)) return false;
  const bool is_of_range = last().text.starts_with("vmap allocation ") && last().more[0].empty();
  const bool is_old = last().text.starts_with(kOldVmalloc) || last().more[0].starts_with(kOldVmalloc);
  if (event == LogEvent::kVmallocFailure ? !is_of_range || line.starts_with("vmap ")
                                         : !is_old || event != LogEvent::kPageAllocationFailure)
    return false;
  auto* const place = std::find(last().more.begin(), last().more.begin() + 2, std::string());
  if (place == last().more.begin() + 2) return false;
  assign_line(*place, line);
  return true;
}

/// Keeps a line that precedes a kill.
bool KernelLogBook::keep_for_kill(std::string_view line) {
  const auto keep = [&](Before place) {
    assign_line(before_kill_[place], line);
    return true;
  };
  if (line.starts_with('[')) return keep_task(line);
  if (line.starts_with(log_text::kContext)) return keep(kContextLine);
  if (line.starts_with(log_text::kOldContext)) return keep(kOldContextLine);
  if (line.starts_with(log_text::kUsage)) return keep(kUsageLine);
  for (const std::string_view begin : {log_text::kMachineKill, log_text::kGroupAnnouncement, log_text::kAskerAnnouncement,
                                       log_text::kOldMachineKill, log_text::kOldGroupKill}) {
    if (line.starts_with(begin)) return keep(kAnnouncement);
  }
  if (place_behind_name(line, log_text::kInvoked) == std::string_view::npos) return false;
  for (std::string& one : before_kill_) one.clear();
  return keep(kInvokedLine);
}

/// Keeps the two largest processes of the table: one of them may be the victim.
bool KernelLogBook::keep_task(std::string_view line) {
  if (is_task_header(line)) {
    assign_line(before_kill_[kTaskHeader], line);
    before_kill_[kLargestTask].clear();
    before_kill_[kSecondTask].clear();
    task_pages_ = {};
    return true;
  }
  const auto task = read_kill_task(before_kill_[kTaskHeader], line);
  if (!task) return false;
  const std::uint64_t pages = saturating_sum(task->resident_pages, task->swap_pages);
  if (pages > task_pages_[0]) {
    before_kill_[kSecondTask].swap(before_kill_[kLargestTask]);
    task_pages_[1] = std::exchange(task_pages_[0], pages);
    assign_line(before_kill_[kLargestTask], line);
  } else if (pages > task_pages_[1]) {
    task_pages_[1] = pages;
    assign_line(before_kill_[kSecondTask], line);
  }
  return true;
}

/// The first kill after a request has its lines, or the line that says that there is none; more processes of the same group
/// may follow.
void KernelLogBook::add_lines_of_kill(Entry& kill) {
  std::size_t next = 0;
  const bool has_context = is_context_of(before_kill_[kContextLine], kill.text, before_kill_[kAnnouncement]);
  for (std::size_t i = 0; i < before_kill_.size(); ++i) {
    if (before_kill_[i].empty() || (i == kContextLine && !has_context)) continue;
    kill.more[next++].swap(before_kill_[i]);
    before_kill_[i].clear();
  }
}

/// The place of a new entry. If all are taken, the oldest entry of the most frequent event goes: a flood of one kind does
/// not push out a kill.
KernelLogBook::Entry& KernelLogBook::make_room() {
  if (size_ < kept_.size()) return kept_[size_++];
  std::array<std::size_t, kLogEventCount> kept{};
  for (const Entry& entry : kept_) ++kept[static_cast<std::size_t>(entry.event)];
  const auto most = static_cast<LogEvent>(std::max_element(kept.begin(), kept.end()) - kept.begin());
  const auto gone = std::find_if(kept_.begin(), kept_.end(), [&](const Entry& entry) { return entry.event == most; });
  std::rotate(gone, gone + 1, kept_.end());
  return kept_.back();
}

void KernelLogBook::add(LogEvent event, std::optional<std::uint64_t> time_us, std::string_view line,
                        std::span<const std::string_view> more) {
  std::uint64_t& count = counts_[static_cast<std::size_t>(event)];
  count = saturating_sum(count, std::uint64_t{1});
  Entry& entry = make_room();
  entry.event = event;
  entry.time_us = time_us;
  assign_line(entry.text, line);
  for (std::size_t i = 0; i < entry.more.size(); ++i) assign_line(entry.more[i], i < more.size() ? more[i] : "");
  if (event == LogEvent::kOomKill || event == LogEvent::kNobodyToKill) add_lines_of_kill(entry);
}

void KernelLogBook::write(Buffer& out) const {
  out.assign("kernel_log 1\n");
  append_number(out, "lost ", lost_);
  for (const LogEvent event : events_) {
    out.append("count ");
    out.append(to_string(event));
    append_number(out, " ", counts_[static_cast<std::size_t>(event)]);
  }
  for (std::size_t i = 0; i < size_; ++i) {
    const Entry& entry = kept_[i];
    out.append("event ");
    out.append(to_string(entry.event));
    if (entry.time_us) append_number(out, " ", *entry.time_us);
    out.append(entry.time_us ? "text " : " -\ntext ");
    out.append(entry.text);
    out.append("\n");
    for (const std::string& more : entry.more) {
      if (more.empty()) break;
      out.append("more ");
      out.append(more);
      out.append("\n");
    }
  }
  out.append("end\n");
}

}  // namespace memstat
