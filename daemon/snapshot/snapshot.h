// SPDX-License-Identifier: BSD-2-Clause
// The immutable result of one poll, with its own values and label texts, independent of the memory type list.
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
#include "core/base/index_table.h"
#include "core/kernel/merged_slabs.h"
#include "core/model/histogram.h"
#include "core/model/memory_type_list.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "daemon/tracking/delta_tracker.h"
#include "daemon/tracking/type_slot.h"

namespace memstat {

struct RowLabels {
  std::string_view text;  ///< `{allocator="slab",type="dentry"`, escaped for the text formats, without the closing brace
  std::size_t allocator_size = 0;  ///< Length of the allocator's name.
  bool is_escaped = false;         ///< Whether the type's name contains escapes.
  bool has_type = true;            ///< False for an allocator as a whole, `{allocator="slab"`, which has no escaped_type().

  [[nodiscard]] std::string_view allocator() const { return {text.data() + kBefore, allocator_size}; }
  [[nodiscard]] std::string_view escaped_type() const {
    const std::size_t begin = kBefore + allocator_size + kBetween;
    return {text.data() + begin, text.size() - begin - 1};
  }

 private:
  static constexpr std::size_t kBefore = std::string_view("{allocator=\"").size();
  static constexpr std::size_t kBetween = std::string_view("\",type=\"").size();
};

/// The labels of a sample that is not a row's: `{part="slab"` as above, or "" for none, and the label names in that order.
struct NamedLabels {
  std::string_view text;
  std::span<const std::string_view> names;
  bool is_escaped = false;  ///< Whether any value contains escapes.

  /// Calls `visit(name, escaped value)` for each label.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::size_t at = 0;
    for (const std::string_view name : names) {
      at += std::string_view("{").size() + name.size() + std::string_view("=\"").size();
      const std::size_t begin = at;
      if (is_escaped) {
        for (; text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      } else {
        at = text.find('"', at);
      }
      visit(name, text.substr(begin, at - begin));
      ++at;
    }
  }
};

/// The labels of an allocator as a whole, padded as in a Snapshot. Static lifetime.
RowLabels allocator_labels(Allocator allocator);

/// Selects the metrics to render, and their form.
struct RenderOptions {
  Tier tier = Tier::kDefault;
  bool types = true;          ///< Metrics of the selected tier. False for the page /metrics/percpu.
  bool per_cpu = true;        ///< Metrics of scope kCpu, for rows with per-CPU figures.
  bool size_classes = false;  ///< Metrics of scope kSizeClass.
  /// OpenMetrics: write a `_created` sample for each counter and histogram with a known start. Protobuf always has the
  /// start, text never.
  bool created = false;
};

/// State of a row kept between polls for daemon/snapshot/selection.h, which defines the rules.
struct Listing {
  bool had_failures_or_waits = false;  ///< Waits, failures or limit hits since memstatd first saw the type.
  bool is_large = false;               ///< Not hidden by min_bytes.
  bool is_listed = false;              ///< Was on the page when it was last present.
  std::uint32_t epoch = 0;             ///< Configuration version of is_large; 0: none yet.
  std::int64_t last_high_ns = 0;       ///< Monotonic time when it last had half of min_bytes.
};

/// Start times in nanoseconds since 1970; 0: unknown.
struct SnapshotTimes {
  std::int64_t boot_ns = 0;  ///< Boot time, when the kernel's counters start.
  std::int64_t now_ns = 0;   ///< Time of the poll.
};

/// Sources whose table of events a snapshot can have.
inline constexpr std::size_t kMaxLogs = 2;

/// Input for a snapshot besides the figures of types, from sources that are up.
struct SnapshotExtras {
  /// By allocator: the wanted per-node figures.
  std::array<NodeFieldMask, kAllocatorCount> live_node{};
  /// By allocator: whether the details of its types are wanted.
  std::array<bool, kAllocatorCount> has_details{};
  /// One per source. Of samples with the same labels the first counts.
  std::span<const StagedStatistics* const> statistics;
  /// The events of the kernel's log, and of the journal, as tables; "" for none.
  std::array<std::string_view, kMaxLogs> logs = {};
};

/// Figures of all types as of one poll. Types of the same name share a row. Storage is reused when it is built again. Thread
/// safety: immutable once published; until then it belongs to its builder.
class Snapshot {
 public:
  /// Readable bytes after any label, so that labels can be copied in large pieces.
  static constexpr std::size_t kLabelPadding = 48;

