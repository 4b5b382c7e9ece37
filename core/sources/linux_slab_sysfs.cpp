// SPDX-License-Identifier: BSD-2-Clause
// Figures of Linux's slab caches by kind of slab, NUMA node and CPU, from the files of /sys/kernel/slab/CACHE (mm/slub.c).
//
//   slabs, total_objects, partial, cpu_slabs:   TOTAL N0=... N1=...     (nodes without any are omitted)
//   alloc_fastpath, free_slowpath, ...:         TOTAL C0=... C1=...     (kernels with CONFIG_SLUB_STATS)
//
// core/collect/slab_directories.h finds the directory of each cache. Before Linux 5.9 caches of control groups had
// directories of their own below their cache's; these are ignored.
//
// These files are counters, but cpu_slabs reads a pointer or two per CPU (show_slab_objects). `objects` and
// `objects_partial` are never read: they walk the lists of partial slabs with interrupts disabled, under the lock that
// allocations and frees need (count_partial). linux_slab_bpf counts objects by node without it.
//
// slabinfo is read to list the caches, and where it replaces two files of each cache (linux_slabinfo reads it anyway).
//
// Since Linux 7.0 CPUs hold sheaves of objects instead of slabs, and cpu_slabs is always 0; the figure is then omitted. On
// kernels with alloc_cpu_sheaf (6.18, 6.19) the counters include moves of objects between a sheaf and its slab. They do not
// count allocations and are omitted. On other kernels they are 32 bits wide and wrap. They are rates, not a balance: some
// kernels do not count bulk allocations. A file ends at 4 KiB, so above about 250 CPUs the figures of the last CPUs are
// missing, but not TOTAL.

#include "core/collect/file_bundle.h"
#include "core/collect/root_only.h"
#include "core/collect/slab_directories.h"
#include "core/parse/indexed_counts.h"
#include "core/source.h"

