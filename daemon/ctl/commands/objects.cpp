// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of a type in a crash dump.
#include "daemon/ctl/commands/shared_options.h"
#if defined(MEMSTAT_HAVE_POSTMORTEM)

#include <array>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <utility>
#include <vector>

#include "core/kernel/open_view.h"
#include "core/postmortem/dump_objects.h"
#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

using postmortem::DumpType;
using postmortem::SlabObject;
using postmortem::SlabObjects;

constexpr double kAgeUnit = 1e9;  // nanoseconds per second

std::string hex_text(std::uint64_t number, const char* format) {
  char text[24];
  std::snprintf(text, sizeof text, format, number);
  return text;
}
std::string address_text(std::uint64_t address) { return hex_text(address, "0x%016" PRIx64); }

std::string words_text(const SlabObject& object) {
  if (object.words.empty()) return "-";
  return separated(object.words, " ", [](std::uint64_t word) { return hex_text(word, "%016" PRIx64); });
}

/// The objects of all types with one name.
struct FoundObjects {
  std::string allocator;
  std::string type;
  std::uint64_t object_size = 0;
  SlabObjects found;
};

constexpr std::array<ReportColumn, 7> kObjectsColumns{
    {{.key = "address", .title = "ADDRESS"},
     {.key = "first_words", .title = "FIRST WORDS", .rank = 2},
     {.key = "caller", .title = "ALLOCATED BY", .rank = 1, .least = 16},
     {.key = "stack", .title = ""},
     {.key = "age_seconds", .title = "AGE", .unit = Unit::kSeconds, .rank = 3},
     {.key = "pid", .title = "PID", .unit = Unit::kNumber, .rank = 4},
     {.key = "cpu", .title = "CPU", .unit = Unit::kNumber, .rank = 5}}};

ReportTable objects_table(const FoundObjects& findings) {
  const SlabObjects& found = findings.found;
  // Without origins, four columns would be empty.
  ReportTable table("objects", std::span(kObjectsColumns).first(found.has_origins ? kObjectsColumns.size() : 2));
  for (const SlabObject& object : found.objects) {
    std::vector<Cell> row(found.has_origins ? kObjectsColumns.size() : 2);
    row[0] = address_text(object.address);
    row[1] = words_text(object);
    if (found.has_origins && object.origin) {
      const SlabObject::Origin& origin = *object.origin;
      row[2] = printable_bytes(origin.caller);
      row[3] = cell_of_text(separated(origin.stack, ";", printable_bytes));
      if (origin.age_ns) row[4] = *origin.age_ns / static_cast<std::uint64_t>(kAgeUnit);
      row[5] = static_cast<std::uint64_t>(origin.pid);
      row[6] = static_cast<std::uint64_t>(origin.cpu);
    }
    table.add(std::move(row));
  }
  return table;
}

/// A note if there are more objects than are listed; otherwise "".
std::string more_text(const FoundObjects& findings) {
  const SlabObjects& found = findings.found;
  if (found.objects.size() >= found.count) return {};
  return std::to_string(found.objects.size()) + " of " + std::to_string(found.count) +
         " objects are listed: --limit N lists more\n";
}

std::string objects_json(const FoundObjects& findings, const ReportView& view) {
  JsonWriter json("1", view.is_compact);
  json.field("allocator", findings.allocator).field("type", printable_bytes(findings.type));
  json.field("object_size", findings.object_size).field("allocated", findings.found.count);
  json.field("counted", findings.found.counted).open_list("objects");
  for (const SlabObject& object : findings.found.objects) {
    json.open_object().field("address", address_text(object.address)).open_list("words");
    for (const std::uint64_t word : object.words) json.member(address_text(word));
    json.close();
    if (object.origin) {
      const SlabObject::Origin& origin = *object.origin;
      json.field("caller", printable_bytes(origin.caller)).field("pid", origin.pid).field("cpu", origin.cpu);
      if (origin.age_ns) json.field("age_seconds", static_cast<double>(*origin.age_ns) / kAgeUnit);
      json.open_list("stack");
      for (const std::string& frame : origin.stack) json.member(printable_bytes(frame));
      json.close();
    }
    json.close();
  }
  return json.finish();
}

