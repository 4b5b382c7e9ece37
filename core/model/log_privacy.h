// SPDX-License-Identifier: BSD-2-Clause
// Addresses in lines of the kernel's log, which neither pages nor recordings may show.
#pragma once

#include <string>

namespace memstat {

/// Replaces each IP address by "*" and keeps the port after it, and replaces the digits of each kernel address by zeros.
/// Wildcard addresses (0.0.0.0, ::) stay: they name no host. Does not allocate.
void mask_addresses(std::string& lines);

}  // namespace memstat
