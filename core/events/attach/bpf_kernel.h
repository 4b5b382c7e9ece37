// SPDX-License-Identifier: BSD-2-Clause
// What programs of the kernel need of it whatever they count: its types (BTF), maps that we share with it, and what a
// refusal means. Only where libbpf is (MEMSTAT_HAVE_LIBBPF). Thread safety: functions of their arguments; plain values.
#pragma once

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/events/attach/attach_helper.h"
#include "core/events/bpf/gfp.h"

namespace memstat::events {

struct CloseBtf {
  void operator()(btf* types) const { btf__free(types); }
};
struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct CloseLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using BtfPointer = std::unique_ptr<btf, CloseBtf>;
using ObjectPointer = std::unique_ptr<bpf_object, CloseObject>;
using LinkPointer = std::unique_ptr<bpf_link, CloseLink>;

/// The error of something that the kernel refused with an errno, negative or not: kPermission says what is needed.
Error refused(std::string_view what, int number);
/// kNotPresent.
Error not_present(std::string_view what, std::string_view why);

/// The types of the kernel that runs. Keeps libbpf from printing: what it has to say goes into errors.
Result<BtfPointer> kernel_types();
/// Arguments of a raw tracepoint, without the first, which is not the event's; -1: this kernel has no such tracepoint.
int arguments_of(const btf& types, const char* event);
/// Whether argument `number` of a raw tracepoint (from 0 on) points to a struct of this name.
bool points_to(const btf& types, const char* event, int number, std::string_view structure);
bool has_function(const btf& types, const char* function);
/// Whether parameter `number` of a function (from 0 on) has this name.
bool has_parameter(const btf& types, const char* function, int number, std::string_view name);
/// Whether a struct of the kernel has that member, also within one of its members without a name.
bool has_member(const btf& types, const char* structure, std::string_view member);
/// The GFP flag whose bit an enumerator of this kernel numbers (6.10, 772dd0342727); else as it was before there were such.
std::uint64_t gfp_flag(const btf& types, std::string_view enumerator, std::uint64_t before);

/// Those of this kernel that make classes.
memstat_gfp_flags gfp_flags(const btf& types, bool are_classes_wanted);

/// An object of programs out of its ELF file, which must live as long; not loaded.
Result<ObjectPointer> open_programs(std::span<const unsigned char> elf);
/// Loads them, with a row in their map "by_cpu" for each CPU that this machine may have. How many these are.
Result<std::size_t> load_programs(bpf_object* object);

/// Memory that a map of the kernel shares with us.
class SharedMap {
 public:
  SharedMap() = default;
  SharedMap(const SharedMap&) = delete;
  SharedMap& operator=(const SharedMap&) = delete;
  ~SharedMap();
  /// `is_written`: by us; else we only read.
  Result<void> open(const bpf_map* map, std::size_t size, bool is_written = false);
  [[nodiscard]] const void* get() const { return memory_; }
  /// Of a map that we write.
  [[nodiscard]] void* writable() { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// What the kernel knows of programs, all together.
struct ProgramFacts {
  std::uint64_t missed_events = 0;  ///< That found a program busy on their CPU and were not counted.
  std::uint64_t run_ns = 0;         ///< Time within the programs, while kernel.bpf_stats_enabled is 1.
  std::uint64_t runs = 0;           ///< Their runs, while it is.
};

/// Attached programs: they go with this.
class AttachedPrograms {
 public:
  /// Attaches a loaded program; 0 or an errno.
  int attach(bpf_program* program);
  /// Attaches every program of an object that is loaded. Error: that of the first that is refused, with its section; those
  /// before it stay attached.
  Result<void> attach_all(bpf_object* object);
  /// Attaches a loaded program to each of a software event (PERF_COUNT_SW_*) on each CPU that is online: one that comes
  /// later has none. 0 or an errno, and then it is attached nowhere.
  int attach_everywhere(bpf_program* program, std::uint64_t event);
  /// Hands them to the helper of this process, if it has one, for attach_again().
  void enlist();
  void detach();
  /// Whether the helper was given all of them.
  [[nodiscard]] bool are_enlisted() const { return helper_ != nullptr; }
  /// Whether it has them still.
  [[nodiscard]] bool may_attach_again() const { return are_enlisted() && helper_->is_alive(); }
  /// Attaches by the helper what was detached. False: it refused one, and then none is attached; where this kernel will
  /// always refuse it, they are not enlisted any more.
  bool attach_again();
  /// What the kernel knows of the programs, which are the same before and behind detach(). Makes a pread() a program, which
  /// must not be closed before.
  [[nodiscard]] ProgramFacts facts() const;

 private:
  struct Attached {
    const bpf_program* program = nullptr;
    std::optional<std::uint64_t> software_event = {};  // of one that is attached on each CPU
  };
  void take_facts_of(const bpf_program* program);

  std::vector<Attached> programs_;
  std::vector<LinkPointer> links_;
  std::vector<UniqueFd> facts_;  // /proc/self/fdinfo of each program
  std::shared_ptr<AttachHelper> helper_;
  std::vector<std::uint32_t> places_;  // the helper's numbers of them
  std::vector<UniqueFd> descriptors_;  // that it gave, in place of the links
};

}  // namespace memstat::events
