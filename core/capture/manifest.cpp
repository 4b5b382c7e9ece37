// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/manifest.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>

#include "core/base/text.h"
#include "core/capture/flat_yaml.h"

namespace memstat {
namespace {

constexpr std::uint32_t kMaxCpus = 16384;  // twice any kernel's maximum; columns are sized by it
constexpr std::int64_t kNanoseconds = 1'000'000'000;

/// Keys in errors.yaml, indexed by PollPlace.
constexpr std::array<std::string_view, 3> kPlaceKeys = {"path", "sysctl", "source"};

std::size_t last_line(std::string_view text) {
  std::size_t count = 0;
  std::string_view line;
  while (next_line(text, line)) ++count;
  return count == 0 ? 1 : count;
}

Error missing(std::string_view text, std::string_view file, std::string_view key, std::string_view wanted) {
  return yaml_error(file, last_line(text), std::string(key) + ": missing; write " + std::string(wanted));
}

Error wrong(std::string_view file, const YamlPair& pair, std::string_view what) {
  return yaml_error(file, pair.line, pair.key + ": \"" + pair.value + "\" " + std::string(what));
}

std::string value_of(const YamlMap& map, std::string_view key) {
  const YamlPair* pair = find_pair(map, key);
  return pair == nullptr ? std::string() : pair->value;
}

std::string line_of(std::string_view key, std::string_view value) {
  return std::string(key) + ": " + yaml_quote(value) + "\n";
}

/// The byte order of a machine, for captures older than the key; "" for machines that exist with both.
std::string_view byte_order_of(std::string_view machine) {
  constexpr std::array<std::string_view, 9> kLittle = {"amd64",   "x86_64", "i386",    "i686", "arm64",
                                                       "aarch64", "arm",    "riscv64", "riscv"};
  constexpr std::array<std::string_view, 3> kBig = {"s390x", "sparc64", "ppc64"};
  if (std::find(kLittle.begin(), kLittle.end(), machine) != kLittle.end()) return "little";
  return std::find(kBig.begin(), kBig.end(), machine) != kBig.end() ? "big" : "";
}

/// Sets manifest.byte_order. Requires the system and the machine. Errors: kVersion if the capture's sysctls have the other
/// byte order.
Result<void> read_byte_order(const YamlMap& map, std::string_view file, CaptureManifest& manifest) {
  const YamlPair* byte_order = find_pair(map, "byte_order");
  if (byte_order != nullptr && byte_order->value != "little" && byte_order->value != "big") {
    return wrong(file, *byte_order, "is neither little nor big");
  }
  manifest.byte_order = byte_order != nullptr ? byte_order->value : std::string(byte_order_of(manifest.machine));
  if (manifest.os == OperatingSystem::kFreeBsd && !manifest.byte_order.empty() &&
      manifest.byte_order != native_byte_order()) {
    return make_error(ErrorCode::kVersion, file,
                      "a FreeBSD capture of a machine with the other byte order (" + manifest.byte_order +
                          " endian), whose sysctls cannot be read here: replay it on such a machine");
  }
  return {};
}

std::uint32_t count_nodes(KernelView& view) {
  Buffer bytes;
  if (view.read_file("/sys/devices/system/node/online", bytes)) return count_of_list(bytes.view()).value_or(1);
  if (view.read_sysctl("vm.ndomains", bytes, sizeof(std::int32_t)) && bytes.size() == sizeof(std::int32_t)) {
    return std::max(1U, load<std::uint32_t>(bytes.view(), 0));
  }
  return 1;
}

}  // namespace

Result<CaptureManifest> parse_manifest(std::string_view text, std::string_view file) {
  const auto parsed = parse_flat_yaml(text, file);
  if (!parsed) return parsed.error();
  const YamlMap& map = *parsed;

  const YamlPair* format = find_pair(map, "format");
  if (format == nullptr) return missing(text, file, "format", "format: 1");
  if (format->value != "1") {
    Error error = wrong(file, *format, "is not a capture format that this program supports; it reads format 1");
    error.code = ErrorCode::kVersion;
    return error;
  }
  CaptureManifest manifest;
  const YamlPair* os = find_pair(map, "os");
  if (os == nullptr) return missing(text, file, "os", "os: linux or os: freebsd");
  if (os->value == "linux") {
    manifest.os = OperatingSystem::kLinux;
  } else if (os->value == "freebsd") {
    manifest.os = OperatingSystem::kFreeBsd;
  } else if (os->value != "other") {
    return wrong(file, *os, "is neither linux nor freebsd nor other");
  }

  const YamlPair* page_size = find_pair(map, "page_size");
  if (page_size == nullptr) return missing(text, file, "page_size", "the kernel's page size in bytes");
  const auto bytes = parse_u64(page_size->value);
  if (!bytes || !std::has_single_bit(*bytes)) return wrong(file, *page_size, "is not a page size: a power of two, in bytes");
  manifest.page_size = *bytes;

  const YamlPair* cpus = find_pair(map, "cpus_present");
  if (cpus == nullptr) return missing(text, file, "cpus_present", "the kernel's list, like \"0-3\"");
  const auto highest = highest_of_list(cpus->value);
  if (!highest || *highest >= kMaxCpus) return wrong(file, *cpus, "is not a list of CPUs below 16384, like 0-3,6");
  manifest.cpus_present = cpus->value;
  manifest.cpu_count = *highest + 1;

  if (const YamlPair* nodes = find_pair(map, "nodes")) {
    const auto count = parse_u64(nodes->value);
    if (!count || *count == 0 || *count > kMaxCpus) return wrong(file, *nodes, "is not a number of memory nodes");
    manifest.nodes = static_cast<std::uint32_t>(*count);
  }
  manifest.release = value_of(map, "release");
  manifest.machine = value_of(map, "machine");
  if (auto read = read_byte_order(map, file, manifest); !read) return read.error();
  manifest.how = value_of(map, "how");
  manifest.edits = value_of(map, "edits");
  return manifest;
}

CaptureManifest manifest_of(KernelView& view) {
  CaptureManifest manifest;
  manifest.os = view.os();
  utsname machine{};
  if (::uname(&machine) >= 0) {
    manifest.release = machine.release;
    manifest.machine = machine.machine;
  }
  manifest.byte_order = native_byte_order();
  manifest.page_size = view.page_size();
  manifest.cpu_count = view.cpu_count();
  manifest.cpus_present = manifest.cpu_count > 1 ? "0-" + std::to_string(manifest.cpu_count - 1) : "0";
  manifest.nodes = count_nodes(view);
  manifest.how = "Recorded by memstatd while it polled: what each read of the kernel returned.";
  manifest.edits = "Kernel addresses in text were replaced by zeros of the same width; nothing else was changed.";
  return manifest;
}

std::string_view native_byte_order() { return std::endian::native == std::endian::little ? "little" : "big"; }

std::string format_manifest(const CaptureManifest& manifest) {
  return "format: 1\n" + line_of("os", to_string(manifest.os)) + line_of("release", manifest.release) +
         line_of("machine", manifest.machine) +
         (manifest.byte_order.empty() ? std::string() : line_of("byte_order", manifest.byte_order)) +
         "page_size: " + std::to_string(manifest.page_size) + "\n" + "cpus_present: \"" + manifest.cpus_present + "\"\n" +
         "nodes: " + std::to_string(manifest.nodes) + "\n" + line_of("how", manifest.how) + line_of("edits", manifest.edits);
}

Result<PollInfo> parse_poll_info(std::string_view text, std::string_view file) {
  const auto parsed = parse_flat_yaml(text, file);
  if (!parsed) return parsed.error();
  const YamlMap& map = *parsed;
  const YamlPair* realtime = find_pair(map, "realtime");
  if (realtime == nullptr) return missing(text, file, "realtime", "realtime: 2026-11-20T15:00:00Z");
  const auto realtime_ns = parse_iso8601_utc(realtime->value);
  if (!realtime_ns) return wrong(file, *realtime, "is not a time like 2026-11-20T15:00:00Z");
  const YamlPair* monotonic = find_pair(map, "monotonic_ns");
  if (monotonic == nullptr) return missing(text, file, "monotonic_ns", "nanoseconds of the monotonic clock");
  const auto monotonic_ns = parse_i64(monotonic->value);
  if (!monotonic_ns || *monotonic_ns < 0) return wrong(file, *monotonic, "is not a number of nanoseconds");
  return PollInfo{.label = value_of(map, "label"), .realtime_ns = *realtime_ns, .monotonic_ns = *monotonic_ns};
}

std::string format_poll_info(const PollInfo& info) {
  return line_of("label", info.label) + "realtime: " + format_iso8601_utc(info.realtime_ns) + "\n" +
         "monotonic_ns: " + std::to_string(info.monotonic_ns) + "\n";
}

Result<std::vector<RecordedError>> parse_recorded_errors(std::string_view text, std::string_view file) {
  const auto list = parse_yaml_list(text, file);
  if (!list) return list.error();
  std::vector<RecordedError> errors;
  for (const YamlMap& map : *list) {
    const YamlPair* name = nullptr;
    PollPlace place = PollPlace::kFile;
    bool has_one = true;
    for (std::size_t i = 0; i < kPlaceKeys.size(); ++i) {
      const YamlPair* const found = find_pair(map, kPlaceKeys[i]);
      if (found == nullptr) continue;
      has_one = has_one && name == nullptr;
      name = found;
      place = static_cast<PollPlace>(i);
    }
    const YamlPair* number = find_pair(map, "errno");
    if (name == nullptr || !has_one) {
      return yaml_error(file, map.front().line,
                        "needs one of path, sysctl and source, as in `- {path: /proc/x, errno: 13}`");
    }
    const auto value = number == nullptr ? std::nullopt : parse_u64(number->value);
    if (!value || *value == 0 || *value > 4095)
      return yaml_error(file, map.front().line, "errno: needs a number, 1 to 4095");
    if (name->value.empty()) return yaml_error(file, map.front().line, name->key + ": is empty");
    errors.push_back({.place = place, .name = name->value, .system_errno = static_cast<int>(*value)});
  }
  return errors;
}

std::string format_recorded_errors(const std::vector<RecordedError>& errors) {
  std::string text;
  for (const RecordedError& error : errors) {
    text += "- {" + std::string(kPlaceKeys[static_cast<std::size_t>(error.place)]) + ": ";
    text += yaml_quote(error.name) + ", errno: " + std::to_string(error.system_errno) + "}\n";
  }
  return text;
}

std::optional<std::int64_t> parse_iso8601_utc(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size() || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == 'd' ? (text[i] < '0' || text[i] > '9') : text[i] != kShape[i]) return std::nullopt;
  }
  const auto number = [text](std::size_t at, std::size_t length) {
    return static_cast<int>(parse_u64(text.substr(at, length)).value_or(0));
  };
  std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  std::int64_t nanoseconds = 0;
  if (!fraction.empty()) {
    if (fraction.front() != '.' || fraction.size() < 2 || fraction.size() > 10) return std::nullopt;
    fraction.remove_prefix(1);
    const auto digits = parse_u64(fraction);
    if (!digits) return std::nullopt;
    nanoseconds = static_cast<std::int64_t>(*digits);
    for (std::size_t i = fraction.size(); i < 9; ++i) nanoseconds *= 10;
  }
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hours = number(11, 2);
  const int minutes = number(14, 2);
  const int seconds = number(17, 2);
  if (!date.ok() || number(0, 4) < 1970 || number(0, 4) > 2261 || hours > 23 || minutes > 59 || seconds > 59) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hours) * 3600 + minutes * 60 + seconds) * kNanoseconds + nanoseconds;
}

std::string format_iso8601_utc(std::int64_t realtime_ns) {
  if (realtime_ns < 0) realtime_ns = 0;  // the clock was not set
  const std::int64_t seconds = realtime_ns / kNanoseconds;
  const std::int64_t of_day = seconds % 86400;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(seconds / 86400))};
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), static_cast<int>(of_day / 3600),
                static_cast<int>(of_day / 60 % 60), static_cast<int>(of_day % 60));
  std::string result = text.data();
  if (const std::int64_t fraction = realtime_ns % kNanoseconds; fraction != 0) {
    std::snprintf(text.data(), text.size(), ".%09lld", static_cast<long long>(fraction));
    result += text.data();
  }
  return result + "Z";
}

}  // namespace memstat
