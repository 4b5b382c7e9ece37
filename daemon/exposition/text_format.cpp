// SPDX-License-Identifier: BSD-2-Clause
// Prometheus text format 0.0.4 and OpenMetrics text format 1.0.0.
#include "daemon/exposition/text_writer.h"

namespace memstat {
namespace {

constexpr MediaParameter kUtf8{.name = "charset", .value = "utf-8", .ignores_case = true, .weight = 1};
constexpr std::array kTextParameters{MediaParameter{.name = "version", .value = "0.0.4", .weight = 4}, kUtf8};
// Readers of 0.0.1, which old Prometheus servers request, also read 1.0.0.
constexpr std::array kOpenMetricsParameters{
    MediaParameter{.name = "version", .value = "1.0.0", .older = "0.0.1", .weight = 4}, kUtf8};

}  // namespace

constinit const FormatDescriptor kTextFormat =
    describe_format<TextWriter<false>>("text", "text/plain; version=0.0.4; charset=utf-8",
                                       {.type = "text", .subtype = "plain", .parameters = kTextParameters}, "");
constinit const FormatDescriptor kOpenMetricsFormat = describe_format<TextWriter<true>>(
    "openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8",
    {.type = "application", .subtype = "openmetrics-text", .parameters = kOpenMetricsParameters}, "# EOF\n");

}  // namespace memstat
