// SPDX-License-Identifier: BSD-2-Clause
// What stands behind memstat.h's `struct memory_type_list`: the list, where its figures come from, and its last error.
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

/// A memory type list that queries kernels the way libmemstat does: upstream's preconditions, error codes and order, on top
/// of the same sources as the daemon. memstat.h documents the behaviour; memstat.cpp only translates calls. Nothing throws
/// but std::bad_alloc, and only where it says so. Thread safety: none; one thread at a time.
class QueriedList {
 public:
  /// Reads whatever is there: the capture named by set_capture or MEMSTAT_CAPTURE, or this machine's kernel.
  QueriedList() = default;
  /// Reads `view` only: for tests that fail the Nth read.
  explicit QueriedList(std::shared_ptr<KernelView> view) : fixed_(std::move(view)) {}

  [[nodiscard]] MemoryTypeList& types() { return list_; }
  [[nodiscard]] const MemoryTypeList& types() const { return list_; }
  /// MEMSTAT_ERROR_* of the last query that failed.
  [[nodiscard]] int error() const { return static_cast<int>(error_); }
  /// The last failure as one line, "" before any.
  [[nodiscard]] const char* message() const { return message_.c_str(); }

  /// What of the capture or dump in use is damaged, a line each; "" when nothing is.
  [[nodiscard]] const char* notes() const {
    if (!kvm_notes_.empty()) return kvm_notes_.c_str();
    return (set_.view != nullptr || ignores_environment_ ? set_ : environment_).notes.c_str();
  }

  void set_folding(bool folding) { is_folding_ = folding; }
  /// nullptr: MEMSTAT_CAPTURE or the kernel; "" and "live": the kernel, whatever MEMSTAT_CAPTURE says.
  bool set_capture(const char* reference);

  // Queries: false when they fail, with error() set and the list as it was.
  bool query_malloc();
  bool query_uma();
  /// Every source of Linux, or those of one allocator; reads on after a failure, the first of which is reported.
  bool query_linux(Allocator allocator = Allocator::kUnknown);
  bool query_source(std::string_view name);
  /// The kernel behind a kvm_t of libkvm: what is needed of it, malloc types first.
  bool query_kvm(void* kvm, KvmNeeds needs);
  /// The same of one that is open.
  bool query_opened(OpenedView opened, KvmNeeds needs);
  /// Every source of the kernel that is read, whichever it is; otherwise as query_linux.
  bool query_kernel();
  /// Which kernel is read; kOther when the capture that is named cannot be opened.
  OperatingSystem kernel();
  /// Copies one sysctl of a FreeBSD kernel to `to`, which has room for `size` bytes; `size` becomes what it has.
  bool read_sysctl(std::string_view name, char* to, std::size_t& size);
  /// Where a physical address of a Linux kernel lies.
  bool find_memory_block(std::uint64_t address, MemoryBlock& block);
  /// The memory and the name of a process of a Linux kernel; 0 is this one.
  bool read_process(int pid, ProcessMemory& memory, std::string& name);
  /// The kernel that queries read, and when.
  bool read_kernel(memstat_kernel& kernel);
  /// What the kernel's memory is used for as a whole.
  bool read_memory(memstat_memory& memory);

  /// The capture that is read; nullptr when it is a kernel, or when the capture cannot be opened.
  ReplayKernelView* capture();
  bool select_poll(std::size_t number);

  // Recording of this machine's kernel, see memstat.h.
  bool begin_recording(const std::string& output, std::uint64_t max_bytes);
  bool record_poll(std::string_view label);
  bool end_recording();

  /// Records a failure that did not come from a source.
  bool fail(ErrorCode code, std::string_view detail) noexcept;

 private:
  /// A kernel view, and what it was made of.
  struct Opened {
    std::string reference;  // of the capture
    std::shared_ptr<KernelView> view;
    ReplayKernelView* capture = nullptr;  // the view, when it is a capture
    std::string notes = {};               // what of it is damaged, a line each
  };
  /// A source with its buffers, and the view that it was opened for.
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
  std::string kvm_notes_;  // of the last query of a kvm_t
  std::unique_ptr<KernelRecording> recording_;
  ErrorCode error_ = ErrorCode::kUndefined;
  std::string message_;
  bool is_folding_ = false;
  bool ignores_environment_ = false;
};

/// The sizes of malloc(9)'s size classes, as the last malloc query of this process learned them. Thread safety: safe.
namespace malloc_sizes {
inline constexpr std::size_t kMax = 32;
/// How many, the closing 0 included; 0 before any query.
std::size_t count();
/// Bytes of class `index`, which is below kMax; 0 beyond the last.
std::uint64_t size(std::size_t index);
}  // namespace malloc_sizes

}  // namespace memstat
