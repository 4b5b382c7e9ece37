// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/memory_type_list.h"

#include <algorithm>
#include <bit>
#include <new>

namespace memstat {
MemoryTypeList::~MemoryTypeList() {
  while (head_ != nullptr) delete std::exchange(head_, head_->next_);
}

MemoryType* MemoryTypeList::find(std::optional<Allocator> allocator, std::string_view name) const noexcept {
  MemoryType* nearest = nullptr;
  for (std::size_t i = 0; i < kAllocatorCount; ++i) {
    if (allocator && static_cast<std::size_t>(*allocator) != i) continue;
    const auto group = groups_[i].find(name);
    if (group == groups_[i].end()) continue;
    for (MemoryType* type : group->second.members) {
      if (nearest == nullptr || type->insertion_ > nearest->insertion_) nearest = type;
    }
  }
  return nearest;
}

MemoryTypeList::Cursor& MemoryTypeList::cursor_of(std::string_view source) {
  for (Cursor& cursor : cursors_) {
    if (cursor.source == source) return cursor;
  }
  Cursor& cursor = cursors_.emplace_back();
  cursor.source = source;
  return cursor;
}

bool MemoryTypeList::cursor_matches(const Cursor& cursor, const CommitScope& scope, const Staging& staging) const {
  const std::vector<StagedType>& staged = staging.types();
  if (!cursor.is_valid || cursor.order.size() != staged.size()) return false;
  // Insertions since then may have made an unknown name known.
  const std::uint64_t epoch = allocator_insertions_[static_cast<std::size_t>(scope.allocator)];
  if (!cursor.unknown.empty() && cursor.epoch != epoch) return false;
  auto unknown = cursor.unknown.begin();
  for (std::size_t i = 0; i < staged.size(); ++i) {
    const MemoryType* type = cursor.order[i];
    if ((type != nullptr ? type->name_ : *unknown++) != staged[i].name) return false;
  }
  return true;
}

void MemoryTypeList::match(const CommitScope& scope, const Staging& staging, std::vector<MemoryType*>& order,
                           std::vector<std::unique_ptr<MemoryType>>& created) {
  const std::vector<StagedType>& staged = staging.types();
  Groups& groups = groups_[static_cast<std::size_t>(scope.allocator)];
  order.assign(staged.size(), nullptr);
  std::unordered_map<std::string_view, std::uint32_t> counts;
  // Kernels list their newest type first, and ordinals count from the oldest, so assign them from the end.
  for (std::size_t i = staged.size(); i-- > 0;) {
    const std::uint32_t ordinal = counts[staged[i].name]++;
    if (!scope.is_roster) {
      const auto group = groups.find(staged[i].name);
      if (group != groups.end() && ordinal < group->second.members.size()) order[i] = group->second.members[ordinal];
      continue;
    }
    Group& group = groups[std::string(staged[i].name)];
    if (ordinal < group.members.size()) {
      order[i] = group.members[ordinal];
    } else {
      std::unique_ptr<MemoryType> type(new MemoryType(scope.allocator, staged[i].name, ordinal));
      created.push_back(std::move(type));
      if (ordinal >= group.members.capacity()) group.members.reserve(2 * (std::size_t{ordinal} + 1));
      order[i] = created.back().get();
    }
  }
  std::reverse(created.begin(), created.end());  // restore the order of the records
}

MemoryTypeList::Changes MemoryTypeList::prepare(const CommitScope& scope, const Staging& staging,
                                                const std::vector<MemoryType*>& order, bool has_details) {
  Changes changes;
  const CpuFieldMask cpu_fields = staging.cpu_fields() & scope.cpu_fields;
  const NodeFieldMask node_fields = staging.node_fields() & scope.node_fields;
  if (cpu_fields.empty() && node_fields.empty() && !has_details) return changes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    MemoryType* const type = order[i];
    if (type == nullptr) continue;
    if (!cpu_fields.empty() && !type->cpu_figures_.has_room_for(staging, i, cpu_fields)) {
      changes.cpu_figures.emplace_back(type, type->cpu_figures_.with_room_for(staging, i, cpu_fields));
    }
    if (!type->node_figures_.has_room_for(staging, node_fields)) {
      changes.node_figures.emplace_back(type, type->node_figures_.with_room_for(staging, node_fields));
    }
    if (const std::string_view detail = staging.types()[i].detail; has_details && type->detail_ != detail) {
      changes.details.emplace_back(type, detail);
    }
  }
  return changes;
}

