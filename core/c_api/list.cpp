// SPDX-License-Identifier: BSD-2-Clause
#include "core/c_api/list.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/text.h"
#include "core/capture/reference.h"
#include "core/collect/sysctl_stream.h"
#include "core/inspect/inspection.h"
#include "core/kernel/boot_time.h"
#include "core/kernel/forwarding_view.h"
#include "core/model/accounts.h"
#include "core/source.h"

namespace memstat {
namespace malloc_sizes {
namespace {

// One table per process, as in the original. It may be read while it is replaced: each size is always valid for some kernel.
std::atomic<std::size_t> known_count{0};
std::array<std::atomic<std::uint64_t>, kMax> known_sizes{};

template <typename SizeAt>
void publish(std::size_t count, SizeAt size_at) {
  for (std::size_t i = 0; i < kMax; ++i) known_sizes[i].store(i < count ? size_at(i) : 0, std::memory_order_relaxed);
  known_count.store(count, std::memory_order_release);
}

}  // namespace

std::size_t count() { return known_count.load(std::memory_order_acquire); }
std::uint64_t size(std::size_t index) { return known_sizes[index].load(std::memory_order_relaxed); }

}  // namespace malloc_sizes

namespace {

/// Programs query at any interval, so "within four reads" could take hours: each query also reads what rarely changes.
class QueryView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;
  [[nodiscard]] bool reads_this_machine() const override { return false; }
};

Error with_code(Error error, ErrorCode code) {
  error.code = code;
  return error;
}

/// Maps the error of a failed sysctl as the original does: `otherwise`, except for a missing permission, lack of memory, and
/// bad data.
Error upstream_error(Error error, ErrorCode otherwise) {
  switch (error.code) {
    case ErrorCode::kPermission:
    case ErrorCode::kNoMemory:
    case ErrorCode::kVersion:
    case ErrorCode::kData: return error;
    default: return with_code(std::move(error), otherwise);
  }
}

/// Whether this process ran out of memory, rather than the kernel.
bool is_our_lack_of_memory(const Error& error) { return error.code == ErrorCode::kNoMemory && error.system_errno == 0; }

/// The same for integers, for which a kernel out of memory is an ordinary failure.
Error integer_error(Error error, ErrorCode otherwise) {
  if (error.code == ErrorCode::kNoMemory && !is_our_lack_of_memory(error)) return with_code(std::move(error), otherwise);
  return upstream_error(std::move(error), otherwise);
}

/// The same for vm.malloc.zone_*, where every failure is VERSION.
Error zone_error(Error error) {
  return is_our_lack_of_memory(error) ? error : with_code(std::move(error), ErrorCode::kVersion);
}

/// Reads the integers that the original reads before a stream. If they fail, the stream is not read.
Result<void> check_integers(KernelView& view, const SysctlStream& stream, Buffer& scratch) {
  if (auto cpus = read_sysctl_u32(view, stream.cpus, scratch); !cpus) {
    return integer_error(std::move(cpus.error()), ErrorCode::kData);
  }
  if (auto count = read_sysctl_u32(view, stream.count, scratch); !count) {
    return integer_error(std::move(count.error()), ErrorCode::kVersion);
  }
  return {};
}

/// Reads the size classes. A kernel without both sysctls is older than FreeBSD 13.0, and its classes are the powers of two
/// from 16 to 65536. Every other failure is VERSION, as in the original.
Result<void> load_size_classes(KernelView& view, Buffer& scratch) {
  constexpr std::string_view kCount = "vm.malloc.zone_count";
  constexpr std::string_view kSizes = "vm.malloc.zone_sizes";
  constexpr std::size_t kOldCount = 14;
  auto count = read_sysctl_u32(view, kCount, scratch);
  const bool has_count = count.has_value() || count.error().code != ErrorCode::kNotPresent;
  if (has_count && !count) {
    const bool is_wrong_size = count.error().code == ErrorCode::kData;
    return is_wrong_size ? std::move(count.error()) : zone_error(std::move(count.error()));
  }
  auto sizes = view.read_sysctl(kSizes, scratch, 4 * malloc_sizes::kMax);
  if (!has_count && !sizes && sizes.error().code == ErrorCode::kNotPresent) {
    malloc_sizes::publish(kOldCount, [](std::size_t i) { return i + 1 < kOldCount ? std::uint64_t{16} << i : 0; });
    return {};
  }
  if (!has_count) return zone_error(std::move(count.error()));
  if (!sizes) return zone_error(std::move(sizes.error()));
  if (*count > malloc_sizes::kMax) {
    Error error = data_error(kCount, 0, "names " + std::to_string(*count) + " size classes; at most 32 are supported");
    return with_code(std::move(error), ErrorCode::kVersion);
  }
  const std::string_view bytes = scratch.view();
  malloc_sizes::publish(*count, [bytes](std::size_t i) -> std::uint64_t {
    return (i + 1) * 4 <= bytes.size() ? load<std::uint32_t>(bytes, i * 4) : 0;
  });
  return {};
}

Result<void> check_malloc(KernelView& view) {
  Buffer scratch;
  if (auto result = check_integers(view, kMallocStream, scratch); !result) return result;
  return load_size_classes(view, scratch);
}

Result<void> check_uma(KernelView& view) {
  Buffer scratch;
  return check_integers(view, kZoneStream, scratch);
}

/// An empty stream, or one without records, is a success that changes nothing. (The daemon treats it as a failure, because a
/// kernel always has some types.)
bool names_nothing(std::string_view stream) {
  constexpr std::size_t kHeader = 16;
  constexpr std::size_t kCountAt = 8;
  return stream.empty() ||
         (stream.size() >= kHeader && load<std::uint32_t>(stream, 0) == 1 && load<std::uint32_t>(stream, kCountAt) == 0);
}

Error not_present(std::string path, std::string_view detail) { return make_error(ErrorCode::kNotPresent, path, detail); }

/// MEMSTAT_CAPTURE, "" if unset. Ignored in programs with more privileges than their user, because it names files to read.
std::string capture_of_environment() {
  if (::geteuid() != ::getuid() || ::getegid() != ::getgid()) return {};
  const char* const reference = std::getenv("MEMSTAT_CAPTURE");  // NOLINT(concurrency-mt-unsafe)
  return reference == nullptr ? "" : reference;
}

void record_answers(KernelView& recording, KernelView& machine) {
  for (const Inspection* const inspection : all_inspections()) {
    if (inspection->os == machine.os()) (void)answer_of(recording, *inspection, &machine);  // errors are recorded, too
  }
}

/// Requires `to` to be zeroed.
void copy_machine_text(std::string_view text, char* to, std::size_t room) { text.copy(to, room - 1); }

bool reports_memory(const SourceDescriptor& source) {
  return std::any_of(source.origins.begin(), source.origins.end(),
                     [](const MetricOrigin& origin) { return origin.metric == &kAvailableBytes; });
}

/// Whether the account exists; then total = parts + unaccounted + free.
bool take_account(const StagedStatistics& statistics, memstat_memory& memory) {
  memstat_memory found{};
  std::uint64_t parts = 0;
  std::uint64_t unaccounted = 0;
  bool has_account = false;
  for (const StagedStatistics::Entry& figure : statistics.entries()) {
    if (figure.metric == &kTotalBytes) found.total = figure.bits;
    if (figure.metric == &kAvailableBytes) found.available = figure.bits;
    if (figure.metric == &kAccountedBytes) parts += figure.bits;
    if (figure.metric == &kUnaccountedBytes) {
      unaccounted = figure.bits;
      has_account = true;
    }
  }
  if (!has_account) return false;
  found.unaccounted = static_cast<std::int64_t>(unaccounted);
  const auto free = static_cast<std::int64_t>(found.total - parts - unaccounted);
  found.free = free < 0 ? 0 : static_cast<std::uint64_t>(free);
  memory = found;
  return true;
}

}  // namespace

