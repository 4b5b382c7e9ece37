// SPDX-License-Identifier: BSD-2-Clause
// The result of a parser before it is committed. The Staging of a failed parse is discarded, so a failed source changes
// nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/index_table.h"
#include "core/model/field.h"
#include "core/model/system_metric.h"

namespace memstat {

/// One parsed type. `name` is valid UTF-8 and points into the raw bytes or the Staging. It is valid until either changes.
struct StagedType {
  std::string_view name;
  std::string_view
      detail;        ///< Extra text for people, such as file and line; usually "". Valid UTF-8. Lives as long as `name`.
  FieldMask fields;  ///< The entries of `figures` that the kernel gave for this type.
  NodeFieldMask node_fields;  ///< The per-node figures that the kernel gave; initially all of Staging::node_fields().
  Figures figures;

  /// Stores a figure that the kernel gave; nothing if it gave none.
  void set(Field field, std::optional<std::uint64_t> value) {
    if (!value) return;
    fields.add(field);
    figures[field] = *value;
  }

 private:
  friend class Staging;
  std::size_t cpu_blocks_ = 0;  // offset of the block of CPU 0
  std::size_t cpu_groups_ = 0;  // its first word in used_groups_
  std::size_t nodes_ = 0;       // its first figure in node_figures_
};

/// Number of neighbouring CPUs that are checked and stored together. 32 take 2 KiB of a FreeBSD stream and 1280 B in the
/// list.
inline constexpr std::uint32_t kCpuGroup = 32;

/// Layout of per-CPU figures in a source's raw bytes: consecutive blocks, one per CPU, of unsigned 64-bit integers in host
/// byte order.
struct CpuBlocks {
  std::string_view bytes;                                  ///< Origin of all offsets. Borrowed.
  std::size_t block_size = 0;                              ///< B
  std::array<std::uint16_t, kCpuFieldCount> offsets = {};  ///< Offset in a block, by CpuField, in bytes.