void MemoryTypeList::insert(std::unique_ptr<MemoryType> type, std::uint64_t generation) noexcept {
  MemoryType* const entry = type.release();
  entry->first_seen_generation_ = generation;
  last_sighting_ = generation;
  entry->insertion_ = ++insertions_;
  allocator_insertions_[static_cast<std::size_t>(entry->allocator_)] = insertions_;
  entry->next_ = head_;
  if (head_ != nullptr) head_->previous_ = entry;
  head_ = entry;
  ++size_;
}

void MemoryTypeList::mark_present(const CommitScope& scope, const std::vector<MemoryType*>& order,
                                  std::uint64_t generation) noexcept {
  for (MemoryType* type : order) type->last_seen_generation_ = generation;
  for (auto& [name, group] : groups_[static_cast<std::size_t>(scope.allocator)]) {
    std::uint32_t count = 0;
    for (MemoryType* type : group.members) {
      type->is_present_ = type->last_seen_generation_ == generation;
      count += type->is_present_ ? 1 : 0;
    }
    if (count == 0) continue;  // the whole name is gone; if it returns, its types are still the same
    const bool changed = group.last_count != 0 && group.last_count != count;
    group.last_count = count;
    for (MemoryType* type : group.members) {
      type->duplicates_ = count;
      if (!changed || !type->is_present_) continue;
      type->first_seen_generation_ = last_sighting_ = generation;
      clear_figures(*type, type->fields_ - scope.fields, type->cpu_fields_ - scope.cpu_fields,
                    type->node_fields_ - scope.node_fields);
    }
  }
  vanished_count_ = 0;
  for (const MemoryType* type = head_; type != nullptr; type = type->next_) vanished_count_ += type->is_present_ ? 0 : 1;
}

void MemoryTypeList::clear_figures(MemoryType& type, FieldMask fields, CpuFieldMask cpu_fields,
                                   NodeFieldMask node_fields) noexcept {
  for_each_of(fields, [&type](Field field) { type.figures_[field] = 0; });
  type.fields_ = type.fields_ - fields;
  type.node_fields_ = type.node_fields_ - node_fields;
  cpu_fields = cpu_fields & type.cpu_fields_;
  if (cpu_fields.empty()) return;
  type.cpu_figures_.clear(cpu_fields);
  type.cpu_fields_ = type.cpu_fields_ - cpu_fields;
}

// Needed only if a contributor names different types than the last time. Each figure has one owner, so otherwise nothing is
// stale. Vanished types lose the figures too, because they would otherwise return with stale ones.
void MemoryTypeList::clear_figures_of_unnamed(const CommitScope& scope, const std::vector<MemoryType*>& order) noexcept {
  ++marks_;
  for (MemoryType* type : order) {
    if (type != nullptr) type->mark_ = marks_;
  }
  for (MemoryType* type = head_; type != nullptr; type = type->next_) {
    if (type->allocator_ != scope.allocator || type->mark_ == marks_) continue;
    clear_figures(*type, scope.fields, scope.cpu_fields, scope.node_fields);
  }
}

void MemoryTypeList::insert_created(const CommitScope& scope, const std::vector<MemoryType*>& order,
                                    std::vector<std::unique_ptr<MemoryType>>& created, std::uint64_t generation) noexcept {
  if (created.empty()) return;
  for (std::unique_ptr<MemoryType>& type : created) insert(std::move(type), generation);
  // Insert members by ordinal, which counts from the end of the records.
  Groups& groups = groups_[static_cast<std::size_t>(scope.allocator)];
  for (std::size_t i = order.size(); i-- > 0;) {
    if (order[i]->first_seen_generation_ != generation || order[i]->last_seen_generation_ != 0) continue;
    std::vector<MemoryType*>& members = groups.find(order[i]->name_)->second.members;
    if (members.size() != order[i]->ordinal_) continue;
    members.push_back(order[i]);
    order[i]->first_of_name_ = members.front();
  }
}

