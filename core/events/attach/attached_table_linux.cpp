// SPDX-License-Identifier: BSD-2-Clause
#if defined(MEMSTAT_HAVE_LIBBPF)

#include "core/events/attach/attached_table.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace memstat::events {

Result<void> AttachedTable::open() {
  const auto types = kernel_types();
  if (!types) return types.error();
  auto result = check(**types);
  if (result) result = load(**types);
  if (result) result = attach(**types);
  if (!result) {
    detach();
    object_.reset();
  }
  return result;
}

Result<void> GovernedTable::load_programs_of(std::span<const unsigned char> programs, std::span<const std::byte> constants,
                                             const Maps& maps) {
  auto object = open_programs(programs);
  if (!object) return object.error();
  object_ = *std::move(object);
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  bpf_map* shared = bpf_object__find_map_by_name(object_.get(), ".bss");
  bpf_map* read_only = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (by_cpu == nullptr || shared == nullptr || read_only == nullptr || bpf_map__value_size(shared) < maps.shared) {
    return refused("the maps of the programs", EINVAL);
  }
  if (const int error = bpf_map__set_initial_value(read_only, constants.data(), constants.size()); error != 0) {
    return refused("the constants of the programs", error);
  }
  const auto cpus = load_programs(object_.get());
  if (!cpus) return cpus.error();
  cpu_count_ = *cpus;
  if (auto result = shared_.open(shared, maps.shared, maps.is_written); !result) return result;
  return by_cpu_.open(by_cpu, cpu_count_ * maps.by_cpu, maps.is_written);
}

Result<void> GovernedTable::attach(const btf& /*types*/) {
  if (auto result = governed_.open(object_.get(), true); !result) return result;
  CostMeter meter([] { ::close(::eventfd(0, EFD_CLOEXEC)); }, [this] { return events_counted(); });
  return governed_.attach(
      meter, [this] { return attached_.attach_all(object_.get()); }, attached_, governor_);
}

bool GovernedTable::tend() {
  if (!is_open() || !governor_.is_attached()) return false;
  look(events_now());
  return governor_.is_attached();
}

}  // namespace memstat::events

#endif
