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
#include "core/parse/key_values.h"

namespace memstat {
namespace {

constexpr char kNul = '\0';
constexpr std::string_view kEnd(&kNul, 1);

/// Directories are listed at every second read: removed groups are noticed because their files are missing. While the set of
/// groups is known to be the same, they are listed at every kReadsOfSleepers-th read, because version 1 permits renaming.
constexpr std::uint32_t kReadsOfListings = 2;

/// Maximum number of directories visited in one read, whatever the bounds are: a huge tree must not delay the other sources.
constexpr std::size_t kMaxVisits = 16384;

constexpr std::string_view kPresence2 = "memory.current";
constexpr std::string_view kPresence1 = "memory.usage_in_bytes";
constexpr std::string_view kStat = "memory.stat";
constexpr std::string_view kEvents2 = "memory.events";
constexpr std::array<std::string_view, 3> kFiles2 = {"memory.max", "memory.high", kEvents2};
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
/// Not a file, but one byte: the number of reads in which the group's usage was the same.
constexpr std::string_view kStillReads = "still";
constexpr std::string_view kLimit1 = "memory.limit_in_bytes";
constexpr std::string_view kHits1 = "memory.failcnt";
constexpr std::string_view kKills1 = "memory.oom_control";
// Since Linux commit 8e20d4b33266 ("mm/memcontrol: export memcg->watermark via sysfs for v2 memcg") (v5.19).
constexpr std::string_view kPeak2 = "memory.peak";
constexpr std::string_view kPeak1 = "memory.max_usage_in_bytes";
constexpr std::string_view kKernel1 = "memory.kmem.usage_in_bytes";
constexpr std::string_view kSockets1 = "memory.kmem.tcp.usage_in_bytes";
constexpr std::array<std::string_view, 3> kFiles1 = {kLimit1, kHits1, kKills1};
// Missing on kernels built without accounting of kernel memory (CONFIG_MEMCG_KMEM, an option until 6.10).
constexpr std::array<std::string_view, 2> kKernelFiles1 = {kKernel1, kSockets1};

/// Whether the file exists. Returns errors other than kNotPresent.
Result<bool> is_there(KernelView& view, std::string_view directory, std::string_view file, Buffer& content) {
  FixedPath path;
  if (!path.assign(directory) || !path.append_component(file)) return false;
  const Result<void> result = view.read_file(path.view(), content);
  if (!result && result.error().code != ErrorCode::kNotPresent) return result.error();
  return result.has_value();
}

bool has_word(std::string_view text, std::string_view wanted) {
  std::string_view word;
  for (text = trim(text); next_word(text, word);) {
    if (word == wanted) return true;
  }
  return false;
}

Result<void> found(KernelView& view, std::string_view root, bool is_version_1, ControlGroupState& state) {
  ControlGroupHierarchy& hierarchy = state.hierarchy;
  const auto has_more = is_there(view, root, is_version_1 ? kKernelFiles1[0] : kPresence2, state.file);
  if (!has_more) return has_more.error();
  if (!hierarchy.root.assign(root)) return system_error(root, ENAMETOOLONG);
  hierarchy.is_version_1 = is_version_1;
  hierarchy.has_more = *has_more;
  return {};
}

/// The memory controller belongs to one hierarchy at a time, which may be mounted in several places.
Result<void> find_hierarchy(KernelView& view, ControlGroupState& state) {
  Buffer& scratch = state.file;
  constexpr std::string_view kUsual1 = "/sys/fs/cgroup/memory";
  auto is_it = is_there(view, kUsual1, kPresence1, scratch);
  if (!is_it) return is_it.error();
  if (*is_it) return found(view, kUsual1, true, state);
  // The second directory is where systemd mounts version 2 in addition to version 1 ("hybrid").
  for (const std::string_view root : {kControlGroupDirectory, std::string_view("/sys/fs/cgroup/unified")}) {
    is_it = is_there(view, root, "cgroup.controllers", scratch);
    if (!is_it) return is_it.error();
    if (*is_it && has_word(scratch.view(), "memory")) {
      state.hierarchy.has_tasks = has_word(scratch.view(), "pids");
      return found(view, root, false, state);
    }
  }
  // Either version 1 together with other controllers ("cpu,memory"), or a capture of version 2 without the root's files.
  if (auto listed = view.list_directories(kControlGroupDirectory, state.directories); !listed) return listed;
  std::string_view rest = state.directories.view();
  for (std::string_view name; next_name(rest, name);) {
    FixedPath directory;
    if (!directory.assign(kControlGroupDirectory) || !directory.append_component(name)) continue;
    is_it = is_there(view, directory.view(), kPresence1, scratch);
    if (!is_it) return is_it.error();
    if (*is_it) return found(view, directory.view(), true, state);
    is_it = is_there(view, directory.view(), kPresence2, scratch);
    if (!is_it) return is_it.error();
    if (*is_it) return found(view, kControlGroupDirectory, false, state);
  }
  return system_error(kControlGroupDirectory, ENOENT,
                      "no control group with a memory controller is below this directory; "
                      "hierarchies mounted elsewhere are not read");
}

/// Whether groups below this one (version 2) can have a memory controller. Captures may lack the file.
Result<bool> has_memory_below(KernelView& view, std::string_view group, Buffer& scratch) {
  const auto has_file = is_there(view, group, "cgroup.subtree_control", scratch);
  if (!has_file && has_file.error().code != ErrorCode::kPermission) return has_file.error();
  return !has_file || !*has_file || has_word(scratch.view(), "memory");
}

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

/// Finds records of the previous bundle, in the order in which they were added.
class LastFiles {
 public:
  explicit LastFiles(std::string_view bundle) : next_(bundle) {}