bool QueriedList::fail(Error error) noexcept {
  error_ = error.code;
  try {
    message_ = to_string(error);
  } catch (const std::bad_alloc&) {
    message_.clear();
  }
  return false;
}

bool QueriedList::fail(ErrorCode code, std::string_view detail) noexcept {
  Error error;
  error.code = code;
  try {
    error.detail = detail;
  } catch (const std::bad_alloc&) {  // no memory for the message either
  }
  return fail(std::move(error));
}

Result<QueriedList::Opened> QueriedList::open_named_view(const std::string& reference) {
  const auto bound = parse_capture_bound(std::getenv("MEMSTAT_CAPTURE_MAX"));  // NOLINT(concurrency-mt-unsafe)
  if (!bound) return bound.error();
  auto opened = open_view(reference, {.max_bytes = *bound});
  if (!opened) return std::move(opened.error());
  Opened named{.reference = reference, .view = std::move(opened->view), .capture = opened->capture};
  for (const std::string& note : opened->notes) named.notes += note + "\n";
  return named;
}

bool QueriedList::set_capture(const char* reference) {
  Opened opened;
  const bool is_named = reference != nullptr && *reference != '\0' && reference != kLiveReference;
  if (is_named) {
    auto named = open_named_view(reference);
    if (!named) return fail(std::move(named.error()));
    opened = std::move(*named);
  }
  set_ = std::move(opened);
  ignores_environment_ = reference != nullptr && !is_named;
  return true;
}

