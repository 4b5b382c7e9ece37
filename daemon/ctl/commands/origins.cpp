// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/origins.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/origins_page.h"
#include "daemon/ctl/output/nearest_words.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/ctl/source/type_figures.h"

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
    "key events.mode of memstatd's configuration must be full, and it must be root when it begins";

/// What was found, or why nothing was.
struct FoundOrigins {
  Origins origins;
  std::string problem;
};

std::string reference_of(const CommandLine& options) {
  const char* const environment = std::getenv("MEMSTAT_CAPTURE");  // NOLINT(concurrency-mt-unsafe)
  return options.from.value_or(environment == nullptr || *environment == '\0' ? "live" : environment);
}

FoundOrigins page_of(const std::string& url) {
  const DaemonAnswer answer = ask_daemon(url, kOriginsPath);
  if (!answer.problem.empty()) return {.origins = {}, .problem = answer.problem};
  FoundOrigins found{.origins = parse_origins_page(answer.text), .problem = {}};
  if (found.origins.empty()) {
    found.problem = "this memstatd counts nothing by origin: " + std::string(kHowToCount);
  }
  return found;
}

FoundOrigins failed_origins(const Error& error, bool is_live) {
  const bool is_recordable = !is_live && error.code == ErrorCode::kNotPresent;
  return {.origins = {},
          .problem = to_string(error) + (is_recordable ? "; to have it recorded, " + std::string(kHowToCount) : "")};
}

FoundOrigins read_origins(events::SlabOrigins& source) {
  auto origins = source.read();
  if (!origins) return failed_origins(origins.error(), source.is_live());
  return {.origins = *std::move(origins), .problem = {}};
}

/// What grows between two reads.
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
  const std::string reference = reference_of(options);
  if (is_url(reference)) {
    const auto read_now = [&] { return page_of(reference); };
    return options.window_ns ? grown_within(*options.window_ns, read_now) : read_now();
  }
  auto source = events::SlabOrigins::open(reference);
  if (!source) return failed_origins(source.error(), reference == "live");
  if ((*source)->is_live())
    return grown_within(options.window_ns.value_or(10 * kOneSecond), [&] { return read_origins(**source); });
  if (options.window_ns) return {.origins = {}, .problem = "--for: a capture has what was counted until it was recorded"};
  return read_origins(**source);
}

/// Leaves those of the cache that the word means. "" or why there are none.
std::string choose_cache(const std::string& word, Origins& origins) {
  if (word.empty()) return {};
  constexpr std::string_view kAllocator = "slab/";
  const std::string cache = word.starts_with(kAllocator) ? word.substr(kAllocator.size()) : word;
  std::vector<std::string> known;
  for (const SlabOrigin& origin : origins) {
    if (std::find(known.begin(), known.end(), origin.cache) == known.end()) known.push_back(origin.cache);
  }
  std::erase_if(origins, [&](const SlabOrigin& origin) { return origin.cache != cache; });
  if (!origins.empty()) return {};
  return "nothing was taken from a slab cache \"" + printable_bytes(cache) + "\"" + did_you_mean(cache, known);
}

void add_origins(OptionAdder& add) {
  add.maybe_type();
  add.from_anywhere();
  add.window(
      "What comes within that time: 10s by default of a live kernel;\nwithout it of a memstatd since it attached to the "
      "events");
  add.report(OptionAdder::Patterns::kNone);
}

Report run_origins(const CommandLine& options) {
  FoundOrigins found = find_origins(options);
  if (found.problem.empty()) found.problem = choose_cache(options.type, found.origins);
  if (!found.problem.empty()) return {.output = {}, .problem = found.problem};
  ReportView view = options.view;
  if (!options.has_limit) view.limit = kListed;
  return report_of(origins_table(std::move(found.origins)), view);
}

}  // namespace

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
                              "Who makes Linux's slab caches grow: control group, program and function",
                              "memstatctl origins --for 10s\n"
                              "memstatctl origins dentry --from http://127.0.0.1:8947",
                              add_origins,
                              run_origins};

}  // namespace memstat::ctl
