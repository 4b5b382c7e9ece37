// SPDX-License-Identifier: BSD-2-Clause
// Control groups of Linux, from the memory controller's files in each group's directory below /sys/fs/cgroup.
//
//   version 2 (mm/memcontrol.c)          version 1 (mm/memcontrol-v1.c, before 6.11 mm/memcontrol.c)
//   memory.current  N                    memory.usage_in_bytes            N
//   memory.max      N, or "max"          memory.limit_in_bytes            N, about 2^63 for none
//   memory.high     N, or "max"          memory.failcnt                   N
//   memory.events   "KEY N" a line       memory.oom_control               "KEY N" a line; oom_kill since 4.13
//   memory.stat     "KEY N" a line       memory.stat                      "total_KEY N" a line with the groups below
//   memory.peak     N (5.19)             memory.max_usage_in_bytes        N
//   pids.current    N                    memory.kmem.usage_in_bytes       N
//   pids.max        N, or "max"          memory.kmem.tcp.usage_in_bytes   N
//   memory.pressure core/parse/pressure.h  memory.kmem.failcnt            N
//   memory.swap.current  N               memory.memsw.usage_in_bytes      N, of memory and swap together
//   memory.swap.max N, or "max"          memory.memsw.limit_in_bytes      N
//   memory.swap.events   "KEY N" a line  memory.memsw.failcnt             N
//   memory.events.local  "KEY N" a line, of the group without those below it (5.2)
//   cgroup.stat     "KEY N" a line
//   memory.min      N, or "max"
//
// Files of the controller pids (kernel/cgroup/pids.c) are read where it is in the same hierarchy: in version 2 only.
// Unknown keys and files of newer kernels are skipped, and the figures of missing ones are omitted. A group is identified
// by its path below the root of the hierarchy; its name may contain any byte except NUL, '/' and newline.
// core/collect/cgroup_walk.h reads the files. The parser uses only the bundle.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/collect/cgroup_walk.h"
#include "core/collect/file_bundle.h"
#include "core/model/group_metrics.h"
#include "core/model/headroom.h"
#include "core/parse/group_path.h"
#include "core/parse/key_values.h"
#include "core/parse/memory_amounts.h"
#include "core/parse/pressure.h"
#include "core/source.h"