/// The view selected instead of this machine's kernel; without a view if none is selected.
Result<QueriedList::Opened> QueriedList::named_view() {
  if (fixed_ != nullptr) return Opened{.reference = {}, .view = fixed_};
  if (set_.view != nullptr) return set_;
  std::string reference = ignores_environment_ ? "" : capture_of_environment();
  if (reference.empty() || reference == kLiveReference) {
    environment_ = {};
  } else if (environment_.view == nullptr || environment_.reference != reference) {
    auto opened = open_named_view(reference);
    if (!opened) return std::move(opened.error());
    environment_ = std::move(*opened);
  }
  return environment_;
}

/// This machine's kernel, through the recording if there is one. Errors: kNotPresent if there is no view of it.
Result<std::shared_ptr<KernelView>> QueriedList::live_view() {
  if (live_ == nullptr) {
    auto live = open_named_view(std::string(kLiveReference));
    if (!live) return std::move(live.error());
    live_ = std::move(live->view);
  }
  return recording_ != nullptr ? recording_->view() : live_;
}

/// The view for reading a kernel of this system.
Result<std::shared_ptr<KernelView>> QueriedList::view_of(OperatingSystem os) {
  auto named = named_view();
  if (!named) return std::move(named.error());
  if (named->view != nullptr && named->view->os() == os) return std::move(named->view);
  // If the capture is of another system, still try this machine's Linux kernel. For FreeBSD, report the wrong capture
  // instead.
  if (fixed_ == nullptr && (named->view == nullptr || os == OperatingSystem::kLinux)) {
    if (auto live = live_view(); live && (*live)->os() == os) return live;
  }
  const std::string wanted = os == OperatingSystem::kFreeBsd ? "FreeBSD" : "Linux";
  if (named->view != nullptr) return not_present(std::move(named->reference), "is not a capture of a " + wanted + " kernel");
  return not_present({},
                     "this is not a " + wanted +
                         " kernel; name a capture of one in the environment variable MEMSTAT_CAPTURE (PATH or PATH@POLL)");
}