  /// Returns nothing for a file that was not there, and gives up when more than kMaxPassed files have gone since.
  std::optional<std::string_view> find(std::string_view wanted) {
    constexpr int kMaxPassed = 64;
    FileBundleReader ahead = next_;
    std::string_view name;
    std::string_view content;
    for (int passed = 0; passed < kMaxPassed && ahead.next(name, content); ++passed) {
      if (name != wanted) continue;
      next_ = ahead;
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
  std::array<KeyedNumber, 1> kills = {{{"oom_kill", {}}}};
  const bool is_read = view.read_file(kGroupKillsFile, state.file) && !read_keyed_numbers(state.file.view(), kills);
  const bool is_same = is_read && kills[0].value && kills[0].value == state.kills;
  state.are_kills_new = !is_same || !state.were_kills_same;
  state.were_kills_same = is_same;
  state.kills = kills[0].value;
}

/// Reads the groups of one hierarchy into the bundle, level by level.
class Walk {
 public:
  Walk(KernelView& view, const ControlGroupBounds& bounds, ControlGroupState& state, Buffer& bundle)
      : view_(view),
        bounds_(bounds),
        state_(state),
        bundle_bytes_(bundle),
        is_version_1_(state.hierarchy.is_version_1),
        has_more_(state.hierarchy.has_more),
        bundle_(bundle, state.file),
        may_be_old_(may_reuse(view) && !state.last.empty()),
        set_(view.group_generation()),
        lists_(is_listing_due()),
        last_(state.last.view()),
        near_(view.open_base(state.hierarchy.root.view())),
        root_size_(state.hierarchy.root.size()) {
    (void)path_.assign(state.hierarchy.root.view());  // fits: it comes from a FixedPath
  }

  Result<void> run() {
    auto result = read_groups();
    if (!result) state_.queue.clear();
    return result;
  }
  /// Whether there were any groups, selected or not.
  [[nodiscard]] bool has_seen_any() const { return has_seen_any_; }

 private:
  enum class Outcome : std::uint8_t { kRead, kNone, kRefused };
  /// A bit for each slow file.
  struct SlowFiles {
    std::uint32_t looked_for = 0;
    std::uint32_t seen = 0;
  };

  Result<void> read_groups() {
    if (auto added = bundle_.add(path_.view(), is_version_1_ ? "1\n" : "2\n"); !added) return added;
    Buffer& queue = state_.queue;
    std::size_t next = 0;
    if (lists_) {
      state_.listed_set = set_ == state_.set ? set_ : 0;  // a new group's directory may not be there yet
      state_.unlisted = 0;
      queue.assign(kEnd);  // the root
    }
    state_.set = set_;
    while (next < queue.size()) {
      const std::string_view rest = queue.view().substr(next);
      const std::string_view group = rest.substr(0, rest.find('\0'));
      next += group.size() + 1;
      path_.truncate(root_size_);
      if (!path_.append(group)) {  // longer than a path can be
        ++left_out_;
      } else if (auto visited = visit(); !visited) {
        return visited;
      }
    }
    // Only if all groups were read: the root, for example, lacks files that the others have.
    if (!may_be_old_) state_.hierarchy.absent |= slow_.looked_for & ~slow_.seen;
    return bundle_.add("", std::to_string(left_out_ + state_.unlisted) + "\n");  // short enough to need no allocation
  }

  [[nodiscard]] bool is_listing_due() const {
    const bool is_same = set_ != 0 && set_ == state_.listed_set;
    return state_.queue.empty() || is_due(state_.reads, is_same ? kReadsOfSleepers : kReadsOfListings);
  }

  /// Whether to read files that could be repeated from the previous read: at every `each`-th turn.
  [[nodiscard]] bool is_due(std::uint32_t turn, std::uint32_t each) const { return !may_be_old_ || turn % each == 0; }

  /// The part of path_ below the root: a group, "" for the root itself, or a file of a group.
  [[nodiscard]] std::string_view below_root() const { return path_.view().substr(root_size_); }
  [[nodiscard]] bool is_root() const { return path_.size() == root_size_; }

  [[nodiscard]] bool is_wanted() const {
    if (bounds_.matches == nullptr || !*bounds_.matches) return true;
    return (*bounds_.matches)(is_root() ? "/" : below_root());
  }

  Result<void> visit() {
    bool has_groups_below = true;
    if (!is_wanted()) {
      has_seen_any_ = true;
    } else if (group_count_ >= bounds_.most_groups) {
      ++left_out_;
      return {};
    } else {
      const auto outcome = read_group();
      if (!outcome) return outcome.error();
      has_seen_any_ = has_seen_any_ || *outcome != Outcome::kNone;
      group_count_ += *outcome == Outcome::kRead ? 1 : 0;
      left_out_ += *outcome == Outcome::kRefused ? 1 : 0;
      // A group without a memory controller has none below it either. The root of version 2 has one, but no figures.
      has_groups_below = *outcome == Outcome::kRead || is_root();
    }
    const std::string_view group = below_root();
    const auto depth = static_cast<std::uint64_t>(std::count(group.begin(), group.end(), '/'));
    return lists_ && has_groups_below && depth < bounds_.depth ? queue_groups_below() : Result<void>();
  }

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
    if (is_usage_same_ || usage_ < least_limit_ / 10 * 9 || tight_count_ >= kMaxTight) return false;
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
    if (file == kPresence1 || file == kPresence2) {
      usage_ = parse_u64(trim(content)).value_or(0);
      note_usage(result && last && content == *last);
    }
    if (result) return true;
    is_refused = result.error().code == ErrorCode::kPermission;
    if (is_refused || result.error().code == ErrorCode::kNotPresent) return false;
    return result.error();
  }

  void note_bound(std::string_view content) {
    if (!is_bound(content)) return;
    has_limit_ = true;
    least_limit_ = std::min(least_limit_, parse_u64(trim(content)).value_or(kNoGroupLimit));
  }

  void note_usage(bool is_same) {
    is_usage_same_ = is_same;
    still_reads_ = is_same ? std::min(still_reads_ + 1, kReadsBeforeSleep) : 0;
    wakes_ = is_asleep_ && !is_same;
    is_asleep_ = is_asleep_ && is_same;
    is_turn_ = wakes_ || is_due(turn_, is_asleep_ ? kReadsOfSleepers : kSeldomReads);
  }

  /// Restores the group's state from the previous read. Repeats its files and returns true if none of them is read now.
  Result<bool> repeat_sleeper() {
    const std::string_view group = below_root();
    const std::size_t size = path_.size();
    if (!may_be_old_ || !path_.append_component(kStillReads)) return false;
    const auto last = last_.find(below_root());
    still_reads_ = last && last->size() == 1 ? static_cast<unsigned char>(last->front()) : 0;
    is_asleep_ = still_reads_ >= kReadsBeforeSleep && !state_.are_kills_new;
    const char byte = static_cast<char>(still_reads_);
    auto added = bundle_.add(below_root(), std::string_view(&byte, 1));
    path_.truncate(size);
    if (!added) return added.error();
    if (!is_asleep_ || is_due(turn_, kReadsOfSleepersUsage)) return false;
    std::string_view name;
    std::string_view content;
    while (last_.next_of(group, name, content)) {
      if (added = bundle_.add(name, content); !added) return added.error();
    }
    return true;
  }

  Result<Outcome> read_group() {
    if (is_root() && !is_version_1_ && !has_more_) return Outcome::kNone;
    const std::size_t begin = bundle_bytes_.size();
    bool is_refused = false;
    turn_ = state_.reads + turn_of(below_root());
    is_turn_of_rare_files_ = is_due(turn_, kReadsOfRareFiles);
    has_limit_ = is_asleep_ = false;
    least_limit_ = kNoGroupLimit;
    still_reads_ = 0;
    const auto is_repeated = repeat_sleeper();
    if (!is_repeated) return is_repeated.error();
    if (*is_repeated) return Outcome::kRead;
    const std::size_t head_end = bundle_bytes_.size();
    const std::string_view presence = is_version_1_ ? kPresence1 : kPresence2;
    const auto is_present = add_file(presence, is_refused);
    if (!is_present) return is_present.error();
    if (!*is_present) {
      bundle_bytes_.resize(begin);
      return is_refused ? Outcome::kRefused : Outcome::kNone;
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
    if (head_end != begin) bundle_bytes_.data()[head_end - 1] = static_cast<char>(has_limit_ ? 0 : still_reads_);
    if (!is_complete) return drop_if_removed(presence, begin);
    slow_.looked_for |= slow.looked_for;
    slow_.seen |= slow.seen;
    return Outcome::kRead;
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
  Result<Outcome> drop_if_removed(std::string_view presence, std::size_t begin) {
    const auto is_still_there = is_there(view_, path_.view(), presence, state_.file);
    if (is_still_there && *is_still_there) return Outcome::kRead;
    bundle_bytes_.resize(begin);
    if (is_still_there) return Outcome::kNone;
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

  Result<void> queue_groups_below() {
    Buffer& directories = state_.directories;
    if (auto listed = view_.list_directories(path_.view(), directories); !listed) {
      const bool is_refused = listed.error().code == ErrorCode::kPermission;
      if (is_root() || (!is_refused && listed.error().code != ErrorCode::kNotPresent)) return listed;
      state_.unlisted += is_refused ? 1 : 0;  // the number of groups below is unknown
      return {};
    }
    if (directories.empty()) return {};
    if (!is_version_1_) {
      const auto has_memory = has_memory_below(view_, path_.view(), state_.file);
      if (!has_memory) return has_memory.error();
      if (!*has_memory) return {};
    }
    // Sorted, so that the first groups do not depend on the kernel's order.
    std::vector<std::string_view>& names = state_.names;
    names.clear();
    std::string_view rest = directories.view();
    for (std::string_view name; next_name(rest, name);) names.push_back(name);
    std::sort(names.begin(), names.end());
    Buffer& queue = state_.queue;
    const std::size_t queued = std::min(names.size(), kMaxVisits - visit_count_);
    visit_count_ += queued;
    state_.unlisted += names.size() - queued;
    for (std::size_t i = 0; i < queued; ++i) {
      queue.append(below_root());
      queue.append("/");
      queue.append(names[i]);
      queue.append(kEnd);
    }
    return {};
  }

  KernelView& view_;
  const ControlGroupBounds& bounds_;
  ControlGroupState& state_;
  Buffer& bundle_bytes_;
  bool is_version_1_;
  bool has_more_;
  FileBundleWriter bundle_;
  bool may_be_old_;  // whether the previous content of files may be repeated
  std::uint64_t set_;
  bool lists_;  // whether directories are listed; otherwise the groups are those of the previous read
  LastFiles last_;
  FixedPath path_;      // of the visited group
  BaseDirectory near_;  // the root
  std::size_t root_size_;
  std::uint64_t group_count_ = 0;
  std::uint64_t left_out_ = 0;
  std::size_t visit_count_ = 0;
  std::uint32_t tight_count_ = 0;
  bool has_seen_any_ = false;
  SlowFiles slow_;  // slow files of all groups that still exist
  // Of the visited group:
  bool is_turn_ = true;  // all its files are read
  bool is_turn_of_rare_files_ = true;
  bool has_limit_ = false;
  std::uint64_t least_limit_ = kNoGroupLimit;
  std::uint64_t usage_ = 0;
  bool is_usage_same_ = false;  // as at the previous read
  bool is_asleep_ = false;
  bool wakes_ = false;  // it slept at the previous read
  std::uint32_t turn_ = 0;
  std::uint32_t still_reads_ = 0;  // number of reads in which its usage was unchanged
};

}  // namespace

namespace {

/// Frees the storage that hundreds of groups needed, once they are gone.
void release_peak(ControlGroupState& state, Buffer& bundle) {
  if (!state.peak.is_over(state.last.size())) return;
  for (Buffer* const kept : {&state.last, &state.queue}) shrink(*kept);
  for (Buffer* const scratch : {&bundle, &state.file, &state.directories}) *scratch = Buffer();
  state.names = std::vector<std::string_view>();
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
  state.queue.clear();
  bundle.clear();
  if (auto result = find_hierarchy(view, state); !result) return result;
  return Walk(view, bounds, state, bundle).run();
}

}  // namespace memstat
