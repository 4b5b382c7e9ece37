// SPDX-License-Identifier: BSD-2-Clause
// The origins of Linux's slab allocations (control group, command and function), read on demand from this machine's
// kernel or a capture with the source linux_call_sites.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/result.h"
#include "core/kernel/open_view.h"
#include "core/source.h"

namespace memstat::events {

/// Allocations of one origin from one cache. Names are valid UTF-8.
struct SlabOrigin {
  std::string cache;
  std::string
      group;  ///< A path below the root of the memory controller's hierarchy; "other": all groups that are not listed.
  std::string command;                       ///< "other": all commands that are not listed.
  std::string call_site;                     ///< "other": all functions that are not listed.
  std::optional<std::uint64_t> allocations;  ///< Empty: unknown.
  std::uint64_t bytes = 0;                   ///< Of these allocations.
};

/// The identity of an origin; orders by names.
using OriginNames = std::tuple<std::string, std::string, std::string, std::string>;
inline OriginNames names_of(const SlabOrigin& origin) {
  return {origin.cache, origin.group, origin.command, origin.call_site};
}

/// The origins of one kernel.
class SlabOrigins {
 public:
  /// Attaches to the running kernel until this object is destroyed, or opens the capture named by `reference`
  /// (open_view). Errors: those of open_view() and, live, of make_call_sites().
  static Result<std::unique_ptr<SlabOrigins>> open(const std::string& reference);

  /// Allocations since attaching, or as recorded in the capture. Errors: kNotPresent if a capture has none; kData.
  Result<std::vector<SlabOrigin>> read();
  /// Whether this is the running kernel.
  [[nodiscard]] bool is_live() const { return view_.capture == nullptr; }

 private:
  SlabOrigins(OpenedView view, const SourceDescriptor& source);

  OpenedView view_;
  const SourceDescriptor& source_;
  std::unique_ptr<ReaderState> state_;
  RawBytes raw_;
  Staging staging_;
};

}  // namespace memstat::events
