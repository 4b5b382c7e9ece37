// SPDX-License-Identifier: BSD-2-Clause
// When to count what no file of the kernel counts: how much of their limits processes and users use.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/diagnosis/cause.h"
#include "core/inspect/inspection_channel.h"

namespace memstat {

/// Chooses, at each poll, at most one question that causes of limits need, and keeps the last answers.
///
/// Each question is asked again after kAgainNs, or after kCutNs if there was too little time for a whole answer, and one
/// each kPauseNs. A question is urgent if the table that grows with what it counts has grown since, or if a finding rests on
/// its answer: then it is asked after kUrgentNs, or after kAgainNs if there was too little time, and does not wait for
/// others. After an answer, nothing is asked for kShare times its CPU time, so all of them use at most half a percent of one
/// CPU.
///
/// Thread safety: one thread.
class LimitQuestions {
 public:
  static constexpr std::int64_t kPauseNs = 30'000'000'000;
  static constexpr std::int64_t kUrgentNs = 30'000'000'000;
  static constexpr std::int64_t kAgainNs = 300'000'000'000;
  static constexpr std::int64_t kCutNs = 1'800'000'000'000;
  /// A reply that takes longer is lost.
  static constexpr std::int64_t kMaxReplyNs = 60'000'000'000;
  static constexpr std::int64_t kShare = 200;
  /// A table grows if it gains this many objects, and this share of those that it had.
  static constexpr double kMinGain = 16;
  static constexpr double kMinGainShare = 1.0 / 64;

  explicit LimitQuestions(OperatingSystem os);

  /// The question to ask now; nullptr: none.
  const Inspection* next(const Evidence& evidence, std::span<const Finding> findings, std::int64_t now_ns);
  /// It was asked.
  void asked(const Inspection& question, const Evidence& evidence, std::int64_t now_ns);
  /// Keeps the answer, if the question was asked by this object. Returns whether it was.
  bool take(const InspectionChannel::Reply& reply, std::int64_t now_ns);
  void clear();

  /// nullptr: there is none yet.
  [[nodiscard]] std::shared_ptr<const std::vector<InspectionAnswer>> answers() const { return answers_; }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  struct Turn {
    const Inspection* question = nullptr;
    std::int64_t asked_ns = kNever;
    bool is_cut = false;
    bool is_urgent = false;  // at the last poll
    double objects = -1;     // of its table when it was asked, or at the first poll; -1: unknown
  };
  [[nodiscard]] static bool is_urgent(const Turn& turn, const Evidence& evidence, std::span<const Finding> findings);

  std::vector<Turn> turns_;
  const Inspection* pending_ = nullptr;
  std::int64_t asked_ns_ = kNever;      // when pending_ was asked
  std::int64_t pause_end_ns_ = kNever;  // until then, only urgent questions are asked
  std::int64_t rest_end_ns_ = kNever;   // until then, the budget is used up
  std::shared_ptr<const std::vector<InspectionAnswer>> answers_;
};

}  // namespace memstat
