// SPDX-License-Identifier: BSD-2-Clause
// Processes are listed again at every read, which allocates nothing while the same processes exist.
#include <gtest/gtest.h>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

TEST(SteadyProcesses, AllocateNothingWhileTheSameOnesAreThere) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
  const TemporaryDirectory directory;
  const auto set = [&](const std::string& process, const std::string& name, int pages) {
    write_text(directory.file("proc/" + process + "/comm"), name + "\n");
    write_text(directory.file("proc/" + process + "/statm"), "1000 " + std::to_string(pages) + " 3 2 0 1 0\n");
  };
  write_text(directory.file("proc/self/stat"), "1 (memstatd) S\n");
  const auto set_all = [&](int poll) {
    set("self", "memstatd", 5 + poll);
    for (int i = 2; i < 300; ++i) {
      set(std::to_string(i), "a name that is no short string " + std::to_string(i % 40), (i + poll * 7) % 40 + 10);
    }
  };
  set_all(0);
  RootedKernelView view(directory.path());
  SourceReader reader(*find_source("linux_process"));
  reader.state->options.assign(3, {});
  reader.state->options[0].matches = [](std::string_view name) { return name.ends_with('7'); };
  reader.state->options[1].number = 100;  // all of them, so that no name comes or goes
  reader.state->options[2].number = 1000;
  MemoryTypeList list;
  const auto poll_once = [&](int poll) {
    return refresh(reader, view, list, static_cast<std::uint64_t>(poll) + 1) && list.size() == 41;
  };
  expect_steady(poll_once, set_all);
}

}  // namespace
}  // namespace memstat
