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

/// An entry of a MemoryTypeList. Created, changed and destroyed by the list only; its address stays the same for as long as
/// the list holds it, and so do its slots, whatever the sources do.
///
/// Identity is (allocator, name, ordinal): names are not unique in real kernels. Ordinals count from the oldest type of a
/// name; when the number of types of that name changes it is unknown which is which, and all of them count as seen for
/// the first time (first_seen_generation).
/// Thread safety: confined to the thread that owns the list.
class MemoryType {
 public:
  MemoryType(const MemoryType&) = delete;
  MemoryType& operator=(const MemoryType&) = delete;
  ~MemoryType() = default;

  [[nodiscard]] Allocator allocator() const { return allocator_; }
  /// Valid UTF-8, any length. Lives as long as the type.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// 0 for the oldest type of this name.
  [[nodiscard]] std::uint32_t ordinal() const { return ordinal_; }
  /// How many types of this allocator and name the last roster held. At least 1 for a present type.
  [[nodiscard]] std::uint32_t duplicates() const { return duplicates_; }

  /// The type of this allocator and name with ordinal 0 (itself, where names are unique). Lives at least as long as this.
  [[nodiscard]] MemoryType& first_of_name() const { return *first_of_name_; }

  /// Which figures the kernel has for this type. Empty until a source committed some.
  [[nodiscard]] FieldMask fields() const { return fields_; }
  /// The figure as of the last commit, in the field's unit; 0 when the kernel does not have it.
  [[nodiscard]] std::uint64_t figure(Field field) const { return figures_[field]; }

  /// Which per-CPU figures there are.
  [[nodiscard]] CpuFieldMask cpu_fields() const { return cpu_fields_; }
  /// One more than the highest CPU for which there are per-CPU figures or slots; CPU numbers may have holes.
  [[nodiscard]] std::uint32_t cpu_count() const { return cpu_count_; }
  /// One figure on one CPU; 0 when the CPU or the figure is not there.
  [[nodiscard]] std::uint64_t cpu_figure(CpuField field, std::uint32_t cpu) const { return cpu_figures_.get(field, cpu); }
  /// The first CPU from `cpu` on that has or had a figure that is not 0, or one near to such a CPU; cpu_count() when there
  /// is none. For loops that need not look at thousands of idle CPUs. A CPU that was not skipped once never is.
  [[nodiscard]] std::uint32_t next_used_cpu(std::uint32_t cpu) const { return cpu_figures_.next_held(cpu, cpu_count_); }

  /// More for people, such as file and line, as of the last roster; "" for most. Valid UTF-8. Lives until the next commit.
  [[nodiscard]] const std::string& detail() const { return detail_; }

  /// Which figures by NUMA node there are.
  [[nodiscard]] NodeFieldMask node_fields() const { return node_fields_; }
  /// One more than the highest node for which there are any, ever; node numbers may have holes. 0: none.
  [[nodiscard]] std::uint32_t node_count() const { return node_count_; }
  /// One figure on one node; 0 when the node or the figure is not there.
  [[nodiscard]] std::uint64_t node_figure(NodeField field, std::uint32_t node) const {
    return node_fields_.has(field) ? node_figures_.get(field, node) : 0;
  }

  /// Whether the last roster held this type. A vanished one keeps the roster's last figures and its slots until it is
  /// evicted.
  [[nodiscard]] bool is_present() const { return is_present_; }
  /// Generation of the last roster that held it.
  [[nodiscard]] std::uint64_t last_seen_generation() const { return last_seen_generation_; }
  /// Generation at which this entry was (or had to be taken as) new.
  [[nodiscard]] std::uint64_t first_seen_generation() const { return first_seen_generation_; }

  /// The next type in upstream's order (newest insertion first), nullptr after the last. Includes vanished types.
  [[nodiscard]] MemoryType* next() const { return next_; }

  // Caller slots: 16 integers and 16 pointers per type and per type and CPU, owned by the caller, 0 or nullptr until set,
  // kept for the life of the entry. A slot or CPU out of range reads as 0; setting it does nothing and returns false.
  // The first use of a slot allocates (std::bad_alloc), later ones do not.
  [[nodiscard]] std::uint64_t caller_uint64(std::size_t slot) const { return slots_->integers.get(slot, row_); }
  bool set_caller_uint64(std::size_t slot, std::uint64_t value) { return slots_->integers.set(slot, row_, value); }
  [[nodiscard]] void* caller_pointer(std::size_t slot) const { return slots_->pointers.get(slot, row_); }
  bool set_caller_pointer(std::size_t slot, void* value) { return slots_->pointers.set(slot, row_, value); }
  [[nodiscard]] std::uint64_t cpu_caller_uint64(std::uint32_t cpu, std::size_t slot) const {
    return slots_->cpu_integers.get(slot, row_, cpu);
  }
  bool set_cpu_caller_uint64(std::uint32_t cpu, std::size_t slot, std::uint64_t value) {
    return slots_->cpu_integers.set(slot, row_, cpu, cpu_count_, value);
  }
  [[nodiscard]] void* cpu_caller_pointer(std::uint32_t cpu, std::size_t slot) const {
    return slots_->cpu_pointers.get(slot, row_, cpu);
  }
  bool set_cpu_caller_pointer(std::uint32_t cpu, std::size_t slot, void* value) {
    return slots_->cpu_pointers.set(slot, row_, cpu, cpu_count_, value);
  }

 private:
  friend class MemoryTypeList;
  MemoryType(Allocator allocator, std::string_view name, std::uint32_t ordinal, CallerSlots* slots)
      : slots_(slots), ordinal_(ordinal), allocator_(allocator), name_(name) {}

  // Order matters for the walk of one poll: what it touches comes first.
  MemoryType* next_ = nullptr;
  MemoryType* first_of_name_ = this;
  CallerSlots* slots_;
  std::size_t row_ = 0;
  FieldMask fields_;
  CpuFieldMask cpu_fields_;
  std::uint32_t ordinal_;
  std::uint32_t duplicates_ = 1;
  std::uint64_t last_seen_generation_ = 0;
  std::uint64_t first_seen_generation_ = 0;
  Allocator allocator_;
  bool is_present_ = false;
  Figures figures_;
  std::string name_;
  CpuFigures cpu_figures_;
  std::uint32_t cpu_count_ = 0;
  std::uint64_t mark_ = 0;       // of the list's own walks
  std::uint64_t insertion_ = 0;  // grows with each insertion: the larger, the nearer to the head
  MemoryType* previous_ = nullptr;
  NodeFigures node_figures_;
  NodeFieldMask node_fields_;
  std::uint32_t node_count_ = 0;
  std::string detail_;
};

}  // namespace memstat
