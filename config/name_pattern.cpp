// SPDX-License-Identifier: BSD-2-Clause
#include "config/name_pattern.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "config/values.h"

namespace memstat {
namespace {

/// Bounds of what glibc builds: it copies the repeated part for {m,n} and once for each '+', so nesting multiplies, and
/// walks the result recursively. Real patterns of names cost less than 100.
constexpr std::uint64_t kMaxCost = NamePattern::kMaxPatternBytes;  // any pattern without repetitions
constexpr std::size_t kMaxGroupDepth = 20;
constexpr std::uint64_t kMaxRepeat = 255;  // RE_DUP_MAX that POSIX guarantees

/// Walks a pattern once; says what POSIX does not define in it, and bounds what compiling it costs.
class Checker {
 public:
  explicit Checker(std::string_view pattern) : pattern_(pattern) {}

  /// What is wrong, "" when nothing is.
  std::string_view run() {
    while (problem_.empty() && at_ < pattern_.size()) step(pattern_[at_]);
    if (!problem_.empty()) return problem_;
    if (open_.size() > 1) return "it has \"(\" without \")\"";
    if (open_.back().branch_empty) return "an alternative beside \"|\" is empty";
    if (close_branch() > kMaxCost) return kTooCostly;
    return {};
  }

 private:
  static constexpr std::string_view kTooCostly = "its nested repetitions take too many steps";

  /// A group that is open (the first: the whole pattern).
  struct Group {
    std::uint64_t cost = 0;  ///< Of everything before the last atom.
    std::uint64_t atom = 0;  ///< Of the last atom, what a repetition multiplies.
    bool branch_empty = true;
    bool repeatable = false;
  };

  void step(char c) {
    switch (c) {
      case '\\': return escape();
      case '[': return bracket();
      case '(': return open_group();
      case ')': return close_group();
      case '|': return alternative();
      case '*':
      case '?': return repeat(1, 1);
      case '+': return repeat(2, 1);
      case '{': return interval();
      case '^':
      case '$': return atom(1, 1, false);
      default: return atom(1, 1, true);
    }
  }

  void atom(std::uint64_t cost, std::size_t length, bool repeatable) {
    close_branch();
    open_.back().atom = cost;
    open_.back().branch_empty = false;
    open_.back().repeatable = repeatable;
    at_ += length;
  }

  std::uint64_t close_branch() {
    Group& group = open_.back();
    group.cost += std::exchange(group.atom, 0);
    if (group.cost > kMaxCost) problem_ = kTooCostly;
    return group.cost;
  }

  void escape() {
    static constexpr std::string_view kEscapable = "^.[]$()|*+?{}\\-/";
    if (at_ + 1 == pattern_.size()) {
      problem_ = "it ends in a single backslash";
    } else if (kEscapable.find(pattern_[at_ + 1]) == std::string_view::npos) {
      problem_ = "POSIX does not define a backslash before that character (for \\d write [0-9], for \\w [[:alnum:]_])";
    } else {
      atom(1, 2, true);
    }
  }

  void bracket() {
    std::size_t end = at_ + 1;
    const auto is = [&](std::size_t i, char c) { return i < pattern_.size() && pattern_[i] == c; };
    if (is(end, '^')) ++end;
    if (is(end, ']')) ++end;  // a ']' in first place stands for itself
    while (end < pattern_.size() && pattern_[end] != ']') {
      const bool is_class = is(end, '[') && (is(end + 1, ':') || is(end + 1, '.') || is(end + 1, '='));
      if (is_class) {
        const char closing[] = {pattern_[end + 1], ']'};
        const std::size_t close = pattern_.find(std::string_view(closing, 2), end + 2);
        if (close == std::string_view::npos) break;
        end = close + 2;
      } else {
        ++end;
      }
    }
    if (!is(end, ']')) {
      problem_ = "it has \"[\" without \"]\"";
    } else {
      atom(1, end + 1 - at_, true);
    }
  }

  void open_group() {
    if (open_.size() > kMaxGroupDepth) {
      problem_ = "its groups are nested too deeply";
    } else {
      open_.emplace_back();
      ++at_;
    }
  }

  void close_group() {
    if (open_.size() == 1) {
      problem_ = "it has \")\" without \"(\"";
    } else if (open_.back().branch_empty) {
      problem_ = "a group or an alternative in it is empty";
    } else {
      const std::uint64_t cost = close_branch();
      open_.pop_back();
      if (problem_.empty()) atom(cost + 1, 1, true);
    }
  }

