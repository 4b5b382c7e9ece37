// SPDX-License-Identifier: BSD-2-Clause
// Configured processes, one type per name, from /proc/PID/statm (fs/proc/array.c, proc_pid_statm; core/parse/statm.h
// describes the format) and /proc/PID/comm (fs/proc/base.c). Kernel threads and zombies have no memory: their columns are 0,
// and they are left out.
//
// A type is a name, not a process. A server with 200 workers is one line, and process IDs would create new series at every
// start. Processes with the same name cannot be told apart. Shared pages count once for each process.
//
// Every process must be read to find those wanted by name or size. The option most_processes limits this cost, in the order
// of process IDs, and processes beyond it are counted. Selection by name reads one file per process, and a second one only
// for matches; selection by size reads both files of all.
#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/collect/file_bundle.h"
#include "core/parse/statm.h"
#include "core/source.h"

namespace memstat::sources::linux_process {
namespace {

constexpr SystemMetric kProcessPartBytes = gauge_metric(
    "memstat_process_part_bytes", Tier::kDefault,
    "Bytes now of the processes of that name: shared memory, program text, or data and stack; the parts overlap.",
    {"type", "part"});

constexpr SystemMetric kProcessesLeftOut = gauge_metric(
    "memstat_processes_left_out", Tier::kMinimal, "Processes not examined at the last read, because there are too many.");

constexpr SystemMetric kNamesLeftOut = gauge_metric(
    "memstat_process_names_left_out", Tier::kMinimal,
    "Names of processes that were examined at the last read and have no series, because others have more memory.");

constexpr std::string_view kDirectory = "/proc";
constexpr std::string_view kOrigin = "/proc/PID/statm";
constexpr std::string_view kSelfStat = "/proc/self/stat";
constexpr std::string_view kSelf = "self";

// Index of RawBytes::parts. The bundle has the statm and comm of each process, this process first, and then the record kEnd
// with the number of processes left out.
constexpr std::size_t kBundlePart = 0;
constexpr std::string_view kEnd = "end";
constexpr std::string_view kStatm = "/statm";
constexpr std::string_view kComm = "/comm";

enum Option : std::size_t { kNames, kLargest, kMaxProcesses };
constexpr SourceOption kOptions[] = {
    {.name = "names",
     .kind = SourceOption::Kind::kPattern,
     .help = "processes with these names are always listed, a name is that of /proc/PID/comm, at most 15 bytes"},
    // Not "top", which limits what any source exports and would drop memstatd itself.
    {.name = "largest",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 10,
     .most = 1000,
     .help = "number of other names listed, those with most resident memory, 0: none"},
    {.name = "most_processes",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 2000,
     .least = 1,
     .most = 1'000'000,
     .help = "maximum number of processes read, those with the lowest IDs, at about 4 us each, others are counted"},
};

struct State final : ReaderState {
  Buffer statm;  ///< the file statm of one process
  Buffer comm;   ///< the file comm of one process
  Buffer names;  ///< names of the directories in /proc, NUL-terminated
};

std::uint64_t number_of(const ReaderState& state, Option option) {
  return option < state.options.size() ? state.options[option].number : kOptions[option].default_number;
}
bool has_pattern(const ReaderState& state) { return kNames < state.options.size() && state.options[kNames].matches; }

/// "/proc/1234/statm"
StackText<64> path_of(std::string_view process, std::string_view file) {
  return StackText<64>(kDirectory, "/", process, file);
}

/// Whether a directory in /proc is a process. Kernels have IDs of at most seven digits.
bool is_process(std::string_view name) {
  constexpr std::size_t kMaxDigits = 10;
  return !name.empty() && name.size() <= kMaxDigits && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether `path` has the reader's form: "/proc/1234/statm".
bool is_statm_path(std::string_view path) {
  if (path.size() <= kDirectory.size() + 1 + kStatm.size()) return false;
  const std::string_view process = path.substr(kDirectory.size() + 1, path.size() - kDirectory.size() - 1 - kStatm.size());
  return (process == kSelf || is_process(process)) && path == path_of(process, kStatm).view();
}

/// The name in a comm file, without its newline.
std::string_view name_in(std::string_view comm) {
  if (comm.ends_with('\n')) comm.remove_suffix(1);
  return comm;
}

/// Skip processes that have exited, or that are hidden (mount option hidepid).
bool is_gone_or_hidden(const Error& error) {
  return error.code == ErrorCode::kNotPresent || error.code == ErrorCode::kPermission || error.system_errno == ESRCH;
}

class Reader {
 public:
  Reader(KernelView& view, RawBytes& raw, State& state)
      : view_(view), state_(state), bundle_(raw.parts[kBundlePart], state.statm) {}

  Result<void> run() {
    // To select by size, all names are needed; to select by name, only the sizes of matches.
    by_size_ = number_of(state_, kLargest) != 0;
    if (auto result = view_.read_file(path_of(kSelf, kStatm).view(), state_.statm); !result) return result;
    if (auto result = view_.read_file(path_of(kSelf, kComm).view(), state_.comm); !result) return result;
    if (auto result = add(kSelf); !result) return result;
    std::uint64_t left_out = 0;
    if (by_size_ || has_pattern(state_)) {
      if (auto result = read_others(left_out); !result) return result;
    }
    return bundle_.add(kEnd, NumberDigits(left_out).view());
  }

 private:
  Result<void> read_others(std::uint64_t& left_out) {
    // This process is in the list too. Its ID, as this /proc sees it, is the first word of its stat.
    if (auto result = view_.read_file(kSelfStat, state_.statm); !result) return result;
    std::array<char, 16> own_bytes;
    const std::string_view stat = state_.statm.view();
    const std::string_view own(own_bytes.data(), stat.substr(0, stat.find(' ')).copy(own_bytes.data(), own_bytes.size()));
    if (auto result = view_.list_directories(kDirectory, state_.names); !result) return result;
    std::string_view rest = state_.names.view();
    std::uint64_t left = number_of(state_, kMaxProcesses);
    for (std::string_view process; next_name(rest, process);) {
      if (!is_process(process) || process == own) continue;
      if (left == 0) {
        ++left_out;
        continue;
      }
      --left;
      if (auto result = read_process(process); !result && !is_gone_or_hidden(result.error())) return result;
    }
    return {};
  }

  Result<void> read_process(std::string_view process) {
    const auto name = path_of(process, kComm);
    if (!by_size_) {
      if (auto result = view_.read_file(name.view(), state_.comm); !result) return result;
      if (!state_.options[kNames].matches(name_in(state_.comm.view()))) return {};
    }
    if (auto result = view_.read_file(path_of(process, kStatm).view(), state_.statm); !result) return result;
    if (state_.statm.view().starts_with("0 ")) return {};
    if (by_size_) {
      if (auto result = view_.read_file(name.view(), state_.comm); !result) return result;
    }
    return add(process);
  }

  Result<void> add(std::string_view process) {
    if (auto result = bundle_.add(path_of(process, kStatm).view(), state_.statm.view()); !result) return result;
    return bundle_.add(path_of(process, kComm).view(), state_.comm.view());
  }

  KernelView& view_;
  State& state_;
  FileBundleWriter bundle_;
  bool by_size_ = false;
};

Result<void> read(KernelView& view, RawBytes& raw, State& state) { return Reader(view, raw, state).run(); }

/// Sums per type, in Staging::notes(); the indexes of all types follow them.
enum Note : std::size_t { kShared, kText, kData, kNoteCount };

/// Adds a process to the type of its name. Returns false if a sum exceeds 64 bits.
bool add_process(const ProcessMemory& memory, std::string_view name, Staging& staging) {
  StagedType& type = staging.merge(name);
  std::vector<std::uint64_t>& notes = staging.notes();
  const std::size_t first = static_cast<std::size_t>(&type - staging.types().data()) * kNoteCount;
  if (first == notes.size()) notes.resize(first + kNoteCount, 0);
  ++type.figures[Field::kCount];
  return add_to(type.figures[Field::kBytes], memory.resident) && add_to(type.figures[Field::kAddressSpace], memory.size) &&
         add_to(notes[first + kShared], memory.shared) && add_to(notes[first + kText], memory.text) &&
         add_to(notes[first + kData], memory.data);
}

/// Adds up the processes by name. This process comes first.
Result<void> take_records(const RawBytes& raw, Staging& staging, std::uint64_t& left_out) {
  const std::string_view bundle = raw.parts[kBundlePart].view();
  FileBundleReader records(bundle);
  std::string_view path;
  std::string_view content;
  while (records.next(path, content)) {
    if (path == kEnd) {
      const auto number = parse_u64(content);
      if (!number || staging.types().empty() || records.next(path, content) || records.is_cut()) break;
      left_out = *number;
      return {};
    }
    if (!path.ends_with(kStatm)) break;
    const auto memory = parse_statm(content, raw.page_size);
    if (!memory) {
      return data_error(is_statm_path(path) ? path : kOrigin, 0,
                        "expected six numbers of pages, in bytes at most 2^64 - 1 each");
    }
    if (!records.next(path, content) || !path.ends_with(kComm)) break;
    if (add_process(*memory, name_in(content), staging)) continue;
    return data_error(kOrigin, bundle.size(), "reports more than 2^64 - 1 bytes for the processes of one name");
  }
  return data_error(kOrigin, bundle.size(), "the data of the processes is truncated, or not in pairs of statm and comm");
}

/// Lists the name of this process, the names that match, and those with most resident memory.
void choose(const State& state, Staging& staging) {
  const std::vector<StagedType>& types = staging.types();
  std::vector<std::uint64_t>& notes = staging.notes();
  for (std::size_t i = 0; i < types.size(); ++i) notes.push_back(i);
  const auto first = notes.end() - static_cast<std::ptrdiff_t>(types.size());
  const auto largest =
      first + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(number_of(state, kLargest), types.size()));
  const auto is_before = [&](std::uint64_t a, std::uint64_t b) { return types[a].name < types[b].name; };
  std::nth_element(first, largest, notes.end(), [&](std::uint64_t a, std::uint64_t b) {
    const std::uint64_t bytes = types[a].figures[Field::kBytes];
    return bytes != types[b].figures[Field::kBytes] ? bytes > types[b].figures[Field::kBytes] : is_before(a, b);
  });
  const auto end = std::partition(largest, notes.end(), [&](std::uint64_t i) {
    return i == 0 || (has_pattern(state) && state.options[kNames].matches(types[i].name));
  });
  std::sort(first, end, is_before);
  for (auto chosen = first; chosen != end; ++chosen) {
    StagedType& type = staging.merge(types[*chosen].name);
    type.fields = FieldMask(Field::kBytes, Field::kCount, Field::kAddressSpace);
    const auto sums = notes.begin() + static_cast<std::ptrdiff_t>(*chosen * kNoteCount);
    staging.statistics().add(kProcessPartBytes, sums[kShared], {type.name, "shared"});
    staging.statistics().add(kProcessPartBytes, sums[kText], {type.name, "text"});
    staging.statistics().add(kProcessPartBytes, sums[kData], {type.name, "data"});
  }
  staging.statistics().add(kNamesLeftOut, static_cast<std::uint64_t>(notes.end() - end));
  staging.drop_types_without_figures();
  staging.sort_by_name();
}

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  staging.reset({}, 0);
  std::uint64_t left_out = 0;
  if (auto result = take_records(raw, staging, left_out); !result) return result;
  choose(state, staging);
  staging.statistics().add(kProcessesLeftOut, left_out);
  return {};
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) { return read(view, raw, state); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "resident of statm x page size"},
    {Field::kCount, "processes of that name"},
    {Field::kAddressSpace, "size of statm x page size"},
    {kProcessPartBytes, "shared, text and data of statm x page size"},
    {kProcessesLeftOut, "processes beyond most_processes"},
    {kNamesLeftOut, "names beyond largest that do not match names"},
};

constexpr std::string_view kReopened[] = {kDirectory};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_process",
    .origin = kOrigin,
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kProcess,
    .is_roster = true,
    .origins = kOrigins,
    .options = kOptions,
    .interval = std::chrono::seconds(30),
    .is_on_by_default = false,
    .reopened_directories = kReopened,
    .notes =
        "off by default; lists memstatd itself, the names that match (names), and those with most resident memory "
        "(largest); a type is a name from /proc/PID/comm with the sums of all its processes; bytes are resident memory, "
        "address_space is all mapped memory, and shared memory counts for each process; other users' processes may be "
        "hidden (mount option hidepid); at most most_processes are read",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_process
