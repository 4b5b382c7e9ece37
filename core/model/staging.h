// SPDX-License-Identifier: BSD-2-Clause
// What a parser produced, before it is committed. A parse that fails leaves a Staging that is simply thrown away, which
// is how a failed source changes nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/field.h"
#include "core/model/system_metric.h"

namespace memstat {

/// One type as parsed. `name` is valid UTF-8 and points into the raw bytes or into the Staging: it lives until either is
/// changed.
struct StagedType {
  std::string_view name;
  std::string_view detail;    ///< More for people, such as file and line; "" for most. Valid UTF-8; lives like `name`.
  FieldMask fields;           ///< Which of `figures` the kernel gave for this type.
  NodeFieldMask node_fields;  ///< Which of its figures by node it gave; at first all of Staging::node_fields().
  Figures figures;

 private:
  friend class Staging;
  std::size_t cpu_blocks_ = 0;  // where the block of CPU 0 begins
  std::size_t cpu_groups_ = 0;  // its first word in the Staging's used_groups_
  std::size_t nodes_ = 0;       // its first figure in the Staging's node_figures_
};

/// Neighbouring CPUs that are looked at, and held, together. 32 are 2 KiB of a FreeBSD stream and 1280 B in the list.
inline constexpr std::uint32_t kCpuGroup = 32;

/// Where per-CPU figures stand in the raw bytes of a source: a block a CPU, one after the other, with the figures as
/// unsigned 64-bit integers in host byte order.
struct CpuBlocks {
  std::string_view bytes;                                  ///< What all offsets count from. Borrowed.
  std::size_t block_size = 0;                              ///< B
  std::array<std::uint16_t, kCpuFieldCount> offsets = {};  ///< B from the begin of a block, by CpuField.
};

/// What the first N integers of all blocks of one type come to.
template <std::size_t N>
struct CpuTotals {
  std::array<std::uint64_t, N> sums{};    ///< modulo 2^64
  std::array<std::uint64_t, N> unions{};  ///< every bit that any of them has
};

/// The types of one allocator in the order of the kernel's records, with their per-CPU figures. On a machine with 4096 CPUs
/// those are 500 MiB of raw bytes, so they are not copied: a Staging knows where they are and which CPUs have any.
/// Room is kept from one poll to the next, so that filling it again allocates nothing.
/// Thread safety: none; one owner at a time.
class Staging {
 public:
  /// Forgets all types. `cpu_fields` and `cpu_count` give the shape of the per-CPU figures to come; no CPU fields: none.
  /// They are kept here, for set_cpu_figure().
  void reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count);
  /// The same for per-CPU figures that stay where they are, for add_cpu_blocks(). `blocks` must not change for as long as
  /// the figures are wanted.
  void reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count, const CpuBlocks& blocks);

  /// Room for that number of types and their per-CPU values; only a hint.
  void reserve(std::size_t type_count);

  /// Adds a type; its per-CPU figures are 0 until written. Bytes of `name` that are not UTF-8 are replaced, by something
  /// longer; a name that this makes longer than `longest` bytes is cut. The reference lives until the next add.
  StagedType& add(std::string_view name, std::size_t longest = std::string_view::npos);

  /// The type of that name among those that merge() added since the reset, or a new one: for kernels' records of which many
  /// make one type. Nothing of `name` is borrowed; bytes that are not UTF-8 are replaced. The reference lives until the next
  /// add or merge. Not to be mixed with add(); per-CPU figures go to the type by its place, as ever.
  StagedType& merge(std::string_view name);
  /// A copy of `text`, repaired where it is no valid UTF-8, that lives like a merged name: for StagedType::detail.
  [[nodiscard]] std::string_view keep_text(std::string_view text);
  /// Gives type `index` a copy of `text`, as keep_text() makes it, as its detail.
  void set_detail(std::size_t index, std::string_view text) { types_[index].detail = keep_text(text); }
  /// Orders the types by name, byte by byte, so that a kernel's changing order is none of the list's business. Ends merging
  /// until the next reset.
  void sort_by_name();

  /// What libmemstat makes of several types of one name when it meets them again: one type in the place of the first, with
  /// the figures of the last. Throws std::bad_alloc.
  void fold_duplicates();

  [[nodiscard]] const std::vector<StagedType>& types() const { return types_; }
  [[nodiscard]] CpuFieldMask cpu_fields() const { return cpu_fields_; }
  [[nodiscard]] std::uint32_t cpu_count() const { return cpu_count_; }

  /// Sets one figure of type `index`. Requires a field of cpu_fields(), a CPU below cpu_count(), and no borrowed blocks.
  void set_cpu_figure(std::size_t index, CpuField field, std::uint32_t cpu, std::uint64_t value);
  /// Says that the per-CPU figures of the type added last are the cpu_count() borrowed blocks from `offset` on, which must
  /// lie within the bytes, and adds up the first N integers of each: one pass over the bytes. Every field must be one of
  /// these N, so that a CPU without figures is known as such.
  template <std::size_t N>
  CpuTotals<N> add_cpu_blocks(std::size_t offset);

  /// One figure of type `index` on one CPU. Requires a field of cpu_fields() and a CPU below cpu_count().
  [[nodiscard]] std::uint64_t cpu_figure(std::size_t index, CpuField field, std::uint32_t cpu) const {
    if (!is_cpu_group_used(index, cpu / kCpuGroup)) return 0;
    std::uint64_t value;
    std::memcpy(&value, cpu_block(index, cpu) + offset_in_cpu_block(field), sizeof value);
    return value;
  }

  // How the list takes them over. A group of CPUs is unused when all its figures are 0, and beyond the last CPU.
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

  /// Says, after a reset and before the first type, that the types have these figures on nodes 0 to node_count - 1 (at most
  /// kMaxNodes, more are left out). They are 0 until written.
  void set_nodes(NodeFieldMask fields, std::uint32_t node_count) {
    node_fields_ = fields;
    node_count_ = fields.empty() ? 0 : std::min(node_count, kMaxNodes);
  }
  [[nodiscard]] NodeFieldMask node_fields() const { return node_fields_; }
  [[nodiscard]] std::uint32_t node_count() const { return node_count_; }
  /// One figure of a type on one node. Requires a field of node_fields() and a node below node_count(). The reference lives
  /// until the next type is added.
  [[nodiscard]] std::uint64_t& node_figure(const StagedType& type, NodeField field, std::uint32_t node) {
    return node_figures_[type.nodes_ + node * node_fields_.size() + node_fields_.rank(field)];
  }
  [[nodiscard]] std::uint64_t node_figure(const StagedType& type, NodeField field, std::uint32_t node) const {
    return node_figures_[type.nodes_ + node * node_fields_.size() + node_fields_.rank(field)];
  }

  /// Figures that belong to no type. Emptied by reset().
  [[nodiscard]] StagedStatistics& statistics() { return statistics_; }
  [[nodiscard]] const StagedStatistics& statistics() const { return statistics_; }

  /// A parser's own notes while it parses, for what it must remember of types until it has seen all records; no other code
  /// reads them. Emptied by reset(), the room is kept.
  [[nodiscard]] std::vector<std::uint64_t>& notes() { return notes_; }

  /// Whether the parser missed something that the source keeps from poll to poll, so that it has to be read again.
  [[nodiscard]] bool is_incomplete() const { return is_incomplete_; }
  void set_incomplete() { is_incomplete_ = true; }

  /// Says, after a reset, that this kernel does not give these figures of the source's descriptor in this way, so that
  /// another source that owns them, too, may. (Linux counts allocations of slab caches itself, or memstatd counts their
  /// events.)
  void leave(FieldMask fields, CpuFieldMask cpu_fields) {
    left_fields_ = fields;
    left_cpu_fields_ = cpu_fields;
  }
  [[nodiscard]] FieldMask left_fields() const { return left_fields_; }
  [[nodiscard]] CpuFieldMask left_cpu_fields() const { return left_cpu_fields_; }

  /// What people should know of the figures although they are good, such as what the machine lacks of them; "" for nothing.
  /// Valid UTF-8. Emptied by reset(), the room is kept.
  [[nodiscard]] const std::string& note() const { return note_; }
  /// Adds to the note, "; " between; what goes beyond kLongestNote is left out.
  void add_note(std::string_view text);
  static constexpr std::size_t kLongestNote = 4096;

  /// The events of the kernel's log as a table (core/model/kernel_log.h); "" for none. Emptied by reset(), the room is kept.
  [[nodiscard]] const std::string& kernel_log() const { return kernel_log_; }
  void set_kernel_log(std::string_view table) { kernel_log_.assign(table); }

  /// Bytes of each size class that Field::kSizeMask has a bit for; empty when the allocator reports none.
  [[nodiscard]] std::vector<std::uint64_t>& size_classes() { return size_classes_; }
  [[nodiscard]] const std::vector<std::uint64_t>& size_classes() const { return size_classes_; }

 private:
  static constexpr std::size_t kNameBlock = 16384;

  [[nodiscard]] std::size_t group_words() const { return (cpu_group_count() + 63) / 64; }

  [[nodiscard]] std::string_view keep_name(std::string_view name);
  void grow_places();

  std::vector<std::uint64_t> size_classes_;
  std::vector<StagedType> types_;
  CpuBlocks blocks_;
  std::vector<std::uint64_t> own_figures_;            // [type][cpu][field by rank], unless borrowed
  std::vector<std::uint64_t> used_groups_;            // a bit a group, whole words a type
  std::deque<std::string> repaired_names_;            // a deque: names keep their address
  std::vector<std::unique_ptr<char[]>> name_blocks_;  // of kNameBlock bytes, kept from poll to poll
  std::size_t name_block_ = 0;                        // the one that is being filled
  std::size_t name_block_used_ = 0;                   // B of it
  std::vector<std::uint32_t> places_;                 // of merged types by name, open addressing; 0: none, else index + 1
  StagedStatistics statistics_;
  std::vector<std::uint64_t> notes_;
  std::string note_;
  std::string kernel_log_;
  std::vector<std::uint64_t> node_figures_;  // [type][node][field by rank]
  NodeFieldMask node_fields_;
  std::uint32_t node_count_ = 0;
  CpuFieldMask cpu_fields_;
  FieldMask left_fields_;
  CpuFieldMask left_cpu_fields_;
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
    CpuTotals<N> part;  // of this group, so that it stays in registers
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