OperatingSystem QueriedList::kernel() {
  auto named = named_view();
  if (!named) return OperatingSystem::kOther;
  if (named->view != nullptr) return named->view->os();
  auto live = live_view();
  return live ? (*live)->os() : OperatingSystem::kOther;
}

QueriedList::Entry& QueriedList::entry_of(const SourceDescriptor& source) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->reader.descriptor == &source; });
  if (found != entries_.end()) return **found;
  return *entries_.emplace_back(std::make_unique<Entry>(Entry{.reader = SourceReader(source)}));
}

Result<void> QueriedList::read_entry(Entry& entry, const std::shared_ptr<KernelView>& view) {
  SourceReader& reader = entry.reader;
  if (entry.view != view) {
    entry.view = nullptr;
    reader.raw = RawBytes{};
    if (auto result = open_source(reader, *view); !result) return result;
    entry.view = view;
  }
  QueryView whole(*view);
  return read_source(reader, whole);
}

Result<void> QueriedList::refresh_entry(Entry& entry, const std::shared_ptr<KernelView>& view) {
  if (auto result = read_entry(entry, view); !result) return result;
  return commit_source(entry.reader, list_, ++generation_);
}

Result<void> QueriedList::refresh_stream(const SourceDescriptor& source, Result<void> (*check)(KernelView&)) {
  auto view = view_of(OperatingSystem::kFreeBsd);
  if (!view) return std::move(view.error());
  if (auto checked = check(**view); !checked) return checked;
  Entry& entry = entry_of(source);
  const bool folds = is_folding_ && list_.size() != 0;
  auto result = read_entry(entry, *view);
  if (result && !names_nothing(entry.reader.raw.parts[0].view())) {
    result = commit_source(entry.reader, list_, ++generation_, folds ? Duplicates::kFolded : Duplicates::kEach);
  }
  entry.reader.raw.parts = {};  // the stream is many times larger than the list, so free it
  if (result) return result;
  return upstream_error(std::move(result.error()), ErrorCode::kVersion);
}

/// Streams of the original are read with its preconditions, all other sources as the daemon reads them.
Result<void> QueriedList::refresh_source(const SourceDescriptor& source, const std::shared_ptr<KernelView>& view) {
  if (source.name == "freebsd_malloc") return refresh_stream(source, check_malloc);
  if (source.name == "freebsd_uma") return refresh_stream(source, check_uma);
  return refresh_entry(entry_of(source), view);
}

bool QueriedList::query_malloc() { return query_source("freebsd_malloc"); }

bool QueriedList::query_uma() { return query_source("freebsd_uma"); }

bool QueriedList::query_kvm(void* kvm, KvmNeeds needs) {
  auto opened = open_kvm_view(kvm, needs);
  return opened ? query_opened(*std::move(opened), needs) : fail(std::move(opened.error()));
}

bool QueriedList::query_opened(OpenedView opened, KvmNeeds needs) {
  kvm_notes_.clear();
  for (const std::string& note : opened.notes) kvm_notes_ += note + "\n";
  // Restore the previous view after this query, even if memory runs out.
  struct Restore {
    QueriedList& list;
    std::shared_ptr<KernelView> before;
    ~Restore() { list.fixed_ = std::move(before); }
  };
  const Restore restore{*this, std::exchange(fixed_, std::shared_ptr<KernelView>(std::move(opened.view)))};
  return (!needs.malloc || query_malloc()) && (!needs.uma || query_uma());
}

bool QueriedList::query_system(OperatingSystem os, Allocator allocator) {
  auto view = view_of(os);
  if (!view) return fail(std::move(view.error()));
  Result<void> outcome = not_present({}, "this kernel has none of the requested sources");
  bool is_any_up = false;
  for (const SourceDescriptor* source : sources_to_query(all_sources(), os, allocator)) {
    auto result = refresh_source(*source, *view);
    is_any_up = is_any_up || result.has_value();
    if (result || result.error().code == ErrorCode::kNotPresent) continue;
    if (outcome.error().code == ErrorCode::kNotPresent) outcome = std::move(result);
  }
  if (is_any_up && outcome.error().code == ErrorCode::kNotPresent) return true;
  return fail(std::move(outcome.error()));
}

