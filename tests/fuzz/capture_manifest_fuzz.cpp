// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the three text files of a capture. Text that is accepted must be the same after writing and
// reading it again.
#include "core/capture/manifest.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

template <typename T>
bool is_typed(const memstat::Result<T>& result) {
  return result.error().code == memstat::ErrorCode::kData && result.error().path == "fuzz" && !result.error().detail.empty();
}

}  // namespace

void memstat::fuzz(std::string_view text) {
  if (const auto manifest = parse_manifest(text, "fuzz")) {
    MEMSTAT_FUZZ_REQUIRE(manifest->cpu_count >= 1 && manifest->cpu_count <= 65536);
    MEMSTAT_FUZZ_REQUIRE(manifest->page_size != 0 && (manifest->page_size & (manifest->page_size - 1)) == 0);
    const auto again = parse_manifest(format_manifest(*manifest), "fuzz");
    MEMSTAT_FUZZ_REQUIRE(again.has_value());
    MEMSTAT_FUZZ_REQUIRE(again->os == manifest->os && again->release == manifest->release &&
                         again->machine == manifest->machine && again->page_size == manifest->page_size &&
                         again->cpu_count == manifest->cpu_count && again->nodes == manifest->nodes &&
                         again->how == manifest->how && again->edits == manifest->edits);
  } else {
    MEMSTAT_FUZZ_REQUIRE(is_typed(manifest) || manifest.error().code == ErrorCode::kVersion);
  }
  if (const auto info = parse_poll_info(text, "fuzz")) {
    const auto again = parse_poll_info(format_poll_info(*info), "fuzz");
    MEMSTAT_FUZZ_REQUIRE(again.has_value());
    MEMSTAT_FUZZ_REQUIRE(again->label == info->label && again->realtime_ns == info->realtime_ns &&
                         again->monotonic_ns == info->monotonic_ns);
  } else {
    MEMSTAT_FUZZ_REQUIRE(is_typed(info));
  }
  if (const auto errors = parse_recorded_errors(text, "fuzz")) {
    const auto again = parse_recorded_errors(format_recorded_errors(*errors), "fuzz");
    MEMSTAT_FUZZ_REQUIRE(again.has_value() && *again == *errors);
  } else {
    MEMSTAT_FUZZ_REQUIRE(is_typed(errors));
  }
}
