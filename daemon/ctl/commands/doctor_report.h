// SPDX-License-Identifier: BSD-2-Clause
// What works of this machine's sources and what does not: the same as memstatd --selftest.
#pragma once

#include <string>

#include "daemon/ctl/output/output.h"
#include "daemon/selftest/selftest.h"

namespace memstat::ctl {

/// Tries every source of this machine's kernel. The problem says so when one that the kernel has does not work.
Report doctor_report(Layout layout);

/// An outcome as JSON, and as comma-separated values, a source a line.
std::string doctor_json(const SelfTest& test);
std::string doctor_csv(const SelfTest& test);

}  // namespace memstat::ctl
