// SPDX-License-Identifier: BSD-2-Clause
// The immutable result of one poll: values and label texts of its own, no pointer into the memory type list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/kernel/merged_slabs.h"
#include "core/model/histogram.h"
#include "core/model/memory_type_list.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "daemon/tracking/delta_tracker.h"
#include "daemon/tracking/type_slot.h"

namespace memstat {

/// The labels of one row.
struct RowLabels {
  std::string_view text;           ///< `{allocator="slab",type="dentry"`, escaped for the text formats, without the brace
  std::size_t allocator_size = 0;  ///< Bytes of the allocator's name.
  bool is_escaped = false;         ///< Whether the type's name has anything that is escaped.
  bool has_type = true;            ///< False: of an allocator as a whole, `{allocator="slab"`; no escaped_type() then.

  [[nodiscard]] std::string_view allocator() const { return {text.data() + kBefore, allocator_size}; }
  [[nodiscard]] std::string_view escaped_type() const {
    const std::size_t begin = kBefore + allocator_size + kBetween;
    return {text.data() + begin, text.size() - begin - 1};
  }

 private:
  static constexpr std::size_t kBefore = std::string_view("{allocator=\"").size();
  static constexpr std::size_t kBetween = std::string_view("\",type=\"").size();
};

/// The labels of a sample that is not a row's: `{part="slab"` as above, or "" for none, and the labels' names in that order.
struct NamedLabels {
  std::string_view text;
  std::span<const std::string_view> names;
  bool is_escaped = false;  ///< Whether any value has anything that is escaped.

  /// Calls `visit(name, escaped value)` for each label.
  template <typename Visit>
  void for_each(Visit visit) const {
    const char* at = text.data();
    for (const std::string_view name : names) {
      at += std::string_view("{").size() + name.size() + std::string_view("=\"").size();
      const char* const begin = at;
      for (; *at != '"'; ++at) at += *at == '\\' ? 1 : 0;
      visit(name, std::string_view(begin, static_cast<std::size_t>(at - begin)));
      ++at;
    }
  }
};

/// The labels of an allocator as a whole, with padding after them as in a Snapshot. Lives as long as the program.
RowLabels allocator_labels(Allocator allocator);

/// What is remembered of a row from poll to poll for daemon/snapshot/selection.h, which has the rules.
struct Listing {
  bool had_failures_or_waits = false;  ///< Waits, failures or limit hits were seen since memstatd first saw the type.
  bool is_large = false;               ///< Not hidden by min_bytes.
  bool is_listed = false;              ///< Was on the page when it was last there.
  std::uint32_t epoch = 0;             ///< Configuration that is_large belongs to; 0: none yet.
  std::int64_t last_high_ns = 0;       ///< When it last had half of min_bytes, monotonic.
};

/// When things began, in nanoseconds since 1970; 0: not known.
struct SnapshotTimes {
  std::int64_t boot_ns = 0;  ///< When the kernel started, and its counters with it.
  std::int64_t now_ns = 0;   ///< When the poll was made.
};

/// What a snapshot is made of beside the figures of types, as far as the sources that it comes from are up.
struct SnapshotExtras {
  /// By allocator: which figures by node are wanted.
  std::array<NodeFieldMask, kAllocatorCount> live_node{};
  /// By allocator: whether the details of its types are wanted.
  std::array<bool, kAllocatorCount> has_details{};
  /// Of each source. Of samples with the same labels the first one counts.
  std::span<const StagedStatistics* const> statistics;
  /// The events of the kernel's log as a table; "" for none.
  std::string_view kernel_log = {};
};

/// Figures of all types as of one poll. Types of the same name are one row. Room is kept when it is built again.
/// Thread safety: immutable once published; until then its builder's.
class Snapshot {
 public:
  /// Bytes that can be read after any label, so that it may be copied in large pieces.
  static constexpr std::size_t kLabelPadding = 48;

