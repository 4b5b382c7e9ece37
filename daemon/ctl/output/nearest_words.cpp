// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/nearest_words.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "daemon/ctl/output/cells.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kMaxWord = 128;  // the effort is the product of both lengths

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view sentence) {
  constexpr std::size_t kMax = 3;
  const std::string low = lower_case(word);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(word.substr(0, kMaxWord), std::string_view(name).substr(0, kMaxWord));
    const bool contains = word.size() > 2 && lower_case(name).find(low) != std::string::npos;
    // Misspellings come before words that contain this one.
    constexpr std::size_t kContained = 3;
    if (distance <= 1 + word.size() / 4) {
      near.emplace_back(distance, name);
    } else if (contains) {
      near.emplace_back(kContained, name);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.empty()) {
    if (sentence.empty()) return {};
    const bool is_new = sentence[0] >= 'A' && sentence[0] <= 'Z';
    return (is_new ? ". " : "; ") + std::string(sentence);
  }
  if (near.size() > kMax) near.resize(kMax);
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    text += i == 0 ? "" : i + 1 == near.size() ? " or " : ", ";
    text += printable(near[i].second);
  }
  return text + (sentence.empty() ? "?" : "? ") + std::string(sentence);
}

}  // namespace memstat::ctl
