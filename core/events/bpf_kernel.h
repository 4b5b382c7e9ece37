// SPDX-License-Identifier: BSD-2-Clause
// What programs of the kernel need of it whatever they count: its types (BTF), maps that we share with it, and what a
// refusal means. Only where libbpf is (MEMSTAT_HAVE_LIBBPF). Thread safety: functions of their arguments; plain values.
#pragma once

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

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
/// The GFP flag whose bit an enumerator of this kernel numbers (6.10, 772dd0342727); else as it was before there were such.
std::uint64_t gfp_flag(const btf& types, std::string_view enumerator, std::uint64_t before);

/// An object of programs out of its ELF file, which must live as long; not loaded.
Result<ObjectPointer> open_programs(std::span<const unsigned char> elf);

/// Memory that a map of the kernel shares with us, read only.
class SharedMap {
 public:
  SharedMap() = default;
  SharedMap(const SharedMap&) = delete;
  SharedMap& operator=(const SharedMap&) = delete;
  ~SharedMap();
  Result<void> open(const bpf_map* map, std::size_t size);
  [[nodiscard]] const void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// Attached programs: they go with this.
class AttachedPrograms {
 public:
  /// Attaches a loaded program; 0 or an errno.
  int attach(bpf_program* program);
  void detach();
  [[nodiscard]] std::size_t size() const { return links_.size(); }
  /// Events that found a program busy on their CPU and were not counted. Makes a pread() a program.
  [[nodiscard]] std::uint64_t missed_events() const;

 private:
  std::vector<LinkPointer> links_;
  std::vector<UniqueFd> facts_;  // /proc/self/fdinfo of each program
};

}  // namespace memstat::events