namespace memstat::sources::linux_memcg {
namespace {

constexpr std::string_view kDirectory = kControlGroupDirectory;
constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kZoneinfo = "/proc/zoneinfo";
enum Part : std::size_t { kBundlePart, kMeminfoPart, kZoneinfoPart };  // indexes of RawBytes::parts

enum Option : std::size_t { kDepth, kNames, kTop, kParts };
constexpr SourceOption kOptions[] = {
    {.name = "depth",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 32,
     .most = 32,
     .section = "groups",
     .help = "maximum depth of groups below the root, a group's figures include those of deeper groups"},
    {.name = "names",
     .kind = SourceOption::Kind::kPattern,
     .default_pattern = ".*",
     .section = "groups",
     .help = "groups that are read, a regular expression for the whole path, such as /system[.]slice/.*"},
    {.name = "top",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 256,
     .least = 1,
     .most = 16384,
     .section = "groups",
     .help =
         "maximum number of groups that are listed, those that matter most: after a kill, near a limit, large or growing"},
    {.name = "parts",
     .kind = SourceOption::Kind::kSwitch,
     .default_number = 1,
     .most = 1,
     .help = "whether memory.stat is read, for which the kernel adds up the counts of its CPUs"},
};

struct State final : ReaderState {
  ControlGroupState walk;
};

std::uint64_t number_of(const ReaderState& state, Option option) {
  return option < state.options.size() ? state.options[option].number : kOptions[option].default_number;
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  const ControlGroupBounds bounds{
      .depth = number_of(state, kDepth),
      .most_groups = number_of(state, kTop),
      .has_parts = number_of(state, kParts) != 0,
      .matches = kNames < state.options.size() ? &state.options[kNames].matches : nullptr,
  };
  for (const Part part : {kMeminfoPart, kZoneinfoPart}) raw.parts[part].clear();
  auto result = read_control_groups(view, bounds, state.walk, raw.parts[kBundlePart]);
  if (!result || !state.walk.has_limits) return result;
  // linux_memory reads these in the same poll, so that they cost a copy. Without them, headrooms are uncertain.
  static_cast<void>(view.read_file(kMeminfo, raw.parts[kMeminfoPart]));
  static_cast<void>(view.read_file(kZoneinfo, raw.parts[kZoneinfoPart]));
  return {};
}

/// A key of memory.stat: a part of a group's memory, or a kind of refaults. In the file's order.
struct PartKey {
  std::string_view key;
  std::string_view part;
  const SystemMetric* metric = &kMemcgPartBytes;  // nullptr: only part of a sum
  bool is_clean = false;                          // reclaim gives it back
};
constexpr std::array<PartKey, 19> kParts2 = {{{"anon", "anon"},
                                              {"file", "file"},
                                              {"kernel", "kernel"},
                                              {"kernel_stack", "kernel_stack"},
                                              {"pagetables", "pagetables"},
                                              {"sec_pagetables", "sec_pagetables"},
                                              {"percpu", "percpu"},
                                              {"sock", "sock"},
                                              {"vmalloc", "vmalloc"},
                                              {"shmem", "shmem"},
                                              {"file_dirty", "file_dirty"},
                                              {"swapcached", "", nullptr, true},
                                              {"inactive_file", "inactive_file", &kMemcgPartBytes, true},
                                              {"active_file", "", nullptr, true},
                                              {"slab_reclaimable", "slab_reclaimable"},
                                              {"slab_unreclaimable", "slab_unreclaimable"},
                                              {"slab", "slab"},
                                              {"workingset_refault_anon", "anon", &kMemcgRefaults},
                                              {"workingset_refault_file", "file", &kMemcgRefaults}}};
constexpr std::array<PartKey, 8> kParts1 = {{{"total_cache", "file"},
                                             {"total_rss", "anon"},
                                             {"total_shmem", "shmem"},
                                             {"total_dirty", "file_dirty"},
                                             {"total_workingset_refault_anon", "anon", &kMemcgRefaults},
                                             {"total_workingset_refault_file", "file", &kMemcgRefaults},
                                             {"total_inactive_file", "inactive_file", &kMemcgPartBytes, true},
                                             {"total_active_file", "", nullptr, true}}};

class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging)
      : raw_(raw), bundle_(raw.parts[kBundlePart].view()), staging_(staging), amounts_(staging.notes()) {}

  Result<void> run(const GroupsLeftOut& left_out) {
    left_out_ = left_out;
    FileBundleReader records(bundle_);
    std::string_view name;
    std::string_view content;
    if (!records.next(root_, content)) return cut_short();
    if (!root_.starts_with(kDirectory) || !(root_.size() == kDirectory.size() || root_[kDirectory.size()] == '/'))
      return bundle_error("the data of the groups has no beginning");
    is_version_1_ = content.starts_with('1');
    while (records.next(name, content)) {
      if (name.empty()) {
        end_group();
        return finish(records);
      }
      if (name.front() != '/') return bundle_error("the data of the groups has a file outside any group");
      const std::size_t slash = name.rfind('/');
      begin_group(name.substr(0, slash));
      name_ = name;
      content_ = content;
      if (type_ == nullptr) continue;
      if (auto taken = take_file(name.substr(slash + 1)); !taken) return taken;
    }
    return cut_short();
  }

 private:
  [[nodiscard]] Error bundle_error(std::string_view what) const { return data_error(kDirectory, bundle_.size(), what); }
  [[nodiscard]] Error cut_short() const { return bundle_error("the data of the groups has no end"); }
  /// An error at `offset` in the current file.
  [[nodiscard]] Error file_error(std::size_t offset, std::string_view what) const {
    std::string path(root_);
    path += name_;
    return data_error(make_label_text(path.substr(0, StagedStatistics::kMaxLabelSize)), offset, what);
  }

  Result<void> finish(FileBundleReader& records) {
    std::string_view name;
    std::string_view content;
    if (records.next(name, content) || records.is_cut()) {
      return bundle_error("the data of the groups continues after its end");
    }
    staging_.statistics().add(kMemcgGroupsLeftOut, left_out_.groups);
    staging_.statistics().add(kMemcgBytesLeftOut, left_out_.bytes);
    if (has_limits_) add_headrooms();
    return {};
  }

