// SPDX-License-Identifier: BSD-2-Clause
// The top names among many, each with a tally, and a tally of all others: for counters if a page can show only a limited
// number. Tallies never shrink: what is counted for an unlisted name is added to the others and stays there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memstat::events {

/// The top names by weight. `Tally` is a plain value with operator+= and double weight().
template <typename Tally>
class TopList {
 public:
  struct Entry {
    Tally total = {};         ///< Counted while the name was listed.
    Tally pending = {};       ///< Counted since the last settle().
    double score = 0;         ///< Weight of all that was counted, decaying over time.
    std::uint32_t users = 0;  ///< Number of pointers to the entry; it may be removed at 0.
    bool is_listed = false;
  };

  explicit TopList(std::size_t most) : most_(most) {}

  /// The entry of a name. It does not move while it has users.
  Entry& of(std::string_view name) {
    auto found = entries_.find(name);
    if (found == entries_.end()) found = entries_.emplace(std::string(name), Entry()).first;
    return found->second;
  }
  /// Counts without a name.
  void add_to_others(const Tally& tally) { others_ += tally; }

  /// Decides which names are listed, and moves pending counts to them or to the others. A new name replaces a listed
  /// one once it has twice its score. `kept`: the fraction of the scores that remains, 0 to 1.
  void settle(double kept) {
    listed_.clear();
    waiting_.clear();
    for (auto& [name, entry] : entries_) {
      entry.score = entry.score * kept + entry.pending.weight();
      (entry.is_listed ? listed_ : waiting_).push_back(&entry);
    }
    const auto is_more = [](const Entry* a, const Entry* b) { return a->score > b->score; };
    const std::size_t ranked = std::min(waiting_.size(), most_);
    std::partial_sort(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(ranked), waiting_.end(), is_more);
    std::sort(listed_.begin(), listed_.end(), is_more);
    std::size_t room = most_ - std::min(most_, listed_.size());
    for (std::size_t i = 0; i < ranked && waiting_[i]->score > 0; ++i) {
      if (room != 0) {
        --room;
      } else {
        if (listed_.empty() || waiting_[i]->score <= 2 * listed_.back()->score) break;
        listed_.back()->is_listed = false;
        listed_.pop_back();
      }
      waiting_[i]->is_listed = true;
    }
    for (auto it = entries_.begin(); it != entries_.end();) {
      Entry& entry = it->second;
      (entry.is_listed ? entry.total : others_) += entry.pending;
      entry.pending = {};
      it = entry.users == 0 && !entry.is_listed ? entries_.erase(it) : std::next(it);
    }
  }

  /// Calls visit(name, total) for each listed name, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, entry] : entries_) {
      if (entry.is_listed) visit(std::string_view(name), entry.total);
    }
  }
  [[nodiscard]] const Tally& others() const { return others_; }

 private:
  std::size_t most_;
  std::map<std::string, Entry, std::less<>> entries_;
  Tally others_ = {};
  std::vector<Entry*> listed_;   // of the current settle()
  std::vector<Entry*> waiting_;  // of the current settle()
};

}  // namespace memstat::events
