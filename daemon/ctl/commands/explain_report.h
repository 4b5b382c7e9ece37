// SPDX-License-Identifier: BSD-2-Clause
// What a word means, where the kernel counts it, and what to do when it grows.
#pragma once

#include <string>

#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// Everything that the word names; the problem names the nearest words when it is unknown.
Report explain_report(const std::string& word, Layout layout);

}  // namespace memstat::ctl