namespace memstat::sources::linux_slab_sysfs {
namespace {

/// The files in a cache's directory that are read.
enum File : std::uint8_t {
  kSlabsFile,
  kTotalObjectsFile,
  kPartialFile,
  kCpuSlabsFile,
  kAllocFastpathFile,
  kAllocSlowpathFile,
  kFreeFastpathFile,
  kFreeSlowpathFile,
  kFreeRcuSheafFile,
  kFileCount
};
constexpr std::array<std::string_view, kFileCount> kFileNames = {"slabs",         "total_objects",  "partial",
                                                                 "cpu_slabs",     "alloc_fastpath", "alloc_slowpath",
                                                                 "free_fastpath", "free_slowpath",  "free_rcu_sheaf"};
constexpr std::string_view kAllocFromSheafFile = "alloc_cpu_sheaf";

using FileSet = std::uint32_t;  // a bit for each File
constexpr FileSet bit(File file) { return FileSet{1} << file; }
constexpr FileSet kAllocFiles = bit(kAllocFastpathFile) | bit(kAllocSlowpathFile);
constexpr FileSet kNeededFreeFiles = bit(kFreeFastpathFile) | bit(kFreeSlowpathFile);
constexpr FileSet kFreeFiles = kNeededFreeFiles | bit(kFreeRcuSheafFile);
constexpr FileSet kDerivedFiles =
    bit(kSlabsFile) | bit(kTotalObjectsFile);  // derived from slabinfo, see core/collect/slab_directories.h
constexpr FileSet kAllButCounters = bit(kSlabsFile) | bit(kTotalObjectsFile) | bit(kPartialFile) | bit(kCpuSlabsFile);

constexpr std::string_view kDirectory = "/sys/kernel/slab";

// Indexes of RawBytes::parts.
constexpr std::size_t kBundlePart = 0;  // per cache a record without a name that has the cache's name, then its files; kEnd

constexpr std::string_view kEnd = "end";
constexpr std::string_view kOrder = "order";

constexpr std::size_t kMaxKeptFiles = 4096;       // about 240 caches have two or four files, with statistics eight
constexpr std::uint32_t kReadsBetweenTries = 30;  // for vanished files
constexpr std::uint64_t kHighestOrder = 20;       // a slab has at most about 2^10 pages
constexpr std::size_t kMaxFileNameSize = 255;

struct PlannedFile {
  File file;
  bool is_gone = false;  ///< it was absent at the last read
  std::string path;
};
struct PlannedCache {
  std::string name;
  std::optional<std::string> order;  ///< the content of its file `order`
  std::vector<PlannedFile> files;
};

struct State final : ReaderState {
  std::vector<PlannedCache> plan;  ///< the files to read; empty: not made yet
  std::uint64_t names_hash = 0;    ///< hash of the directory's names when the plan was made
  bool may_look = false;           ///< new caches can be opened, as far as is known
  bool is_for_counters = false;    ///< the plan was made while another source provided all other figures
  bool has_counters = true;        ///< whether allocations are counted (CONFIG_SLUB_STATS); true if unknown
  bool is_derived = false;         ///< slabs and slots are derived from slabinfo, without kDerivedFiles
  SlabCounts counts;               ///< the source of those
  std::uint32_t reads = 0;         ///< since vanished files were last tried
  Buffer scratch;                  ///< one file
};

void forget_gone(State& state) {
  for (PlannedCache& cache : state.plan) {
    for (PlannedFile& file : cache.files) file.is_gone = false;
  }
}

/// Whether another source provides all figures except the counters.
bool is_covered(const State& state) {
  constexpr FieldMask kFields(Field::kSlabs, Field::kPartialSlabs, Field::kCpuSlabs);
  constexpr NodeFieldMask kNodeFields(NodeField::kHeldBytes, NodeField::kTotalObjects);
  return (kFields - state.given_fields).empty() && (kNodeFields - state.given_node_fields).empty();
}

/// Reports a file's error under the name of its directory or of slabinfo.
Error named_after_directory(Error error) {
  if (error.code == ErrorCode::kPermission) error.detail = kRootOnly;
  if (!error.path.starts_with(kDirectory)) return error;
  if (error.path.size() > kDirectory.size()) {
    error.detail = error.path.substr(kDirectory.size() + 1) + (error.detail.empty() ? "" : ": ") + error.detail;
  }
  error.path = kDirectory;
  return error;
}

/// Makes a plan. With `keep`, keeps all of its files open.
class Planner {
 public:
  Planner(KernelView& view, State& state, bool keep) : view_(view), state_(state), keep_(keep) {}

  /// Errors: that of the first file that exists but cannot be read. The old plan is then kept.
  Result<void> make() {
    if (given_ && !state_.has_counters) return nothing_to_read();
    // Check first: without the directory the list of caches, which only root may read, is not needed.
    const auto listed = view_.list_directories(kDirectory, state_.scratch);
    if (!listed && listed.error().code == ErrorCode::kNotPresent) return named_after_directory(listed.error());
    const std::uint64_t names_hash = hash_of(state_.scratch.view());
    if (keep_ && !given_ && has_one_node(view_, state_.scratch)) {
      if (auto kept = keep_slab_counts_open(view_); !kept) return named_after_directory(kept.error());
      state_.is_derived = view_.kept_count() != 0;  // a capture, which keeps nothing open, either has the files or not
    }
    auto caches = find_slab_directories(view_, state_.scratch);
    if (!caches) return named_after_directory(caches.error());
    caches_ = std::move(*caches);
    if (auto result = find_files(); !result) return result;
    plan_.reserve(caches_.size());
    for (const SlabDirectory& cache : caches_) {
      if (auto result = add(cache); !result) return result;
    }
    state_.plan = std::move(plan_);
    state_.is_for_counters = given_;
    state_.may_look = static_cast<bool>(listed);
    state_.names_hash = names_hash;
    return {};
  }

  /// In the kernel's order.
  static std::uint64_t hash_of(std::string_view names) { return std::hash<std::string_view>{}(names); }

 private:
  static std::string path_of(const SlabDirectory& cache, std::string_view file) {
    return std::string(kDirectory) + "/" + cache.directory + "/" + std::string(file);
  }

