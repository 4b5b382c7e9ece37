// SPDX-License-Identifier: BSD-2-Clause
// Memory bandwidth and last-level cache by resource group, from resctrl (fs/resctrl; before 6.16
// arch/x86/kernel/cpu/resctrl; Documentation/filesystems/resctrl.rst), if the CPU monitors them and an administrator has
// mounted it:
//
//   /sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy    bytes of the cache of domain 0 that the group occupies now
//                                     /mbm_total_bytes  bytes to and from memory since the group was created
//                                     /mbm_local_bytes  those of them to and from the domain's own node
//   /sys/fs/resctrl/mon_groups/NAME/mon_data/...        a monitoring group
//   /sys/fs/resctrl/NAME/mon_data/..., /sys/fs/resctrl/NAME/mon_groups/...   a control group and its monitoring groups
//
// A file has a number, or a word if there is none: "Unavailable" (no sample yet), "Unassigned" (more groups than the CPU has
// counters, since 6.18), "Error" (reported by the CPU). A control group's values include those of its monitoring groups.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "core/base/ascii.h"
#include "core/base/fixed_path.h"
#include "core/base/text.h"
#include "core/collect/file_bundle.h"
#include "core/source.h"

namespace memstat::sources::linux_resctrl {
namespace {

constexpr SystemMetric kCacheOccupancy = gauge_metric(
    "memstat_resctrl_cache_occupancy_bytes", Tier::kDefault,
    "Bytes of the last-level cache that the resource group occupies now, by cache domain.", {"group", "domain"});

constexpr SystemMetric kMemoryBytes = counter_metric(
    "memstat_resctrl_memory_bytes_total", Tier::kDefault,
    "Bytes that the resource group moved between the last-level cache and memory since its creation, by cache domain.",
    {"group", "domain"});

constexpr SystemMetric kLocalMemoryBytes =
    counter_metric("memstat_resctrl_local_memory_bytes_total", Tier::kDefault,
                   "The part of memstat_resctrl_memory_bytes_total from and to memory of the cache domain's own node.",
                   {"group", "domain"});

constexpr SystemMetric kGroupsLeftOut = gauge_metric("memstat_resctrl_groups_left_out", Tier::kMinimal,
                                                     "Resource groups omitted now because there are more than max_groups.");

constexpr std::string_view kRoot = "/sys/fs/resctrl";
constexpr std::string_view kMonitoredGroups = "mon_groups";
constexpr std::string_view kData = "mon_data";
constexpr std::string_view kInfo = "info";
constexpr std::string_view kDomain = "mon_L3_";
constexpr std::string_view kEnd = "end";  // the last record: number of groups left out
constexpr std::string_view kNul("\0", 1);

struct File {
  std::string_view name;
  const SystemMetric* metric;
};
constexpr std::array<File, 3> kFiles = {{{.name = "llc_occupancy", .metric = &kCacheOccupancy},
                                         {.name = "mbm_total_bytes", .metric = &kMemoryBytes},
                                         {.name = "mbm_local_bytes", .metric = &kLocalMemoryBytes}}};
constexpr std::array<std::string_view, 3> kNoValue = {"Unavailable", "Unassigned", "Error"};

/// Maximum number of domains. A domain is a cache; the largest machines have less than a tenth of this.
constexpr std::size_t kMaxDomains = 1024;

constexpr std::size_t kBundlePart = 0;  // index of RawBytes::parts

constexpr SourceOption kOptions[] = {{.name = "max_groups",
                                      .kind = SourceOption::Kind::kNumber,
                                      .default_number = 64,
                                      .least = 1,
                                      .most = 4096,
                                      .help = "maximum number of resource groups, control groups before monitoring groups "
                                              "(each value costs the kernel a call to a CPU of its domain)"}};
constexpr std::size_t kMaxGroups = 0;

/// Parses the domain number from "mon_L3_00".
std::optional<std::uint64_t> domain_of(std::string_view directory) {
  return directory.starts_with(kDomain) ? parse_u64(directory.substr(kDomain.size())) : std::nullopt;
}

struct State final : ReaderState {
  Buffer file;
  Buffer names;   // directories, NUL-terminated
  Buffer groups;  // paths below the root, NUL-terminated; the default group's is empty
};

/// Reads all groups of one poll into the bundle. A group may disappear at any time.
class Walk {
 public:
  Walk(KernelView& view, RawBytes& raw, State& state)
      : view_(view), state_(state), raw_(raw.parts[kBundlePart]), bundle_(raw_, state.file) {}

