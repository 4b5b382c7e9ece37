// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/capture/manifest.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxNotes = 1000;
constexpr std::string_view kPoll = "000000";

using Node = SlabCache::Node;

std::uint64_t used_of(const Node& node) { return node.objects - node.partial_free; }

/// `figure`: a member of a node, or a function of one.
template <typename Figure>
std::uint64_t sum_of(const SlabCache& cache, Figure figure) {
  std::uint64_t sum = 0;
  for (const Node& node : cache.nodes) sum = saturating_sum(sum, std::invoke(figure, node));
  return sum;
}

/// "TOTAL N0=... N1=...", without nodes that have none; as printed by show_slab_objects() in mm/slub.c.
template <typename Figure>
std::string by_node(const SlabCache& cache, std::uint64_t total, Figure figure) {
  std::string text = std::to_string(total);
  for (const Node& node : cache.nodes) {
    if (const std::uint64_t value = std::invoke(figure, node); value != 0) {
      text += " N" + std::to_string(node.number) + "=" + std::to_string(value);
    }
  }
  return text + "\n";
}

template <typename Figure>
std::string by_node(const SlabCache& cache, Figure figure) {
  return by_node(cache, sum_of(cache, figure), figure);
}

/// Makes a name safe for a line: damaged memory may hold any bytes.
std::string one_line(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\177'; }, '?');
  return name;
}

void add_directory_of(MemoryFiles& files, const SlabCache& cache) {
  std::string name = one_line(cache.name);
  std::replace(name.begin(), name.end(), '/', '!');  // as kobject_set_name() does
  const std::string directory = std::string(kPoll) + "/fs/sys/kernel/slab/" + name;
  std::uint64_t cpu_slabs = 0;
  for (const SlabCache::Cpu& cpu : cache.cpus) cpu_slabs += cpu.slabs;
  const std::uint64_t partial_used = [&] {
    const std::uint64_t slots = saturating_product(sum_of(cache, &Node::partial), cache.objects_per_slab);
    const std::uint64_t free = sum_of(cache, &Node::objects) - sum_of(cache, used_of);
    return slots - std::min(slots, free);
  }();
  const std::array<std::pair<std::string_view, std::string>, 10> contents = {{
      {"object_size", std::to_string(cache.object_size) + "\n"},
      {"slab_size", std::to_string(cache.size) + "\n"},
      {"order", std::to_string(cache.order) + "\n"},
      {"objs_per_slab", std::to_string(cache.objects_per_slab) + "\n"},
      {"slabs", by_node(cache, &Node::slabs)},
      {"total_objects", by_node(cache, &Node::objects)},
      {"objects", by_node(cache, used_of)},
      {"partial", by_node(cache, &Node::partial)},
      {"objects_partial", std::to_string(partial_used) + "\n"},
      {"cpu_slabs", by_node(cache, cpu_slabs, &Node::cpu_slabs)},
  }};
  for (const auto& [file, text] : contents) {
    // As in the kernel, a second cache with the same name has no directory. Names that cannot be file names have none
    // either.
    if (!files.add_file(directory + "/" + std::string(file), text)) return;
  }
}

std::int64_t time_of(KernelImage& image) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  constexpr std::int64_t kLastSecond = 9'000'000'000;  // year 2255, the limit of nanoseconds in 64 bits
  const auto seconds = parse_i64(image.info().text("CRASHTIME").value_or(""));
  if (seconds && *seconds > 0 && *seconds < kLastSecond) return *seconds * kNanoseconds;
  return image.memory().changed_ns();
}

std::string manifest_of(KernelImage& image, const LinuxMachine& machine) {
  CaptureManifest manifest;
  manifest.os = OperatingSystem::kLinux;
  manifest.release = one_line(std::string(image.info().text("OSRELEASE").value_or("")));
  manifest.machine = to_string(image.memory().machine());
  manifest.page_size = image.info().page_bytes();
  manifest.cpus_present = machine.cpu_list();
  manifest.nodes = machine.nodes;
  manifest.how = "read from the crash dump " + image.name();
  return format_manifest(manifest);
}

