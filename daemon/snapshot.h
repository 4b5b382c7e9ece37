// SPDX-License-Identifier: BSD-2-Clause
// The immutable result of one poll: values and label texts of its own, no pointer into the memory type list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/model/memory_type_list.h"
#include "daemon/delta_tracker.h"
#include "daemon/kept_with_types.h"
#include "daemon/metric_catalogue.h"

namespace memstat {

/// Figures of all types as of one poll, and the text page made of them. Types of the same name are one row.
/// Room is kept when it is built again. Thread safety: immutable once published; until then its builder's.
class Snapshot {
 public:
  [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
  /// `{allocator="slab",type="dentry"`, escaped for the text formats, without the closing brace. 15 bytes after it can be
  /// read, so that it may be copied in pieces of 16.
  [[nodiscard]] std::string_view label(std::size_t row) const {
    return labels_.view().substr(rows_[row].label_offset, rows_[row].label_size);
  }
  [[nodiscard]] bool has(Figure figure, std::size_t row) const {
    return (rows_[row].figures >> static_cast<unsigned>(figure) & 1U) != 0;
  }
  /// The figure's bits, to be read as the catalogue says. Requires has().
  [[nodiscard]] std::uint64_t value(Figure figure, std::size_t row) const {
    return values_[static_cast<std::size_t>(figure) * stride_ + row];
  }

  /// Per-CPU figures of one row, for the rows that were asked for.
  struct CpuBlock {
    std::uint32_t row = 0;
    std::uint32_t cpu_count = 0;
    std::uint32_t figures = 0;  ///< set of CpuFigure
    std::size_t offset = 0;     ///< of [cpu figure][cpu] in the values
  };
  [[nodiscard]] const std::vector<CpuBlock>& cpu_blocks() const { return cpu_blocks_; }
  [[nodiscard]] const std::uint64_t* cpu_values(const CpuBlock& block, CpuFigure figure) const {
    return &cpu_values_[block.offset + static_cast<std::size_t>(figure) * block.cpu_count];
  }

  /// Size in bytes of each bit of Figure::kSizeClasses; empty when the kernel does not tell.
  [[nodiscard]] const std::vector<std::uint64_t>& size_classes() const { return size_classes_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  /// The text page and how many series it has; set by the renderer.
  Buffer text;
  std::size_t series = 0;

 private:
  friend class SnapshotBuilder;
  struct Row {
    std::uint32_t label_offset = 0;
    std::uint32_t label_size = 0;
    std::uint32_t figures = 0;    // set of Figure
    std::uint32_t withheld = 0;   // figures that types of one name do not agree on
    std::uint32_t cpu_block = 0;  // its index + 1
  };

  std::vector<Row> rows_;
  Buffer labels_;
  std::vector<std::uint64_t> values_;  // [figure][row]
  std::size_t stride_ = 0;
  std::vector<CpuBlock> cpu_blocks_;
  std::vector<std::uint64_t> cpu_values_;
  std::vector<std::uint64_t> size_classes_;
  std::uint64_t generation_ = 0;
};

/// Makes snapshots from the list and the tracker's slots. Renders the label text of a type once and keeps it in a caller
/// pointer slot. Steady state: no allocation.
/// Thread safety: none; confined to the poller's thread, like the list.
class SnapshotBuilder {
 public:
  /// Fills `snapshot` with the present types. `live` and `live_cpu` say, by allocator, which figures came from sources that
  /// are up; the others are left out. `size_classes`: the bytes of each size class of malloc.
  void build(MemoryTypeList& list, const std::array<FieldMask, kAllocatorCount>& live,
             const std::array<CpuFieldMask, kAllocatorCount>& live_cpu, std::uint64_t generation,
             const std::vector<std::uint64_t>& size_classes, Snapshot& snapshot);

  /// Gives back what is kept with a type that is about to be evicted.
  void forget(MemoryType& type) { labels_.give_back(type); }

 private:
  struct Label {
    std::string text;
    std::uint64_t build = 0;  // number of the one in which `row` is this name's
    std::uint32_t row = 0;
  };
  static void render_label(const MemoryType& type, Label& label);
  void add_cpus(const MemoryType& type, CpuFieldMask fields, std::size_t row, Snapshot& snapshot);

  KeptWithTypes<Label, kLabelPointerSlot> labels_;
  std::uint64_t builds_ = 0;
};

/// Appends `text` with backslash, quote and line feed escaped, as label values of the text formats want it.
void append_escaped_label_value(std::string& out, std::string_view text);

}  // namespace memstat
