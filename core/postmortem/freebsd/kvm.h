// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD kernels behind a kvm_t of libkvm: a crash dump, or this machine's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/kernel/open_view.h"

namespace memstat::postmortem {

/// A symbol as kvm_nlist(3) answers; 0: it has no value. Thread safety: a plain value.
struct KvmSymbol {
  std::string_view name;
  std::uint64_t value = 0;
};

/// What is used of libkvm, which only FreeBSD has. Thread safety: none; one thread at a time.
class KvmDoor {
 public:
  KvmDoor() = default;
  KvmDoor(const KvmDoor&) = delete;
  KvmDoor& operator=(const KvmDoor&) = delete;
  virtual ~KvmDoor() = default;

  /// kvm_read(3): how many bytes were read, less than 0 on errors.
  virtual std::ptrdiff_t read(std::uint64_t address, char* to, std::size_t size) = 0;
  /// kvm_nlist(3): 0; or how many symbols were not found; or less than 0 on errors.
  virtual int find(std::span<KvmSymbol> symbols) = 0;
  /// kvm_geterr(3).
  virtual std::string error() = 0;
};

/// The kernel behind `door`, as a capture of one poll; `door` is no longer needed then. Its types come from its own file:
/// that in MEMSTAT_KERNEL, or the installed one that says the same version. Errors: kKvm with what libkvm says, where it
/// finds no symbols or cannot read; kKvmNoSymbol where a symbol or the kernel file is missing; kKvmShortRead where less is
/// read than asked for; kVersion where all kernel files are of other builds.
Result<OpenedView> open_kvm_kernel(KvmDoor& door, KvmNeeds needs);

/// The same of a kvm_t; on FreeBSD only.
Result<OpenedView> open_libkvm(void* kvm, KvmNeeds needs);

}  // namespace memstat::postmortem
