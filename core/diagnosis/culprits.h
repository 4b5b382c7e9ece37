// SPDX-License-Identifier: BSD-2-Clause
// Names the holders behind a finding, from the inspection that its cause requests.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/diagnosis/diagnose.h"

namespace memstat {

/// The questions that FreeBSD's kernel answers; a test compares them with the inspections.
inline constexpr std::array<std::string_view, 13> kFreeBsdQuestions{
    "anonymous", "eventfds",  "files",  "group-limits", "inotify", "kqueues", "modules",
    "pipes",     "processes", "queues", "segments",     "sockets", "tmpfs"};

/// Adds the largest holders to each finding whose cause requests an inspection that was made, with their amounts as facts.
/// The command for the inspection becomes the first of the next steps, whether it was made or not. PID in a
/// next step becomes the process that is named.
void name_culprits(const Evidence& evidence, Findings& findings);

/// If the answer was cut, adds how much of the machine it saw: others may hold more.
void add_share(const InspectionAnswer& answer, Finding& finding);

/// The inspections that name the holders of a finding; may contain one twice.
std::vector<std::string_view> questions_about(const Finding& finding);

/// The inspections that causes of these findings request, most urgent first, without duplicates; and those that a
/// cause of that system examines.
std::vector<std::string_view> questions_of(const Findings& findings, EvidenceSystem system = EvidenceSystem::kLinux);

/// The inspections that causes of limits need, because no file of the kernel shows what they count.
std::vector<std::string_view> questions_about_limits(EvidenceSystem system = EvidenceSystem::kLinux);

}  // namespace memstat
