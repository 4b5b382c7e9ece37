// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD kernels behind libkvm's kvm_t: a crash dump, or this machine's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/kernel/open_view.h"

namespace memstat::postmortem {

/// A symbol from kvm_nlist(3); 0: no value.
struct KvmSymbol {
  std::string_view name;
  std::uint64_t value = 0;
};

/// The used part of libkvm, which exists only on FreeBSD.
class KvmHandle : public Interface {
 public:
  /// kvm_read(3): number of bytes read; negative on errors.
  virtual std::ptrdiff_t read(std::uint64_t address, char* to, std::size_t size) = 0;
  /// kvm_nlist(3): 0, the number of symbols not found, or negative on errors.
  virtual int find(std::span<KvmSymbol> symbols) = 0;
  virtual std::string error() = 0;
};

/// Reads the kernel of a kvm handle as a capture of one poll; `handle` is not needed afterwards. Its types come from the
/// kernel file: the one in MEMSTAT_KERNEL, or an installed one with the same version. Errors: kKvm with libkvm's
/// message if it finds no symbols or cannot read; kKvmNoSymbol if a symbol or the kernel file is missing; kKvmShortRead
/// for a short read; kVersion if all kernel files are from other builds.
Result<OpenedView> open_kvm_kernel(KvmHandle& handle, KvmNeeds needs);

/// Same for a kvm_t; only on FreeBSD.
Result<OpenedView> open_libkvm(void* kvm, KvmNeeds needs);

}  // namespace memstat::postmortem