/// The indexes of the types named by a word. Sets a problem if there are none.
std::vector<std::size_t> types_of(const postmortem::DumpObjects& dump, const std::string& word, std::string& problem) {
  std::vector<TypeRow> rows;
  for (const DumpType& type : dump.types) {
    TypeRow& row = rows.emplace_back();
    row.allocator = dump.allocator;
    row.name = printable_bytes(type.name);
  }
  const NamedType named = find_named_type(rows, word);
  problem = named.problem;
  std::vector<std::size_t> found;
  for (const TypeRow* const row : named.types) found.push_back(static_cast<std::size_t>(row - rows.data()));
  return found;
}

Report run_objects(const CommandLine& query) {
  const std::size_t limit = query.limit_or(kListed) == 0 ? SIZE_MAX : query.limit_or(kListed);
  Report report;
  const std::string path = query.dump.empty() ? reference_or_default(std::nullopt) : query.dump;
  if (query.dump.empty() && path == kLiveReference) {
    return {.problem =
                "objects: give a crash dump with --from DUMP; a running kernel and a capture have no individual objects"};
  }
  const auto dump = postmortem::open_dump_objects(path);
  if (!dump) return {.problem = to_string(dump.error())};
  report.notes = dump->notes;
  FoundObjects findings;
  findings.allocator = dump->allocator;
  for (const std::size_t number : types_of(*dump, query.type, report.problem)) {
    const DumpType& type = dump->types[number];
    findings.type = type.name;
    findings.object_size = type.object_size;
    if (!type.damage.empty()) report.notes.push_back(printable_bytes(type.name) + ": " + type.damage);
    auto objects = dump->objects_of(number, limit - findings.found.objects.size());
    if (!objects) {
      report.problem = to_string(objects.error());
      return report;
    }
    SlabObjects& found = findings.found;
    found.count += objects->count;
    found.counted += objects->counted;
    found.has_origins |= objects->has_origins;
    std::move(objects->objects.begin(), objects->objects.end(), std::back_inserter(found.objects));
    for (const std::string& note : objects->notes) report.notes.push_back(printable_bytes(type.name) + ": " + note);
  }
  if (report.problem.empty()) {
    report.output =
        query.view.layout == Layout::kJson ? objects_json(findings, query.view) : objects_table(findings).print(query.view);
    if (query.view.layout == Layout::kText) report.output += more_text(findings);
  }
  return report;
}

}  // namespace
}  // namespace memstat::ctl

#else

namespace memstat::ctl {
namespace {

Report run_objects(const CommandLine& /*options*/) {
  return {.problem = "built without support for crash dumps, and only these have individual objects"};
}

}  // namespace
}  // namespace memstat::ctl

#endif

namespace memstat::ctl {
namespace {

constexpr std::array kObjectsOptions{kTypeOption,
                                     kKernelOption,
                                     valued("--from", "DUMP", "The crash dump of a kernel; MEMSTAT_CAPTURE by default",
                                            store<&CommandLine::dump>, check_from),
                                     kLimitOption,
                                     kHumanOption,
                                     kNoHumanOption,
                                     kCsvOption,
                                     kJsonOption};

}  // namespace

const Command kObjectsCommand{"objects",
                              Group::kCaptures,
                              "The allocated objects of one type in a crash dump, one by one",
                              "memstatctl objects dentry --from /var/crash/vmcore\n"
                              "memstatctl objects slab/inode_cache --limit 10 --json --from /var/crash/vmcore",
                              kObjectsOptions,
                              run_objects};

}  // namespace memstat::ctl
