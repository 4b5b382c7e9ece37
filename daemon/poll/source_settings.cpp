// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/source_settings.h"

#include <algorithm>

namespace memstat {

bool is_off(const SourceDescriptor& source, const SourceConfig& config) {
  return config.enabled == Switch::kOff ||
         (config.enabled == Switch::kAuto && !source.is_on_by_default && !config.is_on_by_mode);
}

namespace {

/// The mode that enables an event source: the default of its option `events`.
EventsMode least_mode(const SourceDescriptor& source) {
  for (const SourceOption& option : source.options) {
    if (option.kind != SourceOption::Kind::kKey || option.name != "events") continue;
    if (const auto mode = parse_events_mode(option.default_pattern); mode) return *mode;
  }
  return EventsMode::kCounters;
}

bool is_on_by(EventsMode mode, const SourceDescriptor& source) {
  return source.is_traced && mode != EventsMode::kOff && mode >= least_mode(source);
}

}  // namespace

SourceConfig config_of(const SourceDescriptor& source, const Config& config) {
  const auto chosen = config.sources.find(source.name);
  SourceConfig own = chosen == config.sources.end() ? SourceConfig() : chosen->second;
  own.is_on_by_mode = is_on_by(config.events_mode, source);
  return own;
}

namespace {

/// The key `counters` in the form for its source: a line per set, NAME CPUS EVENT...
std::string text_of(const std::vector<CounterSetConfig>& sets) {
  std::string text;
  for (const CounterSetConfig& set : sets) {
    text += set.name + " " + set.cpus;
    for (const std::string& event : set.events) text += " " + event;
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<SourceOptionValue> option_values(const SourceDescriptor& source, const SourceConfig& config,
                                             const Config& whole) {
  std::vector<SourceOptionValue> values;
  for (const SourceOption& option : source.options) {
    SourceOptionValue& value = values.emplace_back();
    const auto set = config.settings.find(option.name);
    if (option.kind == SourceOption::Kind::kKey) {
      if (option.name == "counters") value.text = text_of(whole.counters);
      if (option.name == "events") {
        value.text = std::string(to_string(whole.events_mode)) + " " + std::to_string(whole.events_budget_ppm);
      }
    } else if (option.kind != SourceOption::Kind::kPattern) {
      value.number = set == config.settings.end() ? option.default_number : set->second.number;
    } else if (set != config.settings.end()) {
      value.matches = [pattern = set->second.pattern](std::string_view name) { return pattern.matches(name); };
    } else if (!option.default_pattern.empty() && option.default_pattern != ".*") {
      if (auto pattern = NamePattern::compile(option.default_pattern); pattern) {
        value.matches = [usual = *std::move(pattern)](std::string_view name) { return usual.matches(name); };
      }
    }
  }
  return values;
}

std::uint64_t option_number(const SourceDescriptor& source, const SourceConfig& config, std::string_view option,
                            std::uint64_t otherwise) {
  for (const SourceOption& candidate : source.options) {
    if (candidate.name != option) continue;
    const auto set = config.settings.find(option);
    return set == config.settings.end() ? candidate.default_number : set->second.number;
  }
  return otherwise;
}

void lift_top(std::span<const SourceDescriptor* const> sources, Config& config) {
  for (const SourceDescriptor* const source : sources) {
    for (const SourceOption& option : source->options) {
      if (option.name == "top") config.sources[std::string(source->name)].settings["top"].number = option.most;
    }
  }
}

namespace {

/// The union of a source's list over all enabled sources.
template <typename ListOf>
std::vector<std::string> united(std::span<const SourceDescriptor* const> sources, OperatingSystem os, const Config& config,
                                ListOf list_of) {
  std::vector<std::string> all;
  for (const SourceDescriptor* source : sources) {
    if (source->os != os || is_off(*source, config_of(*source, config))) continue;
    for (const auto& each : list_of(*source)) {
      if (std::find(all.begin(), all.end(), each) == all.end()) all.emplace_back(each);
    }
  }
  return all;
}

}  // namespace

std::vector<std::string> reopened_directories(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                              const Config& config) {
  return united(sources, os, config, reopened_paths_of);
}

std::vector<std::string> helper_capabilities(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                             const Config& config) {
  return united(sources, os, config, [](const SourceDescriptor& source) { return source.helper_capabilities; });
}

}  // namespace memstat
