// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/nearest_words.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "daemon/ctl/output/cells.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kLongestWord = 128;  // of a word and a name; the effort is their product

char lower_letter(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string lowered(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), lower_letter);
  return low;
}

}  // namespace

std::size_t distance_of(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestWord);
  b = b.substr(0, kLongestWord);
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const bool is_same = lower_letter(a[i - 1]) == lower_letter(b[j - 1]);
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + (is_same ? 0U : 1U)});
      const bool is_swapped = i > 1 && j > 1 && lower_letter(a[i - 1]) == lower_letter(b[j - 2]) &&
                              lower_letter(a[i - 2]) == lower_letter(b[j - 1]);
      if (is_swapped) least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  }
  return least[a.size()][b.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kMost = 3;
  const std::string low = lowered(word);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string& name : known) {
    const std::size_t distance = distance_of(word, name);
    const bool contains = word.size() > 2 && lowered(name).find(low) != std::string::npos;
    // A slip of the finger comes before words that have this one within.
    constexpr std::size_t kContained = 3;
    if (distance <= 1 + word.size() / 4) {
      near.emplace_back(distance, name);
    } else if (contains) {
      near.emplace_back(kContained, name);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.empty()) return {};
  if (near.size() > kMost) near.resize(kMost);
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    text += i == 0 ? "" : i + 1 == near.size() ? " or " : ", ";
    text += printable(near[i].second);
  }
  return text + "?";
}

}  // namespace memstat::ctl
