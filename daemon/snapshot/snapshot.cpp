// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/snapshot.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "core/model/unique_number.h"

namespace memstat {
namespace {

constexpr std::array<char, Snapshot::kLabelPadding> kPadding{};
/// In addition to an eighth, for new types.
constexpr std::size_t kSpareRows = 64;
constexpr std::size_t kUsualLabelBytes = 56;

/// Fields that are not exported unchanged: amounts in use are the tracker's, counters are its totals, limits may be
/// configured, and the utilization is a percentage in the kernel.
constexpr FieldMask kChangedFields(Field::kBytes, Field::kCount, Field::kNumAllocs, Field::kNumFrees, Field::kMemAlloced,
                                   Field::kMemFreed, Field::kFailures, Field::kSleeps, Field::kXDomain, Field::kCountLimit,
                                   Field::kBytesLimit, Field::kCountLimit64, Field::kSlabUtilization);
constexpr CpuFieldMask kCpuGauges(CpuField::kFree);
constexpr CpuFieldMask kCpuFieldsWithMetric(CpuField::kMemAlloced, CpuField::kMemFreed, CpuField::kNumAllocs,
                                            CpuField::kNumFrees, CpuField::kFree);

/// The figures of types with this rule in the catalogue.
FigureSet figures_with(DuplicateRule rule) {
  FigureSet figures = 0;
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if ((metric.scope == MetricScope::kType || metric.scope == MetricScope::kSizeClass) && metric.duplicates == rule)
      figures |= FigureSet{1} << metric.figure;
  }
  return figures;
}

/// The bits of a figure, rounded to 1/`parts`; more precision is useless, and all formats get the same value.
std::uint64_t rounded_bits(double figure, double parts) {
  const double rounded = std::round(figure * parts);
  if (std::abs(rounded) < 9e15) figure = rounded / parts + 0.0;  // + 0.0 turns -0.0 into 0.0
  return std::bit_cast<std::uint64_t>(figure);
}
std::uint64_t rate_bits(double rate) { return rounded_bits(rate, 1000); }

/// Whether any of eight bytes is `c`.
constexpr bool has_byte(std::uint64_t bytes, char c) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t zero_where_equal = bytes ^ kOnes * static_cast<unsigned char>(c);
  return ((zero_where_equal - kOnes) & ~zero_where_equal & kOnes << 7U) != 0;
}

bool needs_escape(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(8, text.size()))) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), std::min<std::size_t>(8, text.size()));
    if (has_byte(bytes, '\\') || has_byte(bytes, '"') || has_byte(bytes, '\n')) return true;
  }
  return false;
}

/// Appends the text with escapes, to a Buffer or a std::string. Returns whether there are any.
template <typename Out>
bool append_escaped(Out& out, std::string_view text) {
  if (!needs_escape(text)) {
    out.append(text);
    return false;
  }
  for (const char c : text) {
    const bool is_special = c == '\\' || c == '"' || c == '\n';
    const std::array<char, 2> escape{'\\', c == '\n' ? 'n' : c};
    out.append(is_special ? std::string_view(escape.data(), 2) : std::string_view(&c, 1));
  }
  return true;
}

/// The figures of one type, before merging with others of its name.
struct TypeFigures {
  FigureSet present = 0;
  std::array<std::uint64_t, kFigureCount> values;

  void put(Figure figure, std::uint64_t value) {
    present |= bit(figure);
    values[figure.number()] = value;
  }
};

