// SPDX-License-Identifier: BSD-2-Clause
// The configuration of a source, in terms of its descriptor.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "core/source.h"

namespace memstat {

/// Whether the source is disabled: by the configuration or, if that leaves it open, by itself.
bool is_off(const SourceDescriptor& source, const SourceConfig& config);

/// The source's entry in the configuration, or the defaults, combined with the events mode: an event source is enabled
/// from the mode on that is the default pattern of its option `events`, or else from mode counters.
SourceConfig config_of(const SourceDescriptor& source, const Config& config);

/// Current values of its options, by index: from the configuration (`config` is its entry in `whole`), or the
/// descriptor's defaults. An invalid pattern in a descriptor is ignored (a test ensures that there is none).
std::vector<SourceOptionValue> option_values(const SourceDescriptor& source, const SourceConfig& config,
                                             const Config& whole);

/// The option's value; `otherwise` if the source has no such option.
std::uint64_t option_number(const SourceDescriptor& source, const SourceConfig& config, std::string_view option,
                            std::uint64_t otherwise);

/// Sets the option `top` of all sources to its maximum, for programs that list everything.
void lift_top(std::span<const SourceDescriptor* const> sources, Config& config);

/// Directories in which enabled sources open files by name, without duplicates. The sandbox must permit these.
std::vector<std::string> reopened_directories(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                              const Config& config);

/// Capabilities that a helper process needs for the enabled sources, without duplicates. Empty: no helper needed.
std::vector<std::string> helper_capabilities(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                             const Config& config);

}  // namespace memstat
