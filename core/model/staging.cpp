// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/staging.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/base/kernel_address.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/model/log_privacy.h"

namespace memstat {

Error too_many_types() {
  return make_error(ErrorCode::kData, {},
                    "names more memory types than any kernel has; at most " + std::to_string(kMaxTypes) + " are read");
}

void Staging::reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count) {
  CpuBlocks own;
  own.block_size = cpu_fields.size() * sizeof(std::uint64_t);
  for_each_of(cpu_fields, [&](CpuField field) {
    own.offsets[static_cast<std::size_t>(field)] =
        static_cast<std::uint16_t>(cpu_fields.rank(field) * sizeof(std::uint64_t));
  });
  reset(cpu_fields, cpu_count, own);
  is_borrowing_ = false;
}

void Staging::reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count, const CpuBlocks& blocks) {
  types_.clear();
  own_figures_.clear();
  used_groups_.clear();
  size_classes_.clear();
  if (!repaired_names_.empty()) repaired_names_.clear();
  name_block_ = 0;
  name_block_used_ = 0;
  merged_.clear();
  statistics_.clear();
  notes_.clear();
  note_.clear();
  kernel_log_.clear();
  node_figures_.clear();
  existing_nodes_.reset();
  node_fields_ = {};
  omitted_fields_ = {};
  omitted_cpu_fields_ = {};
  node_count_ = 0;
  cpu_fields_ = cpu_fields;
  cpu_count_ = cpu_fields.empty() ? 0 : cpu_count;
  blocks_ = blocks;
  is_borrowing_ = true;
  is_incomplete_ = false;
}

void Staging::reserve(std::size_t type_count) {
  if (type_count > kMaxTypes) return;
  types_.reserve(type_count);
  used_groups_.reserve(type_count * group_words());
  if (!is_borrowing_) own_figures_.reserve(std::min(kMaxOwnFigures, type_count * cpu_fields_.size() * cpu_count_));
}

StagedType& Staging::add(std::string_view name, std::size_t longest) {
  if (types_.size() >= kMaxTypes || own_figures_.size() + node_figures_.size() >= kMaxOwnFigures) throw TooManyTypes();
  if (has_kernel_address(name)) {  // before 4.7, the cache of a network namespace: nf_conntrack_ffffffff81a25e00
    std::string& masked = repaired_names_.emplace_back(name);
    zero_kernel_addresses(masked.data(), masked.size());
    name = masked;
  }
  if (!is_valid_label_text(name)) {
    name = utf8_prefix(repaired_names_.emplace_back(make_label_text(name)), longest);
  }
  StagedType& type = types_.emplace_back();
  type.name = name;
  type.node_fields = node_fields_;
  type.nodes_ = node_figures_.size();
  node_figures_.resize(node_figures_.size() + node_fields_.size() * node_count_, 0);
  type.cpu_groups_ = used_groups_.size();
  used_groups_.resize(used_groups_.size() + group_words(), 0);
  if (!is_borrowing_ && cpu_count_ != 0) {
    type.cpu_blocks_ = own_figures_.size() * sizeof(std::uint64_t);
    own_figures_.resize(own_figures_.size() + cpu_fields_.size() * cpu_count_, 0);
  }
  return type;
}

StagedType& Staging::merge(std::string_view name) {
  std::string repaired;
  if (!is_valid_label_text(name)) name = repaired = make_label_text(name);
  constexpr std::hash<std::string_view> kHash;
  merged_.reserve(types_.size() + 1, [&](std::size_t index) { return kHash(types_[index].name); });
  std::uint32_t& entry = merged_.find(kHash(name), [&](std::size_t index) { return types_[index].name == name; });
  if (entry != 0) return types_[entry - 1];
  StagedType& type = add(keep_name(name));
  entry = static_cast<std::uint32_t>(types_.size());
  return type;
}

std::string_view Staging::keep_text(std::string_view text) {
  return is_valid_label_text(text) ? keep_name(text) : repaired_names_.emplace_back(make_label_text(text));
}

std::string_view Staging::keep_name(std::string_view name) {
  if (name.size() > kNameBlock) return repaired_names_.emplace_back(name);
  if (name_block_ < name_blocks_.size() && name.size() > kNameBlock - name_block_used_) {
    ++name_block_;
    name_block_used_ = 0;
  }
  if (name_block_ == name_blocks_.size()) name_blocks_.push_back(std::make_unique<char[]>(kNameBlock));
  char* const kept = name_blocks_[name_block_].get() + name_block_used_;
  name.copy(kept, name.size());
  name_block_used_ += name.size();
  return {kept, name.size()};
}

void Staging::sort_by_name() {
  std::sort(types_.begin(), types_.end(), [](const StagedType& a, const StagedType& b) { return a.name < b.name; });
}

void Staging::set_cpu_figure(std::size_t index, CpuField field, std::uint32_t cpu, std::uint64_t value) {
  const StagedType& type = types_[index];
  own_figures_[type.cpu_blocks_ / sizeof value + cpu * cpu_fields_.size() + cpu_fields_.rank(field)] = value;
  const std::uint32_t group = cpu / kCpuGroup;
  if (value != 0) used_groups_[type.cpu_groups_ + group / 64] |= std::uint64_t{1} << group % 64;
}

void Staging::fold_duplicates() {
  std::unordered_map<std::string_view, std::size_t> places;
  std::size_t kept = 0;
  for (std::size_t index = 0; index < types_.size(); ++index) {
    const std::size_t place = places.try_emplace(types_[index].name, kept).first->second;
    if (place != index) types_[place] = types_[index];  // the copy still refers to its per-CPU figures
    kept += place == kept ? 1 : 0;
  }
  types_.resize(kept);
}

void Staging::add_note(std::string_view text) {
  constexpr std::string_view kBetween = "; ";
  if (!is_valid_label_text(text)) return add_note(make_label_text(text));
  if (note_.size() + kBetween.size() + text.size() > kMaxNoteSize) return;
  if (!note_.empty()) note_ += kBetween;
  note_ += text;
}

void Staging::set_kernel_log(std::string_view table) {
  kernel_log_.assign(table);
  mask_addresses(kernel_log_);  // of recordings whose lines were kept as they are
}

}  // namespace memstat