void collect(const MemoryType& type, const TrackedType& tracked, FieldMask fields, TypeFigures& figures) {
  if (fields.has(Field::kBytes)) {
    figures.put(Field::kBytes, tracked.bytes);
    figures.put(TrackedFigure::kPeakBytes, type.caller_uint64(kPeakSlot));
    if (tracked.has_delta_bytes) figures.put(TrackedFigure::kDeltaBytes, static_cast<std::uint64_t>(tracked.delta_bytes));
    if (tracked.has_growth) figures.put(TrackedFigure::kGrowth, rate_bits(tracked.growth_bytes_per_second));
  }
  if (fields.has(Field::kCount)) {
    figures.put(Field::kCount, tracked.objects);
    if (tracked.has_delta_objects)
      figures.put(TrackedFigure::kDeltaObjects, static_cast<std::uint64_t>(tracked.delta_objects));
  }
  for_each_of(fields - kChangedFields, [&](Field field) { figures.put(field, type.figure(field)); });
  if (fields.has(Field::kSlabUtilization)) {
    figures.put(Field::kSlabUtilization,
                std::bit_cast<std::uint64_t>(static_cast<double>(type.figure(Field::kSlabUtilization)) / 100));
  }
  bool has_counters = false;
  for (std::size_t i = 0; i < kTrackedCounters.size(); ++i) {
    if (!fields.has(kTrackedCounters[i])) continue;
    has_counters = true;
    figures.put(kTrackedCounters[i], type.caller_uint64(kAccumulatedSlot + i));
  }
  if (has_counters) figures.put(TrackedFigure::kResets, tracked.resets);
  const auto [objects, bytes, is_objects_of_kernel, is_bytes_of_kernel] = limits_of(type, tracked, fields);
  if (objects != 0) figures.put(Field::kCountLimit, objects);
  if (bytes != 0) figures.put(Field::kBytesLimit, bytes);
  if (objects == 0 && bytes == 0) return;
  figures.put(TrackedFigure::kLimitHits, tracked.limit_hits);
  // Use the limit that will be reached first; one may be the kernel's and the other configured.
  std::optional<double> used;
  bool is_configured = !is_objects_of_kernel && !is_bytes_of_kernel;
  const auto consider = [&](bool is_of_kernel, std::uint64_t amount, std::uint64_t most) {
    const double part = static_cast<double>(amount) / static_cast<double>(most);
    if (used && *used >= part) return;
    used = part;
    is_configured = !is_of_kernel;
  };
  if (objects != 0 && fields.has(Field::kCount))
    consider(is_objects_of_kernel, objects_against_limit(type, tracked, fields), objects);
  if (bytes != 0 && fields.has(Field::kBytes)) consider(is_bytes_of_kernel, tracked.bytes, bytes);
  if (is_configured) figures.put(TrackedFigure::kLimitConfigured, 1);
  constexpr double kParts = 10000;
  if (used) figures.put(TrackedFigure::kLimitUsed, rounded_bits(*used, kParts));
}

}  // namespace

void Snapshot::add_columns(FigureSet figures) {
  auto columns = static_cast<std::size_t>(std::popcount(figures_with_column_));
  for (FigureSet left = figures & ~figures_with_column_; left != 0; left &= left - 1) {
    columns_[static_cast<std::size_t>(std::countr_zero(left))] = static_cast<std::uint8_t>(columns++);
  }
  values_.resize(columns * stride_);
  figures_with_column_ |= figures;
}

void append_escaped_label_value(std::string& out, std::string_view text) { append_escaped(out, text); }

std::optional<std::size_t> row_of(const Snapshot& snapshot, std::string_view allocator, std::string_view type) {
  std::string escaped;
  append_escaped_label_value(escaped, type);
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
    if (labels.escaped_type() == escaped && labels.allocator() == allocator) return row;
  }
  return std::nullopt;
}

std::string Snapshot::detail_text(const Detail& detail) const {
  std::string_view text = labels_at(detail.labels, {}).text;
  text.remove_prefix(rows_[detail.row].label_size + std::string_view(",detail=\"").size());
  text.remove_suffix(1);
  return unescaped_label(text);
}

RowLabels allocator_labels(Allocator allocator) {
  static const std::array<std::string, kAllocatorCount> kTexts = [] {
    std::array<std::string, kAllocatorCount> texts;
    for (std::size_t i = 0; i < kAllocatorCount; ++i) {
      texts[i] = "{allocator=\"";
      texts[i] += to_string(static_cast<Allocator>(i));
      texts[i] += '"';
      texts[i].append(Snapshot::kLabelPadding, '\0');
    }
    return texts;
  }();
  const std::string& text = kTexts[static_cast<std::size_t>(allocator)];
  return {.text = std::string_view(text).substr(0, text.size() - Snapshot::kLabelPadding),
          .allocator_size = to_string(allocator).size(),
          .has_type = false};
}

