// SPDX-License-Identifier: BSD-2-Clause
// The persistent set of memory types, updated in place by every poll.
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
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/model/memory_type.h"
#include "core/model/staging.h"

namespace memstat {

/// The author of a commit: its allocator, and the figures that the source owns.
struct CommitScope {
  std::string_view source;  ///< Must outlive the list (a string literal).
  Allocator allocator = Allocator::kUnknown;
  bool is_roster = false;  ///< A roster creates types and retires those that it no longer names. Other sources
                           ///< (contributors) only add figures. In each poll, one roster per allocator commits.
  FieldMask fields = {};
  CpuFieldMask cpu_fields = {};
  NodeFieldMask node_fields = {};
};

/// Types in libmemstat's order: a new type is inserted at the head, and updates never move an entry. If a kernel lists its
/// newest type first, the list is walked oldest first. Thread safety: none; confined to one thread.
class MemoryTypeList {
 public:
  MemoryTypeList() = default;
  MemoryTypeList(const MemoryTypeList&) = delete;
  MemoryTypeList& operator=(const MemoryTypeList&) = delete;
  ~MemoryTypeList();

  /// Includes vanished types (MemoryType::is_present).
  [[nodiscard]] MemoryType* first() const { return head_; }
  /// Includes vanished types.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Generation of the last commit that saw a type for the first time (MemoryType::first_seen_generation); 0: never.
  [[nodiscard]] std::uint64_t last_sighting() const { return last_sighting_; }

  /// The type of that name nearest the head, of one allocator or, without an allocator, of any; nullptr if there is none.
  [[nodiscard]] MemoryType* find(std::optional<Allocator> allocator, std::string_view name) const noexcept;

  /// Commits what a source parsed. Known types are updated in place. Nothing is allocated while the kernel names the same
  /// types in the same order with the same details, and no new CPUs or nodes use them. Types that a roster no longer names
  /// become vanished.
  ///
  /// A contributor's unknown names are ignored until a roster creates them. Types that a contributor no longer names lose
  /// the figures that it owns. When the number of types of a name changes, all types of that name lose their contributors'
  /// figures, which may now belong to another type, until the next commits.
  ///
  /// `generation` numbers the polls from 1. Errors: kNoMemory; too_many_types(); the list and all slots are then unchanged.
  Result<void> commit(const CommitScope& scope, const Staging& staging, std::uint64_t generation);

  /// Destroys the vanished types last seen before `generation`. Calls `on_evict` for each first, so that the caller can free
  /// what its pointer slots refer to. Returns the number of evicted types.
  template <typename OnEvict>
  std::size_t evict_vanished_before(std::uint64_t generation, OnEvict on_evict) {
    if (vanished_count_ == 0) return 0;
    const auto is_due = [generation](const MemoryType& type) {
      return !type.is_present_ && type.last_seen_generation_ < generation;
    };
    // Call on_evict for all before destroying any: a type may refer to its first_of_name throughout its life.
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

  /// Frees storage of evicted types. Types keep their addresses and slots. Throws std::bad_alloc.
  void shrink();

 private:
  /// The types of one name, oldest first, including vanished ones.
  struct Group {
    std::vector<MemoryType*> members;
    std::uint32_t last_count = 0;  // types in the last roster that named any
  };
  /// Allows lookup by std::string_view, so that find() allocates nothing.
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };
  using Groups = std::unordered_map<std::string, Group, NameHash, std::equal_to<>>;
  /// The types that a source's last commit matched, record by record. In the steady state the next commit matches the same.
  struct Cursor {
    std::string_view source;
    bool is_valid = false;                    // false before the first commit, and after a type in it was destroyed
    std::vector<MemoryType*> order;           // nullptr where a contributor named a type that is not in the list
    std::vector<std::string> unknown;         // names of those types, in order
    std::uint64_t epoch = 0;                  // the allocator's insertion count when `unknown` was computed
    bool has_details = false;                 // it has given a detail before, so some type may still have it
    std::optional<Allocator> roster_of = {};  // the allocator whose roster it is; an allocator may have two that alternate
  };
  /// The parts of types that a commit replaces, allocated before any type is changed: figures with more room, and details.
  struct Changes {
    std::vector<std::pair<MemoryType*, CpuFigures>> cpu_figures;
    std::vector<std::pair<MemoryType*, NodeFigures>> node_figures;
    std::vector<std::pair<MemoryType*, std::string>> details;
  };

  Cursor& cursor_of(std::string_view source);
  [[nodiscard]] bool cursor_matches(const Cursor& cursor, const CommitScope& scope, const Staging& staging) const;
  void match(const CommitScope& scope, const Staging& staging, std::vector<MemoryType*>& order,
             std::vector<std::unique_ptr<MemoryType>>& created);
  static Changes prepare(const CommitScope& scope, const Staging& staging, const std::vector<MemoryType*>& order,
                         bool has_details);
  void insert(std::unique_ptr<MemoryType> type, std::uint64_t generation) noexcept;
  void insert_created(const CommitScope& scope, const std::vector<MemoryType*>& order,
                      std::vector<std::unique_ptr<MemoryType>>& created, std::uint64_t generation) noexcept;
  static void take_figures(const CommitScope& scope, const Staging& staging,
                           const std::vector<MemoryType*>& matched) noexcept;
  void mark_present(const CommitScope& scope, const std::vector<MemoryType*>& order, std::uint64_t generation) noexcept;
  void forget_other_rosters(Cursor& own, Allocator allocator) noexcept;
  static void clear_figures(MemoryType& type, FieldMask fields, CpuFieldMask cpu_fields, NodeFieldMask node_fields) noexcept;
  void clear_figures_of_unnamed(const CommitScope& scope, const std::vector<MemoryType*>& order) noexcept;
  void erase(MemoryType* type) noexcept;

  MemoryType* head_ = nullptr;  // owns the types
  std::size_t size_ = 0;
  std::array<Groups, kAllocatorCount> groups_;
  std::vector<Cursor> cursors_;
  std::uint64_t insertions_ = 0;
  std::array<std::uint64_t, kAllocatorCount> allocator_insertions_{};  // insertions_ at the last insertion of each allocator
  std::uint64_t marks_ = 0;
  std::uint64_t last_sighting_ = 0;
  std::size_t vanished_count_ = 0;
};

}  // namespace memstat
