// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/inspections.h"

#include <unistd.h>

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

TEST(Inspections, DoesNotAdviseRootToBecomeRoot) {
  InspectionAnswer answer;
  answer.refused = 1;
  Inspection inspection{};
  inspection.needs = "CAP_SYS_PTRACE";
  EXPECT_EQ(missing_of(answer, inspection, false),
            std::string("not in this answer, because you may not examine them: at least 1 process; ") +
                (::geteuid() == 0 ? "root here lacks CAP_SYS_PTRACE, or a container or a security module forbids it"
                                  : "run memstatctl as root (it needs CAP_SYS_PTRACE)"));
  inspection.needs = "";
  EXPECT_THAT(missing_of(answer, inspection, false), HasSubstr("CAP_SYS_PTRACE")) << "/proc hides processes";
  EXPECT_THAT(missing_of(answer, inspection, true), HasSubstr("; record it as root"));
}

TEST(Inspections, SaysFromWhereItWasSeen) {
  InspectionAnswer answer;
  answer.view.add(ViewReason::kPidNamespace);
  const Inspection inspection{};
  EXPECT_EQ(
      missing_of(answer, inspection, false),
      "not in this answer: the rest of the machine, not checked: seen from inside a container (PID namespace); run it in "
      "the host's PID namespace (--pid=host, hostPID: true)");
  answer.refused = 1;
  EXPECT_THAT(missing_of(answer, inspection, false), HasSubstr("hostPID: true); also not in this answer, because"));
}

}  // namespace
}  // namespace memstat::ctl
