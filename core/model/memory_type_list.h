// SPDX-License-Identifier: BSD-2-Clause
// The persistent set of memory types: refreshed in place, poll after poll.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/model/memory_type.h"
#include "core/model/staging.h"

namespace memstat {

/// On whose behalf a commit is made: which allocator's types, and which of their figures the committer owns.
struct CommitScope {
  std::string_view source;  ///< Name of the source; must outlive the list (a string literal).
  Allocator allocator = Allocator::kUnknown;
  bool is_roster = false;  ///< Creates types and retires those it no longer names; others (contributors) only add figures.
                           ///< Of an allocator's rosters one commits in a poll.
  FieldMask fields = {};
  CpuFieldMask cpu_fields = {};
  NodeFieldMask node_fields = {};
};

/// Types in upstream's order: each new one is inserted at the head, an update never moves an entry. A kernel that lists its
/// newest type first is therefore walked oldest first.
/// Thread safety: none; confined to one thread.
class MemoryTypeList {
 public:
  MemoryTypeList() = default;
  MemoryTypeList(const MemoryTypeList&) = delete;
  MemoryTypeList& operator=(const MemoryTypeList&) = delete;
  ~MemoryTypeList();

  /// First type in order, nullptr when the list is empty. Includes vanished types (MemoryType::is_present).
  [[nodiscard]] MemoryType* first() const { return head_; }
  /// Types held, vanished ones included.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Generation of the last commit in which a type was seen for the first time (MemoryType::first_seen_generation); 0:
  /// never.
  [[nodiscard]] std::uint64_t last_sighting() const { return last_sighting_; }

  /// The type of that name nearest to the head, of one allocator or (no allocator) of any; nullptr when there is none.
  [[nodiscard]] MemoryType* find(std::optional<Allocator> allocator, std::string_view name) const noexcept;

  /// Takes over what a source parsed. Known types are updated in place and nothing is allocated while the kernel names the
  /// same types in the same order with the same details, and no further CPUs or nodes begin to use them. Types that a roster
  /// no longer names become vanished. What a contributor names and the list does not know is left out until a roster creates
  /// it; types that a contributor no longer names lose the figures that it owns, and where the number of types of a name
  /// changes all of them lose those of contributors, which may be another's by now, until their next commits. `generation`
  /// numbers the polls, from 1 upwards. Errors: kNoMemory; the list and all slots are then as before.
  Result<void> commit(const CommitScope& scope, const Staging& staging, std::uint64_t generation);

  /// Destroys the vanished types last seen before `generation`, after calling `on_evict` for each (so that the caller can
  /// free what its pointer slots lead to). Returns how many.
  template <typename OnEvict>
  std::size_t evict_vanished_before(std::uint64_t generation, OnEvict on_evict) {
    if (vanished_count_ == 0) return 0;
    const auto is_due = [generation](const MemoryType& type) {
      return !type.is_present_ && type.last_seen_generation_ < generation;
    };
    // All are told before any is destroyed: a type may lead to its first_of_name for as long as it lives.
    for (MemoryType* type = head_; type != nullptr; type = type->next_) {
      if (is_due(*type)) on_evict(*type);
    }
    std::size_t evicted = 0;
    for (MemoryType* type = head_; type != nullptr;) {
      MemoryType* next = type->next_;
      if (is_due(*type)) {
        erase(type);
        ++evicted;
      }
      type = next;
    }
    return evicted;
  }

 private:
  /// The types of one name, oldest first, vanished ones included.
  struct Group {
    std::vector<MemoryType*> members;
    std::uint32_t last_count = 0;  // how many of them the last roster that named any held
  };
  /// Lets a name be looked up without a copy of it, so that find() needs no memory.
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };
  using Groups = std::unordered_map<std::string, Group, NameHash, std::equal_to<>>;
  /// What a source's last commit matched, record by record: in the steady state the next one matches the same.
  struct Cursor {
    std::string_view source;
    bool is_valid = false;                    // false before the first commit, and when a type that it led to was destroyed
    std::vector<MemoryType*> order;           // nullptr where a contributor named a type that the list does not know
    std::vector<std::string> unknown;         // the names of those, in order
    std::uint64_t epoch = 0;                  // of the allocator's insertions; the unknown ones are unknown as of then
    bool has_details = false;                 // it gave a detail once, so some type may still have it
    std::optional<Allocator> roster_of = {};  // of which it is a roster; there may be two, by turns
  };
  /// Room for more CPUs or more of their figures, with the figures so far; made before anything of the type is changed.
  struct GrownCpuFigures {
    MemoryType* type;
    CpuFigures figures;
  };
  /// The same for nodes.
  struct GrownNodeFigures {
    MemoryType* type;
    NodeFigures figures;
  };
  struct ChangedDetail {
    MemoryType* type;
    std::string detail;
  };

  Cursor& cursor_of(std::string_view source);
  [[nodiscard]] bool cursor_matches(const Cursor& cursor, const CommitScope& scope, const Staging& staging) const;
  void match(const CommitScope& scope, const Staging& staging, std::vector<MemoryType*>& order,
             std::vector<std::unique_ptr<MemoryType>>& created);
  static std::vector<GrownCpuFigures> prepare_cpu_figures(const CommitScope& scope, const Staging& staging,
                                                          const std::vector<MemoryType*>& order);
  static std::vector<GrownNodeFigures> prepare_node_figures(const CommitScope& scope, const Staging& staging,
                                                            const std::vector<MemoryType*>& order);
  static std::vector<ChangedDetail> prepare_details(const Staging& staging, const std::vector<MemoryType*>& order);
  static void take_node_figures(const CommitScope& scope, const Staging& staging,
                                const std::vector<MemoryType*>& order) noexcept;
  void insert(std::unique_ptr<MemoryType> type, std::uint64_t generation) noexcept;
  void insert_created(const CommitScope& scope, const std::vector<MemoryType*>& order,
                      std::vector<std::unique_ptr<MemoryType>>& created, std::uint64_t generation) noexcept;
  static void take_figures(const CommitScope& scope, const Staging& staging,
                           const std::vector<MemoryType*>& matched) noexcept;
  void note_roster(const CommitScope& scope, const std::vector<MemoryType*>& order, std::uint64_t generation) noexcept;
  void forget_other_rosters(Cursor& own, Allocator allocator) noexcept;
  static void clear_figures(MemoryType& type, FieldMask fields, CpuFieldMask cpu_fields, NodeFieldMask node_fields) noexcept;
  void clear_figures_of_unnamed(const CommitScope& scope, const std::vector<MemoryType*>& order) noexcept;
  void erase(MemoryType* type) noexcept;

  CallerSlots slots_;
  std::vector<std::unique_ptr<MemoryType>> types_;  // by row of the slots; nullptr where a type was evicted
  MemoryType* head_ = nullptr;
  std::vector<std::size_t> free_rows_;
  std::size_t size_ = 0;
  std::array<Groups, kAllocatorCount> groups_;
  std::vector<Cursor> cursors_;
  std::uint64_t insertions_ = 0;
  std::array<std::uint64_t, kAllocatorCount> allocator_insertions_{};  // of one allocator, as of insertions_
  std::uint64_t marks_ = 0;
  std::uint64_t last_sighting_ = 0;
  std::size_t vanished_count_ = 0;
};

}  // namespace memstat
