// SPDX-License-Identifier: BSD-2-Clause
// Parses the documents of memstatd's /api/v1/. Pure; the bytes are untrusted. Unknown members are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/ctl/source/report_source.h"
#include "daemon/selftest/selftest.h"

namespace memstat::ctl {

/// Each parser stores what it understands. Returns false for invalid documents; the output may then be partly filled.
/// Throws std::bad_alloc.
bool parse_types_answer(std::string_view json, Sample& what);
bool parse_memory_answer(std::string_view json, Machine& machine, std::optional<MachineMemory>& memory);
bool parse_type_answer(std::string_view json, Splits& splits);
/// A history for each of `types`, in order.
bool parse_history_answer(std::string_view json, const std::vector<TypeRow>& types, std::vector<AmountHistory>& histories);

/// The states of a memstatd's sources, and the permissions that they lack; without its URL.
bool parse_sources_answer(std::string_view json, SelfTest& test);

/// The text of {"error": "..."}; "" for anything else.
std::string parse_error_answer(std::string_view json);

/// A column title from a metric name: "memstat_cpu_free_objects" becomes "free_objects".
std::string split_title(std::string_view metric);

}  // namespace memstat::ctl
