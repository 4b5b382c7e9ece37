// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/slab/slab_origins.h"

#include <string_view>
#include <utility>

namespace memstat::events {
namespace {

constexpr std::string_view kOriginSource = "linux_call_sites";
constexpr std::string_view kOriginAllocations = "memstat_slab_origin_allocations_total";
constexpr std::string_view kOriginBytes = "memstat_slab_origin_allocated_bytes_total";
/// A person is waiting for the answer, so it may cost half a CPU.
constexpr std::string_view kOriginSettings = "full 500000";

std::string label_text(const StagedStatistics& statistics, const StagedStatistics::Entry& entry, std::size_t label) {
  return std::string(statistics.label(entry, label));
}

/// The source adds an origin's allocations just before its bytes.
std::vector<SlabOrigin> origins_of(const StagedStatistics& statistics) {
  std::vector<SlabOrigin> origins;
  std::optional<std::uint64_t> allocations;
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    if (entry.metric->facts.name == kOriginAllocations) allocations = entry.bits;
    if (entry.metric->facts.name != kOriginBytes) continue;
    origins.push_back({.cache = label_text(statistics, entry, 0),
                       .group = label_text(statistics, entry, 1),
                       .command = label_text(statistics, entry, 2),
                       .call_site = label_text(statistics, entry, 3),
                       .allocations = std::exchange(allocations, std::nullopt),
                       .bytes = entry.bits});
  }
  return origins;
}

}  // namespace

SlabOrigins::SlabOrigins(OpenedView view, const SourceDescriptor& source)
    : view_(std::move(view)), source_(source), state_(source.steps.make_state()) {
  for (const SourceOption& option : source.options) {
    state_->options.push_back({.number = option.default_number, .matches = {}, .text = {}});
    if (option.kind == SourceOption::Kind::kKey) state_->options.back().text = kOriginSettings;
  }
}

Result<std::unique_ptr<SlabOrigins>> SlabOrigins::open(const std::string& reference) {
  const auto refuse = [](std::string_view why) { return make_error(ErrorCode::kVersion, {}, why); };
  auto view = open_view(reference);
  if (!view) return view.error();
  if (view->view->os() != OperatingSystem::kLinux) return refuse("origins are counted on Linux only");
  const SourceDescriptor* const source = find_source(kOriginSource);
  if (source == nullptr) {
    return refuse("this program was built without the events of Linux, so it cannot read origins; use memstatctl on Linux");
  }
  std::unique_ptr<SlabOrigins> origins(new SlabOrigins(*std::move(view), *source));
  auto opened = source->steps.open(*origins->view_.view, origins->raw_, *origins->state_);
  const bool is_without = !origins->is_live() && !opened && opened.error().code == ErrorCode::kNotPresent;
  if (!opened && !is_without) return opened.error();  // read() reports a capture without origins
  return origins;
}

Result<std::vector<SlabOrigin>> SlabOrigins::read() {
  auto result = source_.steps.read(*view_.view, raw_, *state_);
  if (result) result = source_.steps.parse(raw_, *state_, staging_);
  if (!result) return result.error();
  return origins_of(staging_.statistics());
}

}  // namespace memstat::events
