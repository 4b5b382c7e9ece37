// SPDX-License-Identifier: BSD-2-Clause
// What a source is: one kernel interface that yields the memory types of an allocator, or some figures of them.
//
// A source is one file in core/sources, or in a directory that CMakeLists.txt gives to memstat_add_sources(), that defines a
// SourceDescriptor with the file's name in namespace memstat::sources. The build finds the file and puts it into the table
// of every program that links its target (and refuses one without test and captures). Reading and parsing are two functions,
// because only reading talks to the kernel: it may hang, it needs the reader thread, it can be recorded. Parsing is a pure
// function of the raw bytes and is what the fuzzers, the captures and the FreeBSD streams on a Linux machine all exercise.
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
#include "core/source_option.h"

namespace memstat {

/// What one setting is now.
struct SourceOptionValue {
  std::uint64_t number = 0;
  std::function<bool(std::string_view)> matches = {};  ///< Of kPattern; empty: no pattern was given.
  std::string text = {};                               ///< Of kKey; empty: the key is not in the configuration.
};

/// Where a figure comes from, for people: the kernel's own name of it, or how it is made from those.
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
  const SystemMetric* metric = nullptr;  ///< Of kSystem; never null there.
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

/// What reads of a source brought from the kernel, and nothing else; kept from poll to poll, so that buffers are reused and
/// a source may leave what it need not read again. Thread safety: none; handed from the reader thread to the poller and
/// back.
struct RawBytes {
  static constexpr std::size_t kPartCount = 4;
  std::array<Buffer, kPartCount> parts;  ///< What each part is, is the source's own business (see its file).
  std::uint64_t page_size = 0;           ///< B, of the kernel read.
  std::uint32_t cpu_count = 0;           ///< One more than the highest CPU present; see KernelView::cpu_count.
};

/// What a source knows besides the raw bytes. A source that has to remember something derives its own struct from it.
/// Thread safety: as RawBytes, with which it goes from thread to thread.
struct ReaderState {
  ReaderState() = default;
  ReaderState(const ReaderState&) = delete;
  ReaderState& operator=(const ReaderState&) = delete;
  virtual ~ReaderState() = default;