  void add_headrooms() {
    const auto machine = read_machine_amounts(raw_.parts[kMeminfoPart].view(),
                                              read_zone_amounts(raw_.parts[kZoneinfoPart].view()), raw_.page_size);
    MachineRoom room;
    if (machine) {
      // Nobody reads here whether swap is on zram, so it may take memory of the machine.
      const std::uint64_t possible = saturating_sum(saturating_sum(machine->sure, machine->kernel), machine->swap_free);
      room.room = {.sure = machine->sure, .possible = possible};
      room.swap = {.sure = machine->has_zswap ? 0 : machine->swap_free, .possible = machine->swap_free};
    }
    const HeadroomDoubt doubt = machine ? HeadroomDoubt::kNone : HeadroomDoubt::kNotRead;
    stage_headrooms(amounts_, room, is_namespaced_ ? HeadroomDoubt::kHidden : doubt, staging_);
  }

  /// The records of a group are contiguous.
  void begin_group(std::string_view group) {
    if (has_group_ && group == group_) return;
    end_group();
    has_group_ = true;
    group_ = group;
    type_ = nullptr;
    taken_ = 0;
    const std::string_view name = group.empty() ? "/" : group;
    const std::size_t size = is_valid_label_text(name) ? name.size() : make_label_text(name).size();
    const std::size_t types = staging_.types().size();
    if (size <= StagedStatistics::kMaxLabelSize) type_ = &staging_.merge(name);
    // Names may become equal after invalid UTF-8 is replaced or long names are truncated; keep the first one.
    if (staging_.types().size() == types) {
      type_ = nullptr;
      ++left_out_.groups;
      return;
    }
    amounts_.add();
    add_container(name);
    if (is_version_1_) note(GroupTable::kSwapUsage, 0);
    // The root of version 2 has no figures, unless it is a group of a container's host.
    if (name == "/" && !is_version_1_) is_namespaced_ = true;
  }
  void add_container(std::string_view name) {
    const GroupPath path = read_group_path(name);
    if (path.pod_uid.empty() && path.container.empty()) return;
    staging_.statistics().add(kMemcgContainer, 1, {type_->name, path.pod_uid.view(), path.container, path.runtime});
  }
  /// Sets an amount of the current group's headroom.
  void note(GroupTable::Word word, std::uint64_t amount) {
    if (word < GroupTable::kInputs) amounts_.at(amounts_.size() - 1, word) = amount;
    if (word == GroupTable::kLimit || word == GroupTable::kHigh || word == GroupTable::kBothMax) {
      has_limits_ = true;
      is_namespaced_ = is_namespaced_ || type_->name == "/";
    }
  }

  /// Adds the totals for which version 1 needs several files.
  void end_group() {
    if (type_ != nullptr && kernel_) {
      staging_.statistics().add(kMemcgKernelBytes, saturating_sum(*kernel_, sockets_.value_or(0)), {type_->name});
    }
    kernel_ = sockets_ = std::nullopt;
  }

