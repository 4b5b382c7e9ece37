// SPDX-License-Identifier: BSD-2-Clause
// Two sources of one allocator that no kernel has: a roster, and a contributor that precedes it alphabetically. Each reads
// its own file, with a name and a number per line, and /proc/meminfo.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/base/text.h"
#include "core/source.h"

namespace memstat {

inline constexpr std::string_view kFakeRosterFile = "/fake/roster";
inline constexpr std::string_view kFakeContributorFile = "/fake/contributor";
inline constexpr std::string_view kFakeSharedFile = "/proc/meminfo";

inline Result<void> open_nothing(KernelView&, RawBytes&) { return {}; }

template <const std::string_view& kFile>
Result<void> read_fake(KernelView& view, RawBytes& raw) {
  if (auto result = view.read_file(kFile, raw.parts[0]); !result) return result;
  return view.read_file(kFakeSharedFile, raw.parts[1]);
}

/// The number of each line is that figure of the type.
template <Field kFigure>
Result<void> parse_fake(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  std::string_view rest = raw.parts[0].view();
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::string_view name;
    std::string_view number;
    if (!next_word(line, name) || !next_word(line, number)) return data_error("fake", 0, "a line without two words");
    StagedType& type = staging.add(name);
    type.fields.add(kFigure);
    type.figures[kFigure] = parse_u64(number).value_or(0);
  }
  return {};
}

/// Types of the allocator vmalloc with their bytes.
inline SourceDescriptor fake_roster() {
  return {.name = "z_roster",
          .origin = kFakeRosterFile,
          .os = OperatingSystem::kLinux,
          .allocator = Allocator::kVmalloc,
          .is_roster = true,
          .fields = FieldMask(Field::kBytes),
          .cpu_fields = {},
          .notes = {},
          .steps = source_steps<ReaderState, open_nothing, read_fake<kFakeRosterFile>, parse_fake<Field::kBytes>>()};
}

/// Their failures.
inline SourceDescriptor fake_contributor() {
  return {.name = "a_contributor",
          .origin = kFakeContributorFile,
          .os = OperatingSystem::kLinux,
          .allocator = Allocator::kVmalloc,
          .is_roster = false,
          .fields = FieldMask(Field::kFailures),
          .cpu_fields = {},
          .notes = {},
          .steps = source_steps<ReaderState, open_nothing, read_fake<kFakeContributorFile>, parse_fake<Field::kFailures>>()};
}

/// Both, in alphabetical order. Must not move while `all` is in use.
struct FakeSources {
  SourceDescriptor roster = fake_roster();
  SourceDescriptor contributor = fake_contributor();
  std::array<const SourceDescriptor*, 2> all = {&contributor, &roster};
};

}  // namespace memstat