  std::vector<SourceOptionValue> options;  ///< By place in the descriptor's options; as many as there are.
  FieldMask given_fields;                  ///< Figures of the same types that another source gives, so that they need not
  NodeFieldMask given_node_fields;         ///< be read. Set before open and before each read.
  bool is_stale = true;                    ///< The last parse missed something that was kept: read it again.
  std::uint32_t parsed_cpu_count = 0;      ///< CPUs that the last parse found; 0: there was none.
  std::uint32_t parse_count = 0;           ///< Parses so far, modulo 2^32.
};

/// What can be done with a source. All four agree on the type of the state, see source_steps().
struct SourceSteps {
  /// A new state, for one reader.
  std::unique_ptr<ReaderState> (*make_state)() = nullptr;
  /// Called once, before privileges are dropped and before the first read: keeps open what needs privileges, and reads into
  /// `raw` what must be read with them. Errors: kNotPresent when this kernel does not have the interface.
  Result<void> (*open)(KernelView& view, RawBytes& raw, ReaderState& state) = nullptr;
  /// Reads into `raw`. May block for as long as the kernel does. Errors: those of KernelView.
  Result<void> (*read)(KernelView& view, RawBytes& raw, ReaderState& state) = nullptr;
  /// Parses `raw` into `staging`, which it resets first. Pure, bounds-checked, no system call.
  /// Errors: kVersion, kData with path and offset; kData also when there is no type at all.
  Result<void> (*parse)(const RawBytes& raw, const ReaderState& state, Staging& staging) = nullptr;
  /// Called between two reads, several times a second, of a source that keeps something in the kernel busy: bounds what that
  /// takes. Reads nothing and blocks for no longer than detaching takes. Returns whether it wants to be called again before
  /// the next read. nullptr: the source has nothing to look after.
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

/// The steps of a source from three functions: open(view, raw, State&), read(view, raw, State&) and parse(raw, const State&,
/// staging), or without the state where one has no use for it. The compiler refuses functions that want different states.
/// A state whose member `table` points to a LiveTable is tended by it.
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

/// Facts about one source, known before it is read.
struct SourceDescriptor {
  std::string_view name;    ///< Its file name without ".cpp": the label `source` and the key in the configuration.
  std::string_view origin;  ///< The kernel interface, for people: "/proc/slabinfo".
  OperatingSystem os;       ///< Whose kernel has it.
  Allocator allocator;      ///< Whose types it yields; kUnknown: none, it has statistics only.
  bool is_roster;  ///< Creates and retires the allocator's types. Exactly one source of an allocator and system does.
  /// Where each figure that it owns, and each metric of the system that it yields, comes from.
  std::span<const MetricOrigin> origins = {};
  /// Figures that it owns. No two sources own one, but a source that stands in for a roster may own those of others, too:
  /// see ReaderState::given_fields.
  FieldMask fields = fields_of(origins);
  CpuFieldMask cpu_fields = cpu_fields_of(origins);     ///< Per-CPU figures that it owns.
  NodeFieldMask node_fields = node_fields_of(origins);  ///< Per-node figures that it owns.
  std::span<const SourceOption> options = {};           ///< Settings of its own.
  std::chrono::nanoseconds interval{0};  ///< How often it is read unless the configuration says; 0: at each poll.
  bool is_on_by_default = true;          ///< False: only where the configuration switches it on.
  bool is_traced = false;                ///< Attaches to events of the kernel: key events.mode switches it on as well.
  /// The roster of the same types, every figure of which this source has as well: while this one is up it is the roster, and
  /// the other one need not be read. "": there is none.
  std::string_view stands_in_for = {};
  /// Its budget: the most descriptors that it keeps on any machine. kFilesVary: some for each CPU and program.
  std::size_t max_files = 0;
  static constexpr std::size_t kFilesVary = ~std::size_t{0};
  /// What it reads below /sys/kernel/debug, where a machine may not have debugfs mounted. Files or directories.
  std::span<const std::string_view> debugfs_paths = {};
  /// Directories below which it opens files by name at every read, or single files, so that the daemon may not lock itself
  /// out of them. They must be readable by anyone: privileges are gone by then.
  std::span<const std::string_view> reopened_directories = {};
  /// What a helper process must be able to do so that this source can attach to its events again once the privileges are
  /// gone: Linux capabilities by name, such as "CAP_BPF". Empty: it never does.
  std::span<const std::string_view> helper_capabilities = {};
  /// The capability or privilege without which the kernel refuses it, in the system's own word: "CAP_BPF,CAP_PERFMON",
  /// "root".
  /// "": it needs none, so that a refusal is a failure.
  std::string_view needs = {};
  /// Parts of the raw bytes that are of no use once they are committed, as bits: large ones go back to the system then.
  std::uint8_t spent_parts = 0;
  std::string_view notes;  ///< What to know: permissions, what stops working after privileges are dropped.
  SourceSteps steps;
};

/// The sources of all targets that this program links, in alphabetical order. Generated by CMakeLists.txt, a table a
/// program. Thread safety: a constant.
std::span<const SourceDescriptor* const> all_sources();

/// Every metric of the system that these sources name among their origins, each once, in the order of the sources.
std::vector<const SystemMetric*> system_metrics_of(std::span<const SourceDescriptor* const> sources);

/// The same sources in the order in which they are to be read: those that stand in for rosters, then rosters, so that
/// contributors find the types that they have figures of; otherwise as given.
std::vector<const SourceDescriptor*> in_reading_order(std::span<const SourceDescriptor* const> sources);

/// The source of that name, nullptr when there is none.
const SourceDescriptor* find_source(std::string_view name);

}  // namespace memstat
