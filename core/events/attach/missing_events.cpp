// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/missing_events.h"

#include <string>

namespace memstat::events {
namespace {

/// A table that always fails to open.
class MissingEvents final : public TextTableSource {
 public:
  MissingEvents(std::string_view source, std::string_view library) : source_(source), library_(library) {}
  Result<void> open() override {
    const std::string no_library =
        "this memstatd was built without " + std::string(library_) + ": build it with MEMSTAT_EVENTS=ON";
    return Error{.code = ErrorCode::kNotPresent,
                 .source = {},
                 .path = std::string(source_),
                 .detail = is_had_here() ? no_library : std::string(kOfAnotherSystem)};
  }
  Result<void> read(Buffer& /*out*/) override { return open(); }

 private:
#if defined(__linux__)
  static constexpr const char* kOfAnotherSystem = "FreeBSD only: DTrace of its kernel counts";
#else
  static constexpr const char* kOfAnotherSystem = "Linux only: programs in its kernel count";
#endif

  /// Whether this operating system could have the library.
  [[nodiscard]] bool is_had_here() const {
#if defined(__linux__)
    return library_ == "libbpf";
#else
    return library_ == "libdtrace";
#endif
  }

  std::string_view source_;
  std::string_view library_;
};

}  // namespace

std::unique_ptr<TextTableSource> make_missing_events(std::string_view source, std::string_view library) {
  return std::make_unique<MissingEvents>(source, library);
}

}  // namespace memstat::events