void Snapshot::keep_first_rows(std::size_t count) {
  rows_.resize(count);
  labels_.resize(count == 0 ? 0 : rows_.back().label_offset + rows_.back().label_size);
}

void Snapshot::keep_rows(std::span<const std::uint8_t> keep) {
  const auto is_dropped = [keep](const auto& one) { return keep[one.row] == 0; };
  const auto keep_blocks = [&](auto& blocks, std::uint32_t Row::*place) {
    std::erase_if(blocks, is_dropped);
    for (std::size_t i = 0; i < blocks.size(); ++i) rows_[blocks[i].row].*place = static_cast<std::uint32_t>(i + 1);
  };
  keep_blocks(cpu_blocks_, &Row::cpu_block);
  keep_blocks(node_blocks_, &Row::node_block);
  std::erase_if(details_, is_dropped);
  std::size_t details = 0;
  std::size_t kept = 0;
  std::size_t label_end = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (keep[row] == 0) continue;
    Row& entry = rows_[row];
    // Labels are in row order, so none is overwritten before it is moved.
    std::memmove(labels_.data() + label_end, labels_.data() + entry.label_offset, entry.label_size);
    entry.label_offset = static_cast<std::uint32_t>(label_end);
    label_end += entry.label_size;
    if (entry.cpu_block != 0) cpu_blocks_[entry.cpu_block - 1].row = static_cast<std::uint32_t>(kept);
    if (entry.node_block != 0) node_blocks_[entry.node_block - 1].row = static_cast<std::uint32_t>(kept);
    if (entry.has_detail) details_[details++].row = static_cast<std::uint32_t>(kept);
    for (FigureSet left = entry.figures; left != 0; left &= left - 1) {
      std::uint64_t* column = values_.data() + columns_[static_cast<std::size_t>(std::countr_zero(left))] * stride_;
      column[kept] = column[row];
    }
    rows_[kept++] = entry;
  }
  keep_first_rows(kept);
  labels_.append({kPadding.data(), kPadding.size()});
}

void SnapshotBuilder::render_label(const MemoryType& type, std::int64_t now_ns, Label& label) {
  label.id = unique_number();
  label.first_seen_ns = now_ns;
  label.is_escaped = type.name().find_first_of("\\\"\n") != std::string::npos;
  label.text = "{allocator=\"";
  label.text += to_string(type.allocator());
  label.text += "\",type=\"";
  append_escaped_label_value(label.text, type.name());
  label.text += '"';
}

std::uint32_t SnapshotBuilder::free_number() {
  if (free_numbers_.empty()) {
    free_numbers_.reserve(numbers_ + 1);  // so that freeing cannot fail
    return numbers_++;
  }
  const std::uint32_t number = free_numbers_.back();
  free_numbers_.pop_back();
  return number;
}

std::optional<std::uint32_t> SnapshotBuilder::forget(MemoryType& type) {
  const Label* const label = TypeSlot<Label, kLabelPointerSlot>::of(type);
  if (label == nullptr) return std::nullopt;
  const std::uint32_t number = label->number;
  free_numbers_.push_back(number);
  labels_.release(type);
  return number;
}

void SnapshotBuilder::add_cpus(const MemoryType& type, CpuFieldMask fields, std::size_t row, Snapshot& snapshot) {
  if (fields.empty() || type.cpu_count() == 0) return;
  Snapshot::Row& entry = snapshot.rows_[row];
  const bool is_new = entry.cpu_block == 0;
  if (is_new) {
    snapshot.cpu_blocks_.push_back(
        {.row = static_cast<std::uint32_t>(row), .count = type.cpu_count(), .offset = snapshot.cpu_values_.size()});
    snapshot.cpu_values_.resize(snapshot.cpu_values_.size() + kCpuMetricCount * type.cpu_count());
    entry.cpu_block = static_cast<std::uint32_t>(snapshot.cpu_blocks_.size());
  }
  Snapshot::CpuBlock& block = snapshot.cpu_blocks_[entry.cpu_block - 1];
  for_each_of(fields & kCpuFieldsWithMetric, [&](CpuField field) {
    block.figures.add(field);
    std::uint64_t* values = &snapshot.cpu_values_[block.offset + static_cast<std::size_t>(field) * block.count];
    for (std::uint32_t cpu = 0; cpu < block.count; ++cpu) {
      const std::uint64_t value =
          kCpuGauges.has(field) ? type.cpu_figure(field, cpu) : DeltaTracker::accumulated(type, cpu, field);
      if (is_new || values[cpu] == kNoFigure) {
        values[cpu] = value;
      } else if (value != kNoFigure) {
        values[cpu] += value;
      }
    }
  });
}

