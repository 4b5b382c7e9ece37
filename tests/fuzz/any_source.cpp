// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target of every source that does not have its own fuzzer; the program's name selects the source. Any bytes
// replace each part that the source read from a capture, and each file in its bundles.
//
// With MEMSTAT_SEEDS=DIRECTORY in the environment it writes seeds from the captures to that directory and exits.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/collect/file_bundle.h"
#include "core/query.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fixtures.h"
#include "tests/support/source_cases.h"

namespace memstat {
namespace {

constexpr std::size_t kStreamHeaderSize = 16;

/// An error of a parser says what is wrong, and where.
void require_typed(const Error& error, const SourceReader& reader) {
  MEMSTAT_FUZZ_REQUIRE(error.code == ErrorCode::kData || error.code == ErrorCode::kVersion);
  MEMSTAT_FUZZ_REQUIRE(error.source == reader.descriptor->name && !error.path.empty() && !error.detail.empty());
  std::size_t longest = 0;
  for (const Buffer& part : reader.raw.parts) longest = std::max(longest, part.size());
  for (const RawFile& file : reader.raw.files) longest = std::max(longest, file.bytes.size());
  MEMSTAT_FUZZ_REQUIRE(error.offset.has_value() && *error.offset <= longest);
}

/// Checks that every type of a list filled only by this source is well-formed. Returns a sum over all values.
std::uint64_t require_sane(const MemoryTypeList& list, const SourceDescriptor& source) {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  for (const MemoryType* type = list.first(); type != nullptr; type = type->next(), ++count) {
    MEMSTAT_FUZZ_REQUIRE(type->allocator() == source.allocator && type->is_present());
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(type->name()));
    MEMSTAT_FUZZ_REQUIRE((type->fields() - source.fields).empty());
    MEMSTAT_FUZZ_REQUIRE(type->ordinal() < type->duplicates());
    for (std::size_t i = 0; i < kFieldCount; ++i) sum = sum * 31 + type->figure(static_cast<Field>(i));
    for (std::uint32_t cpu = 0; cpu < type->cpu_count(); ++cpu) {
      for (std::size_t i = 0; i < kCpuFieldCount; ++i) sum = sum * 31 + type->cpu_figure(static_cast<CpuField>(i), cpu);
    }
  }
  MEMSTAT_FUZZ_REQUIRE(count == list.size());
  return sum;
}

/// Checks that every statistic has labels that fit a page and are unique. Returns a sum over all of them.
std::uint64_t require_sane(const StagedStatistics& statistics) {
  std::set<std::string> seen;
  std::uint64_t sum = 0;
  for (const StagedStatistics::Entry& entry : statistics.entries()) {
    std::string key(entry.metric->facts.name);
    for (std::size_t i = 0; i < entry.metric->label_names().size(); ++i) {
      MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(statistics.label(entry, i)));
      key += '\n';
      key += statistics.label(entry, i);
    }
    MEMSTAT_FUZZ_REQUIRE(seen.insert(key).second);
    sum = sum * 31 + entry.bits;
  }
  return sum;
}

/// Parses and commits `reader.raw`, twice if it is valid: the second time must change nothing. `may_be_empty`: a source of
/// types whose bytes may contain none.
void fuzz_commit(SourceReader& reader, bool may_be_empty = false) {
  MemoryTypeList list;
  const Result<void> first = commit_source(reader, list, 1);
  if (!first) {
    require_typed(first.error(), reader);
    MEMSTAT_FUZZ_REQUIRE(list.size() == 0);
    return;
  }
  const bool has_types = reader.descriptor->allocator != Allocator::kUnknown;
  MEMSTAT_FUZZ_REQUIRE(list.size() == reader.staging.types().size());
  MEMSTAT_FUZZ_REQUIRE((list.size() > 0) == has_types || (has_types && may_be_empty));
  const std::uint64_t sum = require_sane(list, *reader.descriptor);
  const std::uint64_t statistics = require_sane(reader.staging.statistics());
  MEMSTAT_FUZZ_REQUIRE(commit_source(reader, list, 2).has_value());
  MEMSTAT_FUZZ_REQUIRE(require_sane(list, *reader.descriptor) == sum);
  MEMSTAT_FUZZ_REQUIRE(require_sane(reader.staging.statistics()) == statistics);
}

