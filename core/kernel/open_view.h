// SPDX-License-Identifier: BSD-2-Clause
// The one place where programs and the C API get a kernel view from: this machine's kernel, or a recorded one.
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

/// How much of a capture is read into memory or unpacked unless told otherwise, B: a small archive can hold anything.
inline constexpr std::uint64_t kMaxCaptureBytes = 512ULL << 20;

/// What users write for this machine's kernel. A directory of that name is `./live`.
inline constexpr std::string_view kLiveReference = "live";

struct ViewOptions {
  /// Whether "@POLL" at the end of a capture's name selects a poll, by default the last. False: it belongs to the name, and
  /// the capture is at its first poll, for a replay of all of them.
  bool takes_poll = true;
  /// Reads the whole capture now, for a process that is about to give up the right to read it.
  bool load_now = false;
  /// B, of an archive unpacked, and of what is read now.
  std::uint64_t max_bytes = kMaxCaptureBytes;
};

struct OpenedView {
  std::unique_ptr<KernelView> view;     ///< Never null.
  ReplayKernelView* capture = nullptr;  ///< The same view when it is a capture, else nullptr.
  std::vector<std::string> notes = {};  ///< What of it is damaged and so incomplete, a line each for people; as a rule none.
};

/// Which statistics must be there for a kernel behind libkvm to be opened; what else is missing is a note.
struct KvmNeeds {
  bool malloc = false;
  bool uma = false;
};

/// A kind of recorded kernel. A target that brings one adds its name to VIEW_OPENERS in CMakeLists.txt and defines it in
/// namespace memstat::view_openers.
struct ViewOpener {
  /// Whether the reference names something of this kind, by what is there and not by its name.
  bool (*recognizes)(const std::string& reference);
  Result<OpenedView> (*open)(const std::string& reference, const ViewOptions& options);
  /// Opens what is behind a kvm_t of libkvm; nullptr where there is no libkvm.
  Result<OpenedView> (*open_kvm)(void* kvm, KvmNeeds needs) = nullptr;
};

/// Every kind of this build, in the order in which they are tried; the last one, captures, takes what no other does.
std::span<const ViewOpener* const> all_view_openers();

/// Opens what `reference` names: kLiveReference; CAPTURE or CAPTURE@POLL; or what another opener knows (a crash dump).
/// Errors: kNotPresent (no such file, no such poll, or no view of this system's kernel) and those of open_capture.
/// Thread safety: safe.
Result<OpenedView> open_view(const std::string& reference, const ViewOptions& options = {});

/// Opens the kernel behind a kvm_t of libkvm. Errors: kKvm where this build has no libkvm, for no handle, and with what
/// libkvm says; kKvmNoSymbol, kKvmShortRead, kVersion. Thread safety: that of the handle.
Result<OpenedView> open_kvm_view(void* kvm, KvmNeeds needs);

}  // namespace memstat
