// SPDX-License-Identifier: BSD-2-Clause
// Memory by allocating function, on kernels with memory allocation profiling (CONFIG_MEM_ALLOC_PROFILING, Linux 6.10), from
// /proc/allocinfo (lib/alloc_tag.c, lib/codetag.c).
//
//   allocinfo - version: 2.0
//   #     <size>  <calls> <tag info>
//         SIZE    CALLS FILE:LINE [MODULE] func:FUNCTION accurate:no
//
// Each line is a call site. A function may have many, and an inline function in a header may have several with the same file
// and line. [MODULE] is absent for the kernel itself. In version 1.0 a blank follows the function. Version 2.0 (Linux 6.18)
// may add words; `accurate:no` marks a site that missed some allocations. Columns are found by their names in the second
// line.
//
// Both numbers are sums over CPUs that keep counting during the read. If many CPUs free each other's allocations, a site may
// be negative for a moment: SIZE is printed signed, CALLS modulo 2^64. Negative values are taken as 0, which is closer to
// the truth and does not reduce other sites of the function.
//
// While /proc/sys/vm/mem_profiling is 0, which the kernel may also set itself, nothing is counted and the file shows old
// figures or zeros. The source then reports kNotPresent. With "never" on the kernel's command line the file does not exist.
#include <algorithm>
#include <array>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/parse/column_reader.h"
#include "core/parse/symbol_name.h"
#include "core/source.h"

