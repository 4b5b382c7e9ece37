// SPDX-License-Identifier: BSD-2-Clause
// A finding: what is wrong, the evidence, the effect, the holder, and the next step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memstat {

struct Cause;

/// In order of urgency.
enum class Severity : std::uint8_t { kNow, kSoon, kWasteful, kNotable };
/// "now", "soon", "wasteful", "notable".
std::string_view to_string(Severity severity);
inline constexpr std::size_t kSeverityCount = 4;

/// kConfirmed: a counter or a line of the kernel's log shows it. kLikely: two independent values agree. kPossible: one
/// value.
enum class Certainty : std::uint8_t { kConfirmed, kLikely, kPossible };
/// "confirmed", "likely", "possible".
std::string_view to_string(Certainty certainty);
/// As a number: 0.95, 0.8, 0.5.
double confidence_of(Certainty certainty);

/// One piece of evidence. `text` is complete; the other members are the same for programs.
struct Fact {
  std::string text;
  std::string source;  ///< a metric, or "allocator/type"
  std::optional<double> value = {};
  std::optional<double> limit = {};
  double window_seconds = 0;  ///< period of a change; 0: a current value
};

struct Finding {
  struct About {
    std::string allocator;  ///< "account" for a part of all memory
    std::string type;
    bool operator==(const About&) const = default;
  };
  struct Who {
    std::string kind;  ///< "group", "process", "zone", "node", "source", ...
    std::string name;
  };

  std::string cause;
  const Cause* rule = nullptr;       ///< the cause of this name; nullptr in a daemon's response
  std::string_view inspection = {};  ///< the inspection that names the holder; "": none
  std::string_view holds_as = {};    ///< part of the names of its holders that matter; "": any
  Severity severity = Severity::kNotable;
  Certainty certainty = Certainty::kPossible;
  std::string headline;  ///< at most kMaxHeadline characters
  std::vector<About> about = {};
  std::vector<Who> who = {};
  std::vector<Fact> facts = {};
  std::string killed = {};  ///< the last victim, if it is about kills: "python3 (pid 812)"; "": not known, or no kill
  std::string killer = {};  ///< who decided that: "kernel", "systemd-oomd"; "": no kill
  std::string effect = {};
  std::optional<double> seconds_left = {};
  std::vector<std::string> next = {};      ///< commands to paste
  std::string runbook = {};                ///< the name of an alert; "": none
  double bytes = 0;                        ///< for ranking: the amount of memory concerned
  double refused = 0;                      ///< for ranking: requests that failed or waited recently
  std::string unnamed = {};                ///< why no holder is named; "": one is, or its cause asks for none
  bool is_past = false;                    ///< from before the first poll: ranked last within its severity
  bool is_paused = false;                  ///< not counted lately: ranked below what is so now, within its severity
  std::vector<std::string> explains = {};  ///< headlines of the findings that this one explains

  Finding& is_about(std::string_view allocator, std::string_view type) {
    about.push_back({std::string(allocator), std::string(type)});
    return *this;
  }
  /// Adds a holder, unless the cause or an inspection has already added it. Removes the kind from a name such as "segment
  /// 3".
  Finding& by(std::string_view kind, std::string_view name) {
    if (name.size() > kind.size() + 1 && name.starts_with(kind) && name[kind.size()] == ' ') {
      name.remove_prefix(kind.size() + 1);
    }
    const auto is_same = [&](const Who& one) { return one.kind == kind && one.name == name; };
    if (std::none_of(who.begin(), who.end(), is_same)) who.push_back({std::string(kind), std::string(name)});
    return *this;
  }
  Finding& fact(Fact one) {
    facts.push_back(std::move(one));
    return *this;
  }
  Finding& leads_to(std::string_view text) {
    effect = text;
    return *this;
  }
  Finding& then(std::string_view command) {
    next.emplace_back(command);
    return *this;
  }
};

inline constexpr std::size_t kMaxHeadline = 100;

}  // namespace memstat
