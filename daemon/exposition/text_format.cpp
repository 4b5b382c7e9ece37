// SPDX-License-Identifier: BSD-2-Clause
// Prometheus text format 0.0.4.
#include "daemon/exposition/text_writer.h"

namespace memstat {
namespace {

constexpr std::array kTextParameters{
    MediaParameter{.name = "version", .value = "0.0.4", .weight = 4},
    MediaParameter{.name = "charset", .value = "utf-8", .ignores_case = true, .weight = 1},
};

}  // namespace

constinit const FormatDescriptor kTextFormat =
    describe_format<TextWriter<false>>("text", "text/plain; version=0.0.4; charset=utf-8",
                                       {.type = "text", .subtype = "plain", .parameters = kTextParameters}, "");

}  // namespace memstat