  Result<void> take_file(std::string_view file) {
    struct KnownFile {
      std::string_view name;
      bool is_version_1;
      Result<void> (*take)(Parser& parser);
    };
    static constexpr KnownFile kKnownFiles[] = {
        {"memory.current", false, [](Parser& parser) { return parser.take_figure(Field::kBytes); }},
        {"memory.max", false, [](Parser& parser) { return parser.take_limit(); }},
        {"memory.high", false, [](Parser& parser) { return parser.take_bound(kMemcgHighBytes, GroupTable::kHigh); }},
        {"memory.events", false, [](Parser& parser) { return parser.take_events(); }},
        {"memory.peak", false, [](Parser& parser) { return parser.take_number(kMemcgPeakBytes); }},
        {"memory.stat", false, [](Parser& parser) { return parser.take_parts(kParts2); }},
        {"pids.current", false, [](Parser& parser) { return parser.take_number(kMemcgTasks); }},
        {"pids.max", false, [](Parser& parser) { return parser.take_bound(kMemcgTasksLimit); }},
        {"memory.pressure", false, [](Parser& parser) { return parser.take_pressure(); }},
        {"memory.swap.current", false,
         [](Parser& parser) { return parser.take_number(kMemcgSwapBytes, GroupTable::kSwapUsage); }},
        {"memory.swap.max", false, [](Parser& parser) { return parser.take_bound(kMemcgSwapLimit, GroupTable::kSwapMax); }},
        {"memory.swap.events", false,
         [](Parser& parser) {
           return parser.take_counts<3>({"high", "max", "fail"}, kMemcgSwapEvents);
         }},
        {"memory.events.local", false,
         [](Parser& parser) {
           return parser.take_counts<6>({"low", "high", "max", "oom", "oom_kill", "oom_group_kill"}, kMemcgLocalEvents);
         }},
        {"cgroup.stat", false, [](Parser& parser) { return parser.take_dying(); }},
        {"memory.min", false, [](Parser& parser) { return parser.take_protection(); }},
        {"memory.usage_in_bytes", true, [](Parser& parser) { return parser.take_figure(Field::kBytes); }},
        {"memory.limit_in_bytes", true, [](Parser& parser) { return parser.take_limit(); }},
        {"memory.failcnt", true, [](Parser& parser) { return parser.take_hits(); }},
        {"memory.max_usage_in_bytes", true, [](Parser& parser) { return parser.take_number(kMemcgPeakBytes); }},
        {"memory.oom_control", true, [](Parser& parser) { return parser.take_kills(); }},
        {"memory.stat", true, [](Parser& parser) { return parser.take_parts(kParts1); }},
        {"memory.kmem.usage_in_bytes", true, [](Parser& parser) { return parser.take_part("kernel", parser.kernel_); }},
        {"memory.kmem.tcp.usage_in_bytes", true, [](Parser& parser) { return parser.take_part("sock", parser.sockets_); }},
        {"memory.kmem.failcnt", true, [](Parser& parser) { return parser.take_number(kMemcgKernelHits); }},
        {"memory.memsw.usage_in_bytes", true,
         [](Parser& parser) { return parser.take_number(kMemcgBothBytes, GroupTable::kBothUsage); }},
        {"memory.memsw.limit_in_bytes", true,
         [](Parser& parser) { return parser.take_bound(kMemcgBothLimit, GroupTable::kBothMax); }},
        {"memory.memsw.failcnt", true, [](Parser& parser) { return parser.take_both_hits(); }},
    };
    std::uint32_t bit = 1;
    for (const KnownFile& known : kKnownFiles) {
      if (known.name == file && known.is_version_1 == is_version_1_) {
        if ((taken_ & bit) != 0) return bundle_error("the data of the groups has a file twice");
        taken_ |= bit;
        return known.take(*this);
      }
      bit <<= 1U;
    }
    return {};
  }

  [[nodiscard]] std::optional<std::uint64_t> number() const { return parse_u64(trim(content_)); }
  [[nodiscard]] Error no_number() const { return file_error(0, "expected one number from 0 to 2^64 - 1"); }

  void set(Field field, std::uint64_t value) {
    type_->fields.add(field);
    type_->figures[field] = value;
  }
  void add_event(std::string_view event, std::uint64_t count) {
    staging_.statistics().add(kMemcgEvents, count, {type_->name, event});
  }
  void add_part(std::string_view part, std::uint64_t bytes) {
    staging_.statistics().add(kMemcgPartBytes, bytes, {type_->name, part});
  }

