// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/cgroup_walk.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

#include "core/base/text.h"
#include "core/collect/file_bundle.h"
#include "core/collect/reuse.h"

namespace memstat {
namespace {

constexpr std::string_view kStat = "memory.stat";
constexpr std::array<std::string_view, 3> kFiles2 = {kUsageFiles2.limit, "memory.high", kUsageFiles2.kills};
// Only groups to which the controller pids is delegated have these.
constexpr std::array<std::string_view, 2> kTaskFiles2 = {"pids.current", "pids.max"};
// Files that need not be fresh at each poll. Each read covers one of kSeldomReads shares of the groups. A kernel may
// lack any of them: pressure (CONFIG_PSI), swap (CONFIG_SWAP), memory.events.local (before 5.2), cgroup.stat (before 4.14).
constexpr std::string_view kProtection = "memory.min";
constexpr std::array<std::string_view, 7> kSlowFiles2 = {"memory.pressure",    "memory.swap.current", "memory.swap.max",
                                                         "memory.swap.events", "memory.events.local", "cgroup.stat",
                                                         kProtection};
constexpr std::string_view kMemoryAndSwap = "memory.memsw.usage_in_bytes";
constexpr std::array<std::string_view, 4> kSlowFiles1 = {"memory.kmem.failcnt", kMemoryAndSwap,
                                                         "memory.memsw.limit_in_bytes", "memory.memsw.failcnt"};
// All of these except kMemoryAndSwap are limits, or counters that do not move without a limit. They are read less often, as
// are the parts of a group that has no limit.
constexpr std::uint32_t kReadsOfRareFiles = 2 * kSeldomReads;
/// A group without a limit sleeps once its usage was the same in kReadsBeforeSleep reads of all its files. Until its usage
/// changes, that is read at every second read, and the rest at every kReadsOfSleepers-th.
constexpr std::uint32_t kReadsBeforeSleep = 8;
constexpr std::uint32_t kReadsOfSleepersUsage = 2;
constexpr std::uint32_t kReadsOfSleepers = 16;
static_assert(kReadsBeforeSleep >= kReadsOfRareFiles && kReadsOfSleepers % kReadsOfRareFiles == 0);
constexpr std::uint32_t kReadsOfProtection = 64;
constexpr std::uint32_t kMaxTight = 16;
constexpr std::string_view kLimit1 = kUsageFiles1.limit;
constexpr std::string_view kHits1 = "memory.failcnt";
constexpr std::string_view kKills1 = kUsageFiles1.kills;
// Since Linux commit 8e20d4b33266 ("mm/memcontrol: export memcg->watermark via sysfs for v2 memcg") (v5.19).
constexpr std::string_view kPeak2 = "memory.peak";
constexpr std::string_view kPeak1 = "memory.max_usage_in_bytes";
constexpr std::string_view kKernel1 = kKernelUsage1;
constexpr std::string_view kSockets1 = "memory.kmem.tcp.usage_in_bytes";
constexpr std::array<std::string_view, 3> kFiles1 = {kLimit1, kHits1, kKills1};
// Missing on kernels built without accounting of kernel memory (CONFIG_MEMCG_KMEM, an option until 6.10).
constexpr std::array<std::string_view, 2> kKernelFiles1 = {kKernel1, kSockets1};

bool is_limit(std::string_view file) {
  constexpr std::array<std::string_view, 4> kLimits = {"memory.max", "memory.high", "pids.max", kLimit1};
  return std::find(kLimits.begin(), kLimits.end(), file) != kLimits.end();
}

/// Files with the parts of a group's memory: adding these up costs the kernel more than all other files.
bool has_parts_in(std::string_view file) { return file == kStat || file == kKernel1; }

/// Files that may limit a group's memory.
bool may_bound(std::string_view file) { return file == "memory.max" || file == "memory.high" || file == kLimit1; }

/// Whether a file with this content sets a limit. True if the content is malformed.
bool is_bound(std::string_view content) {
  const std::string_view bound = trim(content);
  const auto number = parse_u64(bound);
  return bound != "max" && (!number || *number < kNoGroupLimit);
}

/// Spreads groups over kReadsOfProtection reads. A group keeps its place when others come and go.
std::uint32_t turn_of(std::string_view group) {
  std::uint32_t hash = 2166136261U;
  for (const char byte : group) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619U;
  return (hash >> 16U) % kReadsOfProtection;
}

/// Finds records of one group in the previous bundle, in the order in which they were added.
class LastFiles {
 public:
  LastFiles() : next_({}) {}
  /// `record`: where its first one begins; 0: it has none.
  LastFiles(std::string_view bundle, std::size_t record)
      : next_(bundle.substr(record == 0 ? bundle.size() : std::min(record, bundle.size()))) {}

