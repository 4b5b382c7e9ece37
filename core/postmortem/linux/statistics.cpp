// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/statistics.h"

#include <algorithm>
#include <array>
#include <utility>

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxCounters = 1024;  // Linux 7.0 has some 230
constexpr std::size_t kMaxWords = 1U << 16U;
constexpr std::size_t kMaxCounterName = 64;
constexpr std::string_view kFirstNode = "nr_inactive_anon";
constexpr std::string_view kFirstEvent = "pgpgin";
/// Counters that belong to neither zones nor nodes.
constexpr std::array<std::string_view, 2> kVariables = {"nr_memmap_pages", "nr_memmap_boot_pages"};

/// The number of elements of an array member.
std::size_t length_of(const Btf& types, std::string_view owner, std::string_view member) {
  const auto array = types.array_member(owner, member);
  return array ? std::min<std::size_t>(array->count, kMaxCounters) : 0;
}

class StatisticsReader {
 public:
  StatisticsReader(KernelImage& image, const LinuxMachine& machine) : image_(image), machine_(machine) {}

  LinuxStatistics run() {
    read_names();
    fill(statistics_.zones, "vm_zone_stat");
    // Renamed by Linux commit f19298b9516c ("mm/vmstat: convert NUMA statistics to basic NUMA counters") (v5.14).
    fill(statistics_.numa, image_.symbol("vm_numa_event") ? "vm_numa_event" : "vm_numa_stat");
    fill(statistics_.nodes, "vm_node_stat");
    fill_others();
    fill_events();
    return std::move(statistics_);
  }

 private:
  void note(std::string_view what, std::string_view why) {
    if (!statistics_.damage.empty()) return;
    statistics_.damage = why.starts_with(what) ? "" : std::string(what) + ": ";  // errors about symbols already name them
    statistics_.damage += why;
  }

  void read_names() {
    const Btf& types = image_.types();
    const std::size_t zones = length_of(types, "zone", "vm_stat");
    const std::size_t nodes = length_of(types, "pglist_data", "vm_stat");
    const std::size_t events = length_of(types, "vm_event_state", "event");
    const auto text = image_.symbol("vmstat_text");
    if (!text) return note("vmstat_text", text.error().detail);
    if (zones == 0 || nodes == 0) return note("vmstat_text", "the kernel's types of zones and nodes have no counters");
    for (std::size_t i = 0; i < kMaxCounters; ++i) {
      auto name = read_name(*text + i * sizeof(std::uint64_t));
      if (!name) return note("vmstat_text", name.error().detail);
      if (statistics_.zones.size() < zones) {
        statistics_.zones.push_back({*std::move(name)});
      } else if (statistics_.nodes.empty() && *name != kFirstNode) {
        statistics_.numa.push_back({*std::move(name)});
      } else if (statistics_.nodes.size() < nodes) {
        statistics_.nodes.push_back({*std::move(name)});
      } else if (events == 0) {
        return;
      } else if (statistics_.events.empty() && *name != kFirstEvent) {
        statistics_.others.push_back({*std::move(name)});
      } else {
        statistics_.events.push_back({*std::move(name)});
        if (statistics_.events.size() == events) return;
      }
    }
  }

  Result<std::string> read_name(std::uint64_t pointer) {
    const auto address = image_.read_number<std::uint64_t>(pointer);
    if (!address) return address.error();
    auto name = image_.read_string(*address, kMaxCounterName);
    if (!name) return name;
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (name->empty() || !std::all_of(name->begin(), name->end(), is_plain)) {
      return missing_memory(image_.name(), "virtual", *address, "is not the name of a counter");
    }
    return name;
  }

  void fill(std::vector<NamedCount>& counts, std::string_view symbol) {
    if (counts.empty()) return;
    const auto address = image_.symbol(symbol);
    const auto words =
        address ? read_words(image_, *address, counts.size()) : Result<std::vector<std::uint64_t>>(address.error());
    if (!words) {
      counts.clear();
      return note(symbol, words.error().detail);
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i].value = shown((*words)[i]);
  }

  /// Omits thresholds, which the kernel computes on demand.
  void fill_others() {
    std::vector<NamedCount> known;
    for (NamedCount& count : statistics_.others) {
      if (std::find(kVariables.begin(), kVariables.end(), count.name) == kVariables.end()) continue;
      const auto value = image_.read_variable<std::uint64_t>(count.name);
      if (value) known.push_back({std::move(count.name), shown(*value)});
    }
    statistics_.others = std::move(known);
  }

  void fill_events() {
    if (statistics_.events.empty()) return;
    const auto address = image_.symbol("vm_event_states");
    if (!address) {
      statistics_.events.clear();
      return note("vm_event_states", address.error().detail);
    }
    for (const LinuxMachine::Cpu& cpu : machine_.cpus) {
      const auto words = read_words(image_, *address + cpu.offset, statistics_.events.size());
      if (!words) {
        note("the events of CPU " + std::to_string(cpu.number), words.error().detail);
        continue;
      }
      for (std::size_t i = 0; i < words->size(); ++i) statistics_.events[i].value += (*words)[i];
    }
  }

  KernelImage& image_;
  const LinuxMachine& machine_;
  LinuxStatistics statistics_;
};

}  // namespace

std::optional<std::uint64_t> LinuxStatistics::find(std::string_view name) const {
  for (const auto* const counts : {&zones, &nodes, &others}) {
    for (const NamedCount& count : *counts) {
      if (count.name == name) return count.value;
    }
  }
  return std::nullopt;
}

Result<std::vector<std::uint64_t>> read_words(KernelImage& image, std::uint64_t address, std::size_t count) {
  if (count > kMaxWords) return data_error(image.name(), 0, "has a table of " + std::to_string(count) + " numbers");
  std::vector<std::uint64_t> words(count);
  if (auto read = image.read(address, reinterpret_cast<char*>(words.data()), count * sizeof(std::uint64_t)); !read) {
    return read.error();
  }
  return words;
}

LinuxStatistics read_linux_statistics(KernelImage& image, const LinuxMachine& machine) {
  return StatisticsReader(image, machine).run();
}

std::string vmstat_text(const LinuxStatistics& statistics) {
  std::string text;
  for (const auto* const counts :
       {&statistics.zones, &statistics.numa, &statistics.nodes, &statistics.others, &statistics.events}) {
    for (const NamedCount& count : *counts) text += count.name + " " + std::to_string(count.value) + "\n";
  }
  return text;
}

}  // namespace memstat::postmortem
