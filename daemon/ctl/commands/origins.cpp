// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat::ctl {
namespace {

using events::SlabOrigin;
using Origins = std::vector<SlabOrigin>;

constexpr std::array<ReportColumn, 7> kOriginsColumns{
    {{.key = "cache", .title = "CACHE", .least = 10},
     {.key = "control_group", .title = "CONTROL GROUP", .rank = 1, .least = 10},
     {.key = "program", .title = "PROGRAM", .least = 8},
     {.key = "function", .title = "FUNCTION", .least = 10},
     {.key = "allocations", .title = "ALLOCATIONS", .unit = Unit::kNumber, .rank = 3},
     {.key = "bytes", .title = "BYTES", .unit = Unit::kBytes},
     {.key = "share_ratio", .title = "SHARE", .unit = Unit::kRatio, .rank = 2}}};

constexpr std::string_view kHowToCount =
    "key events.mode of memstatd's configuration must be full, and memstatd must be started as root";

/// The result, or the reason why there is none.
struct FoundOrigins {
  Origins origins;
  std::string problem;
  bool is_refused = false;  ///< For lack of a permission.
};

constexpr std::string_view kOriginAllocations = "memstat_slab_origin_allocations_total{";
constexpr std::string_view kOriginBytes = "memstat_slab_origin_allocated_bytes_total{";

/// Removes `NAME="VALUE"` and a following comma from the line. Empty if the line does not begin like this.
std::optional<std::pair<std::string_view, std::string>> take_page_label(std::string_view& line) {
  const std::size_t equals = line.find("=\"");
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = line.substr(0, equals);
  line.remove_prefix(equals + 2);
  std::size_t end = 0;
  while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
  if (end >= line.size()) return std::nullopt;
  std::string value = unescaped_label(line.substr(0, end));
  line.remove_prefix(end + 1);
  if (line.starts_with(',')) line.remove_prefix(1);
  return std::pair(name, std::move(value));
}

/// Parses a line after its `{`: the origin, with its number in `bytes`.
std::optional<SlabOrigin> parse_origin_line(std::string_view line) {
  SlabOrigin origin;
  while (!line.starts_with('}')) {
    auto label = take_page_label(line);
    if (!label) return std::nullopt;
    if (label->first == "cache") origin.cache = std::move(label->second);
    if (label->first == "group") origin.group = std::move(label->second);
    if (label->first == "command") origin.command = std::move(label->second);
    if (label->first == "call_site") origin.call_site = std::move(label->second);
  }
  if (!line.starts_with("} ")) return std::nullopt;
  line.remove_prefix(2);
  const auto number = parse_u64(line.substr(0, line.find(' ')));
  if (!number || origin.cache.empty()) return std::nullopt;
  origin.bytes = *number;
  return origin;
}

FoundOrigins page_of(const std::string& url) {
  const DaemonAnswer answer = ask_daemon(url, kOriginsPath);
  if (!answer.problem.empty()) return {.origins = {}, .problem = answer.problem};
  FoundOrigins found{.origins = parse_origins_page(answer.text), .problem = {}};
  if (found.origins.empty()) {
    found.problem = "this memstatd does not count by origin, which works on Linux only: " + std::string(kHowToCount);
  }
  return found;
}

FoundOrigins failed_origins(const Error& error, bool is_live) {
  return {.origins = {}, .problem = to_string(error), .is_refused = is_live && error.code == ErrorCode::kPermission};
}

FoundOrigins read_origins(events::SlabOrigins& source) {
  auto origins = source.read();
  if (origins) return {.origins = *std::move(origins), .problem = {}};
  if (source.is_live() || origins.error().code != ErrorCode::kNotPresent)
    return failed_origins(origins.error(), source.is_live());
  return {.origins = {}, .problem = "this poll of the capture has no origins; to record them, " + std::string(kHowToCount)};
}

/// The growth between two reads.
template <typename Read>
FoundOrigins grown_within(std::int64_t window_ns, Read read_now) {
  FoundOrigins before = read_now();
  if (!before.problem.empty()) return before;
  wait_ns(window_ns, "watching");
  FoundOrigins found = read_now();
  found.origins = grown_origins(before.origins, std::move(found.origins));
  return found;
}

FoundOrigins find_origins(const CommandLine& options) {
  const std::string reference = reference_or_default(options.from);
  if (is_url(reference)) {
    const auto read_now = [&] { return page_of(reference); };
    return options.window_ns ? grown_within(*options.window_ns, read_now) : read_now();
  }
  auto source = events::SlabOrigins::open(reference);
  if (!source) return failed_origins(source.error(), reference == "live");
  if ((*source)->is_live())
    return grown_within(options.window_ns.value_or(10 * kOneSecond), [&] { return read_origins(**source); });
  if (options.window_ns) return {.origins = {}, .problem = "--for: a capture has only the counts up to its recording"};
  return read_origins(**source);
}

/// Keeps only the origins of the named cache. Returns "" or why there are none.
std::string choose_cache(const std::string& word, Origins& origins) {
  if (word.empty()) return {};
  constexpr std::string_view kAllocatorOption = "slab/";
  const std::string cache = word.starts_with(kAllocatorOption) ? word.substr(kAllocatorOption.size()) : word;
  std::vector<std::string> known;
  for (const SlabOrigin& origin : origins) {
    if (std::find(known.begin(), known.end(), origin.cache) == known.end()) known.push_back(origin.cache);
  }
  std::erase_if(origins, [&](const SlabOrigin& origin) { return origin.cache != cache; });
  if (!origins.empty()) return {};
  return "nothing was allocated from a slab cache \"" + printable_bytes(cache) + "\"" + did_you_mean(cache, known);
}

constexpr auto kOriginsOptions = joined(
    std::array{argument("TYPE", {0, 1}, "One slab cache only, such as dentry or slab/dentry", store<&CommandLine::type>),
               kKernelOption, kFromAnywhereOption,
               window_option("Allocations within this time: 10s by default for a live kernel;\nfor a memstatd by default "
                             "since it attached to the events")},
    kReportOptions);

Report run_origins(const CommandLine& options) {
  FoundOrigins found = find_origins(options);
  if (found.is_refused) return {.missing = {"not in this answer: " + found.problem}};
  if (found.problem.empty()) found.problem = choose_cache(options.type, found.origins);
  if (!found.problem.empty()) return {.problem = found.problem};
  ReportView view = options.view;
  if (!options.has_limit) view.limit = kListed;
  return report_of(origins_table(std::move(found.origins)), view);
}

}  // namespace

