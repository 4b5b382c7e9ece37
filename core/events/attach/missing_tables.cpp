// SPDX-License-Identifier: BSD-2-Clause
// Substitutes for the tables whose library this build does not have.
#include <string>

#include "core/events/attach/live_tables.h"

namespace memstat::events {
namespace {

#if defined(__linux__)
constexpr bool kIsLinux = true;
#else
constexpr bool kIsLinux = false;
#endif
constexpr TableFormat kNoFormat{};

/// A table that always fails to open. Thread safety: a constant.
class MissingTable final : public EventTable {
 public:
  /// `source`: a literal.
  MissingTable(const char* source, bool is_linux) : EventTable(kNoFormat), source_(source), is_linux_(is_linux) {}
  Result<void> open() override {
    const std::string library = is_linux_ ? "libbpf" : "libdtrace";
    return make_error(ErrorCode::kNotPresent, source_,
                      is_linux_ == kIsLinux
                          ? "this memstatd was built without " + library + ": build it with MEMSTAT_EVENTS=ON"
                      : is_linux_ ? "Linux only: BPF programs count the events"
                                  : "FreeBSD only: DTrace counts the events");
  }
  Result<void> read(Buffer& /*out*/) override { return open(); }

 private:
  const char* source_;
  bool is_linux_;
};

}  // namespace

#if !defined(MEMSTAT_HAVE_LIBBPF)
std::unique_ptr<TextTableSource> make_slab_events(std::string_view /*settings*/, EventBudget& /*budget*/) {
  return std::make_unique<MissingTable>("linux_slab_events", true);
}

std::unique_ptr<TextTableSource> make_call_sites(std::string_view /*settings*/, const SiteLimits& /*limits*/,
                                                 EventBudget& /*budget*/) {
  return std::make_unique<MissingTable>("linux_call_sites", true);
}

std::unique_ptr<TextTableSource> make_slab_caches() { return std::make_unique<MissingTable>("linux_slab_bpf", true); }

std::unique_ptr<EventTable> make_vm_events(std::string_view /*settings*/, EventBudget& /*budget*/) {
  return std::make_unique<MissingTable>("linux_vm_events", true);
}
#endif

#if !defined(__FreeBSD__) || !defined(MEMSTAT_HAVE_LIBDTRACE)
std::unique_ptr<TextTableSource> make_malloc_events() { return std::make_unique<MissingTable>("freebsd_dtmalloc", false); }
#endif

}  // namespace memstat::events
