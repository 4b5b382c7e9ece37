// SPDX-License-Identifier: BSD-2-Clause
// How a type stands against its limit: full, refusing, filling. What causes about limits share.
#pragma once

#include <optional>
#include <string>

#include "core/diagnosis/cause.h"

namespace memstat {

/// From these shares of a limit on it counts as full, and as near.
inline constexpr double kFullShare = 0.98;
inline constexpr double kNearShare = 0.9;
inline constexpr double kDaySeconds = 86400;
/// Growth says when something ends only this many times further ahead than it was watched.
inline constexpr double kMaxOutlook = 12;

/// Thread safety: a plain value.
struct LimitState {
  double used = 0;  ///< That counts against the limit.
  double limit = 0;
  bool is_bytes = false;
  double share = 0;
  double failed = 0;          ///< Failures, lately.
  double refused = 0;         ///< Failures and waits, lately.
  double refused_before = 0;  ///< The same since boot.
  double sleepers = 0;
  std::optional<double> seconds_left = {};  ///< At the pace of steady growth, where that is known and near.
};

/// Nothing: the type has no limit.
std::optional<LimitState> limit_state(const Evidence& evidence, const TypeEvidence& type);

struct Judgement {
  Severity severity;
  Certainty certainty;
};
/// Now: it refuses or is full; soon: growth fills it within a day; notable: nearly full. Nothing: neither.
std::optional<Judgement> judge(const Evidence& evidence, const LimitState& state);

/// "1003 of 1024 (98 %)".
std::string used_words(const LimitState& state);
/// "WHAT is full: 1003 of 1024 (98 %), 12 requests failed", "WHAT is full in 3 h: ...", "WHAT is nearly full: ...".
std::string limit_headline(std::string what, Severity severity, const LimitState& state);
/// The facts of a limit: what is used, what was refused.
void add_limit_facts(const Evidence& evidence, const TypeEvidence& type, const LimitState& state, Finding& finding);

/// The time left of growth, where what has been watched allows to say it: at most a day ahead.
std::optional<double> outlook(const GrowthEvidence& growth, std::optional<double> seconds);

}  // namespace memstat