  Result<void> take_figure(Field field) {
    const auto value = number();
    if (!value) return no_number();
    set(field, *value);
    if (field == Field::kBytes) note(GroupTable::kUsage, *value);
    return {};
  }
  Result<void> take_hits() {
    auto taken = take_figure(Field::kSleeps);
    if (taken) add_event("max", type_->figures[Field::kSleeps]);
    return taken;
  }
  Result<void> take_part(std::string_view part, std::optional<std::uint64_t>& amount) {
    amount = number();
    if (!amount) return no_number();
    add_part(part, *amount);
    if (part == "kernel") note(GroupTable::kDoubtful, *amount);  // of version 1, which does not count reclaimable slabs
    return {};
  }
  /// The limit in the file; nothing if there is none.
  Result<std::optional<std::uint64_t>> bound() const {
    if (trim(content_) == "max") return std::optional<std::uint64_t>();
    const auto value = number();
    if (!value) return file_error(0, "expected \"max\" or one number from 0 to 2^64 - 1");
    return *value < kNoGroupLimit ? value : std::optional<std::uint64_t>();
  }
  Result<void> take_limit() {
    const auto limit = bound();
    if (!limit) return limit.error();
    if (!*limit) return {};
    set(Field::kBytesLimit, **limit);
    note(GroupTable::kLimit, **limit);
    return {};
  }
  Result<void> take_protection() {
    const auto least = bound();
    if (!least) return least.error();
    note(GroupTable::kMin, least->value_or(kNoGroupLimit));
    return {};
  }
  Result<void> take_bound(const SystemMetric& metric, GroupTable::Word word = GroupTable::kInputs) {
    const auto most = bound();
    if (!most) return most.error();
    if (!*most) return {};
    staging_.statistics().add(metric, **most, {type_->name});
    note(word, **most);
    return {};
  }
  Result<void> take_number(const SystemMetric& metric, GroupTable::Word word = GroupTable::kInputs) {
    const auto value = number();
    if (!value) return no_number();
    staging_.statistics().add(metric, *value, {type_->name});
    note(word, *value);
    return {};
  }
  Result<void> take_both_hits() {
    const auto hits = number();
    if (!hits) return no_number();
    staging_.statistics().add(kMemcgSwapEvents, *hits, {type_->name, "max"});
    return {};
  }
  Result<void> take_pressure() {
    Pressure pressure;
    if (const auto wrong = read_pressure(content_, pressure)) {
      return file_error(*wrong, "expected total= and a number of microseconds on a whole line");
    }
    const auto add = [this](const std::optional<std::uint64_t>& total, std::string_view kind) {
      if (!total) return;
      staging_.statistics().add_double(kMemcgPressure, static_cast<double>(*total) / 1e6, {type_->name, kind});
    };
    add(pressure.some, "some");
    add(pressure.full, "full");
    return {};
  }
  Result<void> take_dying() {
    std::array<KeyedNumber, 1> dying = {{{"nr_dying_descendants", {}}}};
    if (auto result = read_numbers(dying); !result) return result;
    if (dying[0].value) staging_.statistics().add(kMemcgDying, *dying[0].value, {type_->name});
    return {};
  }
  /// Adds counters under the kernel's own names.
  template <std::size_t N>
  Result<void> take_counts(const std::array<std::string_view, N>& keys, const SystemMetric& metric) {
    std::array<KeyedNumber, N> numbers;
    for (std::size_t i = 0; i < N; ++i) numbers[i].key = keys[i];
    if (auto result = read_numbers(numbers); !result) return result;
    for (const KeyedNumber& number : numbers) {
      if (number.value) staging_.statistics().add(metric, *number.value, {type_->name, number.key});
    }
    return {};
  }

  /// Reads the values of these keys from the current file.
  Result<void> read_numbers(std::span<KeyedNumber> numbers) const {
    const auto wrong = read_keyed_numbers(content_, numbers);
    return wrong ? file_error(*wrong, "expected a number from 0 to 2^64 - 1 after the word") : Result<void>();
  }

  Result<void> take_events() {
    std::array<KeyedNumber, 7> events = {{{"low", {}},
                                          {"high", {}},
                                          {"max", {}},
                                          {"oom", {}},
                                          {"oom_kill", {}},
                                          {"oom_group_kill", {}},
                                          {"sock_throttled", {}}}};
    if (auto result = read_numbers(events); !result) return result;
    for (const KeyedNumber& event : events) {
      if (event.value) add_event(event.key, *event.value);
    }
    const auto& [low, high, max, oom, oom_kill, oom_group_kill, sock_throttled] = events;
    if (high.value || max.value) {
      std::uint64_t waits = 0;
      if (__builtin_add_overflow(high.value.value_or(0), max.value.value_or(0), &waits)) {
        return file_error(0, "high and max together are more than 2^64 - 1");
      }
      set(Field::kSleeps, waits);
    }
    if (oom.value) set(Field::kFailures, *oom.value);
    return {};
  }