  Result<void> run() {
    if (auto found = find_groups(); !found) return found;
    std::string_view rest = state_.groups.view();
    std::string_view group;
    while (next_name(rest, group)) {
      if (auto read = read_group(group); !read) return read;
    }
    if (raw_.empty()) {
      return system_error(kRoot, ENOENT, "resctrl is mounted, but this CPU monitors neither cache nor memory bandwidth");
    }
    return bundle_.add(kEnd, NumberDigits(left_out_).view());
  }

 private:
  /// Lists control groups first, so that the limit drops monitoring groups before them.
  Result<void> find_groups() {
    Buffer& names = state_.names;
    Buffer& groups = state_.groups;
    groups.clear();
    add_group("", "");
    if (auto listed = view_.list_directories(kRoot, names); !listed) {
      return listed.error().code == ErrorCode::kNotPresent ? not_mounted() : listed;
    }
    bool is_mounted = false;
    std::string_view rest = names.view();
    for (std::string_view name; next_name(rest, name);) {
      is_mounted = is_mounted || name == kInfo;
      if (name != kInfo && name != kData && name != kMonitoredGroups) add_group("/", name);
    }
    if (!is_mounted) return not_mounted();
    const std::size_t control_bytes = groups.size();
    std::size_t begin = 0;
    while (begin < control_bytes) {
      const std::size_t end = groups.view().find('\0', begin);
      FixedPath prefix;  // a copy, because the list grows
      if (!prefix.assign(groups.view().substr(begin, end - begin)) || !prefix.append("/mon_groups/")) return too_long();
      begin = end + 1;
      FixedPath directory;
      if (!directory.assign(kRoot) || !directory.append(prefix.view().substr(0, prefix.size() - 1))) return too_long();
      if (auto listed = view_.list_directories(directory.view(), names); !listed) {
        if (listed.error().code == ErrorCode::kNotPresent) continue;  // gone, or the CPU does not monitor
        return listed;
      }
      std::string_view found = names.view();
      for (std::string_view name; next_name(found, name);) add_group(prefix.view(), name);
    }
    return {};
  }

  void add_group(std::string_view prefix, std::string_view name) {
    if (count_ >= state_.options[kMaxGroups].number) {
      ++left_out_;
      return;
    }
    ++count_;
    Buffer& groups = state_.groups;
    groups.append(prefix);
    groups.append(name);
    groups.append(kNul);
  }

  Result<void> read_group(std::string_view group) {
    FixedPath path;
    if (!path.assign(kRoot) || !path.append(group) || !path.append_component(kData)) return too_long();
    Buffer& names = state_.names;
    if (auto listed = view_.list_directories(path.view(), names); !listed) return unless_gone(listed);
    std::string_view rest = names.view();
    std::size_t domains = 0;
    for (std::string_view name; next_name(rest, name);) {
      if (!domain_of(name) || ++domains > kMaxDomains) continue;
      const std::size_t size = path.size();
      if (!path.append_component(name)) return too_long();
      for (const File& file : kFiles) {
        const std::size_t directory_size = path.size();
        if (!path.append_component(file.name)) return too_long();
        // The file is absent if the CPU does not monitor this.
        if (auto added = unless_gone(bundle_.add_file(view_, path.view(), path.view().substr(kRoot.size()))); !added) {
          return added;
        }
        path.truncate(directory_size);
      }
      path.truncate(size);
    }
    return {};
  }

