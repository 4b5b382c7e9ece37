// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/missing_events.h"

#include <cerrno>

namespace memstat::events {
namespace {

/// Thread safety: a constant.
class MissingEvents final : public LiveTable {
 public:
  explicit MissingEvents(std::string_view source) : source_(source) {}
  Result<void> open() override {
    return system_error(source_, ENOENT, "this memstatd was built without libbpf: build it with MEMSTAT_EVENTS=ON");
  }
  Result<void> read(Buffer& /*out*/) override { return open(); }

 private:
  std::string_view source_;
};

}  // namespace

std::unique_ptr<LiveTable> make_missing_events(std::string_view source) { return std::make_unique<MissingEvents>(source); }

}  // namespace memstat::events
