// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/limit_state.h"

#include <algorithm>
#include <cstdint>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/words.h"

namespace memstat {

std::optional<double> outlook(const GrowthEvidence& growth, std::optional<double> seconds) {
  if (!seconds || *seconds > kDaySeconds || *seconds > kMaxOutlook * growth.seconds) return std::nullopt;
  return seconds;
}

std::optional<double> quick_outlook(const Evidence& evidence, const Count& change, double used, double limit) {
  constexpr double kMinSeconds = 30;
  constexpr double kMaxSeconds = 300;
  constexpr double kGainedShare = 0.25;
  if (evidence.recent_seconds < kMinSeconds || evidence.poll_seconds <= 0) return std::nullopt;
  if (used < kFillingShare * limit || change.recent < kGainedShare * limit) return std::nullopt;
  const double pace = change.last / evidence.poll_seconds;
  const double usual = evidence.rate(change.recent);
  if (pace < usual / 2 || pace > 2 * usual) return std::nullopt;  // a step
  const double left = (limit - used) / pace;
  return left > 0 && left <= std::min(kMaxSeconds, evidence.recent_seconds) ? std::optional(left) : std::nullopt;
}

std::optional<LimitState> limit_state(const Evidence& evidence, const TypeEvidence& type) {
  LimitState state;
  const auto consider = [&](const std::optional<double>& limit, const std::optional<double>& amount, bool is_bytes) {
    if (!limit || *limit <= 0 || !amount || *amount / *limit < state.share) return;
    state.limit = *limit;
    state.used = *amount;
    state.is_bytes = is_bytes;
    state.share = *amount / *limit;
  };
  consider(type.limit_bytes, type.bytes, true);
  consider(type.limit_objects, type.objects, false);
  if (state.limit <= 0) return std::nullopt;
  constexpr double kRounding = 1e-4;                                    // the share has four digits
  if (type.limit_used && *type.limit_used > state.share + kRounding) {  // cached items count, too
    state.share = *type.limit_used;
    state.used = state.share * state.limit;
  }
  state.failed = type.failures.recent;
  state.refused = type.failures.recent + type.sleeps.recent;
  state.refused_before = type.failures.total + type.sleeps.total;
  const auto is_going_on = [&](const Count& count) { return count.recent > 0 && !ended(evidence, count); };
  if (state.refused > 0 && !is_going_on(type.failures) && !is_going_on(type.sleeps)) {
    state.ended_ago =
        std::min(ended(evidence, type.failures).value_or(kDaySeconds), ended(evidence, type.sleeps).value_or(kDaySeconds));
  }
  state.sleepers = type.sleepers;
  if (const GrowthEvidence* const growth = evidence.growth(to_string(type.allocator), type.name); growth != nullptr) {
    state.seconds_left = outlook(*growth, growth->limit_seconds);
  }
  if (!state.seconds_left && !state.is_bytes) {
    state.seconds_left = quick_outlook(evidence, type.objects_change, state.used, state.limit);
  }
  return state;
}

std::optional<Judgement> judge(const Evidence& evidence, const LimitState& state) {
  const bool refuses = state.refused > 0 && !state.ended_ago && state.share >= kNearShare;
  if (state.sleepers > 0 || refuses) return Judgement{Severity::kNow, Certainty::kConfirmed};
  if (state.share >= kFullShare) {
    const bool is_sure = state.refused_before > 0 || evidence.polls >= 2;
    return Judgement{Severity::kNow, is_sure ? Certainty::kLikely : Certainty::kPossible};
  }
  if (state.seconds_left && state.share >= 0.5) return Judgement{Severity::kSoon, Certainty::kLikely};
  if (state.share >= kNearShare) return Judgement{Severity::kNotable, Certainty::kPossible};
  return std::nullopt;
}

std::string used_words(const LimitState& state) {
  return of_limit_text(state.used, state.limit, state.is_bytes) +
         (state.used > state.limit ? "" : " (" + percent_text(state.share) + ")");
}

std::string limit_headline(std::string what, Severity severity, const LimitState& state) {
  if (severity == Severity::kSoon) {
    what += " is full in " + duration_words(state.seconds_left.value_or(0));
  } else {
    what += severity == Severity::kNow ? " is full" : " is nearly full";
  }
  what += ": " + used_words(state);
  if (state.ended_ago) return what;
  if (state.failed > 0) return what + ", " + counted(state.failed, "request") + " failed";
  return state.refused > 0 ? what + ", " + counted(state.refused, "request") + " waited" : what;
}

void add_limit_facts(const Evidence& evidence, const TypeEvidence& type, const LimitState& state, Finding& finding) {
  const std::string source = std::string(to_string(type.allocator)) + "/" + std::string(type.name);
  finding.refused = state.refused;
  finding.fact({.text = used_words(state) + " in use", .source = source, .value = state.used, .limit = state.limit});
  const auto add_count = [&](const Count& count, std::string_view one, std::string_view many) {
    if (count.total <= 0) return;
    if (count.recent <= 0) {
      finding.fact(
          {.text = counted(count.total, one, many) + " since boot, none recently", .source = source, .value = count.total});
      return;
    }
    finding.fact({.text = counted(count.recent, one, many) + " in " + duration_words(evidence.recent_seconds) +
                          last_time_text(ended(evidence, count)),
                  .source = source,
                  .value = count.recent,
                  .window_seconds = evidence.recent_seconds});
  };
  add_count(type.failures, "failure", "failures");
  add_count(type.sleeps, "wait at the limit", "waits at the limit");
  if (state.sleepers > 0) {
    finding.fact({.text = counted(state.sleepers, "thread") + " waiting now", .source = source, .value = state.sleepers});
  }
  if (finding.severity == Severity::kSoon) finding.seconds_left = state.seconds_left;
}

}  // namespace memstat
