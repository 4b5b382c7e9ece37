// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/lists.h"

#include "core/source.h"
#include "daemon/metric_catalogue.h"

namespace memstat {
namespace {

std::string line(std::initializer_list<std::string_view> cells) {
  std::string text;
  for (const std::string_view cell : cells) {
    if (!text.empty()) text += '\t';
    text += cell.empty() ? "-" : cell;
  }
  return text + "\n";
}

template <typename E>
std::string names(FieldSet<E> fields, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (!fields.has(static_cast<E>(i))) continue;
    if (!text.empty()) text += ',';
    text += to_string(static_cast<E>(i));
  }
  return text;
}

}  // namespace

std::string metric_list() {
  std::string text = line({"name", "type", "unit", "scope", "labels", "tier", "help"});
  for (const MetricDescriptor& metric : metric_catalogue()) {
    std::string labels;
    for (const std::string_view name : label_names(metric)) {
      if (!labels.empty()) labels += ',';
      labels += name;
    }
    text += line({metric.name, to_string(metric.kind), metric.unit, to_string(metric.scope), labels, to_string(metric.tier),
                  metric.help});
  }
  return text;
}

std::string source_list() {
  std::string text = line({"name", "os", "allocator", "roster", "figures", "per_cpu", "origin", "notes"});
  for (const SourceDescriptor* source : all_sources()) {
    text +=
        line({source->name, to_string(source->os), to_string(source->allocator), source->is_roster ? "yes" : "no",
              names(source->fields, kFieldCount), names(source->cpu_fields, kCpuFieldCount), source->origin, source->notes});
  }
  return text;
}

}  // namespace memstat
