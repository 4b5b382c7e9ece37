// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/kernel_log_book.h"

#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::string_view kContext = "oom-kill:constraint=";
constexpr std::string_view kCacheLine = "  cache: ";

/// Whether the context line names the process that the kill line names. Lines of two kills may interleave.
bool is_context_of(std::string_view context, std::string_view kill) {
  const std::size_t at = context.rfind(",pid=");
  const std::size_t process = kill.find("Killed process ");
  if (at == std::string_view::npos || process == std::string_view::npos) return false;
  std::string_view pid = context.substr(at + 5);
  pid = pid.substr(0, pid.find(','));
  const std::string_view rest = kill.substr(process + std::string_view("Killed process ").size());
  return !pid.empty() && rest.starts_with(pid) && rest.substr(pid.size()).starts_with(' ');
}

/// Replaces unprintable bytes. The kernel escapes them already, but one newline would make the rest of the table unreadable.
void assign_line(std::string& place, std::string_view line) {
  place.assign(line.substr(0, KernelLogBook::kMaxLine));
  std::replace_if(
      place.begin(), place.end(), [](char byte) { return byte < ' ' || byte > '~'; }, '?');
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
  if (record->text.starts_with(kContext)) {
    assign_line(context_, record->text);
  } else if (const auto event = event_of_line(record->text)) {
    add(*event, record->time_us, record->text);
  } else if (record->text.starts_with(kCacheLine) && size_ > 0 && last().more.empty() &&
             last().event == LogEvent::kSlabAllocationFailure) {
    assign_line(last().more, record->text);
  }
}

void KernelLogBook::add(LogEvent event, std::optional<std::uint64_t> time_us, std::string_view line) {
  std::uint64_t& count = counts_[static_cast<std::size_t>(event)];
  count = saturating_sum(count, std::uint64_t{1});
  Entry& entry = kept_[next_];
  next_ = (next_ + 1) % kept_.size();
  size_ = std::min(size_ + 1, kept_.size());
  entry.event = event;
  entry.time_us = time_us;
  assign_line(entry.text, line);
  entry.more.clear();
  if (event == LogEvent::kOomKill && is_context_of(context_, entry.text)) entry.more = context_;
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
    const Entry& entry = kept_[(next_ + kept_.size() - size_ + i) % kept_.size()];
    out.append("event ");
    out.append(to_string(entry.event));
    if (entry.time_us) append_number(out, " ", *entry.time_us);
    out.append(entry.time_us ? "text " : " -\ntext ");
    out.append(entry.text);
    out.append("\n");
    if (entry.more.empty()) continue;
    out.append("more ");
    out.append(entry.more);
    out.append("\n");
  }
  out.append("end\n");
}

}  // namespace memstat
