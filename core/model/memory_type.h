// SPDX-License-Identifier: BSD-2-Clause
// One memory type: its identity, its figures as of the last commit, and its caller-owned slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/model/caller_slots.h"
#include "core/model/cpu_figures.h"
#include "core/model/field.h"
#include "core/model/node_figures.h"

namespace memstat {

/// An entry of a MemoryTypeList. Only the list creates, changes and destroys entries. An entry's address and slots stay
/// valid for as long as the list holds it, whatever the sources do.
///
/// Identity is (allocator, name, ordinal), because real kernels have duplicate names. Ordinals count from the oldest type of
/// a name. When the number of types of a name changes, they cannot be told apart, so all of them count as seen for the
/// first time (first_seen_generation). Thread safety: confined to the thread that owns the list.
class MemoryType {
 public:
  MemoryType(const MemoryType&) = delete;
  MemoryType& operator=(const MemoryType&) = delete;
  ~MemoryType() = default;

  [[nodiscard]] Allocator allocator() const { return allocator_; }
  /// Valid UTF-8 of any length. Lives as long as the type.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// 0 for the oldest type of this name.
  [[nodiscard]] std::uint32_t ordinal() const { return ordinal_; }
  /// The number of types of this allocator and name in the last roster. At least 1 for a present type.
  [[nodiscard]] std::uint32_t duplicates() const { return duplicates_; }

  /// The type of this allocator and name with ordinal 0; itself if the name is unique. Lives at least as long as this type.
  [[nodiscard]] MemoryType& first_of_name() const { return *first_of_name_; }

  /// The figures that the kernel provides for this type. Empty until a source commits some.
  [[nodiscard]] FieldMask fields() const { return fields_; }
  /// A figure as of the last commit, in the field's unit. 0 if the kernel does not provide it.
  [[nodiscard]] std::uint64_t figure(Field field) const { return figures_[field]; }

  [[nodiscard]] CpuFieldMask cpu_fields() const { return cpu_fields_; }
  /// One more than the highest CPU with per-CPU figures or slots. CPU numbers may have gaps.
  [[nodiscard]] std::uint32_t cpu_count() const { return cpu_count_; }
  [[nodiscard]] std::uint64_t cpu_figure(CpuField field, std::uint32_t cpu) const { return cpu_figures_.get(field, cpu); }
  /// The first CPU at or after `cpu` that has or had a figure other than 0, or is near such a CPU; cpu_count() if there is
  /// none. Lets loops skip thousands of idle CPUs. A CPU that was once returned is never skipped later.
  [[nodiscard]] std::uint32_t next_used_cpu(std::uint32_t cpu) const { return cpu_figures_.next_held(cpu, cpu_count_); }

  /// Extra text for people, such as file and line, as of the last roster; usually "". Valid UTF-8. Lives until the next
  /// commit.
  [[nodiscard]] const std::string& detail() const { return detail_; }

  [[nodiscard]] NodeFieldMask node_fields() const { return node_fields_; }
  /// One more than the highest node that ever had figures; 0 if none. Node numbers may have gaps.
  [[nodiscard]] std::uint32_t node_count() const { return node_count_; }
  /// kNoFigure: there is no such node, or no figure.
  [[nodiscard]] std::uint64_t node_figure(NodeField field, std::uint32_t node) const {
    return node_fields_.has(field) ? node_figures_.get(field, node) : kNoFigure;
  }

  /// Whether the last roster contained this type. A vanished type keeps its last roster figures and its slots until it is
  /// evicted.
  [[nodiscard]] bool is_present() const { return is_present_; }
  /// Generation of the last roster that contained it.
  [[nodiscard]] std::uint64_t last_seen_generation() const { return last_seen_generation_; }
  /// Generation at which this entry was new, or had to be treated as new.
  [[nodiscard]] std::uint64_t first_seen_generation() const { return first_seen_generation_; }

  /// The next type in libmemstat's order (newest insertion first), nullptr after the last. Includes vanished types.
  [[nodiscard]] MemoryType* next() const { return next_; }

  // Caller slots: 16 integers and 16 pointers, per type and per type and CPU. The caller owns them; they are 0 or nullptr
  // until set and live as long as the entry. Reading a slot or CPU that is out of range returns 0; setting it returns false.
  // The first use of a slot allocates (std::bad_alloc), later ones do not.
  [[nodiscard]] std::uint64_t caller_uint64(std::size_t slot) const { return integers_.get(slot); }
  bool set_caller_uint64(std::size_t slot, std::uint64_t value) { return integers_.set(slot, value); }
  [[nodiscard]] void* caller_pointer(std::size_t slot) const { return pointers_.get(slot); }
  bool set_caller_pointer(std::size_t slot, void* value) { return pointers_.set(slot, value); }
  [[nodiscard]] std::uint64_t cpu_caller_uint64(std::uint32_t cpu, std::size_t slot) const {
    return integers_.get(slot, cpu);
  }
  bool set_cpu_caller_uint64(std::uint32_t cpu, std::size_t slot, std::uint64_t value) {
    return integers_.set(slot, cpu, cpu_count_, value);
  }
  [[nodiscard]] void* cpu_caller_pointer(std::uint32_t cpu, std::size_t slot) const { return pointers_.get(slot, cpu); }
  bool set_cpu_caller_pointer(std::uint32_t cpu, std::size_t slot, void* value) {
    return pointers_.set(slot, cpu, cpu_count_, value);
  }

 private:
  friend class MemoryTypeList;
  MemoryType(Allocator allocator, std::string_view name, std::uint32_t ordinal)
      : ordinal_(ordinal), allocator_(allocator), name_(name) {}

  // Members that one poll touches come first, to share cache lines.
  MemoryType* next_ = nullptr;
  MemoryType* first_of_name_ = this;
  CallerSlots<std::uint64_t> integers_;
  CallerSlots<void*> pointers_;
  FieldMask fields_;
  CpuFieldMask cpu_fields_;
  NodeFieldMask node_fields_;
  std::uint64_t last_seen_generation_ = 0;
  std::uint64_t first_seen_generation_ = 0;
  std::uint32_t cpu_count_ = 0;
  std::uint32_t node_count_ = 0;
  std::uint32_t ordinal_;
  Allocator allocator_;
  bool is_present_ = false;
  CpuFigures cpu_figures_;
  NodeFigures node_figures_;
  std::string name_;
  Figures figures_;
  std::string detail_;
  MemoryType* previous_ = nullptr;
  std::uint64_t mark_ = 0;       // scratch mark for the list's walks
  std::uint64_t insertion_ = 0;  // insertion number: larger is nearer the head
  std::uint32_t duplicates_ = 1;
};

}  // namespace memstat
