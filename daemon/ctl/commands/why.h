// SPDX-License-Identifier: BSD-2-Clause
// What is wrong and why: prints the findings of core/diagnosis as text or JSON.
#pragma once

#include <span>
#include <string>

#include "config/name_pattern.h"
#include "core/diagnosis/diagnose.h"
#include "daemon/ctl/output/output.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// Keeps the findings with a subject, culprit or cause that matches a pattern; all if there is no pattern.
void select_findings(std::span<const NamePattern> patterns, Findings& findings);

/// The findings in lines of up to `width` columns (0: 100); or that nothing is wrong, and what was examined.
std::string why_text(const Diagnosis& diagnosis, bool is_verbose, std::size_t width);
std::string why_json(const Diagnosis& diagnosis, const ReportView& view);

/// The growth test's verdict on matching types: "slab/dentry is not a leak: ...", one line each.
std::string growth_words(const GrowthAnswer& answer, std::span<const NamePattern> patterns);

/// kExitUrgent, kExitNotable or kExitDone.
int exit_status_of(const Findings& findings);

}  // namespace memstat::ctl
