// SPDX-License-Identifier: BSD-2-Clause
// Programs that a source has attached to the kernel are tended between two polls, and only while the source is up.
#include "daemon/poll/poll_loop.h"
#include "daemon/poll/poller.h"
#include "tests/support/fake_sources.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// The behaviour of the test's table, and the calls that it received.
struct Tended {
  std::atomic<bool> is_open = true;
  std::atomic<bool> is_again_wanted = true;
  std::atomic<int> times = 0;
};
Tended* tended = nullptr;

class TendedTable final : public TextTableSource {
 public:
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override {
    if (!tended->is_open) return system_error("the table", EIO);
    out.assign("a 1\n");
    return {};
  }
  bool tend() override {
    ++tended->times;
    return tended->is_again_wanted;
  }
};

struct TendedState final : ReaderState {
  std::unique_ptr<TextTableSource> table = std::make_unique<TendedTable>();
};
Result<void> read_tended(KernelView& view, RawBytes& raw, TendedState& state) {
  if (auto result = view.read_file(kFakeRosterFile, raw.parts[0]); !result) return result;
  return view.read_table("tended", *state.table, raw.parts[0]);
}

class PollerTendTest : public testing::Test {
 protected:
  PollerTendTest() {
    tended = &tended_;
    Config config;
    config.poll.timeout = std::chrono::hours(1);  // no read of the fake kernel takes long, unless it hangs
    daemon_.emplace(OperatingSystem::kLinux, config, false, all_);
    daemon_->view->set(kFakeRosterFile, "a 1\n");
    daemon_->poller->open_sources();
  }
  ~PollerTendTest() override {
    daemon_.reset();
    tended = nullptr;
  }

  Tended tended_;
  SourceDescriptor source_ = [] {
    SourceDescriptor source = fake_roster();
    source.steps = source_steps<TendedState, open_nothing, read_tended, parse_fake<Field::kBytes>>();
    return source;
  }();
  std::array<const SourceDescriptor*, 1> all_ = {&source_};
  std::optional<PolledDaemon> daemon_;
};

TEST_F(PollerTendTest, OnlyASourceThatIsUpIsTended) {
  EXPECT_FALSE(daemon_->poller->tend());
  EXPECT_EQ(tended_.times, 0) << "it was not read yet";
  ASSERT_TRUE(daemon_->poll());
  EXPECT_TRUE(daemon_->poller->tend());
  EXPECT_EQ(tended_.times, 1);
  tended_.is_again_wanted = false;
  EXPECT_FALSE(daemon_->poller->tend());
  tended_.is_open = false;
  ASSERT_FALSE(daemon_->poll());
  EXPECT_FALSE(daemon_->poller->tend());
  EXPECT_EQ(tended_.times, 2);
}

TEST_F(PollerTendTest, ATableThatAReadIsStuckInIsLeftAlone) {
  ASSERT_TRUE(daemon_->poll());
  daemon_->view->block(kFakeRosterFile);
  std::thread poll([this] { daemon_->poll(); });
  daemon_->view->wait_until_hanging(kFakeRosterFile);
  daemon_->poller->cancel();
  poll.join();
  EXPECT_FALSE(daemon_->poller->tend());
  EXPECT_EQ(tended_.times, 0);
  daemon_->view->release(kFakeRosterFile);
  EXPECT_TRUE(eventually([&] { return daemon_->poller->stuck_count() == 0; }));
}

/// One poll at once, and the next in a thousand years.
class OncePacer final : public PollPacer {
 public:
  std::optional<std::int64_t> next_due_ns() override { return polls == 0 ? 0 : INT64_MAX / 2; }
  std::int64_t begin() override { return ++polls; }
  void finish() override {}
  void configure(const Config& /*config*/) override {}
  std::atomic<int> polls = 0;
};

TEST_F(PollerTendTest, TheLoopTendsSeveralTimesASecondBetweenPolls) {
  OncePacer pacer;
  PollLoop loop(*daemon_->poller, pacer, {});
  const auto begin = std::chrono::steady_clock::now();
  loop.start();
  ASSERT_TRUE(eventually([&] { return tended_.times >= 4; }));
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(700)) << "and no more often than that";
  EXPECT_EQ(pacer.polls, 1) << "that is not a poll";
  loop.stop();
}

}  // namespace
}  // namespace memstat
