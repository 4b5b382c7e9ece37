// SPDX-License-Identifier: BSD-2-Clause
// The part of the kernel's types (BTF) that memstat's programs need. Debian's kernels have 5 to 6 MiB of types, which libbpf
// reads whole, twice at a time; the part is small. Only with libbpf (MEMSTAT_HAVE_LIBBPF).
#pragma once

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat::events {

template <auto kClose>
struct ClosedBy {
  void operator()(auto* handle) const { kClose(handle); }
};
using BtfPointer = std::unique_ptr<btf, ClosedBy<btf__free>>;
using ObjectPointer = std::unique_ptr<bpf_object, ClosedBy<bpf_object__close>>;

/// Names of types, functions and enumerators.
using TypeNames = std::set<std::string, std::less<>>;

/// BTF, and the kernel's own number of each of its types, by the number there.
struct TypesPart {
  std::string bytes;
  std::vector<std::uint32_t> kernel_numbers;
};

/// The part of `bytes` (BTF) that has the types and functions with these names, the enums that have one of these
/// enumerators, all raw tracepoints, and what these consist of. A struct that is only pointed to is left without members.
/// Errors: kData where the BTF is malformed.
Result<TypesPart> part_of_types(std::string_view bytes, const TypeNames& names);

/// Adds the names of the types, the functions and the places of attachment that an object of programs has.
void add_names_of(const bpf_object& object, TypeNames& names);

/// The part of the running kernel's types that all of memstat's programs need, in a file that libbpf can read.
class TypesFile {
 public:
  /// Keeps libbpf from printing; its messages go into errors.
  static Result<TypesFile> make();
  /// nullptr with errno if there is no memory.
  [[nodiscard]] BtfPointer parse() const;
  /// Valid while this object exists.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The number that the kernel gives to a type of `types`, which parse() returned; 0: there is none.
  [[nodiscard]] std::uint32_t kernel_number(const btf& types, const std::string& name, std::uint32_t kind) const;

 private:
  UniqueFd file_;
  std::string path_;
  std::vector<std::uint32_t> kernel_numbers_;
};

/// To be called before an object is opened that load_with_types() loads.
void handle_sections();
/// Loads an object. Programs at functions (fentry, fexit, iter) and calls of functions need the kernel's numbers of these
/// functions; libbpf alone would read all types again to find them.
int load_with_types(bpf_object* object, const TypesFile& types);

}  // namespace memstat::events
