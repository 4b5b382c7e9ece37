// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/kernel_log.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/model/freebsd_log.h"
#include "core/model/kill_tasks.h"
#include "core/model/log_fields.h"
#include "core/model/log_wordings.h"
#include "core/model/service_log.h"

namespace memstat {
namespace {

using log_text::between;
using log_text::between_last;
using log_text::digits_behind;

constexpr std::array<std::string_view, kLogEventCount> kEventNames = {"oom_kill",
                                                                      "page_allocation_failure",
                                                                      "slab_allocation_failure",
                                                                      "vmalloc_failure",
                                                                      "conntrack_full",
                                                                      "neighbours_full",
                                                                      "files_full",
                                                                      "pids_full",
                                                                      "tcp_memory_full",
                                                                      "orphans_full",
                                                                      "memory_error",
                                                                      "page_pool_stalled",
                                                                      "suppressed",
                                                                      "processes_full",
                                                                      "threads_full",
                                                                      "zone_full",
                                                                      "pipes_full",
                                                                      "accept_queue_full",
                                                                      "swap_full",
                                                                      "swap_table_full",
                                                                      "swap_reservation_refused",
                                                                      "program_kill",
                                                                      "paging_error",
                                                                      "audit_full",
                                                                      "cache_leaked",
                                                                      "leak_suspected",
                                                                      "percpu_failure",
                                                                      "routes_full",
                                                                      "syn_queue_full",
                                                                      "rcu_stall",
                                                                      "device_held",
                                                                      "memory_error_injected",
                                                                      "nobody_to_kill",
                                                                      "reaper_failed",
                                                                      "bounce_buffers_full",
                                                                      "allocation_waits",
                                                                      "cma_failure",
                                                                      "huge_pages_refused",
                                                                      "commit_refused",
                                                                      "victim_exiting",
                                                                      "memory_error_corrected",
                                                                      "time_wait_full",
                                                                      "unrecognized"};

constexpr std::string_view kSuppressedEnd = " callbacks suppressed";

/// Parses "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=..,cpuset=NAME,mems_allowed=0-1,oom_memcg=PATH,task_memcg=PATH,
/// task=COMMAND, pid=N,uid=N"; "global_oom" instead of oom_memcg if the whole machine was out of memory (mm/oom_kill.c,
/// dump_oom_victim). A constraint by a memory policy has its nodes in nodemask.
void add_oom_context(std::string_view line, LogFieldList& fields) {
  std::string constraint(between(line, "constraint=CONSTRAINT_", ","));
  for (char& letter : constraint) letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 'a' - 'A') : letter;
  fields.add("constraint", constraint);
  const std::string_view nodes = between(line, "nodemask=", ",cpuset=");
  fields.add("policy_nodes", nodes == "(null)" ? std::string_view() : nodes);
  fields.add("cpuset", between(line, ",cpuset=", ",mems_allowed="));
  std::string_view allowed = between(line, ",mems_allowed=", "");
  allowed = allowed.substr(0, std::min(allowed.find_first_not_of("0123456789,-"), allowed.size()));
  if (allowed.ends_with(',')) allowed.remove_suffix(1);  // before the next key
  fields.add("allowed_nodes", allowed);
  fields.add("group", between(line, ",oom_memcg=", ",task_memcg="));
  fields.add("victim_group", between(line, ",task_memcg=", ",task="));
}

/// "Task in GROUP killed as a result of limit of GROUP", before 4.19.
void add_old_context(std::string_view line, LogFieldList& fields) {
  constexpr std::string_view kLimit = " killed as a result of limit of ";
  const std::size_t at = line.rfind(kLimit);
  if (at == std::string_view::npos) return;
  fields.add("constraint", "memcg");
  fields.add("group", line.substr(at + kLimit.size()));
  fields.add("victim_group", between(line.substr(0, at), "Task in ", ""));
}

/// "COMMAND invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0", without names
/// before 4.6. An order of -1 means that somebody requested the kill.
void add_request(std::string_view line, LogFieldList& fields) {
  const std::size_t at = place_behind_name(line, log_text::kInvoked);
  if (at == std::string_view::npos) return;
  const std::string_view rest = line.substr(at);
  fields.add("requested_by", line.substr(0, at));
  fields.add("gfp_mask", between(rest.substr(0, rest.find_first_of("(,")), "gfp_mask=", ""));
  fields.add("gfp", between(rest, "(", ")"));
  fields.add("order", between(rest, "order=", ","));
}

/// "memory: usage 524288kB, limit 524288kB, failcnt 12", of the group at its limit.
void add_usage(std::string_view line, LogFieldList& fields) {
  fields.add_number("group_bytes", digits_behind(line, "usage "), 1024);
  fields.add_number("group_limit_bytes", digits_behind(line, "limit "), 1024);
}

/// "Out of memory: Kill process 12 (COMMAND) score 977 or sacrifice child", before 5.1: thousandths of the memory in
/// question, and the adjustment.
void add_score(std::string_view line, LogFieldList& fields) {
  fields.add_number("score", digits_behind(between_last(line, ") score", ""), " "));
}

/// The largest process in the table that was not killed.
void add_other(const LoggedEvent& event, std::string_view victim, LogFieldList& fields) {
  const auto* const header = std::find_if(event.more.begin(), event.more.end(), is_task_header);
  if (header == event.more.end()) return;
  for (const auto* row = header + 1; row != event.more.end(); ++row) {
    const auto task = read_kill_task(*header, *row);
    if (!task) continue;
    const std::string pid = std::to_string(task->pid);
    if (pid == victim || std::to_string(task->thread) == victim) continue;
    fields.add_number("other_pid", pid);
    fields.add("other_command", task->name);
    fields.add_number("other_resident_pages", std::to_string(task->resident_pages));
    fields.add_number("other_swap_pages", std::to_string(task->swap_pages));
    fields.add("other_oom_score_adj", std::to_string(task->oom_score_adj));
    return;
  }
}

/// "...: Killed process 12 (COMMAND) total-vm:1kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB, UID:0 pgtables:5kB
/// oom_score_adj:0"; on EL 7 "), UID 0, total-vm:1kB"; before 2.6.36 ") vsz:1kB, anon-rss:2kB", or no sizes.
void add_oom_kill(const LoggedEvent& event, LogFieldList& fields) {
  const std::string_view line = event.text;
  const auto has = [&](std::string_view begin) {
    return line.starts_with(begin) ||
           std::any_of(event.more.begin(), event.more.end(), [&](std::string_view more) { return more.starts_with(begin); });
  };
  const bool is_of_group = has(log_text::kGroupKill) || has(log_text::kOldGroupKill) || has(log_text::kOldContext);
  fields.add("scope", is_of_group ? "group" : "machine");
  if (has(log_text::kAskerKill)) fields.add("chosen", "asker");
  const std::string_view pid = digits_behind(line, "Killed process ");
  fields.add_number("pid", pid);
  std::size_t end = line.rfind(") total-vm:");
  if (end == std::string_view::npos) end = line.rfind("), UID ");
  if (end == std::string_view::npos) end = line.rfind(") vsz:");
  if (end == std::string_view::npos && line.ends_with(')')) end = line.size() - 1;
  const std::string_view head = line.substr(0, std::min(end, line.size()));
  if (end != std::string_view::npos) fields.add("command", between(head, " (", ""));
  const std::string_view sizes = end == std::string_view::npos ? std::string_view() : line.substr(end);
  constexpr std::pair<std::string_view, std::string_view> kSizes[] = {
      {"total_vm_bytes", "total-vm:"}, {"total_vm_bytes", "vsz:"},     {"anonymous_bytes", "anon-rss:"},
      {"file_bytes", "file-rss:"},     {"shared_bytes", "shmem-rss:"}, {"page_table_bytes", "pgtables:"}};
  for (const auto& [name, key] : kSizes) fields.add_number(name, digits_behind(sizes, key), 1024);
  fields.add_number("uid", digits_behind(sizes, "UID:"));
  const std::string_view adjustment = between(sizes, "oom_score_adj:", "");
  fields.add("oom_score_adj", parse_i64(adjustment) ? adjustment : std::string_view());
  for (const std::string_view more : event.more) {
    if (more.starts_with(log_text::kContext)) add_oom_context(more, fields);
    if (more.starts_with(log_text::kOldContext)) add_old_context(more, fields);
    if (more.starts_with(log_text::kUsage)) add_usage(more, fields);
    for (const std::string_view begin : {log_text::kMachineKill, log_text::kGroupAnnouncement, log_text::kAskerAnnouncement})
      if (more.starts_with(begin)) add_score(more, fields);
    add_request(more, fields);
  }
  add_other(event, pid, fields);
}

/// "Out of memory and no killable processes...". Only the lines before it say whether that is about a group at its limit.
void add_nobody(const LoggedEvent& event, LogFieldList& fields) {
  const auto* const usage = std::find_if(event.more.begin(), event.more.end(),
                                         [](std::string_view more) { return more.starts_with(log_text::kUsage); });
  if (!event.more[0].empty()) fields.add("scope", usage == event.more.end() ? "machine" : "group");
  if (usage != event.more.end()) add_usage(*usage, fields);
  for (const std::string_view more : event.more) add_request(more, fields);
}

/// "COMMAND: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL), nodemask=..".
void add_page_failure(std::string_view line, LogFieldList& fields) {
  const std::size_t at = place_behind_name(line, ": page allocation failure");
  if (at == std::string_view::npos) return;
  fields.add("command", line.substr(0, at));
  fields.add_number("order", digits_behind(line.substr(at), "order:"));
  fields.add("gfp", between(line.substr(at), "(", ")"));
}

/// "DRIVER DEVICE: swiotlb buffer is full (sz: 4096 bytes), total 32768 (slots), used 32768 (slots)", or "DMA: Out of
/// SW-IOMMU space for 4096 bytes at device DEVICE".
void add_bounce_buffers(std::string_view line, LogFieldList& fields) {
  const std::size_t at = place_behind_name(line, ": swiotlb buffer is full");
  if (at != std::string_view::npos) {
    const std::string_view name = line.substr(0, at);
    fields.add("device", name.substr(name.rfind(' ') + 1));  // npos + 1 is 0
  }
  fields.add("device", between(line, " at device ", ""));
  fields.add_number("bytes", digits_behind(line, "(sz: "));
  fields.add_number("bytes", digits_behind(line, "SW-IOMMU space for "));
  fields.add_number("slots", digits_behind(line, ", total "));
  fields.add_number("used_slots", digits_behind(line, ", used "));
}

void add_slab_failure(const LoggedEvent& event, LogFieldList& fields) {
  fields.add("gfp", between_last(event.text, "(", ")"));
  fields.add("cache", between(event.more[0], "cache: ", ", object size:"));
  fields.add_number("object_bytes", digits_behind(event.more[0], ", object size: "));
}

void add_vmalloc_failure(std::string_view line, LogFieldList& fields) {
  for (const std::string_view before : {" for size ", ": vmalloc error: size ", "vmalloc: allocation failure: "})
    fields.add_number("bytes", digits_behind(line, before));
  fields.add_number("bytes", digits_behind(between(line, "vmalloc: allocation failure, allocated ", ""), " of "));
}

/// "XFS: COMMAND(12) possible memory allocation deadlock size 65552 in kmem_alloc (mode:0x250)"; "COMMAND: page allocation
/// stalls for 10000ms, order:0".
void add_waiting(std::string_view line, LogFieldList& fields) {
  constexpr std::string_view kStalls = ": page allocation stalls for ";
  const std::size_t at = place_behind_name(line, kStalls);
  if (at != std::string_view::npos) fields.add("waiter", line.substr(0, at));
  if (at == std::string_view::npos) fields.add("waiter", line.starts_with("XFS") ? "XFS" : "ZFS");
  fields.add_number("bytes", digits_behind(line, "deadlock size "));
  fields.add_number("bytes", digits_behind(line, "deadlock: size="));
}

bool take_word(std::string_view line, std::string_view word, std::string_view& rest) {
  if (!line.starts_with(word)) return false;
  rest = line.substr(word.size());
  return true;
}

/// "EVENT N".
struct NumberedEvent {
  std::size_t event = kLogEventCount;   ///< kLogEventCount: unknown, from another version.
  std::optional<std::uint64_t> number;  ///< Nothing: "-".
};
/// Nothing if there is no number.
std::optional<NumberedEvent> read_numbered_event(std::string_view rest) {
  const std::size_t blank = rest.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view number = rest.substr(blank + 1);
  const auto* const place = std::find(kEventNames.begin(), kEventNames.end(), rest.substr(0, blank));
  const NumberedEvent read{.event = static_cast<std::size_t>(place - kEventNames.begin()), .number = parse_u64(number)};
  return read.number || number == "-" ? std::optional(read) : std::nullopt;
}

class TableParser {
 public:
  explicit TableParser(LogTable& table) : table_(table) {}
  /// Returns false if the line is malformed.
  bool take(std::string_view line) {
    std::string_view rest;
    if (take_word(line, "lost ", rest)) return parse_u64(rest) && (table_.lost = *parse_u64(rest), true);
    if (take_word(line, "count ", rest)) {
      const auto count = read_numbered_event(rest);
      if (!count || !count->number) return false;
      if (count->event < kLogEventCount) table_.counts[count->event] = *count->number;
      if (count->event < kLogEventCount) table_.has_count.set(count->event);
      return true;
    }
    if (take_word(line, "event ", rest)) return begin_event(rest);
    if (take_word(line, "text ", rest)) return set_text(rest, has_event_ && is_known_ ? &last().text : nullptr);
    if (take_word(line, "more ", rest)) return set_text(rest, has_event_ && is_known_ ? next_line_of(last()) : nullptr);
    return false;
  }

