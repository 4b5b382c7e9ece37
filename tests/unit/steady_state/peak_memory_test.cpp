// SPDX-License-Identifier: BSD-2-Clause
// memstatd frees the memory of a peak: after hundreds of control groups and thousands of slab caches have vanished, it uses
// as much as before them.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "daemon/poll/poller.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/synthetic_machine.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

/// Does not remember what was read.
class ForgetfulKernelView final : public PreparedKernelView {
 public:
  ForgetfulKernelView() : PreparedKernelView(OperatingSystem::kLinux) {}
  Result<void> read_file(std::string_view path, Buffer& out) override {
    const auto found = contents.find(path);
    if (found == contents.end()) return system_error(path, ENOENT);
    out.assign(found->second.front());
    return {};
  }
};

/// Gives the kernel this many slab caches and control groups.
void set_up(PreparedKernelView& view, std::uint32_t caches, int groups) {
  SyntheticMachine machine(OperatingSystem::kLinux, {.caches = caches});
  view.contents.clear();
  view.copy_from(machine, {"/proc/slabinfo"});
  const std::string root = "/sys/fs/cgroup";
  const auto write = [&](const std::string& path, const char* text) { view.contents[root + path] = {text}; };
  write("/cgroup.controllers", "cpu memory pids\n");
  write("/cgroup.subtree_control", "memory pids\n");
  std::string& names = view.directories[root];
  names.clear();
  for (int i = 0; i < groups; ++i) {
    const std::string name = "a-container-" + std::to_string(i) + ".scope";
    names += name;
    names += '\0';
    const std::string group = "/" + name;
    view.directories[root + group] = "";
    write(group + "/cgroup.subtree_control", "memory\n");
    for (const char* file : {"memory.current", "memory.swap.current", "pids.current"}) write(group + "/" + file, "40960\n");
    for (const char* file : {"memory.max", "memory.high", "memory.swap.max", "pids.max"}) write(group + "/" + file, "max\n");
    for (const char* file : {"memory.events", "memory.events.local"})
      write(group + "/" + file, "low 0\nhigh 1\nmax 2\noom 2\noom_kill 0\noom_group_kill 0\n");
    write(group + "/memory.swap.events", "high 0\nmax 0\nfail 0\n");
    write(group + "/cgroup.stat", "nr_descendants 0\nnr_dying_descendants 0\n");
    write(group + "/memory.stat", "anon 4096\nfile 8192\nkernel 1\npercpu 2\nsock 3\nvmalloc 4\nslab 5\n");
    write(group + "/memory.pressure",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  }
}

class PeakMemory : public testing::Test {
 protected:
  /// Polls, with scrapers that want each format.
  void poll(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(poller_.poll(std::int64_t{++polls_} * 10'000'000'000));
      for (const ExpositionFormat format : kExpositionFormats) EXPECT_FALSE(page_of(*pool_.current(), format).empty());
    }
  }
  /// Bytes that memstatd holds, without those of the kernel that it reads, and of the history, whose size is configured.
  [[nodiscard]] std::int64_t held() const {
    return live_bytes.load() - kernel_bytes_ - static_cast<std::int64_t>(poller_.history().bytes());
  }
  void become(std::uint32_t caches, int groups) {
    const std::int64_t before = live_bytes.load();
    set_up(*view_, caches, groups);
    kernel_bytes_ += live_bytes.load() - before;
  }

  std::int64_t kernel_bytes_ = 0;
  std::shared_ptr<ForgetfulKernelView> view_ = std::make_shared<ForgetfulKernelView>();
  const Clock& clock_ = system_clock();
  SelfMetrics metrics_{"test"};
  SnapshotPool pool_;
  Poller poller_{view_, clock_, metrics_, pool_, Config{}, {.log = {}}};
  int polls_ = 0;
};

TEST_F(PeakMemory, IsGivenBackWhenThePeakIsOver) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  become(200, 10);
  poller_.open_sources();
  poll(20);
  const std::int64_t before = held();
  become(3000, 250);
  poll(20);
  const std::int64_t peak = held();
  become(200, 10);
  poll(3 * PeakWatch::kPolls);
  const std::int64_t after = held();
  std::printf("held: %.2f MB before, %.2f MB at the peak, %.2f MB after it\n", 1e-6 * static_cast<double>(before),
              1e-6 * static_cast<double>(peak), 1e-6 * static_cast<double>(after));
  EXPECT_GT(peak, 4 * before) << "this is not a peak";
  EXPECT_LT(after - before, (peak - before) / 20);
}

}  // namespace
}  // namespace memstat
