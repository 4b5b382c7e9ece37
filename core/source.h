// SPDX-License-Identifier: BSD-2-Clause
// A source: one kernel interface that provides the memory types of an allocator, or some of their figures.
//
// A source is one file in core/sources, or in a directory that CMakeLists.txt passes to memstat_add_sources(). It defines a
// SourceDescriptor with the file's name in namespace memstat::sources. The build finds the file and adds it to the table of
// every program that links its target, and rejects a source without a test and captures.
//
// Reading and parsing are separate functions, because only reading touches the kernel: it may hang, runs on the reader
// thread and can be recorded. Parsing is a pure function of the raw bytes. Fuzzers, captures, and FreeBSD streams on a Linux
// machine all exercise it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/kernel/kernel_view.h"
#include "core/model/field.h"
#include "core/model/staging.h"
#include "core/model/system_metric.h"
#include "core/read_plan.h"
#include "core/source_option.h"

namespace memstat {

struct SourceOptionValue {
  std::uint64_t number = 0;
  std::function<bool(std::string_view)> matches = {};  ///< For kPattern; empty: no pattern is set.
  std::string text = {};                               ///< For kKey; empty: the key is not in the configuration.
};

/// The origin of a figure, for people: the kernel's own name of it, or how it is computed from those.
struct MetricOrigin {
  enum class Of : std::uint8_t { kType, kCpu, kNode, kSystem };

  constexpr MetricOrigin(Field field, std::string_view text)
      : of(Of::kType), number(static_cast<std::uint8_t>(field)), origin(text) {}
  constexpr MetricOrigin(CpuField field, std::string_view text)
      : of(Of::kCpu), number(static_cast<std::uint8_t>(field)), origin(text) {}
  constexpr MetricOrigin(NodeField field, std::string_view text)
      : of(Of::kNode), number(static_cast<std::uint8_t>(field)), origin(text) {}
  constexpr MetricOrigin(const SystemMetric& system_metric, std::string_view text)
      : of(Of::kSystem), metric(&system_metric), origin(text) {}

  Of of;
  std::uint8_t number = 0;               ///< The Field, CpuField or NodeField.
  const SystemMetric* metric = nullptr;  ///< For kSystem; never null then.
  std::string_view origin;
};

/// The figures of one kind among `origins`, for the masks of a descriptor.
template <typename E>
constexpr FieldSet<E> figures_of(std::span<const MetricOrigin> origins, MetricOrigin::Of of) {
  FieldSet<E> set;
  for (const MetricOrigin& origin : origins) {
    if (origin.of == of) set.add(static_cast<E>(origin.number));
  }
  return set;
}
constexpr FieldMask fields_of(std::span<const MetricOrigin> origins) {
  return figures_of<Field>(origins, MetricOrigin::Of::kType);
}
constexpr CpuFieldMask cpu_fields_of(std::span<const MetricOrigin> origins) {
  return figures_of<CpuField>(origins, MetricOrigin::Of::kCpu);
}
constexpr NodeFieldMask node_fields_of(std::span<const MetricOrigin> origins) {
  return figures_of<NodeField>(origins, MetricOrigin::Of::kNode);
}

/// The raw bytes that a source read from the kernel. Kept between polls, so that buffers are reused and a source need not
/// read everything again. Thread safety: none; passed from the reader thread to the poller and back.
struct RawBytes {
  static constexpr std::size_t kPartCount = 4;
  std::vector<RawFile> files;            ///< The files of the source's plan, in its order.
  std::array<Buffer, kPartCount> parts;  ///< What a source without a plan reads; their meaning is private to it.
  std::uint64_t page_size = 0;           ///< Page size of the kernel, in bytes.
  std::uint32_t cpu_count = 0;           ///< One more than the highest present CPU; see KernelView::cpu_count.

