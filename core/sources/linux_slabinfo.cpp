// SPDX-License-Identifier: BSD-2-Clause
// Linux slab caches, from /proc/slabinfo (mm/slab_common.c) and, for the size that callers ask for, from
// /sys/kernel/slab/CACHE/object_size.
//
//   # name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables ... : slabdata <active_slabs>
//   <num_slabs> ...
//
// `objsize` is the slot that an object takes, with padding and debugging fields: the footprint. Columns are found by the
// names in the header line. active_objs counts objects that lie free in per-CPU lists as used. Cache names are not unique,
// and one read returns at most 4 KiB of the file, so caches may shift between two reads of one pass: a line may come twice.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/collect/root_only.h"
#include "core/parse/column_reader.h"
#include "core/source.h"

namespace memstat::sources::linux_slabinfo {
namespace {

constexpr std::string_view kFile = "/proc/slabinfo";
constexpr std::string_view kDirectory = "/sys/kernel/slab/";

constexpr std::size_t kTextPart = 0;  // of RawBytes

constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree, Field::kSize, Field::kRSize};
constexpr std::size_t kMaxColumns = 12;
// Widths that the kernel pads its columns to. Only a fast path relies on them: longer numbers shift what follows.
constexpr std::size_t kNameWidth = 17;
constexpr unsigned kObjectsWidth = 6;
constexpr std::size_t kWideColumns = 3;
constexpr unsigned kPerSlabWidth = 4;
constexpr unsigned kSlabsWidth = 6;

/// Where the figures stand, from the header line.
struct Columns {
  std::size_t first_group = 0;  ///< Numbers between the name and the first colon.
  std::size_t active_objects = kMaxColumns;
  std::size_t all_objects = kMaxColumns;
  std::size_t object_size = kMaxColumns;
  std::size_t pages_per_slab = kMaxColumns;
  std::size_t slabs_from_end = 0;  ///< num_slabs is the word so far from the end of the line, 1 being the last.
};

/// The word that is `from_end` words before the end of the line, 1 being the last one. Empty when there are fewer.
std::string_view word_from_end(std::string_view line, std::size_t from_end) {
  std::size_t end = line.size();
  while (true) {
    while (end > 0 && line[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && line[begin - 1] != ' ') --begin;
    if (begin == end || --from_end == 0) return line.substr(begin, end - begin);
    end = begin;
  }
}

Result<Columns> parse_header(std::string_view& rest, std::size_t size) {
  std::string_view line;
  if (!next_line(rest, line) || !line.starts_with("slabinfo - version: ")) {
    Error error = data_error(kFile, 0, "does not start with 'slabinfo - version: '");
    error.code = ErrorCode::kVersion;
    return error;
  }
  const std::size_t offset = size - rest.size();
  Columns columns;
  std::string_view word;
  if (!next_line(rest, line) || !next_word(line, word) || word != "#" || !next_word(line, word) || word != "name") {
    return data_error(kFile, offset, "the line of column names is missing");
  }
  while (next_word(line, word) && word != ":") {
    const std::size_t index = columns.first_group++;
    if (word == "<active_objs>") columns.active_objects = index;
    if (word == "<num_objs>") columns.all_objects = index;
    if (word == "<objsize>") columns.object_size = index;
    if (word == "<pagesperslab>") columns.pages_per_slab = index;
  }
  std::size_t words = 0;
  while (next_word(line, word)) {
    ++words;
    if (word == "<num_slabs>") columns.slabs_from_end = words;
  }
  const std::size_t last =
      std::max({columns.active_objects, columns.all_objects, columns.object_size, columns.pages_per_slab});
  if (last >= columns.first_group || columns.first_group > kMaxColumns || columns.slabs_from_end == 0) {
    return data_error(kFile, offset,
                      "a column is missing: active_objs, num_objs, objsize, pagesperslab and num_slabs are needed");
  }
  columns.slabs_from_end = words - columns.slabs_from_end + 1;
  return columns;
}

/// Splits a line into the cache's name, the numbers up to the first colon, and the rest from that colon on. Names with
/// blanks exist: then the numbers are the last words before the colon.
bool split_line(std::string_view line, const Columns& columns, std::string_view& name, std::uint64_t* numbers,
                std::string_view& rest) {
  const auto take_group = [&](const char* at, const char* end) {
    ColumnReader reader(line.data(), at, end);
    for (std::size_t i = 0; i < columns.first_group; ++i) {
      const bool taken =
          i < kWideColumns ? reader.take_column<kObjectsWidth>(numbers[i]) : reader.take_column<kPerSlabWidth>(numbers[i]);
      if (!taken) return false;
    }
    if (!reader.skip_to(':')) return false;
    rest = line.substr(static_cast<std::size_t>(reader.at() - line.data()));
    return true;
  };
  const std::size_t blank = line.find(' ');
  if (blank == 0 || blank == std::string_view::npos) return false;
  const char* end = line.data() + line.size();
  std::size_t first_column = blank;
  if (blank < kNameWidth && line.size() > kNameWidth) {
    static constexpr std::string_view kPadding = "                 ";
    static_assert(kPadding.size() == kNameWidth);
    const std::size_t padding = kNameWidth - blank;
    if (line.substr(blank, padding) == kPadding.substr(0, padding)) first_column = kNameWidth;
  }
  if (take_group(line.data() + first_column, end)) {
    name = line.substr(0, blank);
    return true;
  }
  std::size_t colon = line.find(" : tunables ");
  if (colon == std::string_view::npos) colon = line.find(" : ");
  if (colon == std::string_view::npos) return false;
  const std::string_view before = line.substr(0, colon);
  const std::string_view first = word_from_end(before, columns.first_group);
  if (first.empty() || first.data() == line.data()) return false;
  if (!take_group(first.data(), end)) return false;
  name = trim(line.substr(0, static_cast<std::size_t>(first.data() - line.data())));
  return !name.empty();
}

/// What callers ask for of one cache.
struct ObjectSize {
  std::string cache;
  std::uint64_t size = 0;  ///< B; 0: not known.
};

/// What the source keeps from read to read.
struct State final : ReaderState {
  std::vector<ObjectSize> sizes;  ///< In the order of the file; caches that are gone stand behind.
  Buffer scratch;                 ///< One file.
};

/// The object sizes, walked in step with the lines. Thread safety: none.
class SizeTable {
 public:
  explicit SizeTable(const std::vector<ObjectSize>& sizes) : sizes_(sizes) {}

  /// The size of `name`: that of the next cache, as a rule; when caches came or went, searched for. 0: not known.
  std::uint64_t find(std::string_view name) {
    if (next_ < sizes_.size() && sizes_[next_].cache == name) return sizes_[next_++].size;
    is_current_ = false;
    for (std::size_t at = 0; searches_left_ > 0 && at < sizes_.size(); ++at) {
      if (sizes_[at].cache != name) continue;
      next_ = at + 1;
      return sizes_[at].size;
    }
    if (searches_left_ > 0) --searches_left_;
    return 0;
  }
  /// Whether every find() so far met the next cache.
  [[nodiscard]] bool is_current() const { return is_current_; }

 private:
  const std::vector<ObjectSize>& sizes_;
  std::size_t next_ = 0;
  std::size_t searches_left_ = 64;  // that fail; a table that is so far out of date is made again anyway
  bool is_current_ = true;
};

/// The number of slabs, which stands near the end of what follows the first colon.
bool take_slabs(std::string_view rest, const Columns& columns, std::uint64_t& slabs) {
  const char* end = rest.data() + rest.size();
  constexpr std::size_t kBothColumns = 2 * (kSlabsWidth + 1);
  // Without the blank it is the middle of a longer number.
  if (columns.slabs_from_end == 2 && rest.size() > kBothColumns && end[-static_cast<std::ptrdiff_t>(kBothColumns)] == ' ') {
    ColumnReader reader(rest.data(), end - kBothColumns, end);
    std::uint64_t shared = 0;
    if (reader.take_column<kSlabsWidth>(slabs) && reader.at() == end - (kSlabsWidth + 1) &&
        reader.take_column<kSlabsWidth>(shared) && reader.at() == end) {
      return true;
    }
  }
  const std::string_view word = word_from_end(rest, columns.slabs_from_end);
  if (word.empty()) return false;
  ColumnReader reader(rest.data(), word.data(), end);
  return reader.take(slabs) && reader.at() == word.data() + word.size();
}

Result<void> parse_line(std::string_view line, std::size_t offset, const Columns& columns, std::uint64_t page_size,
                        SizeTable& sizes, Staging& staging) {
  std::string_view name;
  std::uint64_t numbers[kMaxColumns];
  std::string_view rest;
  if (!split_line(line, columns, name, numbers, rest)) {
    return data_error(kFile, offset,
                      "not a cache's line: expected a name and " + std::to_string(columns.first_group) +
                          " numbers of at most 64 bits before the colon");
  }
  std::uint64_t slabs = 0;
  if (!take_slabs(rest, columns, slabs)) return data_error(kFile, offset, "the number of slabs is missing or not a number");
  const std::uint64_t active = numbers[columns.active_objects];
  const std::uint64_t all = numbers[columns.all_objects];
  StagedType& cache = staging.add(name);
  cache.fields = kFields;
  Figures& figures = cache.figures;
  figures[Field::kCount] = active;
  figures[Field::kFree] = all > active ? all - active : 0;
  figures[Field::kRSize] = numbers[columns.object_size];
  figures[Field::kSize] = sizes.find(name);
  if (figures[Field::kSize] == 0) cache.fields.remove(Field::kSize);
  std::uint64_t slab_size = 0;
  if (__builtin_mul_overflow(active, figures[Field::kRSize], &figures[Field::kBytes]) ||
      __builtin_mul_overflow(numbers[columns.pages_per_slab], page_size, &slab_size) ||
      __builtin_mul_overflow(slabs, slab_size, &figures[Field::kHeldBytes])) {
    return data_error(kFile, offset, "reports a cache of more than 2^64 bytes");
  }
  return {};
}

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  const std::string_view text = raw.parts[kTextPart].view();
  staging.reset({}, 0);
  std::string_view rest = text;
  const auto columns = parse_header(rest, text.size());
  if (!columns) return columns.error();
  SizeTable sizes(state.sizes);
  while (!rest.empty()) {
    const std::size_t offset = text.size() - rest.size();
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return data_error(kFile, offset, "ends within a line");
    if (end != 0) {
      if (auto result = parse_line(rest.substr(0, end), offset, *columns, raw.page_size, sizes, staging); !result)
        return result;
    }
    rest.remove_prefix(end + 1);
  }
  if (staging.types().empty()) return data_error(kFile, text.size(), "names no cache");
  if (!sizes.is_current()) staging.set_incomplete();
  return {};
}

/// Object size of one cache, 0 when it cannot be known: no sysfs, no permission, a name that is no file name.
std::uint64_t read_object_size(KernelView& view, std::string_view name, Buffer& scratch) {
  std::string path(kDirectory);
  path += name;
  // kobject_set_name() turns '/' into '!' (lib/kobject.c).
  std::replace(path.begin() + static_cast<std::ptrdiff_t>(kDirectory.size()), path.end(), '/', '!');
  if (name == "." || name == ".." || name.find('\0') != std::string_view::npos) return 0;
  if (!view.read_file(path + "/object_size", scratch)) return 0;
  return parse_u64(trim(scratch.view())).value_or(0);
}

/// Notes the object sizes of the caches of `text`. Each cache is asked once; what was known stays known, also of caches that
/// are gone, since after privileges are dropped it could not be read again when they come back.
void update_sizes(KernelView& view, std::string_view text, State& state) {
  constexpr std::size_t kMaxGone = 1024;
  struct Known {
    std::uint64_t size;
    bool is_listed;
  };
  const auto columns = parse_header(text, text.size());
  if (!columns) return;  // the parser will say so
  std::unordered_map<std::string, Known> known;
  for (const ObjectSize& entry : state.sizes) known.emplace(entry.cache, Known{entry.size, false});
  std::vector<ObjectSize> sizes;
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view name;
    std::uint64_t numbers[kMaxColumns];
    std::string_view after_colon;
    if (!split_line(line, *columns, name, numbers, after_colon)) continue;
    const auto [entry, is_new] = known.try_emplace(std::string(name), Known{0, true});
    if (is_new) entry->second.size = read_object_size(view, name, state.scratch);
    entry->second.is_listed = true;
    sizes.push_back({.cache = entry->first, .size = entry->second.size});
  }
  std::size_t gone = 0;  // these stand after all that are listed, out of the way
  for (const auto& [cache, entry] : known) {
    if (!entry.is_listed && entry.size != 0 && ++gone <= kMaxGone) sizes.push_back({.cache = cache, .size = entry.size});
  }
  state.sizes = std::move(sizes);
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = view.read_file(kFile, raw.parts[kTextPart]); !result) return result;
  if (state.is_stale) update_sizes(view, raw.parts[kTextPart].view(), state);
  return {};
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = keep_root_only_open(view, kFile); !result) return result;
  return read(view, raw, state);  // the object sizes while they can be read
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "active_objs x objsize"},
    {Field::kCount, "active_objs"},
    {Field::kHeldBytes, "num_slabs x pagesperslab x page size"},
    {Field::kFree, "num_objs - active_objs"},
    {Field::kSize, "object_size of /sys/kernel/slab/CACHE"},
    {Field::kRSize, "objsize"},
};

}  // namespace

extern const SourceDescriptor descriptor;
const SourceDescriptor descriptor{
    .name = "linux_slabinfo",
    .origin = "/proc/slabinfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .is_roster = true,
    .fields = fields_of(kOrigins),
    .cpu_fields = cpu_fields_of(kOrigins),
    .origins = kOrigins,
    .needs = "CAP_DAC_READ_SEARCH",
    .notes = "needs root or CAP_DAC_READ_SEARCH at start; caches that appear later have no object size",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_slabinfo
