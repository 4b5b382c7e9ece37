// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/group_survey.h"

#include <algorithm>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/text.h"

namespace memstat {
namespace {

/// Directories are listed at every second read: removed groups are noticed because their files are missing. While the set of
/// groups is known to be the same, they are listed at every sixteenth, because version 1 permits renaming.
constexpr std::uint32_t kReadsOfListings = 2;
constexpr std::uint32_t kReadsOfSameSet = 16;
/// Where groups come and go, they are listed each time: in groups with kManyBelow, and in new ones, whose groups often come
/// a moment later. Of the other directories, each is listed once in one listing per kListedAtOnce groups, at most
/// kMaxShares.
constexpr std::uint32_t kManyBelow = 8;
constexpr std::uint8_t kFirstListings = 4;
constexpr std::size_t kListedAtOnce = 128;
constexpr std::size_t kMaxShares = 16;
/// Groups that are not chosen of which a read looks at the usage: at most this many that move, and at most as many that
/// rest, each of which is looked at within kReadsOfResting reads if that suffices.
constexpr std::size_t kLooksAtOnce = 256;
constexpr std::size_t kReadsOfResting = 16;
constexpr std::uint32_t kLooksOfLimits = 8;

}  // namespace

GroupSurvey::GroupSurvey(KernelView& view, const ControlGroupBounds& bounds, const ControlGroupHierarchy& hierarchy,
                         const BaseDirectory& near, bool may_be_old, std::uint32_t read, GroupSurveyState& state,
                         Buffer& file)
    : view_(view),
      bounds_(bounds),
      hierarchy_(hierarchy),
      files_(hierarchy.is_version_1 ? kUsageFiles1 : kUsageFiles2),
      near_(near),
      may_be_old_(may_be_old),
      read_(read),
      state_(state),
      tree_(state.tree),
      file_(file) {}

bool GroupSurvey::is_listing_due() const {
  const bool is_same = state_.set != 0 && state_.set == state_.listed_set;
  return !may_be_old_ || state_.order.empty() || state_.matches != bounds_.matches ||
         read_ % (is_same ? kReadsOfSameSet : kReadsOfListings) == 0;
}

/// A group without a memory controller has none below it either. The root of version 2 has one, but no figures.
bool GroupSurvey::goes_below(std::uint32_t index) const {
  const KnownGroup& group = tree_[index];
  return group.depth < bounds_.depth && (index == GroupTree::kRoot || !group.is_wanted || group.is_present());
}

bool GroupSurvey::is_turn_of(const KnownGroup& group, std::uint32_t index) const {
  if (!may_be_old_ || group.listings < kFirstListings || group.below >= kManyBelow) return true;
  const auto shares = static_cast<std::uint32_t>(std::min(1 + tree_.end_index() / kListedAtOnce, kMaxShares));
  return (state_.listings + index) % shares == 0;
}

bool GroupSurvey::matches(std::string_view group) const {
  return bounds_.matches == nullptr || !*bounds_.matches || (*bounds_.matches)(group.empty() ? "/" : group);
}

bool GroupSurvey::go_to(std::uint32_t index) {
  return path_.assign(hierarchy_.root.view()) && tree_.append_path(index, path_);
}

Result<void> GroupSurvey::list() {
  const std::uint64_t set = view_.group_generation();
  // A new group's directory may not be there yet when the set has it.
  const bool is_settled = std::exchange(state_.set, set) == set;
  const bool lists = is_listing_due();
  if (tree_.empty()) tree_.clear();
  if (lists) {
    state_.listed_set = is_settled ? set : 0;
    state_.matches = bounds_.matches;
    ++state_.listings;
    if (auto met = meet(GroupTree::kRoot); !met) return met;
  }
  std::vector<std::uint32_t>& order = state_.order;
  order.assign(1, GroupTree::kRoot);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t index = order[i];
    if (!goes_below(index)) continue;
    if (lists && is_turn_of(tree_[index], index)) {
      if (auto listed = list_below(index); !listed) {
        order.clear();
        return listed;
      }
    }
    for (std::uint32_t below = tree_[index].first_below; below != KnownGroup::kNone; below = tree_[below].next)
      order.push_back(below);
  }
  return {};
}