  [[nodiscard]] Error nothing_to_read() {
    state_.has_counters = state_.has_counters && !given_;
    return system_error(kDirectory, ENOENT,
                        given_ ? "another source provides all figures that this kernel has here"
                               : "has none of the caches in /proc/slabinfo");
  }

  /// Reads a file into the scratch buffer; false if it is absent.
  Result<bool> read(const std::string& path) {
    auto result = view_.read_file(path, state_.scratch);
    if (result) return true;
    if (result.error().code == ErrorCode::kNotPresent) return false;
    return named_after_directory(result.error());
  }
  /// The number at the beginning of a file; nothing if there is none or the file is absent.
  Result<std::optional<std::uint64_t>> read_number(const std::string& path) {
    const auto is_there = read(path);
    if (!is_there) return is_there.error();
    std::string_view rest = *is_there ? trim(state_.scratch.view()) : std::string_view();
    std::string_view word;
    return next_word(rest, word) ? parse_u64(word) : std::nullopt;
  }

  /// Finds the files that the caches of this kernel have. All have the same, so one that still exists suffices.
  Result<void> find_files() {
    for (const SlabDirectory& cache : caches_) {
      if (cache.directory.empty() || files_ != 0) continue;
      for (std::size_t file = 0; file < kFileCount; ++file) {
        const FileSet others = given_ ? kAllButCounters : state_.is_derived ? kDerivedFiles : 0;
        if ((others & bit(static_cast<File>(file))) != 0) continue;
        const auto is_there = read(path_of(cache, kFileNames[file]));
        if (!is_there) return is_there.error();
        if (*is_there) files_ |= bit(static_cast<File>(file));
      }
      const auto has_sheaf_counter = read(path_of(cache, kAllocFromSheafFile));
      if (!has_sheaf_counter) return has_sheaf_counter.error();
      if (*has_sheaf_counter) files_ &= ~(kAllocFiles | kFreeFiles);
    }
    if (files_ == 0) return nothing_to_read();
    state_.is_derived = !given_ && (files_ & bit(kSlabsFile)) == 0 && has_one_node(view_, state_.scratch);
    if ((files_ & bit(kCpuSlabsFile)) == 0) return {};
    for (const SlabDirectory& cache : caches_) {
      if (cache.directory.empty()) continue;
      const auto slabs = read_number(path_of(cache, kFileNames[kCpuSlabsFile]));
      if (!slabs) return slabs.error();
      if (slabs->value_or(0) != 0) return {};
    }
    files_ &= ~bit(kCpuSlabsFile);
    return {};
  }

  Result<void> add(const SlabDirectory& cache) {
    PlannedCache& planned = plan_.emplace_back();
    planned.name = cache.cache;
    const auto count = static_cast<std::size_t>(std::popcount(files_));
    if (cache.directory.empty() || (keep_ && kept_ + count > kMaxKeptFiles)) return {};
    const auto has_order = read(path_of(cache, kOrder));
    if (!has_order) return has_order.error();
    if (*has_order) planned.order = state_.scratch.view();
    planned.files.reserve(count);
    for (std::size_t file = 0; file < kFileCount; ++file) {
      if ((files_ & bit(static_cast<File>(file))) == 0) continue;
      std::string path = path_of(cache, kFileNames[file]);
      if (keep_) {
        const auto kept = view_.keep_open(path);
        if (!kept && kept.error().code == ErrorCode::kNotPresent) continue;
        if (!kept) return named_after_directory(kept.error());
        ++kept_;
      }
      planned.files.push_back({.file = static_cast<File>(file), .path = std::move(path)});
    }
    return {};
  }

