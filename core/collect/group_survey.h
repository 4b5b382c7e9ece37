// SPDX-License-Identifier: BSD-2-Clause
// Which control groups there are, at any depth, what each uses, and which of them are read whole. A node may have ten
// thousand groups; a walk reads all files of the few hundred that matter most, and of the others only what the choice needs,
// in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/collect/cgroup_hierarchy.h"
#include "core/collect/group_tree.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// The groups to read, and their files.
struct ControlGroupBounds {
  std::uint64_t depth = 0;        ///< levels below the root; 0: only the root
  std::uint64_t most_groups = 0;  ///< those that matter most, see choose_groups(); others are counted as left out
  bool has_parts = true;          ///< also read memory.stat, memory.kmem.*, and files of pressure and swap
  /// Selects groups by path; null or empty: all. Groups below a group that does not match may match. Borrowed.
  const std::function<bool(std::string_view)>* matches = nullptr;
};

/// The groups that are not read whole.
struct GroupsLeftOut {
  std::uint64_t groups = 0;  ///< those that may not be read or listed, too
  std::uint64_t bytes = 0;   ///< of those that may be read; groups above them that are read include these
};

/// State kept between reads, so that the steady state allocates nothing.
struct GroupSurveyState {
  GroupTree tree;
  std::vector<std::uint32_t> order;  ///< all groups within the depth, level by level; empty: list all directories
  std::uint64_t set = 0;             ///< KernelView::group_generation() at the previous read
  std::uint64_t listed_set = 0;      ///< the set that the last listing has; 0: not known
  std::uint32_t listings = 0;        ///< so far
  const void* matches = nullptr;     ///< by which groups were selected; a changed pattern has another address
  // Where the next look at groups that are not chosen begins, indexes of `order`.
  std::size_t next_moving = 0;
  std::size_t next_resting = 0;
  std::size_t next_kills = 0;
  std::size_t kills_left = 0;  ///< groups whose kills are to be read, since the kernel has counted one
  // Scratch space.
  GroupWeights weights;
  Buffer directories;
  std::vector<std::string_view> names;
};

/// One read's look at the groups. Files are read through `file`. New groups are found within two reads, and of a
/// hundred groups and more, the first group below another one later.
class GroupSurvey {
 public:
  /// All arguments are borrowed. `may_be_old`: figures and listings of earlier reads may be used. `read`: its number,
  /// from 1.
  GroupSurvey(KernelView& view, const ControlGroupBounds& bounds, const ControlGroupHierarchy& hierarchy,
              const BaseDirectory& near, bool may_be_old, std::uint32_t read, GroupSurveyState& state, Buffer& file);

  /// Lists directories whose turn it is. Errors: those of the root, and of a kernel that fails.
  Result<void> list();
  /// Looks at groups in turn if there are more than `most_groups`, and chooses. `are_kills_new`: the kernel has counted a
  /// kill since all groups' were read. Errors: of a kernel that fails.
  Result<void> choose(bool are_kills_new);

  [[nodiscard]] GroupsLeftOut left_out() const;
  /// Whether any group is there, selected or not.
  [[nodiscard]] bool has_any() const;

 private:
  [[nodiscard]] bool is_listing_due() const;
  [[nodiscard]] bool goes_below(std::uint32_t index) const;
  [[nodiscard]] bool is_turn_of(const KnownGroup& group, std::uint32_t index) const;
  [[nodiscard]] bool matches(std::string_view group) const;
  /// Sets path_ to the group's directory. False if it does not fit.
  [[nodiscard]] bool go_to(std::uint32_t index);
  Result<void> list_below(std::uint32_t index);
  Result<bool> read_directories(std::uint32_t index);
  Result<void> meet(std::uint32_t index);
  /// A number in a file of the group at path_; nothing if it has none or may not be read.
  template <typename NumberOf>
  Result<void> read_number(std::string_view file, const NumberOf& take);
  Result<void> look_at_usage(std::uint32_t index);
  Result<void> look_at_limit(std::uint32_t index);
  Result<void> look_at_kills(std::uint32_t index);
  Result<void> look_at(std::uint32_t index);
  template <typename Wanted, typename Look>
  Result<void> look_in_turn(std::size_t& next, std::size_t& budget, const Wanted& is_wanted, const Look& look);

  KernelView& view_;
  const ControlGroupBounds& bounds_;
  const ControlGroupHierarchy& hierarchy_;
  const GroupUsageFiles& files_;
  const BaseDirectory& near_;
  bool may_be_old_;
  std::uint32_t read_;
  GroupSurveyState& state_;
  GroupTree& tree_;
  Buffer& file_;
  FixedPath path_;
};

}  // namespace memstat