  /// What is known of one row beside its values.
  struct Row {
    FigureSet figures = 0;
    std::uint32_t label_offset = 0;
    std::uint32_t label_size = 0;
    std::uint32_t cpu_block = 0;      ///< its index + 1
    std::uint32_t node_block = 0;     ///< its index + 1
    std::uint8_t allocator_size = 0;  ///< as in RowLabels
    bool is_escaped = false;          ///< as in RowLabels
    bool has_detail = false;          ///< one of details() is this row's
    Allocator allocator = Allocator::kUnknown;
    std::uint32_t number = 0;        ///< as in History: small, of this name for as long as it is known, then another's
    std::int64_t first_seen_ns = 0;  ///< since 1970; 0: not known

    /// `labels`: the snapshot's label_bytes().
    [[nodiscard]] RowLabels labels(const char* labels) const {
      return {.text = {labels + label_offset, label_size}, .allocator_size = allocator_size, .is_escaped = is_escaped};
    }
  };

  /// Set of Allocator, as bits: those that the kernel's system may have, whether a source of theirs is up or not.
  std::uint32_t allocators_of_system = ~std::uint32_t{0};

  [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// The label texts of all rows, and padding after them.
  [[nodiscard]] std::string_view label_bytes() const { return labels_.view(); }
  /// `{allocator="slab",type="dentry"`, escaped for the text formats, without the closing brace.
  [[nodiscard]] std::string_view label(std::size_t row) const { return rows_[row].labels(labels_.data()).text; }
  [[nodiscard]] bool has(Figure figure, std::size_t row) const { return (rows_[row].figures & bit(figure)) != 0; }
  /// The figure's bits, to be read as the catalogue says. Requires has().
  [[nodiscard]] std::uint64_t value(Figure figure, std::size_t row) const { return values(figure)[row]; }
  /// The bits of one figure of all rows; of those that do not have it, anything.
  [[nodiscard]] const std::uint64_t* values(Figure figure) const {
    return values_.data() + columns_[figure.number()] * stride_;
  }

  /// Per-CPU figures of one row, for the rows that were asked for.
  struct CpuBlock {
    std::uint32_t row = 0;
    std::uint32_t cpu_count = 0;
    CpuFieldMask figures;
    std::size_t offset = 0;  ///< of [cpu figure][cpu] in the values
  };
  [[nodiscard]] const std::vector<CpuBlock>& cpu_blocks() const { return cpu_blocks_; }
  [[nodiscard]] const std::uint64_t* cpu_values(const CpuBlock& block, CpuField figure) const {
    return &cpu_values_[block.offset + static_cast<std::size_t>(figure) * block.cpu_count];
  }

  /// Figures by NUMA node of one row; nodes that the machine does not have are 0.
  struct NodeBlock {
    std::uint32_t row = 0;
    std::uint32_t node_count = 0;
    NodeFieldMask figures;
    std::size_t offset = 0;  ///< of [node field][node] in the values
  };
  [[nodiscard]] const std::vector<NodeBlock>& node_blocks() const { return node_blocks_; }
  [[nodiscard]] const std::uint64_t* node_values(const NodeBlock& block, NodeField figure) const {
    return &node_values_[block.offset + static_cast<std::size_t>(figure) * block.node_count];
  }

  /// Labels of one sample that is not a row's: where in more_labels() they are.
  struct LabelPlace {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    bool is_escaped = false;
  };
  /// Those of the details, and of the metrics of the system; padding after them.
  [[nodiscard]] NamedLabels labels_at(const LabelPlace& place, std::span<const std::string_view> names) const {
    return {.text = {more_labels_.data() + place.offset, place.size}, .names = names, .is_escaped = place.is_escaped};
  }
  /// The detail of one row, in the order of the rows.
  struct Detail {
    std::uint32_t row = 0;
    LabelPlace labels;
  };
  [[nodiscard]] const std::vector<Detail>& details() const { return details_; }

  /// One figure that belongs to no type. Of a metric of kind kHistogram: what histogram() takes.
  struct MachineSample {
    std::uint64_t bits = 0;
    LabelPlace labels;
  };
  [[nodiscard]] HistogramCounts histogram(const MachineSample& sample) const {
    const HistogramPlace& place = histograms_[sample.bits];
    return {.counts = std::span(bucket_counts_).subspan(place.begin, place.size), .sum = place.sum};
  }
  /// All samples of one metric of the system in the order of their sources; no two have the same labels.
  [[nodiscard]] std::span<const MachineSample> samples(const SystemMetric& metric) const {
    return samples(number_of(metric));
  }
  /// The same by the metric's number; none when no source of this build has it.
  [[nodiscard]] std::span<const MachineSample> samples(std::size_t metric) const {
    if (metric >= sample_ranges_.size()) return {};
    const SampleRange& range = sample_ranges_[metric];
    return std::span(machine_samples_).subspan(range.begin, range.end - range.begin);
  }

  [[nodiscard]] bool has(AllocatorFigure figure, Allocator allocator) const {
    return (allocator_figures_[static_cast<std::size_t>(allocator)] >> static_cast<unsigned>(figure) & 1U) != 0;
  }
  /// Requires has().
  [[nodiscard]] std::uint64_t value(AllocatorFigure figure, Allocator allocator) const {
    return allocator_values_[static_cast<std::size_t>(allocator)][static_cast<std::size_t>(figure)];
  }
  /// For the builder of the snapshot.
  void set(AllocatorFigure figure, Allocator allocator, std::uint64_t value) {
    allocator_figures_[static_cast<std::size_t>(allocator)] |= 1U << static_cast<unsigned>(figure);
    allocator_values_[static_cast<std::size_t>(allocator)][static_cast<std::size_t>(figure)] = value;
  }

  /// How many types of an allocator the page leaves out; set by Selection.
  [[nodiscard]] std::uint32_t unlisted_types(Allocator allocator) const {
    return unlisted_types_[static_cast<std::size_t>(allocator)];
  }
  void set_unlisted_types(const std::array<std::uint32_t, kAllocatorCount>& counts) { unlisted_types_ = counts; }

  /// Takes out every row for which `keep` has a 0; what remains stays in order. For the builder. No allocation.
  void keep_rows(std::span<const std::uint8_t> keep);

  /// Size in bytes of each bit of Field::kSizeMask; empty when the kernel does not report them.
  [[nodiscard]] const std::vector<std::uint64_t>& size_classes() const { return size_classes_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  /// Gives all room back. Only while no other thread uses this.
  void release();

  /// When the kernel started, in nanoseconds since 1970; 0: not known.
  [[nodiscard]] std::int64_t boot_time_ns() const { return boot_time_ns_; }

  /// When its figures were read, in nanoseconds since 1970: of a replay, when they were recorded.
  std::int64_t realtime_ns = 0;
  std::int64_t polled_ns = 0;                       ///< Monotonic time at which its poll began; set by the poller.
  std::shared_ptr<const MergedSlabs> merged_slabs;  ///< As of the start; nullptr: not known.
  /// The events of the kernel's log as a table that was read without error (core/model/kernel_log.h); "" for none.
  std::string kernel_log;
  /// Series that the limit on series keeps off the page; set by the selection.
  std::uint64_t series_dropped = 0;

 private:
  friend class SnapshotBuilder;

  std::vector<Row> rows_;
  Buffer labels_;
  /// Room for these figures of all rows.
  void add_columns(FigureSet figures);
  struct SampleRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  std::vector<std::uint64_t> values_;                 // [column][row]
  std::size_t stride_ = 0;                            // rows that there is room for
  std::array<std::uint8_t, kFigureCount> columns_{};  // of the figures that have one
  FigureSet figures_with_column_ = 0;
  std::vector<CpuBlock> cpu_blocks_;
  std::vector<std::uint64_t> cpu_values_;
  std::vector<NodeBlock> node_blocks_;
  std::vector<std::uint64_t> node_values_;
  std::vector<Detail> details_;
  std::vector<MachineSample> machine_samples_;
  struct HistogramPlace {
    std::size_t begin = 0;  // in the counts
    std::size_t size = 0;
    double sum = 0;
  };
  std::vector<HistogramPlace> histograms_;
  std::vector<std::uint64_t> bucket_counts_;
  std::vector<SampleRange> sample_ranges_;  // by the number of the metric
  Buffer more_labels_;
  std::vector<std::uint64_t> size_classes_;
  std::array<std::uint32_t, kAllocatorCount> unlisted_types_{};
  std::array<std::uint32_t, kAllocatorCount> allocator_figures_{};  // sets of AllocatorFigure
  std::array<std::array<std::uint64_t, kAllocatorFigureCount>, kAllocatorCount> allocator_values_{};
  std::uint64_t generation_ = 0;
  std::int64_t boot_time_ns_ = 0;
};

/// Makes snapshots from the list and the tracker's slots. Renders the label text of a type once and keeps it in a caller
/// pointer slot. Steady state: no allocation.
/// Thread safety: none; confined to the poller's thread, like the list.
class SnapshotBuilder {
 public:
  /// Fills `snapshot` with the present types that the filters of the configuration admit. `live` and `live_cpu` say, by
  /// allocator, which figures came from sources that are up; the others are left out. `size_classes`: the bytes of each size
  /// class of malloc.
  void build(MemoryTypeList& list, const std::array<FieldMask, kAllocatorCount>& live,
             const std::array<CpuFieldMask, kAllocatorCount>& live_cpu, std::uint64_t generation,
             const std::vector<std::uint64_t>& size_classes, Snapshot& snapshot, const SnapshotTimes& times = {},
             const SnapshotExtras& extras = {});

  /// What is remembered of each row of the snapshot built last. Valid until the next build() or forget().
  [[nodiscard]] std::span<Listing* const> listings() const { return listings_; }

  /// Gives back what is kept with a type that is about to be evicted. Returns the number that its row had and that another
  /// may have from now on; nothing when it had none.
  std::optional<std::uint32_t> forget(MemoryType& type);

 private:
  struct Label {
    std::string text;
    std::int64_t first_seen_ns = 0;
    bool is_escaped = false;
    std::uint32_t number = 0;  // of its row
    std::uint64_t build = 0;   // number of the one in which `row` is this name's
    std::uint32_t row = 0;
    std::uint32_t detail = 0;  // of that row: its index + 1
    Listing listing;
  };
  static void render_label(const MemoryType& type, std::int64_t now_ns, Label& label);
  std::uint32_t free_number();
  /// Empties the snapshot and makes room for the types of the list.
  void begin(const MemoryTypeList& list, Snapshot& snapshot);
  /// Adds the row of the first type of a name, and merges a further one into it by the rules for duplicates. `values`: by
  /// figure.
  void add_row(Allocator allocator, FigureSet present, std::span<const std::uint64_t> values, Label& label,
               Snapshot& snapshot);
  void merge_row(FigureSet present, std::span<const std::uint64_t> values, std::uint32_t at, Snapshot& snapshot);
  void add_cpus(const MemoryType& type, CpuFieldMask fields, std::size_t row, Snapshot& snapshot);
  static void add_nodes(const MemoryType& type, NodeFieldMask fields, std::size_t row, Snapshot& snapshot);
  static void add_detail(const MemoryType& type, bool is_first, Label& label, Snapshot& snapshot);
  static std::uint64_t bits_of(const StagedStatistics& staged, const StagedStatistics::Entry& entry, Snapshot& snapshot);
  void add_statistics(std::span<const StagedStatistics* const> all, Snapshot& snapshot);

  TypeSlot<Label, kLabelPointerSlot> labels_;
  std::vector<std::uint32_t> free_numbers_;
  std::uint32_t numbers_ = History::kNamedSeries;  // given out or free
  std::uint64_t builds_ = 0;
  std::vector<Listing*> listings_;
  /// Figures that types of one name do not agree on.
  struct Withheld {
    std::uint32_t row;
    FigureSet figures;
  };
  std::vector<Withheld> withheld_;
  std::vector<std::uint32_t> places_;  // of samples by their labels, open addressing; 0: none, else index + 1
  FigureSet figures_ = 0;              // those that any type had so far
};

/// Appends `text` with backslash, quote and line feed escaped, as label values of the text formats want it.
void append_escaped_label_value(std::string& out, std::string_view text);

/// The reverse, of what append_escaped_label_value appended: how many bytes it was, and writing them from `at` on; where
/// they end.
inline std::size_t unescaped_label_size(std::string_view escaped) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < escaped.size(); ++i, ++size) i += escaped[i] == '\\' ? 1 : 0;
  return size;
}
inline char* unescape_label_value(char* at, std::string_view escaped) {
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const bool is_escape = escaped[i] == '\\';
    if (is_escape) ++i;
    *at++ = is_escape && escaped[i] == 'n' ? '\n' : escaped[i];
  }
  return at;
}

}  // namespace memstat