Origins parse_origins_page(std::string_view page) {
  Origins origins;
  std::map<events::OriginNames, std::uint64_t> allocations;
  for (std::string_view line; next_line(page, line);) {
    const std::string_view word = line.substr(0, line.find('{') + 1);
    if (word != kOriginAllocations && word != kOriginBytes) continue;
    auto origin = parse_origin_line(line.substr(word.size()));
    if (!origin) continue;
    if (word == kOriginAllocations) {
      allocations[names_of(*origin)] = origin->bytes;
    } else {
      origins.push_back(*std::move(origin));
    }
  }
  for (SlabOrigin& origin : origins) {
    const auto found = allocations.find(names_of(origin));
    if (found != allocations.end()) origin.allocations = found->second;
  }
  return origins;
}

Origins grown_origins(const Origins& before, Origins after) {
  std::map<events::OriginNames, const SlabOrigin*> known;
  for (const SlabOrigin& origin : before) known.emplace(names_of(origin), &origin);
  for (SlabOrigin& origin : after) {
    const auto found = known.find(names_of(origin));
    if (found == known.end() || found->second->bytes > origin.bytes) continue;
    origin.bytes -= found->second->bytes;
    const std::uint64_t allocations = found->second->allocations.value_or(0);
    if (origin.allocations) *origin.allocations -= std::min(*origin.allocations, allocations);
  }
  std::erase_if(after, [](const SlabOrigin& origin) { return origin.bytes == 0; });
  return after;
}

ReportTable origins_table(Origins origins) {
  std::map<std::string, double> bytes_of_caches;
  for (const SlabOrigin& origin : origins) bytes_of_caches[origin.cache] += static_cast<double>(origin.bytes);
  const auto key = [](const SlabOrigin& origin) { return std::tuple(~origin.bytes, names_of(origin)); };
  std::sort(origins.begin(), origins.end(), [&](const SlabOrigin& a, const SlabOrigin& b) { return key(a) < key(b); });
  ReportTable table("origins", kOriginsColumns);
  for (const SlabOrigin& origin : origins) {
    const double all = bytes_of_caches[origin.cache];
    table.add({origin.cache, origin.group, origin.command, origin.call_site, cell_of(origin.allocations), origin.bytes,
               all > 0 ? Cell(static_cast<double>(origin.bytes) / all) : Cell()});
  }
  return table;
}

const Command kOriginsCommand{"origins",
                              Group::kGrowth,
                              "What makes Linux's slab caches grow: control group, program and function",
                              "memstatctl origins --for 10s\n"
                              "memstatctl origins dentry --from http://127.0.0.1:8947",
                              kOriginsOptions,
                              run_origins};

}  // namespace memstat::ctl