/// Reads the names below the group into state_.directories. False: it is gone, or may not be listed.
Result<bool> GroupSurvey::read_directories(std::uint32_t index) {
  if (!go_to(index)) return false;
  auto listed = view_.list_directories(path_.view(), state_.directories);
  if (listed) return true;
  const bool is_refused = listed.error().code == ErrorCode::kPermission;
  if (index == GroupTree::kRoot || (!is_refused && listed.error().code != ErrorCode::kNotPresent)) return listed.error();
  tree_.set_below(index, {});
  tree_[index].unlisted = is_refused ? 1 : 0;  // the number of groups below is unknown
  return false;
}

Result<void> GroupSurvey::list_below(std::uint32_t index) {
  const auto is_read = read_directories(index);
  if (!is_read) return is_read.error();
  if (!*is_read) return {};
  tree_[index].listings = std::min<std::uint8_t>(tree_[index].listings + 1, kFirstListings);
  std::vector<std::string_view>& names = state_.names;
  names.clear();
  bool has_memory = true;
  if (!hierarchy_.is_version_1 && !state_.directories.empty()) {
    const auto may_have = has_memory_below(view_, path_.view(), file_);
    if (!may_have) return may_have.error();
    has_memory = *may_have;
  }
  std::string_view rest = state_.directories.view();
  for (std::string_view name; has_memory && next_name(rest, name);) names.push_back(name);
  std::sort(names.begin(), names.end());
  tree_.set_below(index, names);
  for (std::uint32_t below = tree_[index].first_below; below != KnownGroup::kNone; below = tree_[below].next) {
    if (auto met = meet(below); !met) return met;
  }
  return {};
}

/// Finds out whether a group is selected and, unless that is known, whether it is there.
Result<void> GroupSurvey::meet(std::uint32_t index) {
  const bool fits = go_to(index);
  KnownGroup& group = tree_[index];
  group.is_wanted = !fits || matches(path_.view().substr(hierarchy_.root.size()));
  if (!fits) group.presence = KnownGroup::Presence::kRefused;
  if (!fits || !group.is_wanted || group.presence == KnownGroup::Presence::kPresent) return {};
  if (index == GroupTree::kRoot && !hierarchy_.is_version_1 && !hierarchy_.has_more) return {};
  return look_at_usage(index);
}

Result<void> GroupSurvey::look_at_usage(std::uint32_t index) {
  if (!go_to(index) || !path_.append_component(files_.usage)) return {};
  KnownGroup& group = tree_[index];
  if (auto result = view_.read_at_base(near_, path_.view(), file_); !result) {
    const ErrorCode code = result.error().code;
    if (code != ErrorCode::kPermission && code != ErrorCode::kNotPresent) return result;
    group.presence = code == ErrorCode::kPermission ? KnownGroup::Presence::kRefused : KnownGroup::Presence::kAbsent;
    return {};
  }
  group.presence = KnownGroup::Presence::kPresent;
  group.note_usage(parse_u64(trim(file_.view())).value_or(0));
  return {};
}

template <typename NumberOf>
Result<void> GroupSurvey::read_number(std::string_view file, const NumberOf& take) {
  if (!path_.append_component(file)) return {};
  auto result = view_.read_at_base(near_, path_.view(), file_);
  if (result) take(file_.view());
  const bool is_missing =
      !result && (result.error().code == ErrorCode::kNotPresent || result.error().code == ErrorCode::kPermission);
  return is_missing ? Result<void>() : result;
}

Result<void> GroupSurvey::look_at_limit(std::uint32_t index) {
  if (!go_to(index)) return {};
  return read_number(files_.limit, [&](std::string_view content) { tree_[index].limit = group_limit_in(content); });
}

