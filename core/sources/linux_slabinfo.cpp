// SPDX-License-Identifier: BSD-2-Clause
// Linux slab caches, from /proc/slabinfo (mm/slab_common.c) and, for the size that callers request, from
// /sys/kernel/slab/CACHE/object_size. core/parse/slabinfo.h describes the columns. `objsize` is the size of an object's slot
// with padding and debugging fields: the footprint. active_objs includes free objects in per-CPU lists. Cache names are not
// unique. One read returns at most 4 KiB of the file, so caches may move between two reads of a pass, and a line may appear
// twice.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/collect/root_only.h"
#include "core/parse/slabinfo.h"
#include "core/source.h"

namespace memstat::sources::linux_slabinfo {
namespace {

constexpr std::string_view kFile = kSlabinfoFile;
constexpr std::string_view kDirectory = "/sys/kernel/slab/";

constexpr std::size_t kTextPart = 0;  // index of RawBytes::parts

constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree, Field::kSize, Field::kRSize};
/// The size that callers of one cache request.
struct ObjectSize {
  std::string cache;
  std::uint64_t size = 0;  ///< in bytes; 0: unknown
};

struct State final : ReaderState {
  std::vector<ObjectSize> sizes;  ///< in the order of the file; vanished caches at the end
  Buffer scratch;                 ///< one file
};

/// The object sizes, in the order of the lines.
class SizeTable {
 public:
  explicit SizeTable(const std::vector<ObjectSize>& sizes) : sizes_(sizes) {}

  /// The object size of a cache; 0 if unknown. Fast if it is the next cache; otherwise, after a change, searches for it.
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
  /// Whether every find() so far found the next cache without searching.
  [[nodiscard]] bool is_current() const { return is_current_; }

 private:
  const std::vector<ObjectSize>& sizes_;
  std::size_t next_ = 0;
  std::size_t searches_left_ = 64;  // limits failed searches; a table that is this outdated is made again anyway
  bool is_current_ = true;
};

/// Returns what is wrong with the line, or nullptr.
const char* parse_line(std::string_view text, const SlabinfoColumns& columns, std::uint64_t page_size, SizeTable& sizes,
                       Staging& staging) {
  SlabinfoLine line;
  if (const char* const wrong = columns.read_line(text, line)) return wrong;
  StagedType& cache = staging.add(line.name);
  cache.fields = kFields;
  Figures& figures = cache.figures;
  figures[Field::kCount] = line.active;
  figures[Field::kFree] = line.slots > line.active ? line.slots - line.active : 0;
  figures[Field::kRSize] = line.slot_size;
  figures[Field::kSize] = sizes.find(line.name);
  if (figures[Field::kSize] == 0) cache.fields.remove(Field::kSize);
  std::uint64_t slab_size = 0;
  if (__builtin_mul_overflow(line.active, line.slot_size, &figures[Field::kBytes]) ||
      __builtin_mul_overflow(line.pages_per_slab, page_size, &slab_size) ||
      __builtin_mul_overflow(line.slabs, slab_size, &figures[Field::kHeldBytes])) {
    return "reports a cache of more than 2^64 bytes";
  }
  return nullptr;
}

Result<void> parse(const RawBytes& raw, const State& state, Staging& staging) {
  const std::string_view text = raw.parts[kTextPart].view();
  staging.reset({}, 0);
  std::string_view rest = text;
  const auto columns = SlabinfoColumns::read(rest, text.size());
  if (!columns) return columns.error();
  SizeTable sizes(state.sizes);
  const auto take = [&](std::string_view line) {
    return line.empty() ? nullptr : parse_line(line, *columns, raw.page_size, sizes, staging);
  };
  if (auto result = for_each_whole_line(kFile, text, text.size() - rest.size(), take); !result) return result;
  if (staging.types().empty()) return data_error(kFile, text.size(), "has no cache");
  if (!sizes.is_current()) staging.set_incomplete();
  return {};
}

/// The object size of one cache; 0 if unknown: no sysfs, no permission, or a name that is not a file name.
std::uint64_t read_object_size(KernelView& view, std::string_view name, Buffer& scratch) {
  std::string path(kDirectory);
  path += name;
  // kobject_set_name() turns '/' into '!' (lib/kobject.c).
  std::replace(path.begin() + static_cast<std::ptrdiff_t>(kDirectory.size()), path.end(), '/', '!');
  if (name == "." || name == ".." || name.find('\0') != std::string_view::npos) return 0;
  if (!view.read_file(path + "/object_size", scratch)) return 0;
  return parse_u64(trim(scratch.view())).value_or(0);
}

/// Reads the object sizes of new caches in `text`. Known sizes are kept, also of vanished caches, because they cannot be
/// read again after privileges are dropped.
void update_sizes(KernelView& view, std::string_view text, State& state) {
  constexpr std::size_t kMaxGone = 1024;
  struct Known {
    std::uint64_t size;
    bool is_listed;
  };
  std::unordered_map<std::string, Known> known;
  for (const ObjectSize& entry : state.sizes) known.emplace(entry.cache, Known{entry.size, false});
  std::vector<ObjectSize> sizes;
  SlabinfoLine line;
  for (SlabinfoReader lines(text); lines.next(line);) {
    const auto [entry, is_new] = known.try_emplace(std::string(line.name), Known{0, true});
    if (is_new) entry->second.size = read_object_size(view, line.name, state.scratch);
    entry->second.is_listed = true;
    sizes.push_back({.cache = entry->first, .size = entry->second.size});
  }
  std::size_t gone = 0;  // vanished caches follow all listed ones
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
  return read(view, raw, state);  // reads the object sizes while privileges are available
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

extern const SourceDescriptor descriptor{
    .name = "linux_slabinfo",
    .origin = "/proc/slabinfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .is_roster = true,
    .origins = kOrigins,
    .max_files = 1,
    .needs = "CAP_DAC_READ_SEARCH",
    .notes = "needs root or CAP_DAC_READ_SEARCH at start; caches that appear later have no object size",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_slabinfo