namespace memstat::sources::linux_allocinfo {
namespace {

constexpr std::string_view kFile = "/proc/allocinfo";
constexpr std::string_view kSwitch = "/proc/sys/vm/mem_profiling";
enum File : std::size_t { kSwitchFile, kSites };
bool is_on(const RawBytes& raw) { return trim(raw.content(kSwitchFile)) != "0"; }
constexpr PlannedFile kPlan[] = {
    {.path = kSwitch, .need = ReadNeed::kExtra, .is_kept_open = true},
    {.path = kFile,
     .need = ReadNeed::kRequired,
     .is_kept_open = true,
     .is_wanted = [](const RawBytes& raw, const ReaderState&) { return is_on(raw); }},
};

constexpr FieldMask kFields{Field::kBytes, Field::kCount};
constexpr std::uint64_t kFirstNegative = std::uint64_t{1} << 63U;
constexpr std::size_t kMaxPlaceSize = 256;  // maximum bytes of file and line in a detail; longer ones lose their beginning
constexpr std::size_t kMaxColumns = 16;

/// Indexes of the numbers before a tag.
struct Columns {
  std::size_t count = 2;
  std::size_t size = 0;
  std::size_t calls = 1;
};

struct Site {
  std::uint64_t size = 0;   ///< B
  std::uint64_t calls = 0;  ///< allocations not yet freed
  std::string_view place;   ///< file:line
  std::string_view module;  ///< without brackets; empty for the kernel itself
  std::string_view function;
  bool is_accurate = true;
};

/// Per-function notes: one record per type in Staging::notes().
enum Note : std::size_t { kLargestSize, kSiteCount, kInaccurateSites, kNoteCount };

Result<Columns> parse_header(std::string_view& rest) {
  const std::size_t size = rest.size();
  std::string_view line;
  if (!rest.starts_with("allocinfo - version: ")) {
    return data_error(kFile, 0, "does not start with 'allocinfo - version: '", ErrorCode::kVersion);
  }
  next_line(rest, line);
  Columns columns;
  if (!rest.starts_with('#')) return columns;
  const std::size_t offset = size - rest.size();
  columns = {.count = 0, .size = kMaxColumns, .calls = kMaxColumns};
  std::string_view word;
  next_line(rest, line);
  line.remove_prefix(1);
  for (; next_word(line, word) && word != "<tag"; ++columns.count) {
    if (word == "<size>") columns.size = columns.count;
    if (word == "<calls>") columns.calls = columns.count;
  }
  if (columns.count <= kMaxColumns && columns.size < columns.count && columns.calls < columns.count) return columns;
  return data_error(kFile, offset, "the columns <size> and <calls> before <tag info> are missing", ErrorCode::kVersion);
}

/// Parses a number that may be negative, which is taken as 0. False if there is none, or if it exceeds 64 bits.
bool take_number(ColumnReader& reader, const char* end, std::uint64_t& value) {
  if (!reader.skip_to('-')) return reader.take(value);
  ColumnReader behind_sign(reader.at(), reader.at() + 1, end);
  if (behind_sign.at() == end || *behind_sign.at() == ' ' || !behind_sign.take(value)) return false;
  reader = behind_sign;
  value = 0;
  return true;
}

/// Parses the numbers before the tag, and the blank after each.
bool take_numbers(std::string_view& line, const Columns& columns, Site& site) {
  const char* const end = line.data() + line.size();
  ColumnReader reader(line.data(), line.data(), end);
  for (std::size_t column = 0; column < columns.count; ++column) {
    std::uint64_t value = 0;
    if (!take_number(reader, end, value) || reader.at() == end || *reader.at() != ' ') return false;
    if (column == columns.size) site.size = value;
    if (column == columns.calls) site.calls = value < kFirstNegative ? value : 0;
  }
  line.remove_prefix(static_cast<std::size_t>(reader.at() - line.data()) + 1);
  return true;
}

bool parse_site(std::string_view line, const Columns& columns, Site& site) {
  constexpr std::string_view kFunction = " func:";
  if (!take_numbers(line, columns, site)) return false;
  const std::size_t at = line.find(kFunction);
  if (at == std::string_view::npos) return false;
  site.place = line.substr(0, at);
  site.function = line.substr(at + kFunction.size());
  const std::size_t end = std::min(site.function.find(' '), site.function.size());
  std::string_view words = site.function.substr(end);
  site.function = site.function.substr(0, end);
  if (site.place.ends_with(']')) {
    const std::size_t module = site.place.rfind(" [");
    if (module != std::string_view::npos) {
      site.module = site.place.substr(module + 2, site.place.size() - module - 3);
      site.place = site.place.substr(0, module);
    }
  }
  if (words.size() > 1) {
    for (std::string_view word; next_word(words, word);) site.is_accurate = site.is_accurate && word != "accurate:no";
  }
  return !site.function.empty();
}

/// File and line as a detail; copied only if necessary.
std::string_view detail_of(std::string_view place, Staging& staging) {
  if (place.size() > kMaxPlaceSize) place.remove_prefix(place.size() - kMaxPlaceSize);
  return is_valid_label_text(place) ? place : staging.keep_text(place);
}

bool add_site(const Site& site, Staging& staging) {
  StagedType& type = staging.merge(symbol_name(site.function, site.module).view());
  std::vector<std::uint64_t>& notes = staging.notes();
  const std::size_t first = static_cast<std::size_t>(&type - staging.types().data()) * kNoteCount;
  if (type.fields.empty()) {
    type.fields = kFields;
    notes.resize(first + kNoteCount, 0);
  }
  std::uint64_t* const note = notes.data() + first;
  if (note[kSiteCount]++ == 0 || site.size > note[kLargestSize]) {
    note[kLargestSize] = site.size;
    type.detail = detail_of(site.place, staging);
  }
  note[kInaccurateSites] += site.is_accurate ? 0 : 1;
  return add_to(type.figures[Field::kBytes], site.size) && add_to(type.figures[Field::kCount], site.calls);
}

/// Completes the details of functions with several sites or inaccurate ones.
void finish_details(Staging& staging) {
  const std::vector<std::uint64_t>& notes = staging.notes();
  for (std::size_t index = 0; index * kNoteCount < notes.size(); ++index) {
    const std::uint64_t* const note = notes.data() + index * kNoteCount;
    if (note[kSiteCount] == 1 && note[kInaccurateSites] == 0) continue;
    StackText<kMaxLabelBytes * kMaxPlaceSize + 64> detail(staging.types()[index].detail);
    if (note[kSiteCount] > 1) detail.append(" and ", note[kSiteCount] - 1, " more");
    if (note[kInaccurateSites] != 0) detail.append(", not accurate");
    staging.set_detail(index, detail.view());
  }
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  const std::string_view text = raw.content(kSites);
  staging.reset({}, 0);
  std::string_view rest = text;
  const auto columns = parse_header(rest);
  if (!columns) return columns.error();
  const auto take = [&](std::string_view line) -> const char* {
    if (line.empty()) return nullptr;
    Site site;
    if (!parse_site(line, *columns, site)) {
      return "not a call site's line: expected a size, a number of calls, file:line and func:name";
    }
    return add_site(site, staging) ? nullptr : "reports a function with more than 2^64 bytes or calls";
  };
  if (auto result = for_each_whole_line(kFile, text, text.size() - rest.size(), take); !result) return result;
  if (staging.types().empty()) return data_error(kFile, text.size(), "has no call site");
  finish_details(staging);
  return {};
}

Result<void> check(const RawBytes& raw) {
  if (is_on(raw)) return {};
  return make_error(
      ErrorCode::kNotPresent, kFile,
      "memory allocation profiling is off: sysctl vm.mem_profiling=1 switches it on (earlier allocations are not counted); "
      "if it does not stay 1, the kernel's log has the reason");
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "<size> of the function's call sites, below zero as 0"},
    {Field::kCount, "<calls> of the function's call sites: allocations not yet freed"},
};

constexpr SourceOption kOptions[] = {
    {.name = "top",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 200,
     .most = 1'000'000,
     .help = "maximum number of functions on the page, those with most bytes, 0: all"},
    {.name = "min_bytes",
     .kind = SourceOption::Kind::kBytes,
     .default_number = 64 * 1024,
     .help = "functions with fewer bytes are not on the page, 0: no minimum"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_allocinfo",
    .origin = "/proc/allocinfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kCallSite,
    .is_roster = true,
    .origins = kOrigins,
    .options = kOptions,
    .interval = std::chrono::seconds(30),
    .plan = kPlan,
    .needs = "CAP_DAC_READ_SEARCH",
    .notes =
        "kernels with memory allocation profiling, while vm.mem_profiling is 1; needs root or CAP_DAC_READ_SEARCH at start; "
        "a type is a function, \"function\" or \"function [module]\", its detail file and line of its largest call site, "
        "and \"not accurate\" if the kernel missed some; only the functions with most bytes are on the page (top, "
        "min_bytes); the memory is also counted by slab, page and vmalloc types: do not add it to theirs",
    .steps = planned_steps<kPlan, parse, check>(),
};

}  // namespace memstat::sources::linux_allocinfo