void SnapshotBuilder::add_nodes(const MemoryType& type, NodeFieldMask fields, std::size_t row, Snapshot& snapshot) {
  if (fields.empty() || type.node_count() == 0) return;
  Snapshot::Row& entry = snapshot.rows_[row];
  const std::uint32_t count = type.node_count();
  if (entry.node_block == 0) {
    snapshot.node_blocks_.push_back(
        {.row = static_cast<std::uint32_t>(row), .count = count, .offset = snapshot.node_values_.size()});
    snapshot.node_values_.resize(snapshot.node_values_.size() + kNodeFieldCount * count, kNoFigure);
    entry.node_block = static_cast<std::uint32_t>(snapshot.node_blocks_.size());
  }
  Snapshot::NodeBlock& block = snapshot.node_blocks_[entry.node_block - 1];
  if (block.count < count) {  // types of one name with different node counts: move the values to a larger block
    const Snapshot::NodeBlock old = block;
    block.count = count;
    block.offset = snapshot.node_values_.size();
    snapshot.node_values_.resize(snapshot.node_values_.size() + kNodeFieldCount * count, kNoFigure);
    for (std::size_t i = 0; i < kNodeFieldCount; ++i) {
      std::copy_n(&snapshot.node_values_[old.offset + i * old.count], old.count,
                  &snapshot.node_values_[block.offset + i * count]);
    }
  }
  block.figures = block.figures | fields;
  for_each_of(fields, [&](NodeField field) {
    std::uint64_t* values = &snapshot.node_values_[block.offset + static_cast<std::size_t>(field) * block.count];
    for (std::uint32_t node = 0; node < count; ++node) {
      const std::uint64_t value = type.node_figure(field, node);
      if (value != kNoFigure) values[node] = (values[node] == kNoFigure ? 0 : values[node]) + value;
    }
  });
}

void SnapshotBuilder::add_detail(const MemoryType& type, bool is_first, Label& label, Snapshot& snapshot) {
  if (is_first) label.detail = 0;
  if (is_first ? type.detail().empty() : label.detail == 0) return;
  Buffer& out = snapshot.more_labels_;
  const std::size_t begin = out.size();
  out.append(label.text);
  out.append(",detail=\"");
  const bool is_escaped = append_escaped(out, type.detail());
  out.append("\"");
  if (is_first) {
    snapshot.details_.push_back({.row = label.row,
                                 .labels = {.offset = static_cast<std::uint32_t>(begin),
                                            .size = static_cast<std::uint32_t>(out.size() - begin),
                                            .is_escaped = is_escaped || label.is_escaped}});
    label.detail = static_cast<std::uint32_t>(snapshot.details_.size());
    snapshot.rows_[label.row].has_detail = true;
    return;
  }
  const Snapshot::LabelPlace& first = snapshot.details_[label.detail - 1].labels;
  if (out.view().substr(begin) != out.view().substr(first.offset, first.size)) {
    snapshot.rows_[label.row].has_detail = false;  // build() removes it
  }
  out.resize(begin);
}

/// The bits of a snapshot's sample. A histogram is copied, and the bits are its place.
std::uint64_t SnapshotBuilder::bits_of(const StagedStatistics& staged, const StagedStatistics::Entry& entry,
                                       Snapshot& snapshot) {
  if (!entry.is_histogram) return entry.bits;
  const HistogramCounts histogram = staged.histogram(entry);
  snapshot.histograms_.push_back(
      {.begin = snapshot.bucket_counts_.size(), .size = histogram.counts.size(), .sum = histogram.sum});
  snapshot.bucket_counts_.insert(snapshot.bucket_counts_.end(), histogram.counts.begin(), histogram.counts.end());
  return snapshot.histograms_.size() - 1;
}

