// SPDX-License-Identifier: BSD-2-Clause
// OpenMetrics text format 1.0.0.
#include "daemon/exposition/text_writer.h"

namespace memstat {
namespace {

// Readers of 0.0.1, which old Prometheus servers request, also read 1.0.0.
constexpr std::array kOpenMetricsParameters{
    MediaParameter{.name = "version", .value = "1.0.0", .older = "0.0.1", .weight = 4, .older_weight = 2},
    MediaParameter{.name = "charset", .value = "utf-8", .ignores_case = true, .weight = 1},
};

}  // namespace

constinit const FormatDescriptor kOpenMetricsFormat = describe_format<TextWriter<true>>(
    "openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8",
    {.type = "application", .subtype = "openmetrics-text", .parameters = kOpenMetricsParameters}, "# EOF\n");

}  // namespace memstat