  /// Blocks that begin with these fields, in order.
  static CpuBlocks of(std::string_view bytes, std::size_t block_size, std::initializer_list<CpuField> fields) {
    CpuBlocks blocks{.bytes = bytes, .block_size = block_size};
    std::uint16_t offset = 0;
    for (const CpuField field : fields) {
      blocks.offsets[static_cast<std::size_t>(field)] = std::exchange(offset, static_cast<std::uint16_t>(offset + 8));
    }
    return blocks;
  }
};

/// Totals of the first N integers over all blocks of one type.
template <std::size_t N>
struct CpuTotals {
  std::array<std::uint64_t, N> sums{};    ///< modulo 2^64
  std::array<std::uint64_t, N> unions{};  ///< bitwise or
};

/// Maximum number of types of a Staging, and of a list. A kernel has at most 65 535 control groups and far fewer of
/// anything else, and a type takes about 4 KiB until it is shown.
inline constexpr std::size_t kMaxTypes = 131'072;

/// Maximum number of a Staging's figures of CPUs and nodes that are not borrowed: 512 MiB.
inline constexpr std::size_t kMaxOwnFigures = std::size_t{1} << 26U;

/// Thrown by a Staging that is full, because a parser has no better use for an error at each type.
struct TooManyTypes : std::bad_alloc {
  [[nodiscard]] const char* what() const noexcept override { return "too many types"; }
};

/// kData: the source would exceed kMaxTypes or kMaxOwnFigures.
Error too_many_types();

/// The types of one allocator in the order of the kernel's records, with their per-CPU figures. With 4096 CPUs these are 500
/// MiB of raw bytes, so they are not copied: a Staging refers to them and remembers which CPUs have any. Storage is reused
/// between polls, so that refilling allocates nothing.
class Staging {
 public:
  /// Removes all types. `cpu_fields` and `cpu_count` are the shape of the per-CPU figures to come, which set_cpu_figure()
  /// stores here. Empty `cpu_fields`: no per-CPU figures.
  void reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count);
  /// The same for borrowed per-CPU figures, which add_cpu_blocks() uses. `blocks` must not change while the figures are
  /// used.
  void reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count, const CpuBlocks& blocks);

  /// Reserves room for `type_count` types and their per-CPU values; only a hint.
  void reserve(std::size_t type_count);

  /// Adds a type with per-CPU figures of 0. Bytes of `name` that are not valid UTF-8 are replaced, which makes it longer. If
  /// it then exceeds `longest` bytes, it is truncated. The reference is valid until the next add. Throws TooManyTypes.
  StagedType& add(std::string_view name, std::size_t longest = std::string_view::npos);

  /// Returns the type of that name among those merged since the reset, or a new one. For kernels with several records per
  /// type. Copies `name` and replaces bytes that are not valid UTF-8. The reference is valid until the next add or merge. Do
  /// not mix with add(). Per-CPU figures are set by the type's index, as usual.
  StagedType& merge(std::string_view name);
  /// A copy of `text`, with invalid UTF-8 replaced, that lives as long as a merged name. For StagedType::detail.
  [[nodiscard]] std::string_view keep_text(std::string_view text);
  /// Sets the detail of type `index` to a copy of `text`, made by keep_text().
  void set_detail(std::size_t index, std::string_view text) { types_[index].detail = keep_text(text); }
  /// Sorts the types by name, byte by byte, so that changes in the kernel's order do not reach the list. Ends merging until
  /// the next reset.
  void sort_by_name();

  /// Ends merging until the next reset.
  void drop_types_without_figures() {
    std::erase_if(types_, [](const StagedType& type) { return type.fields.empty(); });
  }
  /// Does what libmemstat does with duplicate names: keeps one type in the place of the first, with the figures of the last.
  /// Throws std::bad_alloc.
  void fold_duplicates();

  [[nodiscard]] const std::vector<StagedType>& types() const { return types_; }
  [[nodiscard]] CpuFieldMask cpu_fields() const { return cpu_fields_; }
  [[nodiscard]] std::uint32_t cpu_count() const { return cpu_count_; }

  /// Sets one figure of type `index`. Requires a field of cpu_fields(), a CPU below cpu_count(), and no borrowed blocks.
  void set_cpu_figure(std::size_t index, CpuField field, std::uint32_t cpu, std::uint64_t value);
  /// Assigns the cpu_count() borrowed blocks from `offset` on to the type added last, and returns the totals of the first N
  /// integers of each, in one pass. The blocks must lie within the bytes. All fields must be among these N integers, so that
  /// unused CPUs are detected.
  template <std::size_t N>
  CpuTotals<N> add_cpu_blocks(std::size_t offset);

  /// One figure of type `index` on one CPU. Requires a field of cpu_fields() and a CPU below cpu_count().
  [[nodiscard]] std::uint64_t cpu_figure(std::size_t index, CpuField field, std::uint32_t cpu) const {
    if (!is_cpu_group_used(index, cpu / kCpuGroup)) return 0;
    std::uint64_t value;
    std::memcpy(&value, cpu_block(index, cpu) + offset_in_cpu_block(field), sizeof value);
    return value;
  }

  // For the list. A CPU group is unused if all its figures are 0; groups end at the last CPU.
  [[nodiscard]] std::uint32_t cpu_group_count() const { return (cpu_count_ + kCpuGroup - 1) / kCpuGroup; }
  [[nodiscard]] std::uint32_t cpu_group_width(std::uint32_t group) const {
    return std::min(kCpuGroup, cpu_count_ - group * kCpuGroup);
  }
  [[nodiscard]] bool is_cpu_group_used(std::size_t index, std::uint32_t group) const {
    return group < cpu_group_count() && (used_groups_[types_[index].cpu_groups_ + group / 64] >> group % 64 & 1U) != 0;
  }
  [[nodiscard]] const char* cpu_block(std::size_t index, std::uint32_t cpu) const {
    return (is_borrowing_ ? blocks_.bytes.data() : reinterpret_cast<const char*>(own_figures_.data())) +
           types_[index].cpu_blocks_ + cpu * blocks_.block_size;
  }
  [[nodiscard]] std::size_t cpu_block_size() const { return blocks_.block_size; }
  [[nodiscard]] std::size_t offset_in_cpu_block(CpuField field) const {
    return blocks_.offsets[static_cast<std::size_t>(field)];
  }

  /// Declares, after a reset and before the first type, that the types have these figures on nodes 0 to node_count - 1. At
  /// most kMaxNodes; more are ignored. They are 0 until written; a node for which nothing is written does not exist, and has
  /// no figures: node numbers may have gaps.
  void set_nodes(NodeFieldMask fields, std::uint32_t node_count) {
    node_fields_ = fields;
    node_count_ = fields.empty() ? 0 : std::min(node_count, kMaxNodes);
  }
  [[nodiscard]] NodeFieldMask node_fields() const { return node_fields_; }
  [[nodiscard]] std::uint32_t node_count() const { return node_count_; }
  /// One figure of a type on one node. Requires a field of node_fields() and a node below node_count(). The reference is
  /// valid until the next type is added.
  [[nodiscard]] std::uint64_t& node_figure(const StagedType& type, NodeField field, std::uint32_t node) {
    existing_nodes_.set(node);
    return node_figures_[type.nodes_ + node * node_fields_.size() + node_fields_.rank(field)];
  }
  /// All figures of a type: [node][field by rank].
  [[nodiscard]] std::span<const std::uint64_t> node_figures(const StagedType& type) const {
    return std::span(node_figures_).subspan(type.nodes_, node_count_ * node_fields_.size());
  }
  [[nodiscard]] std::uint64_t node_figure(const StagedType& type, NodeField field, std::uint32_t node) const {
    return node_figures_[type.nodes_ + node * node_fields_.size() + node_fields_.rank(field)];
  }
  [[nodiscard]] bool has_node(std::uint32_t node) const { return existing_nodes_.test(node); }
  [[nodiscard]] std::uint32_t existing_nodes() const { return static_cast<std::uint32_t>(existing_nodes_.count()); }

  /// Figures that belong to no type. Cleared by reset().
  [[nodiscard]] StagedStatistics& statistics() { return statistics_; }
  [[nodiscard]] const StagedStatistics& statistics() const { return statistics_; }

  /// Scratch space of a parser, for per-type notes until it has seen all records. No other code reads them. Cleared by
  /// reset(), which keeps the storage.
  [[nodiscard]] std::vector<std::uint64_t>& notes() { return notes_; }

  /// Whether the parser missed something that the source caches between polls, so that the source must read it again.
  [[nodiscard]] bool is_incomplete() const { return is_incomplete_; }
  void set_incomplete() { is_incomplete_ = true; }

  /// Declares, after a reset, that this kernel does not provide these figures of the source's descriptor here, so that
  /// another source that owns them may. (Linux counts slab allocations itself, or memstatd counts their events.)
  void omit(FieldMask fields, CpuFieldMask cpu_fields) {
    omitted_fields_ = fields;
    omitted_cpu_fields_ = cpu_fields;
  }
  [[nodiscard]] FieldMask omitted_fields() const { return omitted_fields_; }
  [[nodiscard]] CpuFieldMask omitted_cpu_fields() const { return omitted_cpu_fields_; }

  /// A remark on figures that are valid, such as a feature that the machine lacks; "" for none. Valid UTF-8. Cleared by
  /// reset(), which keeps the storage.
  [[nodiscard]] const std::string& note() const { return note_; }
  /// Appends to the note, separated by "; ". Text beyond kMaxNoteSize is dropped.
  void add_note(std::string_view text);
  static constexpr std::size_t kMaxNoteSize = 4096;

  /// The events of the kernel's log as a table (core/model/kernel_log.h); "" for none. Cleared by reset(), which keeps the
  /// storage.
  [[nodiscard]] const std::string& kernel_log() const { return kernel_log_; }
  void set_kernel_log(std::string_view table);

  /// Bytes of each size class that has a bit in Field::kSizeMask; empty if the allocator reports none.
  [[nodiscard]] std::vector<std::uint64_t>& size_classes() { return size_classes_; }
  [[nodiscard]] const std::vector<std::uint64_t>& size_classes() const { return size_classes_; }

 private:
  static constexpr std::size_t kNameBlock = 16384;

  [[nodiscard]] std::size_t group_words() const { return (cpu_group_count() + 63) / 64; }

  [[nodiscard]] std::string_view keep_name(std::string_view name);

  std::vector<std::uint64_t> size_classes_;
  std::vector<StagedType> types_;
  CpuBlocks blocks_;
  std::vector<std::uint64_t> own_figures_;            // [type][cpu][field by rank], unless borrowed
  std::vector<std::uint64_t> used_groups_;            // a bit per group, whole words per type
  std::deque<std::string> repaired_names_;            // a deque, so that names keep their address
  std::vector<std::unique_ptr<char[]>> name_blocks_;  // each of kNameBlock bytes; kept between polls
  std::size_t name_block_ = 0;                        // the one being filled
  std::size_t name_block_used_ = 0;                   // B used of it
  IndexTable merged_;                                 // of merge(): types by name
  StagedStatistics statistics_;
  std::vector<std::uint64_t> notes_;
  std::string note_;
  std::string kernel_log_;
  std::vector<std::uint64_t> node_figures_;  // [type][node][field by rank]
  std::bitset<kMaxNodes> existing_nodes_;    // with a figure of any type
  NodeFieldMask node_fields_;
  std::uint32_t node_count_ = 0;
  CpuFieldMask cpu_fields_;
  FieldMask omitted_fields_;
  CpuFieldMask omitted_cpu_fields_;
  std::uint32_t cpu_count_ = 0;
  bool is_borrowing_ = false;
  bool is_incomplete_ = false;
};

template <std::size_t N>
CpuTotals<N> Staging::add_cpu_blocks(std::size_t offset) {
  types_.back().cpu_blocks_ = offset;
  std::uint64_t* const used = used_groups_.data() + types_.back().cpu_groups_;
  const char* at = blocks_.bytes.data() + offset;
  const std::size_t stride = blocks_.block_size;
  CpuTotals<N> totals;
  for (std::uint32_t group = 0; group < cpu_group_count(); ++group) {
    CpuTotals<N> part;  // per group, so that it stays in registers
    for (std::uint32_t left = cpu_group_width(group); left != 0; --left, at += stride) {
      std::array<std::uint64_t, N> block;
      std::memcpy(block.data(), at, sizeof block);
      for (std::size_t i = 0; i < N; ++i) {
        part.sums[i] += block[i];
        part.unions[i] |= block[i];
      }
    }
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < N; ++i) {
      totals.sums[i] += part.sums[i];
      totals.unions[i] |= part.unions[i];
      any |= part.unions[i];
    }
    if (any != 0) used[group / 64] |= std::uint64_t{1} << group % 64;
  }
  return totals;
}

}  // namespace memstat
