// SPDX-License-Identifier: BSD-2-Clause
// A machine in trouble: the answer of `why`, then memstatd with its page.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/selftest/installation.h"

namespace memstat::ctl {
namespace {

constexpr std::array<Option, 0> kDemoOptions{};

/// Becomes the memstatd that was installed or built with this program. Returns what failed.
std::string become_memstatd() {
  std::signal(SIGPIPE, SIG_DFL);  // an ignored signal stays ignored in the new program
  std::signal(SIGXFSZ, SIG_DFL);
  const std::string memstatd = installed_path("bin/memstatd");
  ::execl(memstatd.c_str(), "memstatd", "--demo", static_cast<char*>(nullptr));
  return memstatd + ": cannot start it: " + std::strerror(errno) + "; install or build memstatd as well";
}

Report run_demo(const CommandLine& options) {
  CommandLine question = options;
  question.from = demo_capture();
  const Report answer = kWhyCommand.run(question);
  if (!answer.problem.empty()) return {.problem = answer.problem};
  const std::string title = "A FreeBSD that ran out of network buffers; memstatctl why answers:\n\n";
  if (print(title + answer.output + "\n") != kExitDone) return {.status = kExitFailed};
  return {.problem = become_memstatd()};
}

}  // namespace

const Command kDemoCommand{
    "demo",       Group::kLook, "A machine in trouble: what why answers, and its page in a browser", "memstatctl demo",
    kDemoOptions, run_demo};

}  // namespace memstat::ctl
