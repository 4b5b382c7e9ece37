// SPDX-License-Identifier: BSD-2-Clause
// Asks, when a finding begins, who holds what it is about; and in turn, who is at a limit that no file of the kernel counts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnosis/finding.h"
#include "core/inspect/inspection_channel.h"
#include "daemon/poll/limit_questions.h"

namespace memstat {

/// The answers to the questions of active findings. Asks each question when a finding begins, and again every kAgainNs while
/// it is urgent, so that the holders are known when something is killed. Another process answers between two polls, so polls
/// never wait, and gets at most one part in kShare of a processor for what is asked again. Forgets an answer when no finding
/// has needed it for kKeepNs. Without findings it asks only about limits, if ask_about_limits() is called. Thread safety:
/// one thread.
class Holders {
 public:
  static constexpr std::int64_t kKeepNs = 300'000'000'000;
  /// An answer of this age also serves a finding that begins now.
  static constexpr std::int64_t kFreshNs = 60'000'000'000;
  static constexpr std::int64_t kAgainNs = 30'000'000'000;
  static constexpr std::int64_t kShare = LimitQuestions::kShare;

  /// `channel`: nullptr if nobody answers, because of `why_not`.
  Holders(std::shared_ptr<InspectionChannel> channel, OperatingSystem os, std::string why_not)
      : channel_(std::move(channel)), os_(os), why_not_(std::move(why_not)), limits_(os) {}

  /// Takes what was answered since the poll before. If `view` records, its poll gets the answers. Returns whether there are
  /// any.
  bool collect(std::int64_t now_ns, KernelView& view);
  /// Asks for the holders of a finding that begins.
  void ask(const Finding& finding, std::int64_t now_ns);
  /// Asks at most one question about limits, if one is due.
  void ask_about_limits(const Evidence& evidence, std::span<const Finding> findings, std::int64_t now_ns);
  /// Keeps the answers that these findings need, and asks again for the urgent ones.
  void keep(std::span<const Finding> findings, std::int64_t now_ns);
  void clear();
  void forget_limits() { limits_.clear(); }

  [[nodiscard]] std::span<const InspectionAnswer> answers() const { return answers_; }
  /// The last answers about limits; nullptr: none.
  [[nodiscard]] std::shared_ptr<const std::vector<InspectionAnswer>> limits() const { return limits_.answers(); }
  /// Why a finding without an answer has none; "" for a capture.
  [[nodiscard]] std::string_view why_unasked() const;

 private:
  struct Asked {
    const Inspection* inspection = nullptr;
    std::int64_t asked_ns = 0;
    std::int64_t needed_ns = 0;
    bool is_answered = false;
  };
  Asked* asked(std::string_view question);
  /// collect(); throws std::bad_alloc.
  bool collect_or_throw(std::int64_t now_ns, KernelView& view);
  /// Keeps the answer to a question that is about a finding.
  void keep_answer(InspectionChannel::Reply reply, Asked& known, std::int64_t now_ns);

  std::shared_ptr<InspectionChannel> channel_;
  const OperatingSystem os_;
  const std::string why_not_;
  std::vector<Asked> asked_;
  std::vector<InspectionAnswer> answers_;
  std::int64_t rest_end_ns_ = INT64_MIN;  // before it, nothing is asked again
  std::string failure_;                   // of the last question without an answer; "": none
  LimitQuestions limits_;
};

}  // namespace memstat