bool QueriedList::query_linux(Allocator allocator) { return query_system(OperatingSystem::kLinux, allocator); }

bool QueriedList::query_kernel() {
  const OperatingSystem os = kernel();
  return query_system(os == OperatingSystem::kFreeBsd ? os : OperatingSystem::kLinux, Allocator::kUnknown);
}

bool QueriedList::query_source(std::string_view name) {
  const SourceDescriptor* source = find_source(name);
  if (source == nullptr) return fail(ErrorCode::kNotPresent, "no source has this name");
  auto view = view_of(source->os);
  if (!view) return fail(std::move(view.error()));
  auto result = refresh_source(*source, *view);
  return result ? true : fail(std::move(result.error()));
}

ReplayKernelView* QueriedList::capture() {
  auto named = named_view();
  return named ? named->capture : nullptr;
}

bool QueriedList::select_poll(std::size_t number) {
  auto named = named_view();
  if (!named) return fail(std::move(named.error()));
  if (named->capture == nullptr) return fail(ErrorCode::kNotPresent, "only captures have polls; name one");
  auto selected = named->capture->select_poll(number);
  return selected ? true : fail(std::move(selected.error()));
}

bool QueriedList::begin_recording(const std::string& output, std::uint64_t max_bytes, bool is_thinned) {
  if (recording_ != nullptr) return fail(ErrorCode::kData, "a recording has begun already");
  auto named = named_view();
  if (!named) return fail(std::move(named.error()));
  if (named->view != nullptr && fixed_ == nullptr) {
    return fail(ErrorCode::kData, "the list reads a capture; only this machine's kernel can be recorded");
  }
  if (fixed_ != nullptr) live_ = std::exchange(fixed_, nullptr);
  if (auto live = live_view(); !live) return fail(std::move(live.error()));
  auto recording = KernelRecording::begin(live_, output, max_bytes, is_thinned);
  if (!recording) return fail(std::move(recording.error()));
  recording_ = std::move(*recording);
  return true;
}

bool QueriedList::record_poll(std::string_view label, bool with_answers) {
  if (recording_ == nullptr) return fail(ErrorCode::kData, "no recording has begun");
  // The first query opens hundreds of files. The kernel's memory for them would be growth from the first poll to the second.
  if (!recording_->view()->has_polls()) static_cast<void>(query_kernel());
  if (auto ready = recording_->make_ready(); !ready) return fail(std::move(ready.error()));
  recording_->view()->begin_poll(label);
  const std::uint64_t before = generation_;
  const bool is_whole = query_kernel();
  if (!is_whole && generation_ == before) return false;  // no source could be read, so there is no poll
  if (with_answers) record_answers(*recording_->view(), *live_);
  (void)boot_time_ns(*recording_->view());  // recorded, because the kernel's log counts from it
  auto written = recording_->view()->end_poll();
  return written ? true : fail(std::move(written.error()));
}

bool QueriedList::end_recording() {
  if (recording_ == nullptr) return fail(ErrorCode::kData, "no recording has begun");
  auto finished = recording_->finish();
  recording_ = nullptr;
  return finished ? true : fail(std::move(finished.error()));
}

bool QueriedList::read_sysctl(std::string_view name, char* to, std::size_t& size) {
  auto view = view_of(OperatingSystem::kFreeBsd);
  if (!view) return fail(std::move(view.error()));
  constexpr std::size_t kMaxHinted = 4096;  // the caller's buffer may be much larger than the sysctl
  Buffer bytes;
  if (auto result = (*view)->read_sysctl(name, bytes, std::min(size, kMaxHinted)); !result)
    return fail(std::move(result.error()));
  const std::size_t room = std::exchange(size, bytes.size());
  if (bytes.size() > room) {
    return fail(data_error(name, room, "has " + std::to_string(bytes.size()) + " bytes, more than the buffer holds"));
  }
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return true;
}

