// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/staging.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/text.h"

namespace memstat {

void Staging::reset(CpuFieldMask cpu_fields, std::uint32_t cpu_count) {
  types_.clear();
  cpu_figures_.clear();
  size_classes_.clear();
  if (!repaired_names_.empty()) repaired_names_.clear();
  cpu_fields_ = cpu_fields;
  cpu_count_ = cpu_count;
  is_incomplete_ = false;
}

void Staging::reserve(std::size_t type_count) {
  types_.reserve(type_count);
  cpu_figures_.reserve(type_count * cpu_fields_.size() * cpu_count_);
}

StagedType& Staging::add(std::string_view name, std::size_t longest) {
  if (!is_valid_label_text(name)) {
    name = repaired_names_.emplace_back(make_valid_utf8(name));
    if (name.size() > longest) {
      const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(name[at]) & 0xC0U) == 0x80U; };
      while (longest > 0 && continues(longest)) --longest;
      name = name.substr(0, longest);
    }
  }
  if (!cpu_fields_.empty()) cpu_figures_.resize(cpu_figures_.size() + cpu_fields_.size() * cpu_count_, 0);
  StagedType& type = types_.emplace_back();
  type.name = name;
  return type;
}

void Staging::fold_duplicates() {
  const std::size_t cpu_figures = cpu_fields_.size() * cpu_count_;
  std::unordered_map<std::string_view, std::size_t> places;
  std::size_t kept = 0;
  for (std::size_t index = 0; index < types_.size(); ++index) {
    const std::size_t place = places.try_emplace(types_[index].name, kept).first->second;
    if (place != index) {
      types_[place] = types_[index];
      const auto from = cpu_figures_.begin() + static_cast<std::ptrdiff_t>(index * cpu_figures);
      std::copy_n(from, cpu_figures, cpu_figures_.begin() + static_cast<std::ptrdiff_t>(place * cpu_figures));
    }
    kept += place == kept ? 1 : 0;
  }
  types_.resize(kept);
  cpu_figures_.resize(kept * cpu_figures);
}

}  // namespace memstat