 private:
  [[nodiscard]] LoggedEvent& last() { return table_.events[table_.size - 1]; }
  /// The place of another line; nullptr: there is no room.
  static std::string_view* next_line_of(LoggedEvent& event) {
    auto* const place = std::find(event.more.begin(), event.more.end(), std::string_view());
    return place == event.more.end() ? nullptr : place;
  }
  bool begin_event(std::string_view rest) {
    const auto event = read_numbered_event(rest);
    if (!event) return false;
    has_event_ = true;
    is_known_ = event->event < kLogEventCount;
    if (!is_known_) return true;
    if (table_.size == table_.events.size()) return false;
    table_.events[table_.size++] = {.event = static_cast<LogEvent>(event->event),
                                    .time_us = event->number.value_or(0),
                                    .has_time = event->number.has_value(),
                                    .text = {},
                                    .more = {}};
    return true;
  }
  bool set_text(std::string_view text, std::string_view* place) {
    if (place != nullptr) *place = text;
    return has_event_;
  }

  LogTable& table_;
  bool has_event_ = false;
  bool is_known_ = false;
};

}  // namespace

std::string_view to_string(LogEvent event) { return kEventNames[static_cast<std::size_t>(event)]; }

std::optional<LogEvent> event_of_line(std::string_view line) {
  for (const LogWording& wording : linux_wordings()) {
    if (is_like(line, wording)) return wording.event;
  }
  if (line.ends_with(kSuppressedEnd)) return LogEvent::kSuppressed;
  return may_be_refusal(line) ? std::optional(LogEvent::kUnrecognized) : std::nullopt;
}

