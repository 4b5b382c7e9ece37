// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/dump_objects.h"

#include <memory>
#include <utility>

#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/dump_kernel.h"
#include "core/postmortem/freebsd/objects.h"
#include "core/postmortem/linux/cpus.h"
#include "core/postmortem/linux/slab.h"

namespace memstat::postmortem {
namespace {

void note_damage(std::vector<std::string>& notes, std::string_view subject, const std::string& damage) {
  if (!damage.empty()) notes.push_back(std::string(subject) + ": " + damage);
}

Result<DumpObjects> objects_in(const std::shared_ptr<KernelImage>& image) {
  const LinuxMachine machine = read_linux_machine(*image);
  const auto walk = std::make_shared<Result<SlabWalk>>(walk_slab_caches(*image, machine));
  if (!*walk) return std::move(walk->error());
  DumpObjects dump{.allocator = "slab", .types = {}, .notes = {}, .objects_of = {}};
  note_damage(dump.notes, "the file", image->memory().damage());
  note_damage(dump.notes, "CPUs and nodes", machine.damage);
  note_damage(dump.notes, "slab caches", (*walk)->damage);
  for (const SlabCache& cache : (*walk)->caches) {
    dump.types.push_back({.name = cache.name, .object_size = cache.object_size, .damage = cache.damage});
  }
  dump.objects_of = [image, walk](std::size_t number, std::uint64_t most) {
    return read_slab_objects(*image, (*walk)->caches[number], most);
  };
  return dump;
}

Result<DumpObjects> objects_in(const std::shared_ptr<FreeBsdKernel>& kernel) {
  const FreeBsdMachine machine = read_freebsd_machine(*kernel);
  const auto walk = std::make_shared<Result<UmaWalk>>(walk_uma_zones(*kernel));
  if (!*walk) return std::move(walk->error());
  DumpObjects dump{.allocator = "uma", .types = {}, .notes = {}, .objects_of = {}};
  note_damage(dump.notes, "the file", kernel->damage());
  note_damage(dump.notes, "CPUs and domains", machine.damage);
  dump.notes.insert(dump.notes.end(), (*walk)->damage.begin(), (*walk)->damage.end());
  for (const UmaZone& zone : (*walk)->zones) dump.types.push_back({.name = zone.name, .object_size = zone.object_size});
  dump.objects_of = [kernel, machine, walk](std::size_t number, std::uint64_t most) {
    return read_uma_objects(*kernel, machine, (*walk)->zones[number], most);
  };
  return dump;
}

}  // namespace

Result<DumpObjects> open_dump_objects(const std::string& dump) {
  const CaptureReference reference = parse_dump_reference(dump);
  if (!is_dump_file(reference.path) || reference.poll.value_or(0) != 0) {
    return make_error(ErrorCode::kNotPresent, dump, "is not a crash dump, and only crash dumps have individual objects");
  }
  const auto file = open_dump_file(reference.path);
  if (!file) return file.error();
  auto kernel = open_dump_kernel(*file);
  if (!kernel) return std::move(kernel.error());
  return std::visit([](auto opened) { return objects_in(std::shared_ptr(std::move(opened))); }, *std::move(kernel));
}

}  // namespace memstat::postmortem
