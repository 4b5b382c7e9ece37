// SPDX-License-Identifier: BSD-2-Clause
// Attaches programs to the kernel's software events, which perf_event_open() opens for one CPU at a time, and re-attaches
// all programs through the helper. The points where libbpf attached them are looked up while the kernel's files are still
// readable.
#if defined(MEMSTAT_HAVE_LIBBPF)

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>

#include "core/base/text.h"
#include "core/events/attach/bpf_kernel.h"

namespace memstat::events {
namespace {

constexpr std::string_view kProbeFiles = "/sys/bus/event_source/devices/kprobe/";
constexpr std::array<std::string_view, 2> kTracepoints{"/sys/kernel/tracing/events/", "/sys/kernel/debug/tracing/events/"};

/// Reads the number that follows `prefix` in a file of the kernel.
std::optional<std::uint64_t> number_in(const std::string& path, std::string_view prefix = {}) {
  const std::string bytes = begin_of(path.c_str());
  std::string_view text = trim(bytes);
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  return parse_u64(text);
}

bool set_name(AttachPoint& point, std::string_view name) {
  if (name.empty() || name.size() >= point.name.size()) return false;
  std::copy(name.begin(), name.end(), point.name.begin());
  return true;
}

/// The attach point of a program in section `HOW/WHERE`, software events excluded. Empty for unknown sections.
std::optional<AttachPoint> point_of(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  const std::size_t slash = section.find('/');
  const std::string_view place = slash == std::string_view::npos ? std::string_view() : section.substr(slash + 1);
  AttachPoint point;
  switch (bpf_program__type(program)) {
    case BPF_PROG_TYPE_RAW_TRACEPOINT:
      point.kind = AttachPoint::kRawTracepoint;
      return set_name(point, place) ? std::optional(point) : std::nullopt;
    case BPF_PROG_TYPE_TRACING: point.kind = AttachPoint::kTracing; return point;
    case BPF_PROG_TYPE_TRACEPOINT: {
      point.kind = AttachPoint::kPerfEvent;
      point.type = PERF_TYPE_TRACEPOINT;
      for (const std::string_view directory : kTracepoints) {
        const auto number = number_in(std::string(directory) + std::string(place) + "/id");
        if (!number) continue;
        point.config = *number;
        return point;
      }
      return std::nullopt;
    }
    case BPF_PROG_TYPE_KPROBE: {
      const auto type = number_in(std::string(kProbeFiles) + "type");
      const auto bit = number_in(std::string(kProbeFiles) + "format/retprobe", "config:");
      if (!type || !bit || *bit >= 64 || !set_name(point, place)) return std::nullopt;
      point.kind = AttachPoint::kPerfEvent;
      point.type = static_cast<std::uint32_t>(*type);
      point.config = section.starts_with("kretprobe") ? std::uint64_t{1} << *bit : 0;
      return point;
    }
    default: return std::nullopt;
  }
}

AttachPoint point_of_software_event(std::uint64_t event, int cpu) {
  return {.kind = AttachPoint::kPerfEvent, .cpu = cpu, .type = PERF_TYPE_SOFTWARE, .period = 1, .config = event};
}

}  // namespace

int AttachedPrograms::attach_everywhere(bpf_program* program, std::uint64_t event) {
  perf_event_attr facts{};
  facts.type = PERF_TYPE_SOFTWARE;
  facts.size = sizeof facts;
  facts.config = event;
  facts.sample_period = 1;
  std::vector<LinkPointer> links;
  for (int cpu = 0; cpu < libbpf_num_possible_cpus(); ++cpu) {
    UniqueFd file(static_cast<int>(::syscall(SYS_perf_event_open, &facts, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!file && errno == ENODEV) continue;  // offline
    if (!file) return errno;
    links.emplace_back(bpf_program__attach_perf_event(program, file.get()));
    if (!links.back()) return errno;
    (void)file.release();  // the link closes it
  }
  if (links.empty()) return ENODEV;
  std::move(links.begin(), links.end(), std::back_inserter(links_));
  programs_.push_back({.program = program, .software_event = event});
  take_facts_of(program);
  return 0;
}

void AttachedPrograms::enlist() {
  const std::shared_ptr<AttachHelper> helper = process_helper();
  if (helper == nullptr) return;
  const auto add = [&](const bpf_program* program, const std::optional<AttachPoint>& point) {
    const auto place = point ? helper->add(bpf_program__fd(program), *point) : Result<std::uint32_t>(Error());
    if (place) places_.push_back(*place);
    return place.has_value();
  };
  for (const Attached& each : programs_) {
    bool is_added = true;
    if (!each.software_event) is_added = add(each.program, point_of(each.program));
    for (int cpu = 0; each.software_event && is_added && cpu < libbpf_num_possible_cpus(); ++cpu) {
      is_added = add(each.program, point_of_software_event(*each.software_event, cpu));
    }
    if (!is_added) return;
  }
  if (!places_.empty()) helper_ = helper;
}

bool AttachedPrograms::attach_again() {
  if (helper_ == nullptr) return false;
  descriptors_.reserve(places_.size());
  for (const std::uint32_t place : places_) {
    auto attached = helper_->attach(place);
    if (attached) {
      descriptors_.push_back(*std::move(attached));
    } else if (const int error = attached.error().system_errno; error != ENODEV) {  // the CPU is offline
      descriptors_.clear();
      if (error == EINVAL) helper_.reset();  // before Linux 5.13 a program can be attached to a function only once
      break;
    }
  }
  return !descriptors_.empty();
}

}  // namespace memstat::events

#endif
