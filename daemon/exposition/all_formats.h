// SPDX-License-Identifier: BSD-2-Clause
// The wire formats, one per line. A format NAME is a file in this directory that defines kNAMEFormat with describe_format()
// (page_renderer.h). Negotiation, caches and the command line all use this list.
#pragma once

/// The first is the fallback. Of formats that a client accepts equally, the last is sent.
#define MEMSTAT_FORMATS(FORMAT) \
  FORMAT(Text)                  \
  FORMAT(OpenMetrics)           \
  FORMAT(Protobuf)
