// SPDX-License-Identifier: BSD-2-Clause
// Prometheus text format 0.0.4.
#include "daemon/exposition/all_formats.h"
#include "daemon/exposition/text_writer.h"

namespace memstat {

constinit const FormatDescriptor kTextFormat =
    describe_format<TextWriter<false>>("text", "text/plain; version=0.0.4; charset=utf-8");

}  // namespace memstat