  static Result<void> unless_gone(Result<void> result) {
    const bool is_gone = !result && (result.error().code == ErrorCode::kNotPresent || result.error().system_errno == ENODEV);
    return is_gone ? Result<void>() : result;
  }
  static Error not_mounted() {
    return system_error(kRoot, ENOENT,
                        "resctrl is not mounted; where the CPU has it: mount -t resctrl resctrl /sys/fs/resctrl");
  }
  static Error too_long() { return system_error(kRoot, ENAMETOOLONG); }

  KernelView& view_;
  State& state_;
  Buffer& raw_;
  FileBundleWriter bundle_;
  std::uint64_t count_ = 0;
  std::uint64_t left_out_ = 0;
};

Result<void> read(KernelView& view, RawBytes& raw, State& state) { return Walk(view, raw, state).run(); }

/// Keeps nothing open, since groups come and go. Reads once, to check that there is something to read.
Result<void> open(KernelView& view, RawBytes& raw, State& state) { return read(view, raw, state); }

/// The parts of "/GROUP/mon_data/mon_L3_00/FILE"; the default group is "/".
struct Place {
  std::string_view group;
  std::uint64_t domain = 0;
  const SystemMetric* metric = nullptr;
};
std::optional<Place> place_of(std::string_view path) {
  Place place;
  const auto last_component = [&path] {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return std::string_view();
    const std::string_view name = path.substr(slash + 1);
    path.remove_suffix(name.size() + 1);
    return name;
  };
  const std::string_view file = last_component();
  const auto known = std::find_if(kFiles.begin(), kFiles.end(), [file](const File& one) { return one.name == file; });
  const auto domain = domain_of(last_component());
  if (known == kFiles.end() || !domain || last_component() != kData) return std::nullopt;
  place.group = path.empty() ? std::string_view("/") : path;
  place.domain = *domain;
  place.metric = known->metric;
  return place;
}

constexpr std::size_t kMaxFigures = 8191;

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const std::string_view bundle = raw.parts[kBundlePart].view();
  FileBundleReader records(bundle);
  std::string_view path;
  std::string_view content;
  while (records.next(path, content)) {
    const auto offset = static_cast<std::size_t>(content.data() - bundle.data());
    const std::string_view text = trim(content);
    if (path == kEnd) {
      const auto left_out = parse_u64(text);
      if (!left_out || records.next(path, content) || records.is_cut()) break;
      staging.statistics().add(kGroupsLeftOut, *left_out);
      return {};
    }
    const auto place = place_of(path);
    if (!place) return data_error(kRoot, offset, "has an unexpected file");
    if (!content.ends_with('\n')) return data_error(kRoot, offset, "has a file that ends within a line");
    if (std::find(kNoValue.begin(), kNoValue.end(), text) != kNoValue.end()) continue;
    const auto value = parse_u64(text);
    if (!value)
      return data_error(kRoot, offset, "has a file with neither a number of at most 64 bits nor a word that replaces it");
    // A duplicate means a damaged capture, or two group names that became equal after invalid bytes were replaced.
    const bool is_new = staging.statistics().add_new(*place->metric, *value, {place->group, place->domain});
    if (!is_new || staging.statistics().entries().size() > kMaxFigures) {
      return data_error(kRoot, offset, "has a file twice, two groups of equal names, or more than 8191 files");
    }
  }
  return data_error(kRoot, bundle.size(), "the data ends early");
}

constexpr std::string_view kReopened[] = {kRoot};

constexpr MetricOrigin kOrigins[] = {
    {kCacheOccupancy, "llc_occupancy of mon_data/mon_L3_*"},
    {kMemoryBytes, "mbm_total_bytes of mon_data/mon_L3_*"},
    {kLocalMemoryBytes, "mbm_local_bytes of mon_data/mon_L3_*"},
    {kGroupsLeftOut, "directories of groups beyond max_groups"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_resctrl",
    .origin = kRoot,
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .options = kOptions,
    .reopened_directories = kReopened,
    .notes =
        "needs no privilege, but a CPU that monitors cache or memory bandwidth, and resctrl mounted before memstatd starts; "
        "the default group is /, and a control group includes its mon_groups, so do not add up groups; values that the "
        "kernel reports as Unavailable, Unassigned or Error are omitted",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_resctrl