  KernelView& view_;
  State& state_;
  bool keep_;
  std::vector<SlabDirectory> caches_;
  bool given_ = is_covered(state_);
  FileSet files_ = 0;
  std::size_t kept_ = 0;
  std::vector<PlannedCache> plan_;
};

/// Makes a new plan if the directories have changed and new files can be opened. Checking takes 0.1 ms. Occasionally retries
/// vanished files.
void replan_if_changed(KernelView& view, State& state) {
  if (++state.reads >= kReadsBetweenTries) {
    state.reads = 0;
    forget_gone(state);
  }
  if (!state.may_look) return;
  const auto listed = view.list_directories(kDirectory, state.scratch);
  if (listed && Planner::hash_of(state.scratch.view()) == state.names_hash) return;
  // Only this shows whether privileges have been dropped, which is final.
  const auto made = listed ? Planner(view, state, false).make() : listed;
  if (!made && made.error().code == ErrorCode::kPermission) state.may_look = false;
}

/// Reads the files of the plan into the bundle.
class FilesReader {
 public:
  FilesReader(KernelView& view, State& state, Buffer& bundle) : view_(view), state_(state), bundle_(bundle, state.scratch) {}

  /// Errors: that of the first file that exists but cannot be read; kNotPresent if none exists any more.
  Result<void> run() {
    for (PlannedCache& cache : state_.plan) {
      if (auto result = begin(cache); !result) return result;
      for (PlannedFile& file : cache.files) {
        if (file.is_gone) continue;
        if (auto result = take(file); !result) return result;
      }
    }
    if (!has_any_) return gone_ ? *gone_ : system_error(kDirectory, ENOENT, "all files of the caches have disappeared");
    return bundle_.add(kEnd, {});
  }

 private:
  Result<void> begin(const PlannedCache& cache) {
    if (auto result = bundle_.add("", cache.name); !result) return result;
    if (!cache.order) return {};
    if (auto result = bundle_.add(kOrder, *cache.order); !result) return result;
    return state_.is_derived ? derive_from_slabinfo(cache) : Result<void>();
  }

  Result<void> derive_from_slabinfo(const PlannedCache& cache) {
    if (!state_.counts.find(cache.name)) return {};
    has_any_ = true;
    if (auto result = bundle_.add(kFileNames[kSlabsFile], state_.counts.slabs()); !result) return result;
    return bundle_.add(kFileNames[kTotalObjectsFile], state_.counts.total_objects());
  }

  Result<void> take(PlannedFile& planned) {
    if (auto result = bundle_.add_file(view_, planned.path, kFileNames[planned.file]); !result) {
      if (result.error().code != ErrorCode::kNotPresent) return named_after_directory(result.error());
      planned.is_gone = true;
      gone_ = named_after_directory(result.error());
      return {};
    }
    has_any_ = true;
    return {};
  }

