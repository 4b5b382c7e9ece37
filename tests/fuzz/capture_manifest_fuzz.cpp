// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the three text files of a capture. Text that is accepted must be the same after writing and
// reading it again.
#include <cstdio>
#include <cstdlib>

#include "core/capture/manifest.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

template <typename T>
bool is_typed(const memstat::Result<T>& result) {
  return result.error().code == memstat::ErrorCode::kData && result.error().path == "fuzz" && !result.error().detail.empty();
}

}  // namespace

void memstat::fuzz(std::string_view text) {
  if (const auto manifest = parse_manifest(text, "fuzz")) {
    require(manifest->cpu_count >= 1 && manifest->cpu_count <= 65536, "the number of CPUs is possible");
    require(manifest->page_size != 0 && (manifest->page_size & (manifest->page_size - 1)) == 0, "a page is a power of two");
    const auto again = parse_manifest(format_manifest(*manifest), "fuzz");
    require(again.has_value(), "a manifest that we write can be read");
    require(again->os == manifest->os && again->release == manifest->release && again->machine == manifest->machine &&
                again->page_size == manifest->page_size && again->cpu_count == manifest->cpu_count &&
                again->nodes == manifest->nodes && again->how == manifest->how && again->edits == manifest->edits,
            "a manifest that we write has the same content");
  } else {
    require(is_typed(manifest) || manifest.error().code == ErrorCode::kVersion, "the error of a manifest is typed");
  }
  if (const auto info = parse_poll_info(text, "fuzz")) {
    const auto again = parse_poll_info(format_poll_info(*info), "fuzz");
    require(again.has_value(), "a poll.yaml that we write can be read");
    require(
        again->label == info->label && again->realtime_ns == info->realtime_ns && again->monotonic_ns == info->monotonic_ns,
        "a poll.yaml that we write has the same content");
  } else {
    require(is_typed(info), "the error of a poll.yaml is typed");
  }
  if (const auto errors = parse_recorded_errors(text, "fuzz")) {
    const auto again = parse_recorded_errors(format_recorded_errors(*errors), "fuzz");
    require(again.has_value() && *again == *errors, "an errors.yaml that we write has the same content");
  } else {
    require(is_typed(errors), "the error of an errors.yaml is typed");
  }
}