/// Parses and commits `reader.raw` of a source that is not a roster, twice. It creates no types, and its figures of other
/// sources' types are well-formed.
void fuzz_contribution(SourceReader& reader) {
  MemoryTypeList list;
  for (std::uint64_t generation = 1; generation <= 2; ++generation) {
    if (const Result<void> committed = commit_source(reader, list, generation); !committed) {
      require_typed(committed.error(), reader);
      return;
    }
    MEMSTAT_FUZZ_REQUIRE(list.size() == 0);
  }
  Staging& staging = reader.staging;
  MEMSTAT_FUZZ_REQUIRE(staging.node_count() <= kMaxNodes && staging.cpu_count() <= reader.raw.cpu_count);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < staging.types().size(); ++i) {
    const StagedType& type = staging.types()[i];
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(type.name));
    MEMSTAT_FUZZ_REQUIRE((type.fields - reader.descriptor->fields).empty());
    MEMSTAT_FUZZ_REQUIRE((type.node_fields - staging.node_fields()).empty());
    for (std::uint32_t node = 0; node < staging.node_count(); ++node) {
      for_each_of(staging.node_fields(), [&](NodeField field) { sum += staging.node_figure(type, field, node); });
    }
    for_each_of(staging.cpu_fields(), [&](CpuField field) { sum += staging.cpu_figure(i, field, 0); });
  }
  volatile std::uint64_t read = sum;  // it only matters that everything can be read
  (void)read;
}

/// The bytes that the source read in its smallest capture, so that each run is quick.
std::optional<SourceReader> g_whole;

std::size_t size_of(const RawBytes& raw) {
  std::size_t size = 0;
  for (const Buffer& part : raw.parts) size += part.size();
  for (const RawFile& file : raw.files) size += file.bytes.size();
  return size;
}

using Records = std::vector<std::pair<std::string, std::string>>;

/// The records of a bundle by name; none when the bytes are not a whole bundle.
Records records_of(std::string_view bytes) {
  Records records;
  FileBundleReader reader(bytes);
  std::string_view name;
  std::string_view content;
  while (reader.next(name, content)) records.emplace_back(name, content);
  if (reader.is_cut()) records.clear();
  return records;
}

/// Copies the captured bytes to `reader`, except the part to be replaced, which has 20 MB for a stream.
void copy_other_parts(std::size_t replaced, SourceReader& reader) {
  for (std::size_t i = 0; i < RawBytes::kPartCount; ++i) {
    if (i != replaced) reader.raw.parts[i].assign(g_whole->raw.parts[i].view());
  }
}

/// Parses and commits the content of `reader`, and checks the promises of its kind of source.
void check(SourceReader& reader) {
  reader.state->parse_count = 0;
  const SourceDescriptor& source = *reader.descriptor;
  if (source.is_roster || !source.replaces.empty() || source.allocator == Allocator::kUnknown) {
    fuzz_commit(reader, source.name == "linux_memcg");  // a machine may have no control groups
  } else {
    fuzz_contribution(reader);
  }
}

/// Replaces the content of records by `bytes`: a line that is a record's name, or "+NAME", begins the new content of that
/// record, and anything before the first such line is the new content of all others. "+NAME" adds up to `added` records.
Records replace_records(Records records, std::string_view bytes, std::size_t added) {
  std::string common;
  std::vector<bool> are_given(records.size());
  std::size_t at = records.size();
  added += records.size();
  std::string_view line;
  while (next_line(bytes, line)) {
    std::size_t found = 0;
    while (found < records.size() && records[found].first != line) ++found;
    if (found == records.size() && line.starts_with('+') && records.size() < added) {
      records.emplace_back(line.substr(1), "");
      are_given.push_back(false);
    }
    if (found < records.size()) {
      at = found;
      records[at].second.clear();
      are_given[at] = true;
    } else {
      std::string& text = at < records.size() ? records[at].second : common;
      text += line;
      text += '\n';
    }
  }
  for (std::size_t i = 0; i < records.size() && !common.empty(); ++i) {
    if (!are_given[i]) records[i].second = common;
  }
  return records;
}

/// A bundle with replaced records. The last record, which marks the bundle as complete, stays.
void write_bundle(Records whole, std::string_view bytes, Buffer& bundle) {
  const auto last = std::move(whole.back());
  whole.pop_back();
  Buffer scratch;
  FileBundleWriter writer(bundle, scratch);
  for (const auto& [name, text] : replace_records(std::move(whole), bytes, 64)) static_cast<void>(writer.add(name, text));
  static_cast<void>(writer.add(last.first, last.second));
}

/// The files of a plan by path.
Records records_of(const std::vector<RawFile>& files) {
  Records records;
  for (const RawFile& file : files) records.emplace_back(file.path, file.bytes.view());
  return records;
}

/// The captured files with the content of `records`, which are of the same files.
void set_files(const Records& records, RawBytes& raw) {
  raw.files.clear();
  for (std::size_t i = 0; i < g_whole->raw.files.size(); ++i) {
    const RawFile& file = g_whole->raw.files[i];
    raw.files.push_back(
        {.path = file.path, .planned = file.planned, .state = file.state, .bytes = Buffer(records[i].second)});
  }
}

