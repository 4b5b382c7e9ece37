// SPDX-License-Identifier: BSD-2-Clause
// The wire formats, a line each. A format NAME is a file in this directory that defines kNAMEFormat with describe_format()
// (page_renderer.h); everything else that knows formats (negotiation, caches, the command line) comes from this list.
#pragma once

/// The first is the fallback, which is rendered with every poll; of formats that a client likes equally the last is sent.
#define MEMSTAT_FORMATS(FORMAT) \
  FORMAT(Text)                  \
  FORMAT(OpenMetrics)           \
  FORMAT(Protobuf)