  Result<void> take_kills() {
    std::array<KeyedNumber, 2> kills = {{{"under_oom", {}}, {"oom_kill", {}}}};
    if (auto result = read_numbers(kills); !result) return result;
    if (kills[0].value) staging_.statistics().add(kMemcgOomWaiting, *kills[0].value, {type_->name});
    if (kills[1].value) {
      set(Field::kFailures, *kills[1].value);
      add_event("oom_kill", *kills[1].value);
    }
    return {};
  }

  template <std::size_t N>
  Result<void> take_parts(const std::array<PartKey, N>& parts) {
    std::array<KeyedNumber, N> numbers;
    for (std::size_t i = 0; i < N; ++i) numbers[i].key = parts[i].key;
    if (auto result = read_numbers(numbers); !result) return result;
    // The sum of the kinds of kernel memory. The key `kernel` is missing before Linux commit a8c49af3be5f ("memcg: add
    // per-memcg total kernel memory stat") (v5.18).
    std::optional<std::uint64_t> known_kinds;
    std::optional<std::uint64_t> clean;
    for (std::size_t i = 0; i < N; ++i) {
      if (!numbers[i].value) continue;
      if (parts[i].is_clean) clean = saturating_sum(clean.value_or(0), *numbers[i].value);
      if (parts[i].metric == nullptr) continue;
      staging_.statistics().add(*parts[i].metric, *numbers[i].value, {type_->name, parts[i].part});
      if (parts[i].metric != &kMemcgPartBytes) continue;
      take_kernel_memory(parts[i].part, *numbers[i].value, known_kinds);
    }
    if (!kernel_) kernel_ = known_kinds;
    if (clean) note(GroupTable::kClean, *clean);
    return {};
  }
  void take_kernel_memory(std::string_view part, std::uint64_t bytes, std::optional<std::uint64_t>& known_kinds) {
    constexpr std::array<std::string_view, 6> kKinds = {"kernel_stack", "pagetables", "sec_pagetables",
                                                        "percpu",       "vmalloc",    "slab"};
    if (part == "kernel") kernel_ = bytes;
    if (part == "sock") sockets_ = bytes;
    if (part == "anon") staging_.statistics().add(kMemcgAnonymousBytes, bytes, {type_->name});
    if (part == "slab_reclaimable") {
      staging_.statistics().add(kMemcgReclaimableBytes, bytes, {type_->name});
      note(GroupTable::kDoubtful, bytes);
    }
    if (std::find(kKinds.begin(), kKinds.end(), part) != kKinds.end()) {
      known_kinds = saturating_sum(known_kinds.value_or(0), bytes);
    }
  }

