// SPDX-License-Identifier: BSD-2-Clause
// The daemon's process that reads the kernel, needed on FreeBSD, with this machine's kernel: polls go through it, it
// reads nothing else, and when it dies the daemon continues.
#include "daemon/process/helpers.h"

#include <fcntl.h>

#include "daemon/poll/poller.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

bool is_down_for_good(const SourceStatus& source) {
  return source.state == SourceState::kDown && source.error.find("restart memstatd") != std::string::npos;
}

TEST(KernelReader, PollsThisLiveKernelAndReportsWhenItIsGone) {
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Log log({}, nowhere.get());
  const SystemClock clock;
  SelfMetrics metrics("test");
  SnapshotPool pool;
  Config config;
  config.user = "nobody";
  KernelReader reader(log, metrics);
  EXPECT_EQ(reader.view(), nullptr);
  EXPECT_EQ(reader.number(), 0);
  reader.start(config);
  ASSERT_NE(reader.view(), nullptr);
  ASSERT_GT(reader.number(), 0);

  Poller poller(reader.view(), clock, metrics, pool, config, {.reads_when_opened = true});
  poller.open_sources();
  const Result<void> sealed = reader.seal();
  ASSERT_TRUE(sealed) << to_string(sealed.error());
  reader.watch();
  EXPECT_FALSE(reader.is_lost());
  ASSERT_TRUE(poller.poll(clock.monotonic_ns()));
  ASSERT_TRUE(poller.poll(clock.monotonic_ns()));
  for (const SourceStatus& source : poller.statuses()) EXPECT_FALSE(is_down_for_good(source)) << source.name << source.error;
  EXPECT_NE(metrics.text().find("memstat_helper_up 1\n"), std::string::npos);
  EXPECT_EQ(metrics.text().find("process_resident_memory_bytes 0\n"), std::string::npos)
      << "the figure comes from the reader";
  EXPECT_EQ(metrics.text().find("process_start_time_seconds 0\n"), std::string::npos);
  Buffer out;
  EXPECT_EQ(reader.view()->read_file("/etc/passwd", out).error().system_errno, EPERM);

  ASSERT_EQ(::kill(reader.number(), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return reader.watch(), reader.is_lost(); }));
  poller.poll(clock.monotonic_ns() + 3'600'000'000'000);  // every source is due; tables of their own may still exist
  const std::vector<SourceStatus> sources = poller.statuses();
  EXPECT_TRUE(std::any_of(sources.begin(), sources.end(), is_down_for_good));
  EXPECT_NE(metrics.text().find("memstat_helper_up 0\n"), std::string::npos);
  EXPECT_NE(metrics.text().find("process_resident_memory_bytes 0\n"), std::string::npos);
}

TEST(KernelReader, ReportsHowToRunWithoutItWhenItEndsBeforeItsSeal) {
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Log log({}, nowhere.get());
  SelfMetrics metrics("test");
  KernelReader reader(log, metrics);
  EXPECT_TRUE(reader.seal()) << "there is none";
  Config config;
  config.user = "nobody";
  reader.start(config);
  ASSERT_GT(reader.number(), 0);
  ASSERT_EQ(::kill(reader.number(), SIGKILL), 0);
  const Result<void> sealed = reader.seal();
  ASSERT_FALSE(sealed);
  EXPECT_NE(to_string(sealed.error()).find("--no-sandbox"), std::string::npos) << to_string(sealed.error());
}

// The daemon would refuse this account itself, too.
TEST(KernelReader, ReportsAnUnknownAccountWithoutAdviceToRunWithoutIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root changes its account";
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Log log({}, nowhere.get());
  SelfMetrics metrics("test");
  KernelReader reader(log, metrics);
  Config config;
  config.user = "no-such-account-here";
  reader.start(config);
  const Result<void> sealed = reader.seal();
  ASSERT_FALSE(sealed);
  EXPECT_NE(to_string(sealed.error()).find("no-such-account-here"), std::string::npos) << to_string(sealed.error());
  EXPECT_EQ(to_string(sealed.error()).find("--no-sandbox"), std::string::npos) << to_string(sealed.error());
}

}  // namespace
}  // namespace memstat