/// A header that fits the bytes, because a fuzzer rarely guesses one. `type_size`: bytes of a record without its CPUs.
void fit_header(std::size_t type_size, Buffer& stream) {
  const std::uint32_t cpus = 1 + load<std::uint32_t>(stream.view(), 4) % 8;
  const std::size_t record_size = type_size + 64 * std::size_t{cpus};
  const std::uint32_t header[4] = {1, cpus, static_cast<std::uint32_t>((stream.size() - kStreamHeaderSize) / record_size),
                                   0};
  std::memcpy(stream.data(), header, sizeof header);
}

void run(std::string_view bytes) {
  SourceReader reader(*g_whole->descriptor);
  reader.raw.page_size = g_whole->raw.page_size;
  reader.raw.cpu_count = 1 + static_cast<std::uint32_t>(bytes.size() % 5);
  reader.raw.parts[0].assign(bytes);
  check(reader);
  if (is_stream(*reader.descriptor) && bytes.size() >= kStreamHeaderSize) {
    const std::string_view whole = g_whole->raw.parts[0].view();
    const std::size_t record_size = (whole.size() - kStreamHeaderSize) / load<std::uint32_t>(whole, 8);
    fit_header(record_size - 64 * std::size_t{load<std::uint32_t>(whole, 4)}, reader.raw.parts[0]);
    check(reader);
  }

  reader.raw.cpu_count = g_whole->raw.cpu_count;
  if (const Records whole = records_of(g_whole->raw.files); !whole.empty()) {
    set_files(replace_records(whole, bytes, 0), reader.raw);
    check(reader);
  }
  for (std::size_t part = 0; part < RawBytes::kPartCount; ++part) {
    const std::string_view whole = g_whole->raw.parts[part].view();
    if (whole.empty()) continue;
    copy_other_parts(part, reader);
    reader.raw.parts[part].assign(bytes);
    check(reader);
    if (const auto records = records_of(whole); !records.empty()) {
      copy_other_parts(part, reader);
      write_bundle(records, bytes, reader.raw.parts[part]);
      check(reader);
    }
  }
}

void write_seed(const std::string& directory, const std::string& name, std::string_view bytes) {
  std::ofstream(directory + "/" + name, std::ios::binary) << bytes.substr(0, 64U * 1024);
}

/// The records one by one, and all of them.
void write_record_seeds(const std::string& directory, const std::string& name, const Records& records) {
  std::string all;
  std::size_t number = 0;
  for (const auto& [record, content] : records) {
    const std::string text = record + "\n" + content + (content.ends_with('\n') ? "" : "\n");
    all += text;
    if (++number <= 100) write_seed(directory, name + "-" + std::to_string(number), text);
  }
  if (!all.empty()) write_seed(directory, name + "-all", all);
}

/// Each part, and the records of the plan and of each bundle.
void write_seeds(const std::string& directory, const std::string& capture, const RawBytes& raw) {
  write_record_seeds(directory, capture, records_of(raw.files));
  for (std::size_t part = 0; part < RawBytes::kPartCount; ++part) {
    const std::string_view bytes = raw.parts[part].view();
    if (bytes.empty()) continue;
    const std::string name = capture + "-" + std::to_string(part);
    write_seed(directory, name, bytes);
    write_record_seeds(directory, name, records_of(bytes));
  }
}

}  // namespace
}  // namespace memstat

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  using namespace memstat;
  std::string name = std::filesystem::path((*arguments)[0]).filename().string();
  name.resize(name.rfind("_fuzz") == std::string::npos ? 0 : name.rfind("_fuzz"));
  const SourceDescriptor* const source = find_source(name);
  if (source == nullptr) {
    std::fprintf(stderr, "%s: no source has this name without _fuzz\n", (*arguments)[0]);
    std::exit(1);
  }
  const char* const seeds = std::getenv("MEMSTAT_SEEDS");
  for (const std::string& capture : captures_of_source(name)) {
    const auto view = open_fixture(capture);
    SourceReader reader(*source);
    static_cast<void>(open_source(reader, *view));
    if (!read_source(reader, *view)) continue;
    if (seeds != nullptr) write_seeds(seeds, capture, reader.raw);
    if (!g_whole || size_of(reader.raw) < size_of(g_whole->raw)) g_whole = std::move(reader);
  }
  if (!g_whole) {
    std::fprintf(stderr, "%s: no capture of tests/fixtures/sources/%s.captures can be read\n", (*arguments)[0],
                 name.c_str());
    std::exit(1);
  }
  if (seeds != nullptr) std::exit(0);
  return 0;
}

void memstat::fuzz(std::string_view bytes) { run(bytes); }