  struct Row {
    FigureSet figures = 0;
    std::uint32_t label_offset = 0;
    std::uint32_t label_size = 0;
    std::uint32_t cpu_block = 0;      ///< index + 1
    std::uint32_t node_block = 0;     ///< index + 1
    std::uint8_t allocator_size = 0;  ///< as in RowLabels
    bool is_escaped = false;          ///< as in RowLabels
    bool has_detail = false;          ///< details() has an entry for this row
    Allocator allocator = Allocator::kUnknown;
    std::uint32_t number = 0;        ///< as in History: small, reused after the name is forgotten
    std::int64_t first_seen_ns = 0;  ///< since 1970; 0: unknown
    std::uint64_t label_id = 0;      ///< of the name; unique in the process

    /// `labels` must be the snapshot's label_bytes().
    [[nodiscard]] RowLabels labels(const char* labels) const {
      return {.text = {labels + label_offset, label_size}, .allocator_size = allocator_size, .is_escaped = is_escaped};
    }
  };

  /// Bit set of Allocator: those that the kernel's system may have, even if none of their sources is up.
  std::uint32_t allocators_of_system = ~std::uint32_t{0};

  [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// The labels of all rows, followed by padding.
  [[nodiscard]] std::string_view label_bytes() const { return labels_.view(); }
  [[nodiscard]] RowLabels labels(std::size_t row) const { return rows_[row].labels(labels_.data()); }
  /// `{allocator="slab",type="dentry"`, escaped for the text formats, without the closing brace.
  [[nodiscard]] std::string_view label(std::size_t row) const { return labels(row).text; }
  [[nodiscard]] bool has(Figure figure, std::size_t row) const { return (rows_[row].figures & bit(figure)) != 0; }
  /// The figure's bits, in the catalogue's format. Requires has().
  [[nodiscard]] std::uint64_t value(Figure figure, std::size_t row) const { return values(figure)[row]; }
  /// The bits of one figure for all rows; unspecified for rows that lack it.
  [[nodiscard]] const std::uint64_t* values(Figure figure) const {
    return values_.data() + columns_[figure.number()] * stride_;
  }

  /// The figures of one row by CPU or by node.
  template <typename FieldOf>
  struct PlaceBlock {
    using FieldType = FieldOf;
    std::uint32_t row = 0;
    std::uint32_t count = 0;  ///< of CPUs or nodes
    FieldSet<FieldOf> figures = {};
    std::size_t offset = 0;  ///< of [field][CPU or node] in the values
  };
  /// For the configured rows.
  using CpuBlock = PlaceBlock<CpuField>;
  /// kNoFigure for nodes that the machine lacks.
  using NodeBlock = PlaceBlock<NodeField>;
  [[nodiscard]] const std::vector<CpuBlock>& cpu_blocks() const { return cpu_blocks_; }
  [[nodiscard]] const std::vector<NodeBlock>& node_blocks() const { return node_blocks_; }
  [[nodiscard]] const std::uint64_t* values(const CpuBlock& block, CpuField field) const {
    return &cpu_values_[block.offset + static_cast<std::size_t>(field) * block.count];
  }
  [[nodiscard]] const std::uint64_t* values(const NodeBlock& block, NodeField field) const {
    return &node_values_[block.offset + static_cast<std::size_t>(field) * block.count];
  }

  /// The place in more_labels_ of the labels of a sample that is not a row's.
  struct LabelPlace {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    bool is_escaped = false;
  };
  /// Labels of details and system metrics, followed by padding.
  [[nodiscard]] NamedLabels labels_at(const LabelPlace& place, std::span<const std::string_view> names) const {
    return {.text = {more_labels_.data() + place.offset, place.size}, .names = names, .is_escaped = place.is_escaped};
  }
  /// The detail of one row. Details are in row order.
  struct Detail {
    std::uint32_t row = 0;
    LabelPlace labels;
  };
  [[nodiscard]] const std::vector<Detail>& details() const { return details_; }
  /// The text of a detail, as in the kernel.
  [[nodiscard]] std::string detail_text(const Detail& detail) const;

  /// One figure that belongs to no type. For kHistogram: the argument for histogram().
  struct MachineSample {
    std::uint64_t bits = 0;
    LabelPlace labels;
  };
  [[nodiscard]] HistogramCounts histogram(const MachineSample& sample) const {
    const HistogramPlace& place = histograms_[sample.bits];
    return {.counts = std::span(bucket_counts_).subspan(place.begin, place.size), .sum = place.sum};
  }
  /// All samples of one system metric, in source order, with unique labels.
  [[nodiscard]] std::span<const MachineSample> samples(const SystemMetric& metric) const {
    return samples(number_of(metric));
  }
  /// The same by the metric's number; empty if no source of this build has it.
  [[nodiscard]] std::span<const MachineSample> samples(std::size_t metric) const {
    if (metric >= sample_ranges_.size()) return {};
    const SampleRange& range = sample_ranges_[metric];
    return std::span(machine_samples_).subspan(range.begin, range.end - range.begin);
  }

  /// Series of all samples on a page of this tier.
  [[nodiscard]] std::uint64_t machine_series(Tier tier) const { return machine_series_[static_cast<std::size_t>(tier)]; }
  /// Snapshots with the same shapes have the same samples in the same places, but other values.
  [[nodiscard]] std::span<const StagedStatistics::Shape> shapes() const { return shapes_; }

  /// The types of an allocator that the page omits; set by Selection.
  struct Unlisted {
    std::uint32_t types = 0;
    std::optional<std::uint64_t> bytes = {};  ///< A series on the page; empty if none of its types has bytes.
  };
  std::array<Unlisted, kAllocatorCount> unlisted{};

  /// Removes every row with 0 in `keep`; the others stay in order. For the builder. Does not allocate.
  void keep_rows(std::span<const std::uint8_t> keep);

  /// Bytes of each bit of Field::kSizeMask; empty if the kernel does not report them.
  [[nodiscard]] const std::vector<std::uint64_t>& size_classes() const { return size_classes_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  /// Frees all storage. Only while no other thread uses the snapshot.
  void release() { *this = Snapshot(); }

  /// Boot time in nanoseconds since 1970; 0: unknown.
  [[nodiscard]] std::int64_t boot_time_ns() const { return boot_time_ns_; }

  /// Time of the poll in nanoseconds since 1970; in a replay, the time of recording.
  std::int64_t realtime_ns = 0;
  std::int64_t polled_ns = 0;                       ///< Monotonic start of its poll; set by the poller.
  std::shared_ptr<const MergedSlabs> merged_slabs;  ///< As of the start; nullptr: unknown.
  /// The events of the kernel's log, and of the journal, as valid tables (core/model/kernel_log.h); "" for none.
  std::array<std::string, kMaxLogs> logs;
  /// Series that the page omits because of the series limit; set by Selection.
  std::uint64_t series_dropped = 0;

 private:
  friend class SnapshotBuilder;

  std::vector<Row> rows_;  // while it is built, those of the build before follow
  Buffer labels_;          // in row order
  /// Makes room for these figures of all rows.
  void add_columns(FigureSet figures);
  /// Removes the other rows with their labels.
  void keep_first_rows(std::size_t count);
  struct SampleRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  /// In sample_of_entry_: of samples with the same labels the first counts.
  static constexpr std::uint32_t kDuplicate = ~std::uint32_t{0};

  std::vector<std::uint64_t> values_;                 // [column][row]
  std::size_t stride_ = 0;                            // capacity in rows
  std::array<std::uint8_t, kFigureCount> columns_{};  // for figures that have one
  FigureSet figures_with_column_ = 0;
  std::vector<CpuBlock> cpu_blocks_;
  std::vector<std::uint64_t> cpu_values_;
  std::vector<NodeBlock> node_blocks_;
  std::vector<std::uint64_t> node_values_;
  std::vector<Detail> details_;
  std::vector<MachineSample> machine_samples_;
  struct HistogramPlace {
    std::size_t begin = 0;  // offset in the counts
    std::size_t size = 0;
    double sum = 0;
  };
  std::vector<HistogramPlace> histograms_;
  std::vector<std::uint64_t> bucket_counts_;
  std::vector<SampleRange> sample_ranges_;  // by metric number
  // While the statistics have the same shapes, only the values of samples are written.
  std::vector<StagedStatistics::Shape> shapes_;  // those of the samples, by source
  std::vector<std::uint32_t> sample_of_entry_;   // the sample of each entry of all statistics, in order
  std::size_t sample_labels_size_ = 0;           // bytes of more_labels_
  std::array<std::uint64_t, kTierCount> machine_series_{};
  Buffer more_labels_;  // of samples, then of details
  std::vector<std::uint64_t> size_classes_;
  std::uint64_t generation_ = 0;
  std::int64_t boot_time_ns_ = 0;
};

/// Builds snapshots from the list and the tracker's slots. Renders each type's label once and keeps it in a caller pointer
/// slot. Allocates nothing in the steady state. Thread safety: none; confined to the poller's thread, like the list.
class SnapshotBuilder {
 public:
  /// Fills `snapshot` with the present types that the configuration's filters admit. `live` and `live_cpu` contain, by
  /// allocator, the figures from sources that are up; others are omitted. `size_classes` are the bytes of malloc's size
  /// classes.
  void build(MemoryTypeList& list, const std::array<FieldMask, kAllocatorCount>& live,
             const std::array<CpuFieldMask, kAllocatorCount>& live_cpu, std::uint64_t generation,
             const std::vector<std::uint64_t>& size_classes, Snapshot& snapshot, const SnapshotTimes& times = {},
             const SnapshotExtras& extras = {});

  /// The selection state of each row of the last snapshot. Valid until the next build(), forget() or shrink().
  [[nodiscard]] std::span<Listing* const> listings() const { return listings_; }

  /// Frees the state of a type about to be evicted. Returns its row number, which may be reused from now on; nothing if it
  /// had none.
  std::optional<std::uint32_t> forget(MemoryType& type);

  /// Frees the storage that build() takes again.
  void shrink() {
    listings_ = std::vector<Listing*>();
    suppressed_ = std::vector<Suppressed>();
    sample_table_.free_memory();
  }

 private:
  struct Label {
    // Members that each poll touches come first, to share cache lines.
    std::uint64_t build = 0;  // the build for which `row` is valid
    std::uint32_t row = 0;
    std::uint32_t detail = 0;  // its detail's index + 1
    std::uint64_t id = 0;
    Listing listing;
    std::string text;
    std::int64_t first_seen_ns = 0;
    bool is_escaped = false;
    std::uint32_t number = 0;  // row number
  };
  static void render_label(const MemoryType& type, std::int64_t now_ns, Label& label);
  std::uint32_t free_number();
  /// Clears the snapshot and makes room for the list's types.
  void begin(const MemoryTypeList& list, Snapshot& snapshot);
  /// Adds the row of the first type of a name, or merges another type into it by the duplicate rules. `values` are by
  /// figure.
  void add_row(Allocator allocator, FigureSet present, std::span<const std::uint64_t> values, Label& label,
               Snapshot& snapshot);
  void merge_row(FigureSet present, std::span<const std::uint64_t> values, std::uint32_t at, Snapshot& snapshot);
  void add_cpus(const MemoryType& type, CpuFieldMask fields, std::size_t row, Snapshot& snapshot);
  static void add_nodes(const MemoryType& type, NodeFieldMask fields, std::size_t row, Snapshot& snapshot);
  static void add_detail(const MemoryType& type, bool is_first, Label& label, Snapshot& snapshot);
  static std::uint64_t bits_of(const StagedStatistics& staged, const StagedStatistics::Entry& entry, Snapshot& snapshot);
  void add_statistics(std::span<const StagedStatistics* const> all, Snapshot& snapshot);
  static void count_machine_series(Snapshot& snapshot);
  void place_samples(std::span<const StagedStatistics* const> all, Snapshot& snapshot);

  TypeSlot<Label, kLabelPointerSlot> labels_;
  std::vector<std::uint32_t> free_numbers_;
  std::uint32_t numbers_ = History::kNamedSeries;  // assigned or free
  std::uint64_t builds_ = 0;
  std::uint32_t rows_ = 0;  // of this build so far
  std::vector<Listing*> listings_;
  /// Figures suppressed because types of one name disagree.
  struct Suppressed {
    std::uint32_t row;
    FigureSet figures;
  };
  std::vector<Suppressed> suppressed_;
  IndexTable sample_table_;  // of place_samples(): samples by metric and labels
  FigureSet figures_ = 0;    // all figures seen so far
};

/// Appends `text` with backslash, quote and line feed escaped, as in label values of the text formats.
void append_escaped_label_value(std::string& out, std::string_view text);

/// The inverse for text escaped by append_escaped_label_value: its unescaped size; and writes it at `at`, returning the end.
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

inline std::string unescaped_label(std::string_view escaped) {
  std::string text(unescaped_label_size(escaped), '\0');
  unescape_label_value(text.data(), escaped);
  return text;
}

/// The row of a type, by the names of its allocator and of itself as in the kernel; empty if it has none.
[[nodiscard]] std::optional<std::size_t> row_of(const Snapshot& snapshot, std::string_view allocator, std::string_view type);

}  // namespace memstat