  /// The first file of that place in the plan; nullptr if there is none.
  [[nodiscard]] const RawFile* file(std::size_t planned) const {
    for (const RawFile& file : files) {
      if (file.planned == planned) return &file;
    }
    return nullptr;
  }
  /// Its content; "" without.
  [[nodiscard]] std::string_view content(std::size_t planned) const {
    const RawFile* found = file(planned);
    return found != nullptr ? found->bytes.view() : std::string_view();
  }
};

/// The progress of a read plan; see core/collect/plan_reader.h.
struct PlanProgress {
  std::uint32_t reads = 0;             ///< Number of reads so far.
  std::int64_t seldom_read_at_ns = 0;  ///< Of the view's clock: when seldom files were due last.
  Buffer scratch = {};
};

/// A source's state besides the raw bytes. A source with more state derives its own struct. Thread safety: as RawBytes, with
/// which it is passed between threads.
struct ReaderState {
  ReaderState() = default;
  ReaderState(const ReaderState&) = delete;
  ReaderState& operator=(const ReaderState&) = delete;
  virtual ~ReaderState() = default;

  std::vector<SourceOptionValue> options;  ///< In the order of the descriptor's options, one each.
  FieldMask given_fields;                  ///< Figures of the same types that another source provides, so that they need not
  NodeFieldMask given_node_fields;         ///< be read. Set before open and before each read.
  bool is_stale = true;                    ///< The last parse missed something that was cached: read it again.
  std::uint32_t parsed_cpu_count = 0;      ///< CPUs in the last parse; 0 before the first.
  std::uint32_t parse_count = 0;           ///< Number of parses, modulo 2^32.
  PlanProgress plan;
};

/// The functions of a source. All of them agree on the type of the state; see source_steps().
struct SourceSteps {
  std::unique_ptr<ReaderState> (*make_state)() = nullptr;
  /// Called once, before the first read and before privileges are dropped. Keeps open what needs privileges, and reads into
  /// `raw` what can only be read with them. Errors: kNotPresent if this kernel does not provide the interface.
  Result<void> (*open)(KernelView& view, RawBytes& raw, ReaderState& state) = nullptr;
  /// Reads into `raw`. May block for as long as the kernel does. Errors: those of KernelView.
  Result<void> (*read)(KernelView& view, RawBytes& raw, ReaderState& state) = nullptr;
  /// Resets `staging` and parses `raw` into it. Pure, bounds-checked, without system calls. Errors: kVersion; kData with
  /// path and offset, also if there are no types at all.
  Result<void> (*parse)(const RawBytes& raw, const ReaderState& state, Staging& staging) = nullptr;
  /// Called several times a second between reads, for a source with work in progress in the kernel: bounds the cost of that
  /// work. Reads nothing and blocks no longer than detaching takes. Returns whether to call it again before the next read.
  /// nullptr: not needed.
  bool (*tend)(ReaderState& state) = nullptr;
};

namespace internal {

template <typename State, auto kStep>
Result<void> step_of_source(KernelView& view, RawBytes& raw, ReaderState& state) {
  if constexpr (std::is_invocable_v<decltype(kStep), KernelView&, RawBytes&>) {
    return kStep(view, raw);
  } else {
    return kStep(view, raw, static_cast<State&>(state));
  }
}

template <typename State, auto kParse>
Result<void> parse_of_source(const RawBytes& raw, const ReaderState& state, Staging& staging) {
  if constexpr (std::is_invocable_v<decltype(kParse), const RawBytes&, Staging&>) {
    return kParse(raw, staging);
  } else {
    return kParse(raw, static_cast<const State&>(state), staging);
  }
}

template <typename State>
concept HasTable = requires(State& state) {
  state.table->tend();
};

}  // namespace internal

/// Makes the steps of a source from three functions: open(view, raw, State&), read(view, raw, State&) and parse(raw, const
/// State&, staging); each may omit the state. Functions with different states do not compile. A state whose member `table`
/// points to a TextTableSource is tended through it.
template <typename State, auto kOpen, auto kRead, auto kParse>
constexpr SourceSteps source_steps() {
  static_assert(std::is_base_of_v<ReaderState, State>);
  SourceSteps steps{.make_state = []() -> std::unique_ptr<ReaderState> { return std::make_unique<State>(); },
                    .open = internal::step_of_source<State, kOpen>,
                    .read = internal::step_of_source<State, kRead>,
                    .parse = internal::parse_of_source<State, kParse>};
  if constexpr (internal::HasTable<State>) {
    steps.tend = [](ReaderState& state) {
      const auto& table = static_cast<State&>(state).table;
      return table != nullptr && table->tend();
    };
  }
  return steps;
}

struct SourceDescriptor {
  std::string_view name;    ///< Its file name without ".cpp": the label `source` and the key in the configuration.
  std::string_view origin;  ///< The kernel interface, for people: "/proc/slabinfo".
  OperatingSystem os;       ///< The operating system that provides it.
  Allocator allocator = Allocator::kUnknown;  ///< The allocator of its types; kUnknown: statistics only.
  bool is_roster =
      false;  ///< Whether it creates and retires the allocator's types. There is one roster per allocator and system.
  /// The origin of each figure that it owns and each system metric that it provides.
  std::span<const MetricOrigin> origins = {};
  /// Figures that it owns. Each figure has one owner, but a source that replaces a roster may also own the figures of
  /// others; see ReaderState::given_fields.
  FieldMask fields = fields_of(origins);
  CpuFieldMask cpu_fields = cpu_fields_of(origins);     ///< Per-CPU figures that it owns.
  NodeFieldMask node_fields = node_fields_of(origins);  ///< Per-node figures that it owns.
  std::span<const SourceOption> options = {};           ///< Settings specific to this source.
  std::chrono::nanoseconds interval{0};                 ///< Default reading interval; 0: at each poll.
  bool is_on_by_default = true;                         ///< False: must be switched on in the configuration.
  bool is_traced = false;  ///< It attaches to kernel events: the key events.mode switches it on as well.
  /// The roster of the same types that this source replaces while it is up; it provides all figures of that roster, which
  /// then need not be read. "": none.
  std::string_view replaces = {};
  /// The files that it reads. Empty: `steps` read something else.
  std::span<const PlannedFile> plan = {};
  /// Maximum number of descriptors that it keeps on any machine. kFilesVary: depends on the number of CPUs and programs.
  std::size_t max_files = kept_files_of(plan);
  static constexpr std::size_t kFilesVary = ~std::size_t{0};
  /// Directories below which it opens files by name at every read, or single files, besides those of the plan. See
  /// reopened_paths_of().
  std::span<const std::string_view> reopened_directories = {};
  /// Linux capabilities, such as "CAP_BPF", that a helper process needs to attach this source to its events again after
  /// privileges are dropped. Empty: it never attaches again.
  std::span<const std::string_view> helper_capabilities = {};
  /// The capability or privilege that the kernel requires, in the system's own term: "CAP_BPF,CAP_PERFMON", "root". "":
  /// none, so that a refusal is a failure.
  std::string_view needs = {};
  /// Bit set of the raw parts that are not needed after a commit; large ones are then unmapped.
  std::uint8_t release_after_commit = 0;
  std::string_view notes;  ///< Facts for users: permissions, and what stops working after privileges are dropped.
  SourceSteps steps;
};

/// The sources of all targets that this program links, in alphabetical order. CMakeLists.txt generates the table per
/// program.
std::span<const SourceDescriptor* const> all_sources();

/// All system metrics among the origins of these sources, each once, in the order of the sources.
std::vector<const SystemMetric*> system_metrics_of(std::span<const SourceDescriptor* const> sources);

/// The same sources in reading order: those that replace rosters, then rosters, then contributors, so that contributors find
/// their types; otherwise in the given order.
std::vector<const SourceDescriptor*> in_reading_order(std::span<const SourceDescriptor* const> sources);

/// Directories below which the source opens files by name at every read, and single files, so that the daemon's sandbox
/// keeps access to them. They must be readable without privileges, which are gone by then.
std::vector<std::string> reopened_paths_of(const SourceDescriptor& source);

/// Whether its plan has files below /sys/kernel/debug, where debugfs may not be mounted.
bool reads_debugfs(const SourceDescriptor& source);

/// The source of that name, or nullptr.
const SourceDescriptor* find_source(std::string_view name);

}  // namespace memstat