namespace {

/// Appends an entry's labels in page format. Returns whether any value was escaped.
bool append_labels(const StagedStatistics& staged, const StagedStatistics::Entry& entry, Buffer& out) {
  bool is_escaped = false;
  const std::span<const std::string_view> names = entry.metric->label_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.append(i == 0 ? "{" : ",");
    out.append(names[i]);
    out.append("=\"");
    is_escaped |= append_escaped(out, staged.label(entry, i));
    out.append("\"");
  }
  return is_escaped;
}

}  // namespace

void SnapshotBuilder::count_machine_series(Snapshot& snapshot) {
  snapshot.machine_series_ = {};
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope != MetricScope::kSystem) continue;
    for (auto tier = static_cast<std::size_t>(metric.tier); tier < kTierCount; ++tier)
      snapshot.machine_series_[tier] += snapshot.samples(metric.figure).size() * series_per_sample(metric);
  }
}

/// Sets the labels of all samples, and which entry belongs to which sample. Values come later.
void SnapshotBuilder::place_samples(std::span<const StagedStatistics* const> all, Snapshot& snapshot) {
  snapshot.shapes_.clear();  // set last, in case that memory runs out
  snapshot.sample_of_entry_.clear();
  const SystemMetric* last_metric = nullptr;  // entries of one metric are usually consecutive
  std::size_t last_number = 0;
  const auto number = [&](const SystemMetric* metric) {
    if (metric != last_metric) {
      last_metric = metric;
      last_number = number_of(*metric);
    }
    return last_number;
  };
  snapshot.sample_ranges_.assign(system_metrics().size() + 1, {});  // the last is for metrics that no source declares
  std::size_t count = 0;
  for (const StagedStatistics* staged : all) {
    for (const StagedStatistics::Entry& entry : staged->entries()) ++snapshot.sample_ranges_[number(entry.metric)].end;
    count += staged->entries().size();
  }
  std::uint32_t begin = 0;
  for (Snapshot::SampleRange& range : snapshot.sample_ranges_) {
    const std::uint32_t samples = range.end;
    range = {.begin = begin, .end = begin};
    begin += samples;
  }
  snapshot.machine_samples_.resize(count);
  sample_table_.clear();
  sample_table_.reserve(count, [](std::size_t index) { return index; });
  Buffer& out = snapshot.more_labels_;
  out.clear();
  for (const StagedStatistics* staged : all) {
    for (const StagedStatistics::Entry& entry : staged->entries()) {
      const std::size_t label_begin = out.size();
      const bool is_escaped = append_labels(*staged, entry, out);
      const std::string_view labels = out.view().substr(label_begin);
      const std::size_t metric = number(entry.metric);
      Snapshot::SampleRange& range = snapshot.sample_ranges_[metric];
      std::uint32_t& sample = sample_table_.find(std::hash<std::string_view>{}(labels) + metric, [&](std::size_t index) {
        if (index < range.begin || index >= range.end) return false;  // another metric's
        const Snapshot::LabelPlace& other = snapshot.machine_samples_[index].labels;
        return out.view().substr(other.offset, other.size) == labels;
      });
      if (sample != 0) {
        out.resize(label_begin);
        snapshot.sample_of_entry_.push_back(Snapshot::kDuplicate);
        continue;
      }
      snapshot.machine_samples_[range.end].labels = {.offset = static_cast<std::uint32_t>(label_begin),
                                                     .size = static_cast<std::uint32_t>(out.size() - label_begin),
                                                     .is_escaped = is_escaped};
      snapshot.sample_of_entry_.push_back(range.end);
      sample = ++range.end;
    }
  }
  snapshot.sample_labels_size_ = out.size();
  count_machine_series(snapshot);
  for (const StagedStatistics* staged : all) snapshot.shapes_.push_back(staged->shape());
}

