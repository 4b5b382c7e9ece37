// SPDX-License-Identifier: BSD-2-Clause
// The implementation of memstat.h's `struct memory_type_list`: the list, the origin of its figures, and its last error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/c_api/kernel_recording.h"
#include "core/capture/replay_view.h"
#include "core/collect/memory_blocks.h"
#include "core/include/memstat.h"
#include "core/kernel/kernel_view.h"
#include "core/kernel/open_view.h"
#include "core/model/memory_type_list.h"
#include "core/parse/statm.h"
#include "core/query.h"

namespace memstat {

/// A memory type list that queries kernels as libmemstat does, with the original's preconditions, error codes and order, on
/// top of the daemon's sources. memstat.h documents the behaviour; memstat.cpp only translates calls. Throws only
/// std::bad_alloc, and only where documented.
class QueriedList {
 public:
  /// Reads the capture named by set_capture or MEMSTAT_CAPTURE, or else this machine's kernel.
  QueriedList() = default;
  /// Reads only `view`: for tests that fail the Nth read.
  explicit QueriedList(std::shared_ptr<KernelView> view) : fixed_(std::move(view)) {}

  [[nodiscard]] MemoryTypeList& types() { return list_; }
  [[nodiscard]] const MemoryTypeList& types() const { return list_; }
  /// MEMSTAT_ERROR_* of the last failed query.
  [[nodiscard]] int error() const { return static_cast<int>(error_); }
  /// The last failure as one line, "" if there was none.
  [[nodiscard]] const char* message() const { return message_.c_str(); }

  /// Damage in the capture or dump in use, one line each; "" if there is none.
  [[nodiscard]] const char* notes() const {
    if (!kvm_notes_.empty()) return kvm_notes_.c_str();
    return (set_.view != nullptr || ignores_environment_ ? set_ : environment_).notes.c_str();
  }

  void set_folding(bool folding) { is_folding_ = folding; }
  /// nullptr: MEMSTAT_CAPTURE or the kernel. "" and "live": the kernel, regardless of MEMSTAT_CAPTURE.
  bool set_capture(const char* reference);

  // Queries return false on failure, with error() set and the list unchanged.
  bool query_malloc();
  bool query_uma();
  /// Refreshes all Linux sources, or those of one allocator. Continues after a failure and returns the first error.
  bool query_linux(Allocator allocator = Allocator::kUnknown);
  bool query_source(std::string_view name);
  /// Queries the kernel behind libkvm's kvm_t: the parts in `needs`, malloc types first.
  bool query_kvm(void* kvm, KvmNeeds needs);
  /// The same for an open view.
  bool query_opened(OpenedView opened, KvmNeeds needs);
  /// Refreshes all sources of the selected kernel, whichever system it is; otherwise like query_linux.
  bool query_kernel();
  /// The system of the selected kernel; kOther if the selected capture cannot be opened.
  OperatingSystem kernel();
  /// Copies one sysctl of a FreeBSD kernel to `to`, which holds `size` bytes. Sets `size` to the sysctl's size.
  bool read_sysctl(std::string_view name, char* to, std::size_t& size);
  /// Finds the location of a physical address of a Linux kernel.
  bool find_memory_block(std::uint64_t address, MemoryBlock& block);
  /// Reads the memory and the name of a process of a Linux kernel; 0 is this process.
  bool read_process(int pid, ProcessMemory& memory, std::string& name);
  /// Returns the kernel that queries read, and the time of its poll.
  bool read_kernel(memstat_kernel& kernel);
  bool read_memory(memstat_memory& memory);

  /// The capture being read; nullptr if it is a kernel, or if the capture cannot be opened.
  ReplayKernelView* capture();
  bool select_poll(std::size_t number);

  // Recording of this machine's kernel; see memstat.h.
  /// `is_thinned`: see ThinnedRecording.
  bool begin_recording(const std::string& output, std::uint64_t max_bytes, bool is_thinned = false);
  /// `with_answers`: also records the answer of every inspection.
  bool record_poll(std::string_view label, bool with_answers = false);
  bool end_recording();

  /// Records a failure from outside the sources.
  bool fail(ErrorCode code, std::string_view detail) noexcept;

 private:
  struct Opened {
    std::string reference;  // names the capture
    std::shared_ptr<KernelView> view;
    ReplayKernelView* capture = nullptr;  // the view, if it is a capture
    std::string notes = {};               // damage, one line each
  };
  /// A source with its buffers, and the view for which it was opened.
  struct Entry {
    SourceReader reader;
    std::shared_ptr<KernelView> view = nullptr;
  };

  bool fail(Error error) noexcept;
  static Result<Opened> open_named_view(const std::string& reference);
  Result<Opened> named_view();
  Result<std::shared_ptr<KernelView>> live_view();
  bool query_system(OperatingSystem os, Allocator allocator);
  Result<std::shared_ptr<KernelView>> view_of(OperatingSystem os);
  Result<std::shared_ptr<KernelView>> view_of_any();
  Entry& entry_of(const SourceDescriptor& source);
  Result<void> refresh_stream(const SourceDescriptor& source, Result<void> (*check)(KernelView&));
  Result<void> refresh_source(const SourceDescriptor& source, const std::shared_ptr<KernelView>& view);
  static Result<void> read_entry(Entry& entry, const std::shared_ptr<KernelView>& view);
  Result<void> refresh_entry(Entry& entry, const std::shared_ptr<KernelView>& view);

  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::shared_ptr<KernelView> fixed_;
  Opened set_;          // by set_capture
  Opened environment_;  // by MEMSTAT_CAPTURE
  std::shared_ptr<KernelView> live_;
  std::string kvm_notes_;  // notes of the last kvm_t query
  std::unique_ptr<KernelRecording> recording_;
  ErrorCode error_ = ErrorCode::kUndefined;
  std::string message_;
  bool is_folding_ = false;
  bool ignores_environment_ = false;
};

/// Bytes of malloc(9)'s size classes, as of the last malloc query of this process.
namespace malloc_sizes {
inline constexpr std::size_t kMax = 32;
/// Number of classes, including the terminating 0; 0 before any query.
std::size_t count();
/// Bytes of class `index`, which must be below kMax; 0 beyond the last.
std::uint64_t size(std::size_t index);
}  // namespace malloc_sizes

}  // namespace memstat
