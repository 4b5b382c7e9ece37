// SPDX-License-Identifier: BSD-2-Clause
// OpenMetrics text format 1.0.0.
#include "daemon/exposition/all_formats.h"
#include "daemon/exposition/text_writer.h"

namespace memstat {

constinit const FormatDescriptor kOpenMetricsFormat =
    describe_format<TextWriter<true>>("openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8");

}  // namespace memstat
