// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/staging.h"

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

StagedType& Staging::add(std::string_view name) {
  if (!is_valid_label_text(name)) name = repaired_names_.emplace_back(make_valid_utf8(name));
  if (!cpu_fields_.empty()) cpu_figures_.resize(cpu_figures_.size() + cpu_fields_.size() * cpu_count_, 0);
  StagedType& type = types_.emplace_back();
  type.name = name;
  return type;
}

}  // namespace memstat
