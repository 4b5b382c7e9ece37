// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/cpus.h"

#include <bit>

#include "core/base/text.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint32_t kMaxCpus = 8192;   // maximum of CONFIG_NR_CPUS on x86
constexpr std::uint32_t kMaxNodes = 1024;  // maximum of 2^CONFIG_NODES_SHIFT

/// A 32-bit variable of the kernel. 1 if it is missing or out of the range 1 to `most`.
std::uint32_t small_number(KernelImage& image, std::string_view name, std::uint32_t most, std::string& damage) {
  if (!image.symbol(name)) return 1;
  const auto value = image.read_variable<std::uint32_t>(name);
  if (value && *value >= 1 && *value <= most) return *value;
  damage =
      std::string(name) + (value ? " is " + std::to_string(*value) + ", which is impossible" : ": " + value.error().detail);
  return 1;
}

}  // namespace

std::string LinuxMachine::cpu_list() const {
  std::vector<std::uint32_t> numbers;
  for (const Cpu& cpu : cpus) numbers.push_back(cpu.number);
  return format_list(numbers);
}

unsigned node_bits(const Btf& types) {
  auto nodes = types.array_member("kmem_cache", "node");
  if (!nodes) nodes = types.array_member("kmem_cache", "per_node");
  return nodes && std::has_single_bit(nodes->count) ? static_cast<unsigned>(std::countr_zero(nodes->count)) : 0;
}

LinuxMachine read_linux_machine(KernelImage& image) {
  LinuxMachine machine;
  machine.nodes = small_number(image, "nr_node_ids", kMaxNodes, machine.damage);
  const std::uint32_t count = small_number(image, "nr_cpu_ids", kMaxCpus, machine.damage);
  const auto present = image.symbol("__cpu_present_mask");
  const auto online = image.symbol("__cpu_online_mask");
  const auto offsets = image.symbol("__per_cpu_offset");
  for (std::uint32_t cpu = 0; cpu < count && present && offsets; ++cpu) {
    const auto byte = image.read_number<std::uint8_t>(*present + cpu / 8);
    const auto offset = image.read_number<std::uint64_t>(*offsets + std::uint64_t{cpu} * 8);
    if (!byte || !offset) {
      machine.damage = (byte ? offset.error() : byte.error()).detail;
      break;
    }
    if ((*byte >> (cpu % 8) & 1U) == 0) continue;
    const auto mask = online ? image.read_number<std::uint8_t>(*online + cpu / 8) : Result<std::uint8_t>(*byte);
    machine.cpus.push_back({.number = cpu, .offset = *offset, .is_online = !mask || (*mask >> (cpu % 8) & 1U) != 0});
  }
  if (machine.cpus.empty()) machine.cpus.push_back({});
  return machine;
}

}  // namespace memstat::postmortem
