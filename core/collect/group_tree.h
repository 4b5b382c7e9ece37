// SPDX-License-Identifier: BSD-2-Clause
// All control groups of a hierarchy and what is known of each, in about 200 bytes a group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fixed_path.h"
#include "core/collect/cgroup_hierarchy.h"

namespace memstat {

/// One group. The figures are those of its last look; see GroupSurvey.
struct KnownGroup {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  enum class Presence : std::uint8_t {
    kUnknown,
    kPresent,
    kAbsent,  ///< without a memory controller, or removed
    kRefused  ///< may not be read
  };

  std::string name;                     ///< Below its parent; "" of the root.
  std::uint32_t parent = kNone;         ///< As the following ones, an index of the tree.
  std::uint32_t first_below = kNone;    ///< The groups below it are linked in the order of their names.
  std::uint32_t next = kNone;           ///< The next one below the same parent.
  std::uint32_t below = 0;              ///< Number of groups directly below it.
  std::uint32_t unlisted = 0;           ///< Groups below it that are not in the tree: no room, or it may not be listed.
  std::uint32_t last_kill = 0;          ///< Number of the read at which it had lost another process; 0: never seen.
  std::uint64_t usage = 0;              ///< Bytes, with the groups below it.
  std::uint64_t slow_usage = 0;         ///< Bytes; follows the usage within about eight looks.
  std::uint64_t limit = kNoGroupLimit;  ///< Bytes.
  std::uint64_t kills = 0;              ///< Since it was created.
  std::size_t record = 0;               ///< Offset of its files in the bundle of the last read; 0: none.
  std::uint8_t depth = 0;               ///< Levels below the root.
  std::uint8_t listings = 0;            ///< Of the groups below it, counted up to a few.
  std::uint8_t still_reads = 0;         ///< Number of reads of all its files in which its usage was the same.
  Presence presence = Presence::kUnknown;
  bool is_wanted = true;      ///< Its path is selected.
  bool is_chosen = false;     ///< All its files are read.
  bool is_looked_at = false;  ///< Its limit and kills are known, not only its usage.
  bool moves = true;          ///< Its usage was another one at the last look.

  [[nodiscard]] bool is_present() const { return is_wanted && presence == Presence::kPresent; }
  /// Takes the usage of another look.
  void note_usage(std::uint64_t bytes);
  /// Takes the number of kills at read number `read`.
  void note_kills(std::uint64_t count, std::uint32_t read);
};

/// Indexes stay valid while their groups exist, and are used again afterwards. Index 0 is the root. Allocates only for
/// groups that come. Thread safety: none.
class GroupTree {
 public:
  static constexpr std::uint32_t kRoot = 0;
  /// Maximum number of groups below the root, whatever there is: a huge tree must not delay the other sources.
  static constexpr std::size_t kMaxGroups = 16384;

  /// Forgets all groups. The tree then has a root only.
  void clear();
  [[nodiscard]] bool empty() const { return groups_.empty(); }
  KnownGroup& operator[](std::uint32_t index) { return groups_[index]; }
  const KnownGroup& operator[](std::uint32_t index) const { return groups_[index]; }
  /// One more than the highest index.
  [[nodiscard]] std::size_t end_index() const { return groups_.size(); }

  /// Makes the groups below `parent` those with these names, which are sorted. What is known of those that stay is kept, and
  /// those that are gone are removed with all below them.
  void set_below(std::uint32_t parent, std::span<const std::string_view> names);

  /// Appends the path below the root, "" of the root, to `path`. False if it does not fit.
  [[nodiscard]] bool append_path(std::uint32_t index, FixedPath& path) const;

 private:
  std::uint32_t add(std::uint32_t parent, std::string_view name);
  void remove(std::uint32_t index);

  std::vector<KnownGroup> groups_;
  std::uint32_t free_ = KnownGroup::kNone;  // the first index without a group; linked by `next`
  std::size_t count_ = 0;                   // groups below the root
};

/// Room for what a walk computes for each group.
struct GroupWeights {
  std::vector<double> weights;            ///< By index.
  std::vector<std::uint32_t> candidates;  ///< Indexes.
};

/// Chooses the groups that matter most, at most `most` of those present: those that lost a process within an hour of reads
/// of ten seconds, the newest half of `most` first; then by usage, where a group near its limit counts four times and growth
/// sixteen times. A group that is chosen already counts as a quarter and 4 KiB larger, so that the choice does not flicker.
/// A group is chosen only with all groups above it that are present. `order`: the groups, each after its parent. `read`: the
/// number of this read.
void choose_groups(GroupTree& tree, std::span<const std::uint32_t> order, std::uint64_t most, std::uint32_t read,
                   GroupWeights& scratch);

}  // namespace memstat
