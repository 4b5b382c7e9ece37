// SPDX-License-Identifier: BSD-2-Clause
// Kernel samepage merging, from /sys/kernel/mm/ksm (mm/ksm.c): pages of equal content that programs marked with
// madvise(MADV_MERGEABLE) share one page until one of them writes. pages_shared counts the pages that hold such content,
// pages_sharing the further uses of them, each of which saves a page.
#include <array>

#include "core/base/arithmetic.h"
#include "core/collect/plan_reader.h"
#include "core/source.h"

namespace memstat::sources::linux_ksm {
namespace {

constexpr SystemMetric kSharedBytes = gauge_metric(
    "memstat_ksm_shared_bytes", Tier::kDefault, "Bytes of merged pages now, each of which programs use in several places.");

constexpr SystemMetric kSavedBytes = gauge_metric(
    "memstat_ksm_saved_bytes", Tier::kDefault,
    "Bytes that merging of equal pages saves now. As much more memory is needed when programs write to all of them.");

constexpr PlannedFile kPlan[] = {
    {.path = "/sys/kernel/mm/ksm/pages_shared", .time = ReadTime::kSeldom, .need = ReadNeed::kRequired},
    {.path = "/sys/kernel/mm/ksm/pages_sharing", .time = ReadTime::kSeldom, .need = ReadNeed::kRequired},
};
constexpr auto kPaths = paths_of(kPlan);
constexpr std::array kMetrics = {&kSharedBytes, &kSavedBytes};

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  for (const RawFile& file : raw.files) {
    const auto pages = number_of(file);
    if (!pages) return data_error(file.path, 0, "expected a line with a number of at most 64 bits");
    staging.statistics().add(*kMetrics[file.planned], saturating_product(*pages, raw.page_size));
  }
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kSharedBytes, "pages_shared x page size"},
    {kSavedBytes, "pages_sharing x page size"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_ksm",
    .origin = origin_of<kPaths>(),
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .plan = kPlan,
    .notes = "needs no privilege; zero until somebody writes 1 to /sys/kernel/mm/ksm/run and programs mark memory",
    .steps = planned_steps<kPlan, parse>(),
};

}  // namespace memstat::sources::linux_ksm
