// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/open_view.h"

#include <utility>

namespace memstat {

Result<OpenedView> open_view(const std::string& reference, const ViewOptions& options) {
  if (reference == kLiveReference) {
    auto live = make_live_kernel_view();
    if (!live) return std::move(live.error());
    return OpenedView{.view = *std::move(live), .capture = nullptr, .notes = {}};
  }
  for (const ViewOpener* opener : all_view_openers()) {
    if (opener->recognizes(reference)) return opener->open(reference, options);
  }
  return make_error(ErrorCode::kNotPresent, reference, "this build cannot open files of that kind");
}

Result<OpenedView> open_kvm_view(void* kvm, KvmNeeds needs) {
  std::string_view detail = "this build does not read crash dumps or /dev/mem through libkvm, which FreeBSD has";
  for (const ViewOpener* opener : all_view_openers()) {
    if (opener->open_kvm == nullptr) continue;
    if (kvm != nullptr) return opener->open_kvm(kvm, needs);
    detail = "the kvm_t is null";
  }
  return make_error(ErrorCode::kKvm, {}, detail);
}

}  // namespace memstat
