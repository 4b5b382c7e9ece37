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
#include <charconv>
#include <string_view>
#include <vector>

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

/// Formats "/proc/1234/statm" on the stack.
class ProcessPath {
 public:
  ProcessPath(std::string_view process, std::string_view file) {
    append(kDirectory);
    append("/");
    append(process);
    append(file);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void append(std::string_view text) { size_ += text.copy(bytes_.data() + size_, bytes_.size() - size_); }
  std::array<char, 64> bytes_;
  std::size_t size_ = 0;
};

/// Whether a directory in /proc is a process. Kernels have IDs of at most seven digits.
bool is_process(std::string_view name) {
  constexpr std::size_t kMaxDigits = 10;
  return !name.empty() && name.size() <= kMaxDigits && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether `path` has the reader's form: "/proc/1234/statm".
bool is_statm_path(std::string_view path) {
  if (path.size() <= kDirectory.size() + 1 + kStatm.size()) return false;
  const std::string_view process = path.substr(kDirectory.size() + 1, path.size() - kDirectory.size() - 1 - kStatm.size());
  return (process == kSelf || is_process(process)) && path == ProcessPath(process, kStatm).view();
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
    if (auto result = view_.read_file(ProcessPath(kSelf, kStatm).view(), state_.statm); !result) return result;
    if (auto result = view_.read_file(ProcessPath(kSelf, kComm).view(), state_.comm); !result) return result;
    if (auto result = add(kSelf); !result) return result;
    std::uint64_t left_out = 0;
    if (by_size_ || has_pattern(state_)) {
      if (auto result = read_others(left_out); !result) return result;
    }
    std::array<char, 20> digits;
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), left_out).ptr;
    return bundle_.add(kEnd, {digits.data(), static_cast<std::size_t>(end - digits.data())});
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
    const ProcessPath name(process, kComm);
    if (!by_size_) {
      if (auto result = view_.read_file(name.view(), state_.comm); !result) return result;
      if (!state_.options[kNames].matches(name_in(state_.comm.view()))) return {};
    }
    if (auto result = view_.read_file(ProcessPath(process, kStatm).view(), state_.statm); !result) return result;
    if (state_.statm.view().starts_with("0 ")) return {};
    if (by_size_) {
      if (auto result = view_.read_file(name.view(), state_.comm); !result) return result;
    }
    return add(process);
  }

  Result<void> add(std::string_view process) {
    if (auto result = bundle_.add(ProcessPath(process, kStatm).view(), state_.statm.view()); !result) return result;
    return bundle_.add(ProcessPath(process, kComm).view(), state_.comm.view());
  }

  KernelView& view_;
  State& state_;
  FileBundleWriter bundle_;
  bool by_size_ = false;
};

Result<void> read(KernelView& view, RawBytes& raw, State& state) { return Reader(view, raw, state).run(); }

/// Makes types from a bundle. Keeps its notes on processes and names in Staging::notes(), whose storage is reused.
class Parser {
 public:
  Parser(const RawBytes& raw, const State& state, Staging& staging)
      : page_size_(raw.page_size),
        state_(state),
        bundle_(raw.parts[kBundlePart].view()),
        notes_(staging.notes()),
        staging_(staging) {}

  Result<void> run() {
    if (auto result = take_records(); !result) return result;
    order_by_name();
    if (auto result = add_up(); !result) return result;
    choose_largest();
    for (std::size_t group = 0; group < group_count_; ++group) add_type(group);
    staging_.statistics().add(kProcessesLeftOut, left_out_);
    return {};
  }

 private:
  // Per process: the position of its name in the bundle, and its figures. This process is number 0.
  enum Word : std::size_t { kNameAt, kNameSize, kSize, kResident, kShared, kText, kData, kWords };
  static constexpr std::size_t kFirstFigure = kSize;
  // Per name: its first process in name order, whether it is listed, and the sums.
  enum GroupWord : std::size_t { kBegin, kIsChosen, kGroupFigures, kGroupWords = kGroupFigures + kWords - kFirstFigure };

  [[nodiscard]] Error damaged(std::string_view what) const { return data_error(kOrigin, bundle_.size(), what); }

  Result<void> take_records() {
    FileBundleReader records(bundle_);
    std::string_view path;
    std::string_view content;
    while (records.next(path, content)) {
      if (path == kEnd) {
        const auto left_out = parse_u64(content);
        if (!left_out || process_count_ == 0 || records.next(path, content) || records.is_cut()) break;
        left_out_ = *left_out;
        return {};
      }
      if (!path.ends_with(kStatm)) break;
      const auto memory = parse_statm(content, page_size_);
      if (!memory) {
        Error error = data_error(kOrigin, 0, "expected six numbers of pages, in bytes at most 2^64 - 1 each");
        if (is_statm_path(path)) error.path = path;
        return error;
      }
      std::string_view name;
      if (!records.next(path, name) || !path.ends_with(kComm)) break;
      name = name_in(name);
      notes_.insert(notes_.end(), {static_cast<std::uint64_t>(name.data() - bundle_.data()), name.size(), memory->size,
                                   memory->resident, memory->shared, memory->text, memory->data});
      ++process_count_;
    }
    return damaged("the data of the processes is truncated, or not in pairs of statm and comm");
  }

