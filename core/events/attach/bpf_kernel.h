// SPDX-License-Identifier: BSD-2-Clause
// Common code of all BPF programs' loaders: the kernel's types (BTF), maps shared with it, and its errors' meaning. Only
// with libbpf (MEMSTAT_HAVE_LIBBPF).
#pragma once

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/events/attach/attach_helper.h"
#include "core/events/attach/kernel_types.h"
#include "core/events/bpf/gfp.h"

namespace memstat::events {

using LinkPointer = std::unique_ptr<bpf_link, ClosedBy<bpf_link__destroy>>;

/// An error for an errno of the kernel, positive or negative. kPermission names the missing privileges.
Error refused(std::string_view what, int number);
Error not_present(std::string_view what, std::string_view why);
/// The first bytes of a file of the kernel; "" when it cannot be read.
std::string begin_of(const char* path);

/// Number of arguments of a raw tracepoint, without the context; -1 if this kernel has no such tracepoint.
int arguments_of(const btf& types, const char* event);
/// Whether argument `number` of a raw tracepoint (counted from 0) points to a struct of this name.
bool points_to(const btf& types, const char* event, int number, std::string_view structure);
/// Whether the events of the slab allocator have the arguments that memstat's programs read.
Result<void> check_slab_events(const btf& types);
bool has_function(const btf& types, const char* function);
/// Whether parameter `number` of a function (counted from 0) has this name.
bool has_parameter(const btf& types, const char* function, int number, std::string_view name);
/// Whether a kernel struct has this member, directly or in an anonymous member.
bool has_member(const btf& types, const char* structure, std::string_view member);
/// The GFP flag of an enumerator in this kernel: since Linux commit 772dd0342727 ("mm: enumerate all gfp flags")
/// (v6.9) the bits are enumerators. `before` is the value for older kernels.
std::uint64_t gfp_flag(const btf& types, std::string_view enumerator, std::uint64_t before);

/// This kernel's GFP flags that make up the classes.
memstat_gfp_flags gfp_flags(const btf& types, bool are_classes_wanted);

/// Opens an object of programs from its ELF file, which must outlive it. Does not load it. It is relocated to `types`, which
/// must exist until it is loaded.
Result<ObjectPointer> open_programs(std::span<const unsigned char> elf, const TypesFile& types);
/// Loads the programs, with one row for each possible CPU in the map "by_cpu". Returns the number of rows.
Result<std::size_t> load_programs(bpf_object* object, const TypesFile& types);

/// Memory of a BPF map that is shared with the kernel.
class SharedMap : NotCopyable {
 public:
  SharedMap() = default;
  ~SharedMap();
  /// `is_written`: map it writable, otherwise read-only.
  Result<void> open(const bpf_map* map, std::size_t size, bool is_written = false);
  [[nodiscard]] const void* get() const { return memory_; }
  /// Only if mapped writable.
  [[nodiscard]] void* writable() { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// The kernel's statistics of programs, summed.
struct ProgramFacts {
  std::uint64_t missed_events = 0;  ///< Events missed because the program was already running on that CPU.
  std::uint64_t run_ns = 0;         ///< Time spent in the programs while kernel.bpf_stats_enabled is 1.
  std::uint64_t runs = 0;           ///< Runs in that time.
};

/// Attached programs. They are detached when this object is destroyed.
class AttachedPrograms {
 public:
  /// Attaches a loaded program; 0 or an errno.
  int attach(bpf_program* program);
  /// Attaches every program of a loaded object. Returns the first error with the program's section; programs before it
  /// stay attached.
  Result<void> attach_all(bpf_object* object);
  /// Attaches a loaded program to a software event (PERF_COUNT_SW_*) on each online CPU. CPUs that come online later
  /// are not covered. Returns 0, or an errno with nothing attached.
  int attach_everywhere(bpf_program* program, std::uint64_t event);
  /// Hands the programs to the process's helper, if there is one, for attach_again().
  void enlist();
  void detach();
  /// Whether the helper has been given all of them.
  [[nodiscard]] bool are_enlisted() const { return helper_ != nullptr; }
  /// Whether the helper is still there to attach them.
  [[nodiscard]] bool may_attach_again() const { return are_enlisted() && helper_->is_alive(); }
  /// Attaches the detached programs through the helper. Returns false with nothing attached if one is rejected. If this
  /// kernel will always reject it, the programs leave the helper.
  bool attach_again();
  /// The kernel's statistics of the programs. They continue across detach(). Takes one pread() per program; the
  /// programs' descriptors must stay open.
  [[nodiscard]] ProgramFacts facts() const;

 private:
  struct Attached {
    const bpf_program* program = nullptr;
    std::optional<std::uint64_t> software_event = {};  // for a program attached on each CPU
  };
  void take_facts_of(const bpf_program* program);

  std::vector<Attached> programs_;
  std::vector<LinkPointer> links_;
  std::vector<UniqueFd> facts_;  // /proc/self/fdinfo of each program
  std::shared_ptr<AttachHelper> helper_;
  std::vector<std::uint32_t> places_;  // the helper's numbers for the programs
  std::vector<UniqueFd> descriptors_;  // from the helper, in place of links
};

}  // namespace memstat::events
