// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/files.h"

#include <string_view>
#include <utility>

#include "core/base/text.h"
#include "core/capture/manifest.h"
#include "core/postmortem/freebsd/list.h"
#include "core/postmortem/freebsd/machine.h"
#include "core/postmortem/freebsd/streams.h"

namespace memstat::postmortem {
namespace {

constexpr std::string_view kOnlyPoll = "000000";
constexpr std::size_t kMaxReleaseBytes = 32;

template <typename Number>
std::string number_bytes(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::int64_t crash_time_of(FreeBsdKernel& kernel) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  constexpr std::int64_t kLastSecond = 9'000'000'000;  // year 2255, the limit of nanoseconds in 64 bits
  const auto seconds = kernel.read_variable<std::int64_t>("time_second");
  return seconds && *seconds > 0 && *seconds < kLastSecond ? *seconds * kNanoseconds : kernel.changed_ns();
}

std::string release_of(FreeBsdKernel& kernel) {
  const auto symbol = kernel.file().symbol("osrelease");
  if (!symbol) return {};
  const auto release = kernel.read_string(symbol->address, kMaxReleaseBytes);
  return release ? make_label_text(*release) : std::string();
}

class FilesOfKernel {
 public:
  FilesOfKernel(FreeBsdKernel& kernel, std::vector<std::string>& notes)
      : kernel_(kernel), notes_(notes), files_(std::make_unique<MemoryFiles>(kernel.name())) {}

  Result<std::unique_ptr<MemoryFiles>> make(KvmNeeds needs) {
    const FreeBsdMachine machine = read_freebsd_machine(kernel_);
    note("the file", kernel_.damage());
    note("CPUs and domains", machine.damage);
    if (auto added = add_frame(machine); !added) return added.error();
    auto types = add_malloc(machine);
    auto zones = add_zones(machine);
    if (!types && (!zones || needs.malloc)) return types.error();
    if (!zones && needs.uma) return zones.error();
    if (!types) note("malloc types", to_string(types.error()));
    if (!zones) note("zones", to_string(zones.error()));
    const FreeBsdPages pages = read_freebsd_pages(kernel_, machine);
    note("pages", pages.damage);
    for (const auto& [name, value] : pages.sysctls) {
      if (auto added = add_sysctl(name, number_bytes(value)); !added) return added.error();
    }
    return std::move(files_);
  }

 private:
  void note(const std::string& subject, std::string_view damage) { add_damage(notes_, subject, damage); }

  void note_all(const std::vector<std::string>& damage) {
    for (const std::string& line : damage) {
      if (notes_.size() < kMaxDamage) notes_.push_back(line);
    }
  }

  Result<void> add_sysctl(const std::string& name, std::string bytes) {
    return files_->add_file(std::string(kOnlyPoll) + "/sysctl/" + name, std::move(bytes));
  }

  Result<void> add_frame(const FreeBsdMachine& machine) {
    CaptureManifest manifest;
    manifest.os = OperatingSystem::kFreeBsd;
    manifest.release = release_of(kernel_);
    manifest.machine = kernel_.file().machine() == Machine::kX86 ? "amd64" : "arm64";
    manifest.page_size = machine.page_bytes;
    manifest.cpus_present = format_list(machine.cpus);
    manifest.nodes = static_cast<std::uint32_t>(machine.domains.size());
    manifest.how = "read from the crash dump " + kernel_.name() + " with the kernel " + kernel_.file().name();
    const PollInfo poll{.label = "crash dump", .realtime_ns = crash_time_of(kernel_), .monotonic_ns = 0};
    for (const auto& [path, text] : {std::pair{std::string("manifest.yaml"), format_manifest(manifest)},
                                     std::pair{std::string(kOnlyPoll) + "/poll.yaml", format_poll_info(poll)}}) {
      if (auto added = files_->add_file(path, text); !added) return added;
    }
    for (const auto& [name, value] :
         {std::pair{"kern.smp.maxid", machine.cpu_slots - 1}, std::pair{"kern.smp.maxcpus", machine.cpu_slots},
          std::pair{"vm.ndomains", manifest.nodes},
          std::pair{"hw.pagesize", static_cast<std::uint32_t>(machine.page_bytes)}}) {
      if (auto added = add_sysctl(name, number_bytes(value)); !added) return added;
    }
    return {};
  }

  Result<void> add_malloc(const FreeBsdMachine& machine) {
    auto stream = read_malloc_stream(kernel_, machine);
    if (!stream) return stream.error();
    note_all(stream->damage);
    if (auto added = add_sysctl("kern.malloc_stats", std::move(stream->bytes)); !added) return added;
    if (auto added = add_sysctl("kern.malloc_count", number_bytes(stream->count)); !added) return added;
    const auto sizes = read_malloc_sizes(kernel_);
    if (!sizes) {
      note("size classes of malloc", to_string(sizes.error()));
      return {};
    }
    std::string bytes;
    for (const std::uint32_t size : *sizes) bytes += number_bytes(size);
    if (auto added = add_sysctl("vm.malloc.zone_sizes", std::move(bytes)); !added) return added;
    return add_sysctl("vm.malloc.zone_count", number_bytes(static_cast<std::uint32_t>(sizes->size())));
  }

  Result<void> add_zones(const FreeBsdMachine& machine) {
    auto stream = read_zone_stream(kernel_, machine);
    if (!stream) return stream.error();
    note_all(stream->damage);
    if (auto added = add_sysctl("vm.zone_stats", std::move(stream->bytes)); !added) return added;
    return add_sysctl("vm.zone_count", number_bytes(stream->count));
  }

  FreeBsdKernel& kernel_;
  std::vector<std::string>& notes_;
  std::unique_ptr<MemoryFiles> files_;
};

}  // namespace

Result<std::unique_ptr<MemoryFiles>> make_freebsd_files(FreeBsdKernel& kernel, std::vector<std::string>& notes,
                                                        KvmNeeds needs) {
  return FilesOfKernel(kernel, notes).make(needs);
}

}  // namespace memstat::postmortem
