// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/missing_events.h"

#include <cerrno>
#include <string>

namespace memstat::events {
namespace {

/// Thread safety: a constant.
class MissingEvents final : public LiveTable {
 public:
  MissingEvents(std::string_view source, std::string_view library) : source_(source), library_(library) {}
  Result<void> open() override {
    return system_error(source_, ENOENT,
                        "this memstatd was built without " + std::string(library_) + ": build it with MEMSTAT_EVENTS=ON");
  }
  Result<void> read(Buffer& /*out*/) override { return open(); }

 private:
  std::string_view source_;
  std::string_view library_;
};

}  // namespace

std::unique_ptr<LiveTable> make_missing_events(std::string_view source, std::string_view library) {
  return std::make_unique<MissingEvents>(source, library);
}

}  // namespace memstat::events
