// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/list_dump.h"

#include <cstdint>
#include <string_view>

#include "core/base/text.h"

namespace memstat {
namespace {

template <typename T>
void put(std::string& line, std::string_view name, T value) {
  line += ' ';
  line += name;
  line += '=';
  line += std::to_string(value);
}

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

void put_slots(std::string& line, const MemoryType& type) {
  for (std::size_t slot = 0; slot < kCallerSlotCount; ++slot) {
    put(line, "u", type.caller_uint64(slot));
    put(line, "p", number_of(type.caller_pointer(slot)));
    for (std::uint32_t cpu = 0; cpu < type.cpu_count(); ++cpu) {
      put(line, "cu", type.cpu_caller_uint64(cpu, slot));
      put(line, "cp", number_of(type.cpu_caller_pointer(cpu, slot)));
    }
  }
}

}  // namespace

std::string dump(const MemoryTypeList& list, const DumpOptions& options) {
  std::string text;
  for (const MemoryType* type = list.first(); type != nullptr; type = type->next()) {
    if (options.allocator && type->allocator() != *options.allocator) continue;
    text += to_string(type->allocator());
    text += '/';
    text += type->name();
    put(text, "ordinal", type->ordinal());
    put(text, "duplicates", type->duplicates());
    put(text, "present", static_cast<int>(type->is_present()));
    put(text, "fields", type->fields().bits());
    put(text, "cpu_fields", type->cpu_fields().bits());
    put(text, "cpus", type->cpu_count());
    if (options.identity) {
      put(text, "at", number_of(type));
      put(text, "first_of_name", number_of(&type->first_of_name()));
      put(text, "seen", type->last_seen_generation());
      put(text, "sighted", type->first_seen_generation());
    }
    for (std::size_t i = 0; i < kFieldCount; ++i) {
      const auto field = static_cast<Field>(i);
      put(text, to_string(field), type->figure(field));
    }
    for (std::size_t i = 0; i < kCpuFieldCount; ++i) {
      const auto field = static_cast<CpuField>(i);
      for (std::uint32_t cpu = 0; cpu < type->cpu_count(); ++cpu) put(text, to_string(field), type->cpu_figure(field, cpu));
    }
    if (options.slots) put_slots(text, *type);
    text += '\n';
  }
  return text;
}

std::string first_difference(const std::string& before, const std::string& after) {
  std::string_view rest_before = before;
  std::string_view rest_after = after;
  while (true) {
    std::string_view line_before = "(end)";
    std::string_view line_after = "(end)";
    const bool has_before = next_line(rest_before, line_before);
    const bool has_after = next_line(rest_after, line_after);
    if (!has_before && !has_after) return "";
    if (has_before != has_after || line_before != line_after) {
      return "before: " + std::string(line_before) + "\nafter:  " + std::string(line_after);
    }
  }
}

void fill_slots(MemoryTypeList& list, std::uint64_t seed) {
  std::uint64_t value = seed << 32U;
  for (MemoryType* type = list.first(); type != nullptr; type = type->next()) {
    for (std::size_t slot = 0; slot < kCallerSlotCount; ++slot) {
      type->set_caller_uint64(slot, ++value);
      type->set_caller_pointer(slot, reinterpret_cast<void*>(static_cast<std::uintptr_t>(++value)));
      for (std::uint32_t cpu = 0; cpu < type->cpu_count(); ++cpu) {
        type->set_cpu_caller_uint64(cpu, slot, ++value);
        type->set_cpu_caller_pointer(cpu, slot, reinterpret_cast<void*>(static_cast<std::uintptr_t>(++value)));
      }
    }
  }
}

}  // namespace memstat
