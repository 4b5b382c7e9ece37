// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/dump_objects.h"

#include <utility>

#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/dump_kernel.h"
#include "core/postmortem/freebsd/objects.h"
#include "core/postmortem/linux/cpus.h"
#include "core/postmortem/linux/objects.h"

namespace memstat::postmortem {
namespace {

void note_damage(std::vector<std::string>& notes, std::string_view subject, const std::string& damage) {
  if (!damage.empty()) notes.push_back(std::string(subject) + ": " + damage);
}

class LinuxDumpObjects final : public DumpObjects {
 public:
  static Result<std::unique_ptr<DumpObjects>> open(std::unique_ptr<KernelImage> image, std::vector<std::string> notes) {
    const LinuxMachine machine = read_linux_machine(*image);
    auto walk = walk_slab_caches(*image, machine);
    if (!walk) return std::move(walk.error());
    note_damage(notes, "the file", image->memory().damage());
    note_damage(notes, "CPUs and nodes", machine.damage);
    note_damage(notes, "slab caches", walk->damage);
    std::vector<DumpType> types;
    for (const SlabCache& cache : walk->caches) {
      types.push_back({.name = cache.name, .object_size = cache.object_size, .damage = cache.damage});
    }
    return std::unique_ptr<DumpObjects>(
        new LinuxDumpObjects(std::move(image), *std::move(walk), std::move(types), std::move(notes)));
  }

  [[nodiscard]] std::string_view allocator() const override { return "slab"; }
  Result<SlabObjects> objects_of(std::size_t number, std::uint64_t most) override {
    return read_slab_objects(*image_, walk_.caches[number], most);
  }

 private:
  LinuxDumpObjects(std::unique_ptr<KernelImage> image, SlabWalk walk, std::vector<DumpType> types,
                   std::vector<std::string> notes)
      : DumpObjects(std::move(types), std::move(notes)), image_(std::move(image)), walk_(std::move(walk)) {}

  std::unique_ptr<KernelImage> image_;
  SlabWalk walk_;
};

class FreeBsdDumpObjects final : public DumpObjects {
 public:
  static Result<std::unique_ptr<DumpObjects>> open(std::unique_ptr<FreeBsdKernel> kernel, std::vector<std::string> notes) {
    FreeBsdMachine machine = read_freebsd_machine(*kernel);
    auto walk = walk_uma_zones(*kernel);
    if (!walk) return std::move(walk.error());
    note_damage(notes, "the file", kernel->damage());
    note_damage(notes, "CPUs and domains", machine.damage);
    notes.insert(notes.end(), walk->damage.begin(), walk->damage.end());
    std::vector<DumpType> types;
    for (const UmaZone& zone : walk->zones) {
      types.push_back({.name = zone.name, .object_size = zone.object_size, .damage = {}});
    }
    return std::unique_ptr<DumpObjects>(
        new FreeBsdDumpObjects(std::move(kernel), std::move(machine), *std::move(walk), std::move(types), std::move(notes)));
  }

  [[nodiscard]] std::string_view allocator() const override { return "uma"; }
  Result<SlabObjects> objects_of(std::size_t number, std::uint64_t most) override {
    return read_uma_objects(*kernel_, machine_, walk_.zones[number], most);
  }

 private:
  FreeBsdDumpObjects(std::unique_ptr<FreeBsdKernel> kernel, FreeBsdMachine machine, UmaWalk walk,
                     std::vector<DumpType> types, std::vector<std::string> notes)
      : DumpObjects(std::move(types), std::move(notes)),
        kernel_(std::move(kernel)),
        machine_(std::move(machine)),
        walk_(std::move(walk)) {}

  std::unique_ptr<FreeBsdKernel> kernel_;
  FreeBsdMachine machine_;
  UmaWalk walk_;
};

}  // namespace

Result<std::unique_ptr<DumpObjects>> DumpObjects::open(const std::string& dump) {
  const CaptureReference reference = parse_dump_reference(dump);
  if (!is_dump_file(reference.path) || reference.poll.value_or(0) != 0) {
    Error error;
    error.code = ErrorCode::kNotPresent;
    error.path = dump;
    error.detail = "is not a crash dump, and only crash dumps have individual objects";
    return error;
  }
  const auto file = open_dump_file(reference.path);
  if (!file) return file.error();
  auto kernel = open_dump_kernel(*file);
  if (!kernel) return std::move(kernel.error());
  if (auto* image = std::get_if<std::unique_ptr<KernelImage>>(&*kernel)) {
    return LinuxDumpObjects::open(std::move(*image), {});
  }
  return FreeBsdDumpObjects::open(std::get<std::unique_ptr<FreeBsdKernel>>(*std::move(kernel)), {});
}

}  // namespace memstat::postmortem
