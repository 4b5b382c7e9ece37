// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/listings.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "config/values.h"
#include "core/base/byte_size.h"
#include "core/base/text.h"
#include "core/source.h"
#include "daemon/selftest/selftest.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "daemon/telemetry/log.h"

namespace memstat {
namespace {

std::string line(std::initializer_list<std::string_view> cells) {
  std::string text;
  for (const std::string_view cell : cells) {
    if (!text.empty()) text += '\t';
    text += cell.empty() ? "-" : cell;
  }
  return text + "\n";
}

/// "held_bytes", "cpu free", "node free"; for figures of the system, the name of the metric.
std::string figure_name(const MetricOrigin& origin) {
  using Of = MetricOrigin::Of;
  if (origin.of == Of::kCpu) return "cpu " + std::string(to_string(static_cast<CpuField>(origin.number)));
  if (origin.of == Of::kNode) return "node " + std::string(to_string(static_cast<NodeField>(origin.number)));
  if (origin.of == Of::kType) return std::string(to_string(static_cast<Field>(origin.number)));
  return std::string(origin.metric->facts.name);
}

/// Formats a number; bytes with the largest unit that divides them.
std::string size_text(std::uint64_t value, bool is_bytes) {
  const auto [number, unit] = exact_size(value);
  if (!is_bytes || number == value) return std::to_string(value);
  return std::to_string(number).append(unit);
}

std::string option_text(const SourceOption& option) {
  using Kind = SourceOption::Kind;
  const auto number = [&](std::uint64_t value) {
    if (option.kind == Kind::kSwitch) return std::string(value != 0 ? "on" : "off");
    if (option.kind == Kind::kDuration) return duration_text(std::chrono::nanoseconds(static_cast<std::int64_t>(value)));
    return size_text(value, option.kind == Kind::kBytes);
  };
  std::string text = (option.section.empty() ? "" : std::string(option.section) + ".") + std::string(option.name) + "=";
  if (option.kind == Kind::kKey) return text + std::string(option.default_pattern) + ": " + std::string(option.help);
  if (option.kind == Kind::kPattern) {
    text += option.default_pattern.empty() ? "(none)" : option.default_pattern;
  } else {
    text += number(option.default_number);
    if (option.kind != Kind::kSwitch && option.most != ~std::uint64_t{0})
      text += " (" + number(option.least) + " to " + number(option.most) + ")";
  }
  return text + ": " + std::string(option.help);
}

/// "each poll: PATH, ...; every fourth poll: ...; required: ...; kept open: ..." of a source's plan.
std::string plan_text(const SourceDescriptor& source) {
  struct Group {
    std::string_view title;
    bool (*has)(const PlannedFile& file);
  };
  constexpr Group kGroups[] = {
      {"each poll", [](const PlannedFile& file) { return file.time == ReadTime::kEachRead; }},
      {"every fourth poll", [](const PlannedFile& file) { return file.time == ReadTime::kSeldom; }},
      {"required", [](const PlannedFile& file) { return file.need == ReadNeed::kRequired; }},
      {"kept open", [](const PlannedFile& file) { return file.is_kept_open; }},
  };
  std::string text;
  for (const Group& group : kGroups) {
    std::vector<std::string_view> paths;
    for (const PlannedFile& file : source.plan) {
      if (group.has(file)) paths.push_back(file.path);
    }
    if (!paths.empty()) text += (text.empty() ? "" : "; ") + std::string(group.title) + ": " + separated(paths, ", ");
  }
  return text;
}

}  // namespace

bool print(std::string_view text) {
  if (text.empty()) return true;  // a page without types may be a null pointer, which fwrite does not accept
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

int print_or_complain(std::string_view text) {
  if (print(text)) return kDone;
  complain(std::string("cannot write to standard output: ") + std::strerror(errno));
  return kCouldNotRun;
}

int print_selftest() {
  const Result<SelfTest> test = test_this_machine();
  if (!test) complain(to_string(test.error()));
  const int status = test ? print_or_complain(selftest_text(*test)) : kCouldNotRun;
  return status == kDone && !test->is_healthy() ? kCouldNotRun : status;
}

std::string metric_list() {
  std::string text = line({"name", "type", "unit", "scope", "labels", "tier", "help"});
  for (const MetricDescriptor& metric : metric_catalogue()) {
    text += line({metric.name, to_string(metric.kind), metric.unit, to_string(metric.scope),
                  separated(label_names(metric), ","), to_string(metric.tier), metric.help});
  }
  return text;
}

std::string source_list() {
  std::string text = line({"name", "os", "allocator", "roster", "default", "interval", "needs", "figures", "options",
                           "origin", "reads", "notes"});
  for (const SourceDescriptor* source : all_sources()) {
    text += line(
        {source->name, to_string(source->os), source->allocator == Allocator::kUnknown ? "" : to_string(source->allocator),
         source->is_roster ? "yes" : "no", source->is_on_by_default ? "auto" : "off",
         source->interval.count() == 0 ? "every poll" : duration_text(source->interval), source->needs,
         separated(source->origins, "; ",
                   [](const MetricOrigin& origin) { return figure_name(origin) + ": " + std::string(origin.origin); }),
         separated(source->options, "; ", option_text), source->origin, plan_text(*source), source->notes});
  }
  return text;
}

}  // namespace memstat