  [[nodiscard]] std::uint64_t word(std::size_t process, std::size_t word) const { return notes_[process * kWords + word]; }
  [[nodiscard]] std::string_view name(std::size_t process) const {
    return bundle_.substr(word(process, kNameAt), word(process, kNameSize));
  }
  [[nodiscard]] std::size_t in_order(std::size_t place) const { return notes_[process_count_ * kWords + place]; }
  [[nodiscard]] std::uint64_t& group_word(std::size_t group, std::size_t word) {
    return notes_[process_count_ * (kWords + 1) + group * kGroupWords + word];
  }

  [[nodiscard]] std::uint64_t& group_figure(std::size_t group, std::size_t word) {
    return group_word(group, kGroupFigures + word - kFirstFigure);
  }

  void order_by_name() {
    for (std::size_t i = 0; i < process_count_; ++i) notes_.push_back(i);
    const auto begin = notes_.begin() + static_cast<std::ptrdiff_t>(process_count_ * kWords);
    // Also by index, so that this process, the first one, begins its group.
    std::sort(begin, notes_.end(), [this](std::uint64_t a, std::uint64_t b) {
      const int order = name(a).compare(name(b));
      return order != 0 ? order < 0 : a < b;
    });
  }

  Result<void> add_up() {
    for (std::size_t place = 0; place < process_count_; ++place) {
      const std::size_t process = in_order(place);
      if (place == 0 || name(in_order(place - 1)) != name(process)) {
        const bool is_wanted = process == 0 || (has_pattern(state_) && state_.options[kNames].matches(name(process)));
        notes_.resize(notes_.size() + kGroupWords, 0);
        group_word(group_count_, kBegin) = place;
        group_word(group_count_, kIsChosen) = is_wanted ? 1 : 0;
        ++group_count_;
      }
      for (std::size_t i = kFirstFigure; i < kWords; ++i) {
        std::uint64_t& sum = group_figure(group_count_ - 1, i);
        if (__builtin_add_overflow(sum, word(process, i), &sum)) {
          return damaged("reports more than 2^64 - 1 bytes for the processes of one name");
        }
      }
    }
    return {};
  }

  void choose_largest() {
    const std::uint64_t top = number_of(state_, kLargest);
    const std::size_t begin = notes_.size();
    for (std::size_t group = 0; group < group_count_; ++group) notes_.push_back(group);
    const auto first = notes_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto resident = [this](std::size_t group) { return group_figure(group, kResident); };
    if (top < group_count_) {
      std::nth_element(first, first + static_cast<std::ptrdiff_t>(top), notes_.end(), [&](std::uint64_t a, std::uint64_t b) {
        return resident(a) != resident(b) ? resident(a) > resident(b) : a < b;
      });
    }
    for (std::size_t i = 0; i < std::min<std::uint64_t>(top, group_count_); ++i) {
      group_word(notes_[begin + i], kIsChosen) = 1;
    }
  }

  void add_type(std::size_t group) {
    if (group_word(group, kIsChosen) == 0) return;
    const std::size_t begin = group_word(group, kBegin);
    const std::size_t end = group + 1 < group_count_ ? group_word(group + 1, kBegin) : process_count_;
    const auto figure = [&](std::size_t which) { return group_figure(group, which); };
    const std::size_t known = staging_.types().size();
    StagedType& type = staging_.merge(name(in_order(begin)));
    // Names may become equal after invalid bytes are replaced; keep the first one.
    if (staging_.types().size() == known) {
      left_out_ += end - begin;
      return;
    }
    type.fields = FieldMask(Field::kBytes, Field::kCount, Field::kAddressSpace);
    type.figures[Field::kBytes] = figure(kResident);
    type.figures[Field::kCount] = end - begin;
    type.figures[Field::kAddressSpace] = figure(kSize);
    StagedStatistics& statistics = staging_.statistics();
    statistics.add(kProcessPartBytes, figure(kShared), {type.name, "shared"});
    statistics.add(kProcessPartBytes, figure(kText), {type.name, "text"});
    statistics.add(kProcessPartBytes, figure(kData), {type.name, "data"});
  }

  std::uint64_t page_size_;
  const State& state_;
  std::string_view bundle_;
  // [process][word], the processes in name order, [group][word], then the groups by size.
  std::vector<std::uint64_t>& notes_;
  Staging& staging_;
  std::size_t process_count_ = 0;
  std::size_t group_count_ = 0;
  std::uint64_t left_out_ = 0;
};

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  staging.reset({}, 0);
  return Parser(raw, state, staging).run();
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) { return read(view, raw, state); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "resident of statm x page size"},
    {Field::kCount, "processes of that name"},
    {Field::kAddressSpace, "size of statm x page size"},
    {kProcessPartBytes, "shared, text and data of statm x page size"},
    {kProcessesLeftOut, "processes beyond most_processes"},
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
