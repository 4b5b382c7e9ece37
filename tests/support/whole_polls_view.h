// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/kernel/forwarding_view.h"

namespace memstat {

/// As when the kernel is recorded: each read reads everything, also what sources otherwise read only sometimes.
class WholePollsView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;
  [[nodiscard]] bool wants_whole_polls() const override { return true; }
};

}  // namespace memstat