  /// Returns nothing for a file that was not there.
  std::optional<std::string_view> find(std::string_view wanted) {
    const std::string_view group = wanted.substr(0, wanted.rfind('/'));
    LastFiles ahead = *this;
    std::string_view name;
    std::string_view content;
    while (ahead.next_of(group, name, content)) {
      if (name != wanted) continue;
      *this = ahead;
      return content;
    }
    return std::nullopt;
  }
  /// The next record, if it is of this group.
  bool next_of(std::string_view group, std::string_view& name, std::string_view& content) {
    FileBundleReader ahead = next_;
    if (!ahead.next(name, content) || name.substr(0, name.rfind('/')) != group || name.empty()) return false;
    next_ = ahead;
    return true;
  }

 private:
  FileBundleReader next_;
};

/// Whether a process may have been killed since the previous read. The kernel counts a kill in /proc/vmstat first and then
/// in the group, and the group may be read between the two.
void look_for_kills(KernelView& view, ControlGroupState& state) {
  const auto kills = view.read_file(kGroupKillsFile, state.file) ? kills_in(state.file.view()) : std::nullopt;
  const bool is_same = kills && kills == state.kills;
  state.are_kills_new = !is_same || !state.were_kills_same;
  state.were_kills_same = is_same;
  state.kills = kills;
}

/// Reads the groups of one hierarchy into the bundle, level by level.
class Walk {
 public:
  Walk(KernelView& view, const ControlGroupBounds& bounds, ControlGroupState& state, Buffer& bundle)
      : view_(view),
        bounds_(bounds),
        state_(state),
        bundle_bytes_(bundle),
        files_(state.hierarchy.is_version_1 ? kUsageFiles1 : kUsageFiles2),
        is_version_1_(state.hierarchy.is_version_1),
        has_more_(state.hierarchy.has_more),
        bundle_(bundle, state.file),
        may_be_old_(may_reuse(view) && !state.last.empty()),
        near_(view.open_base(state.hierarchy.root.view())),
        survey_(view, bounds, state.hierarchy, near_, may_be_old_, state.reads, state.survey, state.file),
        root_size_(state.hierarchy.root.size()) {
    (void)path_.assign(state.hierarchy.root.view());  // fits: it comes from a FixedPath
  }

  Result<void> run() {
    auto result = survey_.list();
    if (result) result = survey_.choose(state_.are_kills_new);
    if (result) result = read_groups();
    if (!result) state_.survey.order.clear();
    return result;
  }
  /// Whether there were any groups, selected or not.
  [[nodiscard]] bool has_seen_any() const { return survey_.has_any(); }

 private:
  using Outcome = KnownGroup::Presence;
  /// A bit for each slow file.
  struct SlowFiles {
    std::uint32_t looked_for = 0;
    std::uint32_t seen = 0;
  };

