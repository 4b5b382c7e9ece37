// SPDX-License-Identifier: BSD-2-Clause
// The only place where programs and the C API get a kernel view: of this machine's kernel, or of a recorded one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

class ReplayKernelView;

/// Default maximum for reading a capture into memory, or unpacking it: small archives can have any size unpacked.
inline constexpr std::uint64_t kMaxCaptureBytes = 512ULL << 20;

/// The reference to this machine's kernel. For a directory of this name, write `./live`.
inline constexpr std::string_view kLiveReference = "live";

struct ViewOptions {
  /// Whether "@POLL" at the end of a reference selects a poll (default: the last). False: it is part of the name, and
  /// the capture starts at its first poll, to replay all of them.
  bool takes_poll = true;
  /// Reads the whole capture now, for a process that is about to give up the right to read it.
  bool load_now = false;
  /// Maximum size in B of an unpacked archive, and of what load_now reads.
  std::uint64_t max_bytes = kMaxCaptureBytes;
};

struct OpenedView {
  std::unique_ptr<KernelView> view;     ///< Never null.
  ReplayKernelView* capture = nullptr;  ///< The view if it is a capture, else nullptr.
  std::vector<std::string> notes = {};  ///< Damage that makes it incomplete, one line each, for display; usually none.
};

/// The statistics that a kernel behind libkvm must have to be opened. Others that are missing become notes.
struct KvmNeeds {
  bool malloc = false;
  bool uma = false;
};

/// A kind of recorded kernel. To add one, define it in namespace memstat::view_openers and add its name to VIEW_OPENERS
/// in CMakeLists.txt.
struct ViewOpener {
  /// Whether the reference is of this kind, by its content rather than its name.
  bool (*recognizes)(const std::string& reference);
  Result<OpenedView> (*open)(const std::string& reference, const ViewOptions& options);
  /// Opens the kernel of a kvm_t; nullptr if this kind does not support libkvm.
  Result<OpenedView> (*open_kvm)(void* kvm, KvmNeeds needs) = nullptr;
};

/// All kinds in this build, in the order in which they are tried. The last, captures, accepts everything else.
std::span<const ViewOpener* const> all_view_openers();

/// Opens `reference`: kLiveReference; CAPTURE or CAPTURE@POLL; or what another opener recognizes (a crash dump).
/// Errors: kNotPresent (no such file, no such poll, or an unsupported operating system) and those of open_capture.
Result<OpenedView> open_view(const std::string& reference, const ViewOptions& options = {});

/// Opens the kernel of a libkvm handle. Errors: kKvm if this build has no libkvm, for a null handle, and with libkvm's
/// own message; kKvmNoSymbol, kKvmShortRead, kVersion.
Result<OpenedView> open_kvm_view(void* kvm, KvmNeeds needs);

}  // namespace memstat