  void alternative() {
    if (open_.back().branch_empty) {
      problem_ = "an alternative beside \"|\" is empty";
      return;
    }
    close_branch();
    open_.back().branch_empty = true;
    open_.back().repeatable = false;
    ++at_;
  }

  void repeat(std::uint64_t factor, std::size_t length) {
    Group& group = open_.back();
    if (!group.repeatable) {
      problem_ = "a repetition (* + ? {) has nothing to repeat";
      return;
    }
    group.atom = std::max<std::uint64_t>(group.atom, 1) * factor;
    if (group.atom > kMaxCost) problem_ = kTooCostly;
    group.repeatable = false;
    at_ += length;
  }

  /// Cuts a decimal number at `i`; at most kMaxRepeat + 1. False when there is none.
  bool number(std::size_t& i, std::uint64_t& value) const {
    const std::size_t begin = i;
    for (value = 0; i < pattern_.size() && pattern_[i] >= '0' && pattern_[i] <= '9'; ++i) {
      value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(pattern_[i] - '0'), kMaxRepeat + 1);
    }
    return i > begin;
  }

  void interval() {
    std::size_t i = at_ + 1;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool valid = number(i, low);
    bool open_ended = false;
    high = low;
    if (valid && i < pattern_.size() && pattern_[i] == ',') {
      open_ended = !number(++i, high);
      if (open_ended) high = low;
    }
    valid = valid && i < pattern_.size() && pattern_[i] == '}';
    if (!valid) {
      problem_ = "\"{\" starts no repetition such as {2,4}";
    } else if (low > kMaxRepeat || high > kMaxRepeat) {
      problem_ = "a repetition count is above 255";
    } else if (low > high) {
      problem_ = "a repetition has the larger number first";
    } else {
      repeat(high + (open_ended ? 2 : 1), i + 1 - at_);
    }
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string_view problem_;
  std::vector<Group> open_ = std::vector<Group>(1);
};

Error refuse(std::string_view pattern, std::string_view why) {
  Error error;
  error.code = ErrorCode::kData;
  error.detail = quoted(pattern) + " is not a regular expression: " + std::string(why) +
                 "; write POSIX extended syntax for the whole name, such as kmalloc-.*";
  return error;
}

}  // namespace

struct NamePattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (valid) regfree(&regex);
  }

  regex_t regex = {};
  bool valid = false;
};

Result<NamePattern> NamePattern::compile(std::string_view pattern) {
  if (pattern.empty()) return refuse(pattern, "it is empty");
  if (pattern.size() > kMaxPatternBytes) return refuse(pattern, "it is longer than 1024 bytes");
  if (pattern.find('\0') != std::string_view::npos) return refuse(pattern, "it holds a NUL byte");
  if (const std::string_view problem = Checker(pattern).run(); !problem.empty()) return refuse(pattern, problem);

  NamePattern result;
  result.text_ = pattern;
  auto compiled = std::make_shared<Compiled>();
  const std::string anchored = "^(" + result.text_ + ")$";
  const int failure = regcomp(&compiled->regex, anchored.c_str(), REG_EXTENDED | REG_NOSUB);
  if (failure == REG_ESPACE) {
    Error error;
    error.code = ErrorCode::kNoMemory;
    error.detail = "no memory to compile the regular expression " + quoted(pattern);
    return error;
  }
  if (failure != 0) {
    std::array<char, 128> text{};
    regerror(failure, &compiled->regex, text.data(), text.size());
    return refuse(pattern, text.data());
  }
  compiled->valid = true;
  result.compiled_ = std::move(compiled);
  return result;
}

bool NamePattern::matches(std::string_view name) const {
  if (compiled_ == nullptr) return true;
  if (name.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
  // REG_STARTEND gives the length, so that a NUL inside does not cut the name. The copy ends in a NUL all the same, because
  // the sanitizers' regexec looks for one whatever the flags say; glibc's allocates anyway, so the copy does not count.
  const std::string terminated(name);
  regmatch_t range{};
  range.rm_so = 0;
  range.rm_eo = static_cast<regoff_t>(terminated.size());
  return regexec(&compiled_->regex, terminated.c_str(), 1, &range, REG_STARTEND) == 0;
}

}  // namespace memstat