bool QueriedList::find_memory_block(std::uint64_t address, MemoryBlock& block) {
  auto view = view_of(OperatingSystem::kLinux);
  if (!view) return fail(std::move(view.error()));
  auto found = memstat::find_memory_block(**view, address);
  if (!found) return fail(std::move(found.error()));
  block = *found;
  return true;
}

bool QueriedList::read_process(int pid, ProcessMemory& memory, std::string& name) {
  auto view = view_of(OperatingSystem::kLinux);
  if (!view) return fail(std::move(view.error()));
  const std::string directory = "/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid));
  const std::string statm = directory + "/statm";
  const auto refused = [&](Error& error) {
    // ESRCH: the process exited during the read.
    if (error.code == ErrorCode::kNotPresent || error.system_errno == ESRCH) {
      return fail(not_present(directory, "there is no such process, or it is hidden from you"));
    }
    return fail(std::move(error));
  };
  Buffer bytes;
  if (auto result = (*view)->read_file(statm, bytes); !result) return refused(result.error());
  const auto parsed = parse_statm(bytes.view(), (*view)->page_size());
  if (!parsed) return fail(data_error(statm, 0, "expected six numbers of pages"));
  if (auto result = (*view)->read_file(directory + "/comm", bytes); !result) return refused(result.error());
  memory = *parsed;
  name = bytes.view().substr(0, bytes.view().ends_with('\n') ? bytes.size() - 1 : bytes.size());
  return true;
}

/// The view of whichever kernel can be read.
Result<std::shared_ptr<KernelView>> QueriedList::view_of_any() {
  auto view = view_of(
      OperatingSystem::kFreeBsd);  // first, because on Linux a FreeBSD capture and the Linux kernel may both be available
  if (view || view.error().code != ErrorCode::kNotPresent) return view;
  return view_of(OperatingSystem::kLinux);
}

bool QueriedList::read_kernel(memstat_kernel& kernel) {
  auto view = view_of_any();
  if (!view) return fail(std::move(view.error()));
  kernel = {};
  copy_machine_text(to_string((*view)->os()), kernel.os, sizeof kernel.os);
  copy_machine_text((*view)->os_release(), kernel.release, sizeof kernel.release);
  if (const auto* const capture = dynamic_cast<const ReplayKernelView*>(view->get()); capture != nullptr) {
    kernel.is_capture = 1;
    kernel.time_ns = capture->poll_info(capture->selected_poll()).realtime_ns;
    copy_machine_text(capture->manifest().machine, kernel.machine, sizeof kernel.machine);
    return true;
  }
  kernel.is_capture = *view == live_ ? 0 : 1;
  kernel.time_ns = (*view)->clock().realtime_ns();
  utsname system{};
  if (kernel.is_capture == 0 && ::uname(&system) == 0) {
    copy_machine_text(system.nodename, kernel.host, sizeof kernel.host);
    copy_machine_text(system.machine, kernel.machine, sizeof kernel.machine);
  }
  return true;
}

bool QueriedList::read_memory(memstat_memory& memory) {
  auto view = view_of_any();
  if (!view) return fail(std::move(view.error()));
  for (const SourceDescriptor* const source : all_sources()) {
    if (source->os != (*view)->os() || !reports_memory(*source)) continue;
    Entry& entry = entry_of(*source);
    auto result = read_entry(entry, *view);
    if (result) result = parse_source(entry.reader);
    if (!result) return fail(std::move(result.error()));
    if (take_account(entry.reader.staging.statistics(), memory)) return true;
  }
  return fail(ErrorCode::kNotPresent, "this kernel does not report how much memory it has");
}

}  // namespace memstat