Result<void> GroupSurvey::look_at_kills(std::uint32_t index) {
  if (!go_to(index)) return {};
  return read_number(files_.kills, [&](std::string_view content) {
    if (const auto kills = kills_in(content)) tree_[index].note_kills(*kills, read_);
  });
}

Result<void> GroupSurvey::look_at(std::uint32_t index) {
  if (auto looked = look_at_usage(index); !looked || !tree_[index].is_present()) return looked;
  if (!tree_[index].is_looked_at || (read_ + index) % kLooksOfLimits == 0) {
    if (auto looked = look_at_limit(index); !looked) return looked;
  }
  if (!tree_[index].is_looked_at) {
    if (auto looked = look_at_kills(index); !looked) return looked;
  }
  tree_[index].is_looked_at = true;
  return {};
}

/// Looks at wanted groups that are present and not chosen, once around from `next` on, while there is budget.
template <typename Wanted, typename Look>
Result<void> GroupSurvey::look_in_turn(std::size_t& next, std::size_t& budget, const Wanted& is_wanted, const Look& look) {
  const std::size_t count = state_.order.size();
  for (std::size_t seen = 0; seen < count && budget > 0; ++seen, ++next) {
    if (next >= count) next = 0;
    const std::uint32_t index = state_.order[next];
    if (!tree_[index].is_present() || tree_[index].is_chosen || !is_wanted(tree_[index])) continue;
    --budget;
    if (auto looked = look(index); !looked) return looked;
  }
  return {};
}

Result<void> GroupSurvey::choose(bool are_kills_new) {
  const std::vector<std::uint32_t>& order = state_.order;
  const auto present = static_cast<std::uint64_t>(
      std::count_if(order.begin(), order.end(), [&](std::uint32_t index) { return tree_[index].is_present(); }));
  if (present > bounds_.most_groups) {
    const auto look = [this](std::uint32_t index) { return look_at(index); };
    const auto moves = [](const KnownGroup& group) { return group.moves; };
    const auto rests = [](const KnownGroup& group) { return !group.moves; };
    std::size_t budget = may_be_old_ ? kLooksAtOnce : order.size();
    if (auto looked = look_in_turn(state_.next_moving, budget, moves, look); !looked) return looked;
    if (may_be_old_) budget = std::min(kLooksAtOnce, order.size() / kReadsOfResting + 1);
    if (auto looked = look_in_turn(state_.next_resting, budget, rests, look); !looked) return looked;
    if (are_kills_new) state_.kills_left = order.size();
    budget = std::min(state_.kills_left, 2 * kLooksAtOnce);
    state_.kills_left -= budget;
    const auto any = [](const KnownGroup& group) { return group.is_looked_at; };
    const auto kills = [this](std::uint32_t index) { return look_at_kills(index); };
    if (auto looked = look_in_turn(state_.next_kills, budget, any, kills); !looked) return looked;
  }
  choose_groups(tree_, order, bounds_.most_groups, read_, state_.weights);
  return {};
}

GroupsLeftOut GroupSurvey::left_out() const {
  GroupsLeftOut all;
  for (const std::uint32_t index : state_.order) {
    const KnownGroup& group = tree_[index];
    all.groups += group.unlisted;
    if (group.is_wanted && group.presence == KnownGroup::Presence::kRefused) ++all.groups;
    if (!group.is_present() || group.is_chosen) continue;
    ++all.groups;
    const bool is_counted_above =
        index != GroupTree::kRoot && tree_[group.parent].is_present() && !tree_[group.parent].is_chosen;
    if (!is_counted_above) all.bytes = saturating_sum(all.bytes, group.usage);
  }
  return all;
}

bool GroupSurvey::has_any() const {
  return std::any_of(state_.order.begin(), state_.order.end(), [&](std::uint32_t index) {
    const KnownGroup& group = tree_[index];
    return !group.is_wanted || group.presence == KnownGroup::Presence::kPresent ||
           group.presence == KnownGroup::Presence::kRefused;
  });
}

}  // namespace memstat