/// Adds the files of the page allocator and of vmalloc, and notes on damage. `note` takes a subject and a problem,
/// which may be "".
template <typename Note>
Result<void> add_memory_files(KernelImage& image, const LinuxMachine& machine, std::uint64_t page_bytes, MemoryFiles& files,
                              Note note) {
  const LinuxStatistics statistics = read_linux_statistics(image, machine);
  const LinuxZones zones = read_linux_zones(image, machine, statistics);
  const LinuxText meminfo = read_linux_meminfo(image, statistics, page_bytes);
  const LinuxText areas = read_linux_vmallocinfo(image, machine);
  note("counters", statistics.damage);
  note("zones", zones.damage);
  note("meminfo", meminfo.damage);
  note("vmalloc areas", areas.damage);
  const std::pair<std::string_view, std::string> contents[] = {{"vmstat", vmstat_text(statistics)},
                                                               {"zoneinfo", zones.zoneinfo},
                                                               {"buddyinfo", zones.buddyinfo},
                                                               {"meminfo", meminfo.text},
                                                               {"vmallocinfo", areas.text}};
  for (const auto& [name, text] : contents) {
    if (text.empty()) continue;
    if (auto added = files.add_file(std::string(kPoll) + "/fs/proc/" + std::string(name), text); !added) return added;
  }
  return {};
}

}  // namespace

std::string slabinfo_text(const std::vector<SlabCache>& caches) {
  std::string text =
      "slabinfo - version: 2.1\n"
      "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
      "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n";
  for (const SlabCache& cache : caches) {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::array<char, 256> figures;  // for nine numbers of up to 20 digits
    const unsigned long long slabs = sum_of(cache, &Node::slabs);
    std::snprintf(figures.data(), figures.size(),
                  " %6llu %6llu %6llu %4llu %4llu : tunables    0    0    0 : slabdata %6llu %6llu      0\n",
                  number(sum_of(cache, used_of)), number(sum_of(cache, &Node::objects)), number(cache.size),
                  number(cache.objects_per_slab), number(std::uint64_t{1} << cache.order), slabs, slabs);
    std::string name = one_line(cache.name);
    if (name.size() < 17) name.resize(17, ' ');
    text += name + figures.data();
  }
  return text;
}

Result<std::unique_ptr<MemoryFiles>> make_linux_files(KernelImage& image, std::vector<std::string>& notes) {
  const LinuxMachine machine = read_linux_machine(image);
  const auto walk = walk_slab_caches(image, machine);
  if (!walk) return walk.error();
  const auto note = [&](const std::string& subject, const std::string& damage) {
    if (!damage.empty() && notes.size() < kMaxNotes) notes.push_back(subject + ": " + damage);
  };
  note("the file", image.memory().damage());
  note("CPUs and nodes", machine.damage);
  note("slab caches", walk->damage);

  auto files = std::make_unique<MemoryFiles>(image.name());
  const std::string poll(kPoll);
  const PollInfo info{.label = "crash dump", .realtime_ns = time_of(image), .monotonic_ns = 0};
  for (auto& [path, text] : {std::pair{std::string("manifest.yaml"), manifest_of(image, machine)},
                             std::pair{poll + "/poll.yaml", format_poll_info(info)},
                             std::pair{poll + "/fs/proc/slabinfo", slabinfo_text(walk->caches)}}) {
    if (auto added = files->add_file(path, text); !added) return added.error();
  }
  if (auto added = add_memory_files(image, machine, image.info().page_bytes(), *files, note); !added) return added.error();
  for (const SlabCache& cache : walk->caches) {
    note("slab cache " + one_line(cache.name), cache.damage);
    add_directory_of(*files, cache);
  }
  return files;
}

}  // namespace memstat::postmortem