void MemoryTypeList::take_figures(const CommitScope& scope, const Staging& staging,
                                  const std::vector<MemoryType*>& matched) noexcept {
  const std::vector<StagedType>& staged = staging.types();
  const CpuFieldMask owned_cpu_fields = staging.cpu_fields() & scope.cpu_fields;
  const NodeFieldMask owned_node_fields = staging.node_fields() & scope.node_fields;
  const CpuFieldMask lacking_cpu_fields = scope.cpu_fields - owned_cpu_fields;
  for (std::size_t i = 0; i < staged.size(); ++i) {
    MemoryType* type = matched[i];
    if (type == nullptr) continue;
    for_each_of(scope.fields, [&](Field field) { type->figures_[field] = staged[i].figures[field]; });
    type->fields_ = (type->fields_ - scope.fields) | (staged[i].fields & scope.fields);
    if (!(type->cpu_fields_ & lacking_cpu_fields).empty()) clear_figures(*type, {}, lacking_cpu_fields, {});
    if (!owned_cpu_fields.empty()) {
      type->cpu_count_ = std::max(type->cpu_count_, staging.cpu_count());
      type->cpu_fields_ = type->cpu_fields_ | owned_cpu_fields;
      type->cpu_figures_.take(staging, i, owned_cpu_fields);
    }
    type->node_fields_ = (type->node_fields_ - scope.node_fields) | owned_node_fields;
    if (owned_node_fields.empty()) continue;
    type->node_count_ = std::max(type->node_count_, staging.node_count());
    type->node_figures_.take(staging, staged[i], owned_node_fields);
  }
}

// Their types may have vanished, which only a commit that matches by name detects.
void MemoryTypeList::forget_other_rosters(Cursor& own, Allocator allocator) noexcept {
  own.roster_of = allocator;
  for (Cursor& cursor : cursors_) {
    if (&cursor != &own && cursor.roster_of == allocator) cursor.is_valid = false;
  }
}

Result<void> MemoryTypeList::commit(const CommitScope& scope, const Staging& staging, std::uint64_t generation) try {
  Cursor& cursor = cursor_of(scope.source);
  const bool same_roster = cursor_matches(cursor, scope, staging);
  std::vector<MemoryType*> order;
  std::vector<std::string> unknown;
  std::vector<std::unique_ptr<MemoryType>> created;
  if (!same_roster) match(scope, staging, order, created);
  if (size_ + created.size() > kMaxTypes) return too_many_types();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == nullptr) unknown.emplace_back(staging.types()[i].name);
  }
  const std::vector<MemoryType*>& matched = same_roster ? cursor.order : order;
  // Most sources have no details; then skip the pass over all types.
  const bool has_details = scope.is_roster && std::any_of(staging.types().begin(), staging.types().end(),
                                                          [](const StagedType& type) { return !type.detail.empty(); });
  Changes changes = prepare(scope, staging, matched, has_details || cursor.has_details);

  // Nothing below throws.
  for (auto& [type, figures] : changes.cpu_figures) type->cpu_figures_ = std::move(figures);
  for (auto& [type, figures] : changes.node_figures) type->node_figures_ = std::move(figures);
  for (auto& [type, detail] : changes.details) type->detail_ = std::move(detail);
  cursor.has_details |= has_details;
  insert_created(scope, order, created, generation);
  take_figures(scope, staging, matched);
  if (same_roster) {
    if (scope.is_roster) {
      for (MemoryType* type : matched) type->last_seen_generation_ = generation;
    }
  } else {
    if (scope.is_roster) {
      mark_present(scope, order, generation);
      forget_other_rosters(cursor, scope.allocator);
    } else {
      clear_figures_of_unnamed(scope, order);
    }
    cursor.order.swap(order);
    cursor.unknown.swap(unknown);
    cursor.epoch = allocator_insertions_[static_cast<std::size_t>(scope.allocator)];
    cursor.is_valid = true;
  }
  return {};
} catch (const std::bad_alloc&) {
  Error error;  // without a detail, so that this needs no memory
  error.code = ErrorCode::kNoMemory;
  try {
    error.source = scope.source;
  } catch (const std::bad_alloc&) {  // no memory even for a long name
  }
  return error;
}

void MemoryTypeList::shrink() {
  for (Groups& groups : groups_) groups.rehash(0);
  for (Cursor& cursor : cursors_) cursor.order.shrink_to_fit();
}

void MemoryTypeList::erase(MemoryType* type) noexcept {
  (type->previous_ != nullptr ? type->previous_->next_ : head_) = type->next_;
  if (type->next_ != nullptr) type->next_->previous_ = type->previous_;
  // Invalidate cursors that refer to it; the next commit then matches by name.
  for (Cursor& cursor : cursors_) {
    if (std::find(cursor.order.begin(), cursor.order.end(), type) == cursor.order.end()) continue;
    cursor.is_valid = false;
    cursor.order.clear();
  }
  Groups& groups = groups_[static_cast<std::size_t>(type->allocator_)];
  const auto group = groups.find(type->name_);
  std::vector<MemoryType*>& members = group->second.members;
  members.erase(std::find(members.begin(), members.end(), type));
  if (members.empty()) groups.erase(group);
  delete type;
  --size_;
  --vanished_count_;
}

}  // namespace memstat