  Result<void> read_groups() {
    if (auto added = bundle_.add(path_.view(), is_version_1_ ? "1\n" : "2\n"); !added) return added;
    for (const std::uint32_t index : state_.survey.order) {
      group_ = &state_.survey.tree[index];
      last_ = LastFiles(state_.last.view(), std::exchange(group_->record, 0));
      if (!group_->is_present() || !group_->is_chosen) continue;
      path_.truncate(root_size_);
      if (!state_.survey.tree.append_path(index, path_)) continue;  // the survey has counted it
      const std::size_t begin = bundle_bytes_.size();
      const auto outcome = read_group();
      if (!outcome) return outcome.error();
      group_->presence = *outcome;
      if (*outcome == KnownGroup::Presence::kPresent) group_->record = begin;
    }
    // Only if all groups were read: the root, for example, lacks files that the others have.
    if (!may_be_old_) state_.hierarchy.absent |= slow_.looked_for & ~slow_.seen;
    state_.left_out = survey_.left_out();
    return bundle_.add("", "");
  }

  /// Whether to read files that could be repeated from the previous read: at every `each`-th turn.
  [[nodiscard]] bool is_due(std::uint32_t turn, std::uint32_t each) const { return !may_be_old_ || turn % each == 0; }

  /// The part of path_ below the root: a group, "" for the root itself, or a file of a group.
  [[nodiscard]] std::string_view below_root() const { return path_.view().substr(root_size_); }

  /// Whether the previous content can be used: only an administrator changes the file, or a change would also show
  /// elsewhere.
  [[nodiscard]] bool is_unchanged(std::string_view file, std::string_view last) {
    if (is_limit(file)) return is_asleep_ ? !is_turn_ : !is_due(state_.reads, kSeldomReads);
    if (file == kKills1) return !is_turn_ && !state_.are_kills_new;
    if (is_turn_ && (has_limit_ || wakes_ || is_turn_of_rare_files_)) return false;
    if (file == kHits1) return !has_limit_;
    if (file == kSockets1) return last == "0\n";  // zero until the group's sockets have a limit
    return has_parts_in(file) && (file != kStat || !is_tight());
  }

  /// Whether cache that programs replace would not show in the usage.
  bool is_tight() {
    if (is_usage_same_ || group_->usage < least_limit_ / 10 * 9 || tight_count_ >= kMaxTight) return false;
    ++tight_count_;
    return true;
  }

  /// Appends one file of the group to the bundle. Returns false if it does not exist or may not be read.
  Result<bool> add_file(std::string_view file, bool& is_refused) {
    const std::size_t directory_size = path_.size();
    if (!path_.append_component(file)) return false;
    const auto last = last_.find(below_root());
    const bool is_taken = last && is_unchanged(file, *last);
    auto result = is_taken ? Result<void>() : view_.read_at_base(near_, path_.view(), state_.file);
    if (result) result = bundle_.add(below_root(), is_taken ? *last : state_.file.view());
    path_.truncate(directory_size);
    const std::string_view content = is_taken ? *last : state_.file.view();
    if (may_bound(file)) note_bound(result ? content : "");
    if (result) note_figures(file, content, is_taken);
    if (file == files_.usage) note_usage(result && last && content == *last);
    if (result) return true;
    is_refused = result.error().code == ErrorCode::kPermission;
    if (is_refused || result.error().code == ErrorCode::kNotPresent) return false;
    return result.error();
  }

  void note_bound(std::string_view content) {
    if (!is_bound(content)) return;
    has_limit_ = true;
    least_limit_ = std::min(least_limit_, group_limit_in(content));
  }

  /// By which groups are chosen.
  void note_figures(std::string_view file, std::string_view content, bool is_taken) {
    if (file == files_.usage) group_->note_usage(parse_u64(trim(content)).value_or(0));
    if (file == files_.limit) group_->limit = group_limit_in(content);
    if (file != files_.kills || is_taken) return;
    if (const auto kills = kills_in(content)) group_->note_kills(*kills, state_.reads);
    group_->is_looked_at = true;
  }

  void note_usage(bool is_same) {
    is_usage_same_ = is_same;
    const std::uint32_t still_reads = is_same ? std::min(group_->still_reads + 1U, kReadsBeforeSleep) : 0;
    group_->still_reads = static_cast<std::uint8_t>(still_reads);
    wakes_ = is_asleep_ && !is_same;
    is_asleep_ = is_asleep_ && is_same;
    is_turn_ = wakes_ || is_due(turn_, is_asleep_ ? kReadsOfSleepers : kSeldomReads);
  }

