// SPDX-License-Identifier: BSD-2-Clause
// The formats' descriptors, each defined in a file of its own.
#pragma once

namespace memstat {

struct FormatDescriptor;

extern const FormatDescriptor kTextFormat;
extern const FormatDescriptor kOpenMetricsFormat;
extern const FormatDescriptor kProtobufFormat;

}  // namespace memstat