std::optional<LogRecord> read_log_record(std::string_view bytes) {
  const std::size_t semicolon = bytes.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  std::string_view head = bytes.substr(0, semicolon);
  std::array<std::uint64_t, 3> numbers{};
  for (std::uint64_t& number : numbers) {
    const std::size_t comma = head.find(',');
    const auto value = parse_u64(head.substr(0, comma));
    if (!value || comma == std::string_view::npos) return std::nullopt;
    number = *value;
    head.remove_prefix(comma + 1);
  }
  const std::string_view rest = bytes.substr(semicolon + 1);
  return LogRecord{.sequence = numbers[1],
                   .time_us = numbers[2],
                   .is_of_kernel = numbers[0] < 8,  // facility x 8 + level
                   .text = rest.substr(0, rest.find('\n'))};
}

std::optional<std::size_t> read_log_table(std::string_view text, LogTable& table) {
  table.lost = 0;
  table.counts = {};
  table.has_count.reset();
  table.size = 0;
  TableParser parser(table);
  return for_each_table_line(text, "kernel_log 1", [&](std::string_view line) { return parser.take(line); });
}

std::vector<LogField> fields_of(const LoggedEvent& event) {
  LogFieldList fields;
  if (add_freebsd_fields(event, fields)) return fields.take();
  const std::string_view line = event.text;
  switch (event.event) {
    case LogEvent::kOomKill: add_oom_kill(event, fields); break;
    case LogEvent::kProgramKill: add_program_kill(event, fields); break;
    case LogEvent::kPageAllocationFailure: add_page_failure(line, fields); break;
    case LogEvent::kSlabAllocationFailure: add_slab_failure(event, fields); break;
    case LogEvent::kVmallocFailure: add_vmalloc_failure(line, fields); break;
    case LogEvent::kBounceBuffersFull: add_bounce_buffers(line, fields); break;
    case LogEvent::kAllocationWaits: add_waiting(line, fields); break;
    case LogEvent::kHugePagesRefused:
      fields.add_number("pages", digits_behind(line, "allocating "));
      fields.add("page_size", between(line, "page size ", " failed"));
      fields.add_number("got", digits_behind(line, "Only allocated "));
      break;
    case LogEvent::kCommitRefused:
      fields.add_number("pid", digits_behind(line, " pid: "));
      fields.add("command", between(line, ", comm: ", ", "));
      fields.add_number("bytes", digits_behind(line, ", bytes: "));
      break;
    case LogEvent::kNobodyToKill: add_nobody(event, fields); break;
    case LogEvent::kVictimExiting:
      fields.add("scope", line.starts_with("Memory cgroup") ? "group" : "machine");
      fields.add_number("pid", digits_behind(line, ": OOM victim "));
      fields.add("command", between(between(line, ": OOM victim ", ""), "(", ") is already exiting"));
      break;
    case LogEvent::kReaperFailed:
      fields.add_number("pid", digits_behind(line, "pid:"));
      fields.add("command", between_last(line, "(", ")"));
      break;
    case LogEvent::kPercpuFailure: fields.add_number("bytes", digits_behind(line, "size=")); break;
    case LogEvent::kCacheLeaked:
      fields.add("cache", between(line, "kmem_cache_destroy ", ": Slab cache"));
      fields.add("cache", between(line, "BUG ", " ("));
      break;
    case LogEvent::kLeakSuspected: fields.add_number("leaks", digits_behind(line, "kmemleak: ")); break;
    case LogEvent::kPagingError: fields.add("device", between(line, "swap-device (", ")")); break;
    case LogEvent::kSynQueueFull: fields.add("port", between(line, " on port ", ". ")); break;
    case LogEvent::kDeviceHeld: fields.add("device", between(line, "waiting for ", " to become free")); break;
    case LogEvent::kNeighboursFull: fields.add("table", between(line, "neighbour: ", ": neighbor")); break;
    case LogEvent::kFilesFull: fields.add_number("limit", digits_behind(line, "limit ")); break;
    case LogEvent::kPidsFull: fields.add("group", between(line, "controller in ", "")); break;
    case LogEvent::kPagePoolStalled: fields.add_number("pages", digits_behind(line, ", ")); break;
    case LogEvent::kSuppressed:
      fields.add("function", line.substr(0, std::min(line.find(": "), line.size())));
      fields.add_number("lines", digits_behind(between_last(line, ": ", ""), ""));
      break;
    default: break;
  }
  return fields.take();
}

}  // namespace memstat