  /// Repeats the group's files and returns true if none of them is read now.
  Result<bool> repeat_sleeper() {
    if (!may_be_old_) return false;
    is_asleep_ = group_->still_reads >= kReadsBeforeSleep && !state_.are_kills_new;
    if (!is_asleep_ || is_due(turn_, kReadsOfSleepersUsage)) return false;
    bool is_there = false;
    std::string_view name;
    std::string_view content;
    for (const std::string_view group = below_root(); last_.next_of(group, name, content); is_there = true) {
      if (auto added = bundle_.add(name, content); !added) return added.error();
    }
    return is_there;
  }

  Result<Outcome> read_group() {
    const std::size_t begin = bundle_bytes_.size();
    bool is_refused = false;
    turn_ = state_.reads + turn_of(below_root());
    is_turn_of_rare_files_ = is_due(turn_, kReadsOfRareFiles);
    has_limit_ = is_asleep_ = false;
    least_limit_ = kNoGroupLimit;
    const auto is_repeated = repeat_sleeper();
    if (!is_repeated) return is_repeated.error();
    if (*is_repeated) return Outcome::kPresent;
    const auto is_present = add_file(files_.usage, is_refused);
    if (!is_present) return is_present.error();
    if (!*is_present) {
      bundle_bytes_.resize(begin);
      return is_refused ? Outcome::kRefused : Outcome::kAbsent;
    }
    bool is_complete = true;
    const auto add = [&](std::string_view file) -> Result<void> {
      const auto added = add_file(file, is_refused);
      if (!added) return added.error();
      is_complete = is_complete && *added;
      return {};
    };
    for (const std::string_view file : is_version_1_ ? kFiles1 : kFiles2) {
      if (auto added = add(file); !added) return added.error();
    }
    if (auto peak = add_peak(); !peak) return peak.error();
    for (const std::string_view file : kTaskFiles2) {
      if (!state_.hierarchy.has_tasks) break;
      const auto added = add_file(file, is_refused);
      if (!added) return added.error();
      if (!*added) break;
    }
    SlowFiles slow;
    if (bounds_.has_parts) {
      const auto added = add_slow_files();
      if (!added) return added.error();
      slow = *added;
      if (auto stat = add(kStat); !stat) return stat.error();
      for (const std::string_view file : kKernelFiles1) {
        if (!is_version_1_ || !has_more_) break;
        if (auto kernel = add(file); !kernel) return kernel.error();
      }
    }
    state_.has_limits = state_.has_limits || has_limit_;
    if (has_limit_) group_->still_reads = 0;
    if (!is_complete) return drop_if_removed(begin);
    slow_.looked_for |= slow.looked_for;
    slow_.seen |= slow.seen;
    return Outcome::kPresent;
  }

  /// The highest usage matters only after a kill. Between kills it costs no read.
  Result<void> add_peak() {
    const std::string_view file = is_version_1_ ? kPeak1 : kPeak2;
    if (!has_limit_) return {};
    const bool is_new = state_.last.empty() || (state_.are_kills_new && state_.kills);
    if (!is_new && !state_.hierarchy.has_peaks) return {};  // looking for a missing file is slow
    if (!is_new && may_be_old_) return add_last(file);
    bool is_refused = false;
    const auto added = add_file(file, is_refused);
    if (!added) return added.error();
    state_.hierarchy.has_peaks = state_.hierarchy.has_peaks || *added;
    return {};
  }

  /// Removes the record of a group that was removed in the meantime. If it still exists, the files that can be read are
  /// kept.
  Result<Outcome> drop_if_removed(std::size_t begin) {
    const auto is_still_there = has_group_file(view_, path_.view(), files_.usage, state_.file);
    if (is_still_there && *is_still_there) return Outcome::kPresent;
    bundle_bytes_.resize(begin);
    if (is_still_there) return Outcome::kAbsent;
    if (is_still_there.error().code == ErrorCode::kPermission) return Outcome::kRefused;
    return is_still_there.error();
  }

