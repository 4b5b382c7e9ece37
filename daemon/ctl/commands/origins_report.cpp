// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/origins_report.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/ctl/commands/origins_page.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/nearest_words.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

using events::SlabOrigin;
using Origins = std::vector<SlabOrigin>;

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
FoundOrigins grown_within(unsigned seconds, Read read_now) {
  FoundOrigins before = read_now();
  if (!before.problem.empty()) return before;
  wait_seconds(seconds, "watching");
  FoundOrigins found = read_now();
  found.origins = grown_origins(before.origins, std::move(found.origins));
  return found;
}

FoundOrigins find_origins(const CommandLine& options) {
  constexpr unsigned kSeconds = 10;
  const std::string reference = reference_of(options);
  if (is_url(reference)) {
    const auto read_now = [&] { return page_of(reference); };
    return options.seconds ? grown_within(*options.seconds, read_now) : read_now();
  }
  auto source = events::SlabOrigins::open(reference);
  if (!source) return failed_origins(source.error(), reference == "live");
  if ((*source)->is_live()) return grown_within(options.seconds.value_or(kSeconds), [&] { return read_origins(**source); });
  if (options.seconds) return {.origins = {}, .problem = "--seconds: a capture has what was counted until it was recorded"};
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

/// Most bytes first, `limit` at most; equals in a fixed order.
void keep_largest(Origins& origins, std::size_t limit) {
  const auto key = [](const SlabOrigin& origin) { return std::tuple(~origin.bytes, names_of(origin)); };
  std::sort(origins.begin(), origins.end(), [&](const SlabOrigin& a, const SlabOrigin& b) { return key(a) < key(b); });
  if (origins.size() > limit) origins.resize(limit);
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

std::vector<TableRow> origins_rows(Origins origins, std::size_t limit, bool is_human) {
  std::map<std::string, double> bytes_of_caches;
  for (const SlabOrigin& origin : origins) bytes_of_caches[origin.cache] += static_cast<double>(origin.bytes);
  keep_largest(origins, limit);
  std::vector<TableRow> rows(1, {"CACHE", "CONTROL GROUP", "PROGRAM", "FUNCTION", "ALLOCATIONS", "BYTES", "SHARE"});
  for (const SlabOrigin& origin : origins) {
    const double all = bytes_of_caches[origin.cache];
    rows.push_back({printable(origin.cache), printable(origin.group), printable(origin.command), printable(origin.call_site),
                    origin.allocations ? amount_text(*origin.allocations, false, is_human) : "-",
                    amount_text(origin.bytes, true, is_human),
                    all > 0 ? percent(static_cast<double>(origin.bytes) / all) : "-"});
  }
  return rows;
}

std::string origins_json(Origins origins, std::size_t limit) {
  keep_largest(origins, limit);
  JsonWriter json("1");
  json.open_list("origins");
  for (const SlabOrigin& origin : origins) {
    json.open_object().field("cache", origin.cache).field("control_group", origin.group);
    json.field("program", origin.command).field("function", origin.call_site);
    if (origin.allocations) json.field("allocations", *origin.allocations);
    json.field("bytes", origin.bytes).close();
  }
  return json.finish();
}

Report origins_report(const CommandLine& options) {
  FoundOrigins found = find_origins(options);
  if (found.problem.empty()) found.problem = choose_cache(options.type, found.origins);
  if (!found.problem.empty()) return {.output = {}, .problem = found.problem};
  if (options.json) return {.output = origins_json(std::move(found.origins), options.limit), .problem = {}};
  if (options.csv) {
    return {.output = table_csv(origins_rows(std::move(found.origins), options.limit, false)), .problem = {}};
  }
  constexpr std::size_t kNames = 4;
  const auto rows = origins_rows(std::move(found.origins), options.limit, options.human.value_or(true));
  return {.output = table_text(rows, kNames), .problem = {}};
}

}  // namespace memstat::ctl
