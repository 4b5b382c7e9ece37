// SPDX-License-Identifier: BSD-2-Clause
// Writes a capture of a made-up machine for memstatd to replay: thousands of types on thousands of CPUs, or
// tens of thousands of slab caches. The same options give the same bytes. tests/README.md shows how to use it.
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/capture/manifest.h"
#include "tests/support/synthetic_machine.h"

namespace memstat {
namespace {

constexpr const char* kUsage =
    "usage: make_machine freebsd|linux DIRECTORY [--OPTION N]...\n"
    "\n"
    "Writes a capture into DIRECTORY, which must not exist.\n"
    "  --polls N             polls, 10 s apart; counters grow from one to the next (2)\n"
    "  --cpus N              CPUs present (1024)\n"
    "  --types N             malloc(9) types (2000)\n"
    "  --zones N             uma(9) zones (200)\n"
    "  --slots N             MAXCPU: CPU slots in kern.malloc_stats; at least the CPUs (1024)\n"
    "  --cpus-in-use N       about N CPUs have used a type, 0: all (0)\n"
    "  --idle-one-in N       one type in N was never used, 0: none (0)\n"
    "  --caches N            slab caches (20000)\n"
    "  --duplicate-one-in N  one cache in N has the name of another, 0: none (50)\n"
    "  --seed N              another machine of the same size (1)\n";

struct Arguments {
  OperatingSystem os = OperatingSystem::kOther;
  std::string directory;
  std::uint32_t polls = 2;
  SyntheticOptions machine{
      .types = 2000, .zones = 200, .caches = 20'000, .cpus = 1024, .slots = 1024, .duplicate_one_in = 50};
};

bool parse(int argc, char** argv, Arguments& arguments) {
  if (argc < 3 || argc % 2 == 0) return false;
  const std::string_view system = argv[1];
  if (system != "freebsd" && system != "linux") return false;
  arguments.os = system == "freebsd" ? OperatingSystem::kFreeBsd : OperatingSystem::kLinux;
  arguments.directory = argv[2];
  SyntheticOptions& machine = arguments.machine;
  struct Option {
    std::string_view name;
    std::uint32_t* value;
    std::uint32_t least;
    std::uint32_t most;
  };
  std::uint32_t seed = 1;
  const std::array options = {Option{"--polls", &arguments.polls, 1, 1'000'000},
                              Option{"--cpus", &machine.cpus, 1, 16'384},
                              Option{"--types", &machine.types, 1, 1'000'000},
                              Option{"--zones", &machine.zones, 1, 1'000'000},
                              Option{"--slots", &machine.slots, 1, 65'536},
                              Option{"--cpus-in-use", &machine.cpus_in_use, 0, 65'536},
                              Option{"--idle-one-in", &machine.idle_one_in, 0, 1'000'000},
                              Option{"--caches", &machine.caches, 1, 10'000'000},
                              Option{"--duplicate-one-in", &machine.duplicate_one_in, 0, 1'000'000},
                              Option{"--seed", &seed, 0, 0xFFFFFFFFU}};
  for (int i = 3; i < argc; i += 2) {
    const Option* option = nullptr;
    for (const Option& one : options) {
      if (one.name == argv[i]) option = &one;
    }
    const char* end = argv[i + 1] + std::strlen(argv[i + 1]);
    if (option == nullptr) return false;
    const auto [at, failure] = std::from_chars(argv[i + 1], end, *option->value);
    if (failure != std::errc{} || at != end || *option->value < option->least || *option->value > option->most) return false;
  }
  machine.seed = seed;
  return true;
}

class CaptureWriter {
 public:
  explicit CaptureWriter(std::filesystem::path directory) : directory_(std::move(directory)) {}

  void write(const std::filesystem::path& path, std::string_view bytes) {
    std::error_code failure;
    std::filesystem::create_directories((directory_ / path).parent_path(), failure);
    std::ofstream file(directory_ / path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (file || has_failed_) return;
    has_failed_ = true;
    std::fprintf(stderr, "make_machine: cannot write %s\n", (directory_ / path).c_str());
  }
  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  std::filesystem::path directory_;
  bool has_failed_ = false;
};

int make(const Arguments& arguments) {
  if (std::filesystem::exists(arguments.directory)) {
    std::fprintf(stderr, "make_machine: %s exists already\n", arguments.directory.c_str());
    return 1;
  }
  SyntheticMachine machine(arguments.os, arguments.machine);
  CaptureWriter writer(arguments.directory);
  CaptureManifest manifest;
  manifest.os = arguments.os;
  manifest.release = "synthetic";
  manifest.machine = "amd64";
  manifest.page_size = machine.page_size();
  const std::string last_cpu = std::to_string(arguments.machine.cpus - 1);
  manifest.cpus_present = last_cpu == "0" ? "0" : "0-" + last_cpu;
  manifest.cpu_count = arguments.machine.cpus;
  manifest.how = "made by tests/support/make_machine";
  manifest.edits = "all of it";
  writer.write("manifest.yaml", format_manifest(manifest));
  Buffer bytes;
  for (std::uint32_t poll = 0; poll < arguments.polls && !writer.has_failed(); ++poll) {
    machine.poll = poll;
    char number[16];
    std::snprintf(number, sizeof number, "%06u", poll);
    const std::filesystem::path directory = number;
    const auto write_sysctl = [&](std::string_view name) {
      if (machine.read_sysctl(name, bytes, 0)) writer.write(directory / "sysctl" / name, bytes.view());
    };
    if (arguments.os == OperatingSystem::kFreeBsd) {
      for (const auto& [name, value] : machine.integers()) write_sysctl(name);
      for (const char* name : {"vm.malloc.zone_sizes", "kern.malloc_stats", "vm.zone_stats"}) write_sysctl(name);
    } else if (machine.read_file("/proc/slabinfo", bytes)) {
      writer.write(directory / "fs/proc/slabinfo", bytes.view());
    }
    PollInfo info;
    info.label = "poll " + std::to_string(poll);
    info.monotonic_ns = (std::int64_t{poll} + 10) * 10'000'000'000;
    info.realtime_ns = 1'800'000'000'000'000'000 + info.monotonic_ns;
    writer.write(directory / "poll.yaml", format_poll_info(info));
  }
  return writer.has_failed() ? 1 : 0;
}

}  // namespace
}  // namespace memstat

int main(int argc, char** argv) {
  memstat::Arguments arguments;
  if (!memstat::parse(argc, argv, arguments)) {
    std::fputs(memstat::kUsage, stderr);
    return 2;
  }
  return memstat::make(arguments);
}