  /// Reads the slow files of some groups and repeats those of the others. Those of a new group are first read at its turn.
  Result<SlowFiles> add_slow_files() {
    const std::span<const std::string_view> files =
        is_version_1_ ? std::span<const std::string_view>(kSlowFiles1) : kSlowFiles2;
    bool is_refused = false;
    SlowFiles result;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::uint32_t bit = std::uint32_t{1} << i;
      if ((state_.hierarchy.absent & bit) != 0) continue;
      const bool is_rare = is_version_1_ && files[i] != kMemoryAndSwap;
      const bool is_due_now = files[i] == kProtection ? is_due(turn_, kReadsOfProtection)
                              : is_rare               ? is_turn_of_rare_files_
                                                      : is_turn_;
      if (!is_due_now) {
        if (auto added = add_last(files[i]); !added) return added.error();
        continue;
      }
      const auto added = add_file(files[i], is_refused);
      // The kernel reports this for pressure if it was started with psi=0.
      if (!added && added.error().system_errno != EOPNOTSUPP) return added.error();
      result.looked_for |= bit;
      if (added && *added) result.seen |= bit;
    }
    return result;
  }

  /// Appends the file as it was at the previous read; nothing if it was not there.
  Result<void> add_last(std::string_view file) {
    const std::size_t directory_size = path_.size();
    if (!path_.append_component(file)) return {};
    const auto known = last_.find(below_root());
    auto result = known ? bundle_.add(below_root(), *known) : Result<void>();
    path_.truncate(directory_size);
    return result;
  }

  KernelView& view_;
  const ControlGroupBounds& bounds_;
  ControlGroupState& state_;
  Buffer& bundle_bytes_;
  const GroupUsageFiles& files_;
  bool is_version_1_;
  bool has_more_;
  FileBundleWriter bundle_;
  bool may_be_old_;     // whether the previous content of files may be repeated
  BaseDirectory near_;  // the root
  GroupSurvey survey_;
  FixedPath path_;  // of the visited group
  std::size_t root_size_;
  std::uint32_t tight_count_ = 0;
  SlowFiles slow_;  // slow files of all groups that still exist
  // Of the visited group:
  KnownGroup* group_ = nullptr;
  LastFiles last_;
  bool is_turn_ = true;  // all its files are read
  bool is_turn_of_rare_files_ = true;
  bool has_limit_ = false;
  std::uint64_t least_limit_ = kNoGroupLimit;
  bool is_usage_same_ = false;  // as at the previous read
  bool is_asleep_ = false;
  bool wakes_ = false;  // it slept at the previous read
  std::uint32_t turn_ = 0;
};

}  // namespace

namespace {

/// Frees the storage that hundreds of groups needed, once they are gone.
void release_peak(ControlGroupState& state, Buffer& bundle) {
  if (!state.peak.is_over(state.last.size())) return;
  shrink(state.last);
  for (Buffer* const scratch : {&bundle, &state.file}) *scratch = Buffer();
  state.survey = GroupSurveyState();
}

}  // namespace

Result<void> read_control_groups(KernelView& view, const ControlGroupBounds& bounds, ControlGroupState& state,
                                 Buffer& bundle) {
  ++state.reads;
  state.has_limits = false;
  bundle.swap(state.last);
  release_peak(state, bundle);
  look_for_kills(view, state);
  if (!state.hierarchy.root.empty()) {
    Walk walk(view, bounds, state, bundle);
    auto result = walk.run();
    if (result ? walk.has_seen_any() : result.error().code != ErrorCode::kNotPresent) return result;
  }
  // First read, or no groups are left, perhaps because they were mounted elsewhere.
  state.hierarchy.root.truncate(0);
  state.survey = GroupSurveyState();
  bundle.clear();
  if (auto result = find_hierarchy(view, state.hierarchy, state.file, state.survey.directories); !result) return result;
  return Walk(view, bounds, state, bundle).run();
}

}  // namespace memstat