  KernelView& view_;
  State& state_;
  FileBundleWriter bundle_;
  std::optional<Error> gone_;
  bool has_any_ = false;
};

Result<void> read_files(KernelView& view, Buffer& bundle, State& state) {
  if (state.is_derived) {
    if (auto result = state.counts.read(view); !result) return named_after_directory(result.error());
  }
  return FilesReader(view, state, bundle).run();
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (state.plan.empty() || state.is_for_counters != is_covered(state)) {
    auto made = Planner(view, state, false).make();
    if (!made && (state.plan.empty() || made.error().code != ErrorCode::kPermission)) return made;
  } else {
    replan_if_changed(view, state);
  }
  auto result = read_files(view, raw.parts[kBundlePart], state);
  if (!result) forget_gone(state);  // more than one cache may have vanished
  if (!result && result.error().code == ErrorCode::kNotPresent) state.plan.clear();
  return result;
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) {
  if (auto made = Planner(view, state, true).make(); !made) return made;
  return read_files(view, raw.parts[kBundlePart], state);  // also allocates the buffers of later reads
}

/// The index of the file in kFileNames; kFileCount if it is not there.
File file_of(std::string_view name) {
  return static_cast<File>(std::find(kFileNames.begin(), kFileNames.end(), name) - kFileNames.begin());
}

class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging)
      : bundle_(raw.parts[kBundlePart].view()), page_size_(raw.page_size), cpu_count_(raw.cpu_count), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    FileSet files = 0;
    std::uint32_t node_count = 0;
    if (auto result = look_through(files, node_count); !result) return result;
    const bool has_statistics = (files & (kAllocFiles | kFreeFiles)) != 0;
    staging_.reset(has_statistics ? kCpuFields : CpuFieldMask(), cpu_count_);
    if (!has_statistics) staging_.omit(FieldMask(Field::kNumAllocs, Field::kNumFrees), kCpuFields);  // for linux_slab_events
    staging_.set_nodes(NodeFieldMask(NodeField::kHeldBytes, NodeField::kTotalObjects), node_count);
    std::string_view name;
    std::string_view content;
    for (FileBundleReader reader(bundle_); reader.next(name, content);) {
      if (auto result = take(name, content); !result) return result;
    }
    end_cache();
    return {};
  }

 private:
  static constexpr CpuFieldMask kCpuFields{CpuField::kNumAllocs, CpuField::kNumFrees};

  [[nodiscard]] Error error_at(std::string_view content, std::string_view file, std::string_view what) const {
    const std::string_view cache = cache_ == nullptr ? std::string_view() : cache_->name;
    return data_error(kDirectory, static_cast<std::size_t>(content.data() - bundle_.data()),
                      std::string(cache.substr(0, kMaxFileNameSize)) + "/" + std::string(file) + ": " + std::string(what));
  }

  /// Finds the files in the bundle and the highest node, which the kernel prints last. Errors: a truncated bundle.
  Result<void> look_through(FileSet& files, std::uint32_t& node_count) const {
    std::string_view name;
    std::string_view content;
    std::size_t caches = 0;
    std::size_t end = 0;
    bool is_whole = false;
    for (FileBundleReader reader(bundle_); reader.next(name, content);) {
      is_whole = name == kEnd;
      end = static_cast<std::size_t>(content.data() + content.size() - bundle_.data());
      caches += name.empty() ? 1 : 0;
      if (name.empty() || caches == 0 || name == kOrder) continue;
      const File file = file_of(name);
      if (file == kFileCount) continue;
      files |= bit(file);
      if (file != kSlabsFile && file != kTotalObjectsFile) continue;
      const std::size_t last = content.rfind('N');
      if (last == std::string_view::npos) continue;
      const std::string_view digits = content.substr(last + 1, content.find('=', last) - last - 1);
      const auto node = parse_u64(digits);  // anything else is reported when the file is parsed
      if (node && *node < kMaxNodes) node_count = std::max(node_count, static_cast<std::uint32_t>(*node) + 1);
    }
    if (!is_whole) return data_error(kDirectory, end, "the data ends early; this is a bug of memstatd, please report it");
    if (caches == 0) return data_error(kDirectory, end, "no cache was read");
    return {};
  }

  Result<void> take(std::string_view name, std::string_view content) {
    if (name.empty()) {
      end_cache();
      cache_ = &staging_.add(content);
      cache_->node_fields = {};
      slab_size_ = 0;
      files_ = 0;
      return {};
    }
    if (cache_ == nullptr) return {};
    if (name == kOrder) {
      const auto order = parse_u64(trim(content));
      if (!order || *order > kHighestOrder) return error_at(content, name, "not the order of a slab, a number up to 20");
      if (page_size_ <= ~std::uint64_t{0} >> *order) slab_size_ = page_size_ << *order;
      return {};
    }
    const File file = file_of(name);
    if (file == kFileCount) return {};
    files_ |= bit(file);
    return file < kAllocFastpathFile ? take_by_node(file, content) : take_by_cpu(file, content);
  }

  static std::optional<Field> total_of(File file) {
    if (file == kSlabsFile) return Field::kSlabs;
    if (file == kPartialFile) return Field::kPartialSlabs;
    return file == kCpuSlabsFile ? std::optional(Field::kCpuSlabs) : std::nullopt;
  }
  Result<void> take_by_node(File file, std::string_view content) {
    StagedType& cache = *cache_;
    PlacedNumbers numbers(content, 'N');
    const auto total = total_of(file);
    if (total) cache.fields.add(*total);
    if (total) cache.figures[*total] = numbers.total();
    const bool has_figure = file == kTotalObjectsFile || (file == kSlabsFile && slab_size_ != 0);
    const NodeField field = file == kSlabsFile ? NodeField::kHeldBytes : NodeField::kTotalObjects;
    if (has_figure) cache.node_fields.add(field);
    std::uint64_t node = 0;
    std::uint64_t value = 0;
    while (numbers.next(node, value)) {
      if (node >= kMaxNodes) return error_at(content, kFileNames[file], "has a node above 1023, which no kernel supports");
      if (!has_figure || node >= staging_.node_count()) continue;
      if (file == kSlabsFile && __builtin_mul_overflow(value, slab_size_, &value)) {
        return error_at(content, kFileNames[file], "reports a cache of more than 2^64 bytes");
      }
      staging_.node_figure(cache, field, static_cast<std::uint32_t>(node)) = value;
    }
    return numbers.is_good() ? Result<void>() : error_at(content, kFileNames[file], kNotNumbers);
  }

  Result<void> take_by_cpu(File file, std::string_view content) {
    const bool is_alloc = (kAllocFiles & bit(file)) != 0;
    const CpuField field = is_alloc ? CpuField::kNumAllocs : CpuField::kNumFrees;
    const std::size_t index = staging_.types().size() - 1;
    PlacedNumbers numbers(content, 'C');
    Figures& figures = cache_->figures;
    // The sums wrap, as the kernel's own do.
    figures[is_alloc ? Field::kNumAllocs : Field::kNumFrees] += numbers.total();
    std::uint64_t cpu = 0;
    std::uint64_t value = 0;
    while (numbers.next(cpu, value)) {
      if (cpu >= cpu_count_) return error_at(content, kFileNames[file], "has a CPU that this machine does not have");
      const auto place = static_cast<std::uint32_t>(cpu);
      staging_.set_cpu_figure(index, field, place, staging_.cpu_figure(index, field, place) + value);
    }
    return numbers.is_good() ? Result<void>() : error_at(content, kFileNames[file], kNotNumbers);
  }

  /// Counters are complete if all terms of their sums are known.
  void end_cache() {
    if (cache_ == nullptr) return;
    if ((files_ & kAllocFiles) == kAllocFiles) cache_->fields.add(Field::kNumAllocs);
    if ((files_ & kNeededFreeFiles) == kNeededFreeFiles) cache_->fields.add(Field::kNumFrees);
  }

  static constexpr std::string_view kNotNumbers =
      "expected a number of at most 64 bits, then more of them after N0= or C0= and so on";

  std::string_view bundle_;
  std::uint64_t page_size_;
  std::uint32_t cpu_count_;
  Staging& staging_;
  // Of the current cache.
  StagedType* cache_ = nullptr;
  std::uint64_t slab_size_ = 0;  // in bytes; 0: unknown
  FileSet files_ = 0;
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kSlabs, "slabs"},
    {Field::kPartialSlabs, "partial"},
    {Field::kCpuSlabs, "cpu_slabs"},
    {Field::kNumAllocs, "alloc_fastpath + alloc_slowpath"},
    {Field::kNumFrees, "free_fastpath + free_slowpath + free_rcu_sheaf"},
    {CpuField::kNumAllocs, "C= of the same files"},
    {CpuField::kNumFrees, "C= of the same files"},
    {NodeField::kHeldBytes, "N= of slabs x page size x 2^order"},
    {NodeField::kTotalObjects, "N= of total_objects"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_slab_sysfs",
    .origin = "/sys/kernel/slab, /proc/slabinfo",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .origins = kOrigins,
    .interval = std::chrono::seconds(60),
    .max_files = kMaxKeptFiles + 2,
    .needs = "CAP_DAC_READ_SEARCH",
    .notes =
        "needs root or CAP_DAC_READ_SEARCH at start; opens nothing if linux_slab_bpf has the same figures, unless "
        "CONFIG_SLUB_STATS is on; otherwise keeps two files per cache open on a machine with one node, four on others (and "
        "four more with CONFIG_SLUB_STATS), with 4 KiB of kernel memory for each; their cost does not depend on the number "
        "of slabs; caches "
        "that appear after privileges were dropped have none of these figures until a restart, others from the next read "
        "on; no slabs of CPUs since 7.0; counters are of online CPUs and wrap at 2^32",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_slab_sysfs
