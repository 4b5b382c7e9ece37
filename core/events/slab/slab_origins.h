// SPDX-License-Identifier: BSD-2-Clause
// Who takes from Linux's slab caches: control group, command and function, read on demand from this machine's kernel or from
// a capture, by the source linux_call_sites.
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

/// What one origin took from a cache. Names are valid UTF-8, of any characters. Thread safety: a plain value.
struct SlabOrigin {
  std::string cache;
  std::string group;      ///< A path below the root of the memory controller's hierarchy; "other": all that are not listed.
  std::string command;    ///< Likewise.
  std::string call_site;  ///< Likewise.
  std::optional<std::uint64_t> allocations;  ///< None: not known.
  std::uint64_t bytes = 0;                   ///< That these allocations got.
};

/// What tells origins apart, in an order of names.
using OriginNames = std::tuple<std::string, std::string, std::string, std::string>;
inline OriginNames names_of(const SlabOrigin& origin) {
  return {origin.cache, origin.group, origin.command, origin.call_site};
}

/// The origins of one kernel. Thread safety: none.
class SlabOrigins {
 public:
  /// Attaches to this machine's kernel, until this object goes, or opens the capture that `reference` names (open_view).
  /// Errors: those of open_view and, live, of make_call_sites().
  static Result<std::unique_ptr<SlabOrigins>> open(const std::string& reference);

  /// Counted since attaching, of a capture when it was recorded. Errors: kNotPresent where a capture has none of it; kData.
  Result<std::vector<SlabOrigin>> read();
  /// Whether this is a kernel that runs.
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
