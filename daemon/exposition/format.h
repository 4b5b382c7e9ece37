// SPDX-License-Identifier: BSD-2-Clause
// The wire formats of a page, by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace memstat {

/// Prometheus text 0.0.4, OpenMetrics 1.0.0 text, length-delimited io.prometheus.client.MetricFamily messages.
enum class ExpositionFormat : std::uint8_t { kText, kOpenMetrics, kProtobuf };

/// What Content-Type says of a page in this format. Static. Thread safety: safe.
constexpr std::string_view content_type(ExpositionFormat format) {
  switch (format) {
    case ExpositionFormat::kText: break;
    case ExpositionFormat::kOpenMetrics: return "application/openmetrics-text; version=1.0.0; charset=utf-8";
    case ExpositionFormat::kProtobuf:
      return "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
  }
  return "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace memstat
