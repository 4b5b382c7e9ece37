// SPDX-License-Identifier: BSD-2-Clause
// What the configuration says of one source, in the terms of its descriptor.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "core/source.h"

namespace memstat {

/// Whether the source is not to be read: by the configuration or, when that leaves it open, by itself.
bool is_off(const SourceDescriptor& source, const SourceConfig& config);

/// The source's entry in the configuration, the defaults when it has none, and what the mode of events means for it: a
/// traced source is on from the mode on that its option `events` has as its default pattern, else from counters on.
SourceConfig config_of(const SourceDescriptor& source, const Config& config);

/// What its options are now, by place: the configuration's values (`config` is its entry in `whole`), the descriptor's where
/// there are none. A pattern in the descriptor that is no regular expression counts as none (a test shows that there is no
/// such thing).
std::vector<SourceOptionValue> option_values(const SourceDescriptor& source, const SourceConfig& config,
                                             const Config& whole);

/// The option's value, or `otherwise` when the source has no option of that name.
std::uint64_t option_number(const SourceDescriptor& source, const SourceConfig& config, std::string_view option,
                            std::uint64_t otherwise);

/// Directories below which the sources that are not off open files by name, each once, for the sandbox to leave open.
std::vector<std::string> reopened_directories(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                              const Config& config);

/// Capabilities that a helper process needs for the sources that are not off, each once; empty: it has nothing to do.
std::vector<std::string> helper_capabilities(std::span<const SourceDescriptor* const> sources, OperatingSystem os,
                                             const Config& config);

}  // namespace memstat
