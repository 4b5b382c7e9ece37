// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/partial_view.h"

#include <gtest/gtest.h>

namespace memstat {
namespace {

TEST(PartialView, ANewOneIsWhole) {
  const PartialView view;
  EXPECT_TRUE(view.is_whole());
  EXPECT_EQ(view.names() + view.words() + view.permit() + view.words_and_permit(), "");
}

TEST(PartialView, SaysWhyAndWhatWouldPermitIt) {
  PartialView view;
  view.add("pid_namespace");
  view.add("ipc_namespace");
  view.add("unknown");
  EXPECT_EQ(view.names(), "pid_namespace ipc_namespace");
  EXPECT_EQ(view.words(), "seen from inside a container (PID namespace, IPC namespace)");
  EXPECT_EQ(
      view.permit(),
      "run it in the host's PID namespace (--pid=host, hostPID: true), run it in the host's IPC namespace (--ipc=host, "
      "hostIPC: true)");
  view.add(ViewReason::kHiddenProcesses);
  EXPECT_EQ(
      view.words(),
      "seen from inside a container (PID namespace, IPC namespace), and /proc hides processes of other users (its option "
      "hidepid)");
  view.add(ViewReason::kOtherKernel);
  EXPECT_EQ(view.permit(), "run it on the host");
}

TEST(PartialView, LacksTheParts) {
  PartialView view;
  view.add(ViewReason::kPidNamespace);
  view.add(ViewReason::kIpcNamespace);
  EXPECT_TRUE(view.lacks(ViewPart::kProcesses));
  EXPECT_TRUE(view.lacks(ViewPart::kNetwork | ViewPart::kIpc));
  EXPECT_FALSE(view.lacks(ViewPart::kNetwork | ViewPart::kMemory));
  EXPECT_FALSE(view.lacks({}));
  EXPECT_EQ(view.of(ViewPart::kIpc).names(), "ipc_namespace");
}

TEST(PartialView, EachReasonHasANameAndLacksAPart) {
  for (std::size_t i = 0; i < kViewReasonCount; ++i) {
    const auto reason = static_cast<ViewReason>(i);
    PartialView view;
    view.add(to_string(reason));
    EXPECT_TRUE(view.has(reason)) << i;
    EXPECT_FALSE(view.permit().empty()) << i;
    bool lacks_any = false;
    for (std::size_t part = 0; part < kViewPartCount; ++part)
      lacks_any = lacks_any || view.lacks(static_cast<ViewPart>(part));
    EXPECT_TRUE(lacks_any) << view.names();
  }
}

}  // namespace
}  // namespace memstat