void SnapshotBuilder::add_statistics(std::span<const StagedStatistics* const> all, Snapshot& snapshot) {
  const bool is_same =
      std::equal(all.begin(), all.end(), snapshot.shapes_.begin(), snapshot.shapes_.end(),
                 [](const StagedStatistics* staged, const auto& shape) { return staged->shape() == shape; });
  if (!is_same || all.empty()) place_samples(all, snapshot);
  snapshot.more_labels_.resize(snapshot.sample_labels_size_);  // without the details of an earlier poll
  snapshot.histograms_.clear();
  snapshot.bucket_counts_.clear();
  auto sample = snapshot.sample_of_entry_.begin();
  for (const StagedStatistics* staged : all) {
    for (const StagedStatistics::Entry& entry : staged->entries()) {
      const std::uint32_t index = *sample++;
      if (index != Snapshot::kDuplicate) snapshot.machine_samples_[index].bits = bits_of(*staged, entry, snapshot);
    }
  }
}

void SnapshotBuilder::begin(const MemoryTypeList& list, Snapshot& snapshot) {
  ++builds_;
  rows_ = 0;
  snapshot.unlisted = {};
  snapshot.series_dropped = 0;
  listings_.clear();
  snapshot.cpu_blocks_.clear();
  snapshot.cpu_values_.clear();
  snapshot.node_blocks_.clear();
  snapshot.node_values_.clear();
  snapshot.details_.clear();
  suppressed_.clear();
  if (snapshot.stride_ < list.size()) {
    snapshot.stride_ = list.size() + list.size() / 8 + kSpareRows;
    snapshot.values_.clear();  // so that growing does not copy
    snapshot.values_.resize(snapshot.stride_ * static_cast<std::size_t>(std::popcount(snapshot.figures_with_column_)));
    snapshot.rows_.reserve(snapshot.stride_);
    snapshot.labels_.reserve(snapshot.stride_ * kUsualLabelBytes);
  }
  listings_.reserve(snapshot.stride_);
  suppressed_.reserve(snapshot.stride_);
  snapshot.add_columns(figures_);
}

void SnapshotBuilder::add_row(Allocator allocator, FigureSet present, std::span<const std::uint64_t> values, Label& label,
                              Snapshot& snapshot) {
  label.build = builds_;
  label.row = rows_++;
  // The rows usually are those of the build before.
  if (label.row == snapshot.rows_.size() || snapshot.rows_[label.row].label_id != label.id) {
    snapshot.keep_first_rows(label.row);
    const std::size_t offset = snapshot.labels_.size();
    snapshot.labels_.append(label.text);
    snapshot.rows_.push_back({.label_offset = static_cast<std::uint32_t>(offset),
                              .label_size = static_cast<std::uint32_t>(label.text.size()),
                              .allocator_size = static_cast<std::uint8_t>(to_string(allocator).size()),
                              .is_escaped = label.is_escaped,
                              .allocator = allocator,
                              .number = label.number,
                              .first_seen_ns = label.first_seen_ns,
                              .label_id = label.id});
  }
  Snapshot::Row& row = snapshot.rows_[label.row];
  row.figures = present;
  row.cpu_block = row.node_block = 0;
  row.has_detail = false;
  listings_.push_back(&label.listing);
  for (FigureSet left = present; left != 0; left &= left - 1) {
    const auto figure = static_cast<std::size_t>(std::countr_zero(left));
    snapshot.values_[snapshot.columns_[figure] * snapshot.stride_ + label.row] = values[figure];
  }
}

