// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/machine.h"

#include <algorithm>
#include <numeric>

#include "core/postmortem/container/bytes.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint32_t kMaxCpuSlots = 16384;  // FreeBSD 15's maximum is 1024
constexpr std::uint32_t kMaxDomains = 64;      // FreeBSD 15's maximum is 8

/// all_cpus is a bit set of 64-bit words.
Result<std::vector<std::uint32_t>> read_cpu_set(FreeBsdKernel& kernel, std::uint32_t slots) {
  const auto symbol = kernel.file().symbol("all_cpus");
  if (!symbol) return symbol.error();
  const std::uint64_t needed = (slots + 63ULL) / 64 * 8;
  std::string bytes(static_cast<std::size_t>(symbol->size == 0 ? needed : std::min(symbol->size, needed)), '\0');
  if (auto read = kernel.read(symbol->address, bytes.data(), bytes.size()); !read) return read.error();
  std::vector<std::uint32_t> cpus;
  for (std::uint32_t cpu = 0; cpu < slots; ++cpu) {
    if ((number_at<std::uint8_t>(bytes, cpu / 8) >> (cpu % 8) & 1U) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

/// On amd64 since FreeBSD 13, per-CPU pointers are offsets from __pcpu, which is a pointer to the array of struct pcpu;
/// before, it was the array itself.
std::uint64_t per_cpu_base_of(FreeBsdKernel& kernel) {
  const auto symbol = kernel.file().symbol("__pcpu");
  if (kernel.file().machine() != Machine::kX86 || !symbol || symbol->size != 8) return 0;
  const auto base = kernel.read_number<std::uint64_t>(symbol->address);
  return base ? *base : 0;
}

std::uint64_t early_counter_of(FreeBsdKernel& kernel, std::uint64_t per_cpu_base) {
  const auto offset = StructReader(kernel, "pcpu").offset_of("pc_early_dummy_counter");
  if (!offset || per_cpu_base != 0) return offset.value_or(0);
  const auto first = kernel.file().symbol("pcpu0");
  return first ? first->address + *offset : 0;
}

}  // namespace

FreeBsdMachine read_freebsd_machine(FreeBsdKernel& kernel) {
  FreeBsdMachine machine;
  machine.page_bytes = kernel.page_bytes();
  const auto note = [&](const std::string& what) { machine.damage += (machine.damage.empty() ? "" : "; ") + what; };
  const auto highest = kernel.read_variable<std::uint32_t>("mp_maxid");
  if (!highest) {
    note(to_string(highest.error()) + ", so one CPU is shown");
  } else if (*highest >= kMaxCpuSlots) {
    note("mp_maxid is " + std::to_string(*highest) + ", which is impossible, so one CPU is shown");
  } else {
    machine.cpu_slots = *highest + 1;
  }
  if (auto cpus = read_cpu_set(kernel, machine.cpu_slots)) {
    machine.cpus = *std::move(cpus);
  } else {
    note(to_string(cpus.error()));
  }
  if (machine.cpus.empty()) {
    note("all_cpus names no CPU, so all up to the highest are read");
    machine.cpus.resize(machine.cpu_slots);
    std::iota(machine.cpus.begin(), machine.cpus.end(), 0U);
  }
  const auto domains = kernel.read_variable<std::uint32_t>("vm_ndomains");
  if (!domains) {
    note(to_string(domains.error()) + ", so one domain is shown");
  } else if (*domains == 0 || *domains > kMaxDomains) {
    note("vm_ndomains is " + std::to_string(*domains) + ", which is impossible, so one domain is shown");
  } else {
    machine.domains.resize(*domains);
    std::iota(machine.domains.begin(), machine.domains.end(), 0U);
  }
  machine.per_cpu_base = per_cpu_base_of(kernel);
  machine.early_counter = early_counter_of(kernel, machine.per_cpu_base);
  return machine;
}

Result<std::uint64_t> read_counter(FreeBsdKernel& kernel, const FreeBsdMachine& machine, std::uint64_t pointer) {
  if (pointer == 0 || (machine.early_counter != 0 && pointer == machine.early_counter)) return std::uint64_t{0};
  std::uint64_t sum = 0;
  for (const std::uint32_t cpu : machine.cpus) {
    const auto part = kernel.read_number<std::uint64_t>(machine.copy_of(pointer, cpu));
    if (!part) return part.error();
    sum += *part;
  }
  return sum;
}

}  // namespace memstat::postmortem