  const RawBytes& raw_;
  std::string_view bundle_;
  Staging& staging_;
  GroupTable amounts_;
  std::string_view root_;
  std::string_view group_;
  std::string_view name_;       // path of the current file, below the root
  std::string_view content_;    // content of the current file
  StagedType* type_ = nullptr;  // type of the current group; null: it is omitted
  std::uint32_t taken_ = 0;     // files of the current group, a bit each
  std::optional<std::uint64_t>
      kernel_;  // kernel memory of the current group, without sockets_, in bytes; empty: not reported
  std::optional<std::uint64_t> sockets_;  // socket memory of the current group, in bytes
  GroupsLeftOut left_out_;
  bool is_version_1_ = false;
  bool is_namespaced_ = false;  // groups above the root are hidden
  bool has_limits_ = false;
  bool has_group_ = false;
};

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  staging.reset({}, 0);
  return Parser(raw, staging).run(state.walk.left_out);
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = read(view, raw, state); !result) return result;
  for (const std::string_view file : {kGroupKillsFile, kMeminfo, kZoneinfo}) static_cast<void>(view.keep_open(file));
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "memory.current (v1: memory.usage_in_bytes)"},
    {Field::kBytesLimit, "memory.max (v1: memory.limit_in_bytes)"},
    {Field::kSleeps, "memory.events: high + max (v1: memory.failcnt)"},
    {Field::kFailures, "memory.events: oom (v1: oom_kill of memory.oom_control)"},
    {kMemcgPartBytes, "memory.stat (v1: also memory.kmem.usage_in_bytes and memory.kmem.tcp.usage_in_bytes)"},
    {kMemcgRefaults, "memory.stat: workingset_refault_anon, workingset_refault_file (v1: of total_*)"},
    {kMemcgKernelBytes,
     "memory.stat: kernel, before 5.18 kernel_stack + pagetables + sec_pagetables + percpu + vmalloc + slab, + sock (v1: "
     "memory.kmem.usage_in_bytes + memory.kmem.tcp.usage_in_bytes)"},
    {kMemcgReclaimableBytes, "memory.stat: slab_reclaimable (v1: none)"},
    {kMemcgAnonymousBytes, "memory.stat: anon (v1: total_rss)"},
    {kMemcgEvents, "memory.events (v1: memory.failcnt as max, oom_kill of memory.oom_control)"},
    {kMemcgHighBytes, "memory.high (v1: none)"},
    {kMemcgPeakBytes, "memory.peak (v1: memory.max_usage_in_bytes)"},
    {kMemcgHeadroom,
     "least of the group, those above it and the machine (memstat_memory_headroom_bytes): memory.max or memory.high - "
     "memory.current + inactive_file, active_file, swapcached and half of slab_reclaimable of memory.stat - cache within "
     "memory.min of other groups + swap left (v1: memory.limit_in_bytes, half of memory.kmem.usage_in_bytes)"},
    {kMemcgHeadroomUncertain, "1 if half is not near enough, or a group above cannot be read"},
    {kMemcgHeadroomSetBy, "the least of these"},
    {kMemcgTasks, "pids.current (v1: none)"},
    {kMemcgTasksLimit, "pids.max (v1: none)"},
    {kMemcgLocalEvents, "memory.events.local (v1: none)"},
    {kMemcgPressure, "memory.pressure: total (v1: none)"},
    {kMemcgSwapBytes, "memory.swap.current (v1: none)"},
    {kMemcgSwapLimit, "memory.swap.max (v1: none)"},
    {kMemcgSwapEvents, "memory.swap.events (v1: memory.memsw.failcnt as max)"},
    {kMemcgBothBytes, "v1: memory.memsw.usage_in_bytes"},
    {kMemcgBothLimit, "v1: memory.memsw.limit_in_bytes"},
    {kMemcgDying, "cgroup.stat: nr_dying_descendants (v1: none)"},
    {kMemcgOomWaiting, "v1: under_oom of memory.oom_control"},
    {kMemcgKernelHits, "v1: memory.kmem.failcnt"},
    {kMemcgContainer, "the path"},
    {kMemcgGroupsLeftOut, "groups beyond the key groups.top, or unreadable"},
    {kMemcgBytesLeftOut, "memory.current (v1: memory.usage_in_bytes) of those, without groups below another of them"},
};

// The first directory contains the second, where version 1 is usually mounted. The sandbox looks up its permission from a
// file towards the root, which is faster with both.
constexpr std::string_view kReopened[] = {kDirectory, "/sys/fs/cgroup/memory"};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_memcg",
    .origin = kDirectory,
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kMemcg,
    .is_roster = true,
    .origins = kOrigins,
    .options = kOptions,
    .max_files = 3,
    .reopened_directories = kReopened,
    .notes =
        "a type is a control group, named by its path, and includes the groups below it; limit_bytes is the group's own "
        "hard limit (memory.high is memstat_memcg_high_bytes), sleeps count hits of a limit, failures count that it ran "
        "out of memory (v1: processes killed in the group itself); hierarchies must be below /sys/fs/cgroup; groups of all "
        "levels are known, new ones within two reads; those that matter most (key groups.top) are read whole, and at most "
        "512 of the others are asked for their usage at each read, in turn; new limits are seen within four reads; "
        "pressure, swap, local events, dying descendants, parts and (v1) kernel memory and kills are read at every fourth "
        "read (parts of up to 16 nearly full groups at each), parts of a group without a limit and (v1) limits and hits at "
        "every eighth, memory.min at every 64th; a group without a limit whose usage was the same for eight reads is read "
        "at every sixteenth, its usage at every second; a counted kill is read at once; while linux_slab_bpf is up, its "
        "pass "
        "reads the usage, limits and (v1) hits of the first 256 groups; with hundreds of CPUs memory.stat (option parts) "
        "can take milliseconds",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_memcg