void SnapshotBuilder::merge_row(FigureSet present, std::span<const std::uint64_t> values, std::uint32_t at,
                                Snapshot& snapshot) {
  static const FigureSet kNeedAll = figures_with(DuplicateRule::kSumOfAll) | figures_with(DuplicateRule::kMax);
  static const FigureSet kNeedSame = figures_with(DuplicateRule::kSameOrNone);
  static const FigureSet kMax = figures_with(DuplicateRule::kMax);
  Snapshot::Row& row = snapshot.rows_[at];
  FigureSet suppressed = (row.figures ^ present) & kNeedAll;
  for (FigureSet left = present; left != 0; left &= left - 1) {
    const auto figure = static_cast<std::size_t>(std::countr_zero(left));
    const FigureSet this_bit = FigureSet{1} << figure;
    std::uint64_t& value = snapshot.values_[snapshot.columns_[figure] * snapshot.stride_ + at];
    if ((row.figures & this_bit) == 0) {
      value = values[figure];
    } else if ((kNeedSame & this_bit) != 0) {
      if (value != values[figure]) suppressed |= this_bit;
    } else if ((kMax & this_bit) != 0) {
      value = std::max(value, values[figure]);  // bits of non-negative doubles sort like the doubles
    } else if (figure == Figure(Field::kSizeMask).number()) {
      value |= values[figure];
    } else if (figure == Figure(TrackedFigure::kGrowth).number()) {
      value = rate_bits(std::bit_cast<double>(value) + std::bit_cast<double>(values[figure]));
    } else {
      value += values[figure];
    }
  }
  row.figures |= present;
  if (suppressed != 0) suppressed_.push_back({.row = at, .figures = suppressed});
}

void SnapshotBuilder::build(MemoryTypeList& list, const std::array<FieldMask, kAllocatorCount>& live,
                            const std::array<CpuFieldMask, kAllocatorCount>& live_cpu, std::uint64_t generation,
                            const std::vector<std::uint64_t>& size_classes, Snapshot& snapshot, const SnapshotTimes& times,
                            const SnapshotExtras& extras) {
  begin(list, snapshot);
  add_statistics(extras.statistics, snapshot);
  snapshot.generation_ = generation;
  snapshot.boot_time_ns_ = times.boot_ns;
  snapshot.size_classes_.assign(size_classes.begin(), size_classes.end());
  const bool wants_more =
      std::any_of(extras.has_details.begin(), extras.has_details.end(), std::identity{}) ||
      std::any_of(extras.live_node.begin(), extras.live_node.end(), [](NodeFieldMask fields) { return !fields.empty(); });
  for (MemoryType* type = list.first(); type != nullptr; type = type->next()) {
    const auto allocator = static_cast<std::size_t>(type->allocator());
    const FieldMask fields = type->fields() & live[allocator];
    const TrackedType* tracked = DeltaTracker::tracked(*type);
    if (!type->is_present() || fields.empty() || tracked == nullptr || tracked->is_filtered) continue;
    TypeFigures figures;
    collect(*type, *tracked, fields, figures);
    if ((figures.present & ~snapshot.figures_with_column_) != 0) {
      snapshot.add_columns(figures.present);
      figures_ |= figures.present;
    }
    Label& label = labels_.get_or_create(type->first_of_name(), [&](Label& fresh) {
      render_label(*type, times.now_ns, fresh);
      fresh.number = free_number();
    });
    const bool is_first = label.build != builds_;
    if (is_first) {
      add_row(type->allocator(), figures.present, figures.values, label, snapshot);
    } else {
      merge_row(figures.present, figures.values, label.row, snapshot);
    }
    if (tracked->had_failures_or_waits) label.listing.had_failures_or_waits = true;
    if (tracked->wants_cpus) add_cpus(*type, type->cpu_fields() & live_cpu[allocator], label.row, snapshot);
    if (!wants_more) continue;
    add_nodes(*type, type->node_fields() & extras.live_node[allocator], label.row, snapshot);
    if (extras.has_details[allocator]) add_detail(*type, is_first, label, snapshot);
  }
  for (const Suppressed& suppressed : suppressed_) snapshot.rows_[suppressed.row].figures &= ~suppressed.figures;
  snapshot.keep_first_rows(rows_);
  snapshot.labels_.append({kPadding.data(), kPadding.size()});
  std::erase_if(snapshot.details_, [&](const Snapshot::Detail& detail) { return !snapshot.rows_[detail.row].has_detail; });
  for (std::size_t i = 0; i < kMaxLogs; ++i) snapshot.logs[i].assign(extras.logs[i]);
  snapshot.more_labels_.append({kPadding.data(), kPadding.size()});
}

}  // namespace memstat
