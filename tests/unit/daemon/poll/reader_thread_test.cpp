// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/reader_thread.h"

#include <sys/resource.h>

#include "tests/support/fake_kernel_view.h"
#include "tests/support/fake_sources.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class ReaderThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    view_->set(kFakeRosterFile, "one 1\n");
    view_->set(kFakeContributorFile, "two 2\n");
    view_->set(kFakeSharedFile, "");
  }
  void TearDown() override {
    view_->release(kFakeRosterFile);
    view_->release(kFakeContributorFile);
  }
  /// Reads this one only.
  Result<void> read(const std::shared_ptr<SourceReader>& source, std::chrono::nanoseconds timeout) {
    SourceRead one{.source = source};
    reader_->read({&one, 1}, timeout);
    return std::move(one.result);
  }
  const FakeSources sources_;
  std::shared_ptr<FakeKernelView> view_ = std::make_shared<FakeKernelView>(OperatingSystem::kLinux, 3);
  std::unique_ptr<ReaderThread> reader_ = std::make_unique<ReaderThread>(view_);
  std::shared_ptr<SourceReader> first_ = std::make_shared<SourceReader>(sources_.roster);
  std::shared_ptr<SourceReader> second_ = std::make_shared<SourceReader>(sources_.contributor);
};

TEST_F(ReaderThreadTest, AThreadThatIsLateTakesNoReadOfAnother) {
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(read(first_, milliseconds(0)));
    ASSERT_TRUE(read(second_, hours(1)));
  }
  while (reader_->is_busy(*first_)) std::this_thread::yield();
  EXPECT_TRUE(read(first_, hours(1)));
  EXPECT_EQ(reader_->stuck_count(), 0U);
}

TEST_F(ReaderThreadTest, AnExceptionIsAnErrorAndTheThreadContinues) {
  view_->make_throw(kFakeRosterFile);
  const auto result = read(first_, hours(1));
  ASSERT_TRUE(fails(result, ErrorCode::kIo));
  EXPECT_THAT(result.error().detail, HasSubstr("the fake kernel throws"));
  EXPECT_TRUE(read(second_, hours(1)));
}

TEST_F(ReaderThreadTest, AStuckSourceIsNotReadAgainBeforeItReturns) {
  view_->block(kFakeRosterFile);
  ASSERT_FALSE(read(first_, milliseconds(1)));
  view_->wait_until_hanging(kFakeRosterFile);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(fails(read(first_, hours(1)), ErrorCode::kTimeout));
    EXPECT_TRUE(read(second_, hours(1)));
  }
  EXPECT_EQ(view_->reads_of(kFakeRosterFile), 1);
  EXPECT_EQ(reader_->stuck_count(), 1U) << "no thread is lost to each poll";
}

TEST_F(ReaderThreadTest, AStuckSourceRecoversOnceItReturns) {
  view_->block(kFakeRosterFile);
  ASSERT_FALSE(read(first_, milliseconds(1)));
  view_->wait_until_hanging(kFakeRosterFile);
  view_->release(kFakeRosterFile);
  ASSERT_TRUE(eventually([&] { return reader_->stuck_count() == 0; }));
  view_->set(kFakeRosterFile, "fresh 3\n");
  ASSERT_TRUE(read(first_, hours(1)));
  EXPECT_EQ(first_->raw.parts[0].view(), "fresh 3\n");
  EXPECT_EQ(view_->reads_of(kFakeRosterFile), 2);
}

TEST_F(ReaderThreadTest, DestructionDoesNotWaitForAStuckRead) {
  view_->block(kFakeRosterFile);
  ASSERT_FALSE(read(first_, milliseconds(1)));
  view_->wait_until_hanging(kFakeRosterFile);
  const std::weak_ptr<SourceReader> source = first_;
  first_.reset();
  reader_.reset();
  EXPECT_TRUE(view_->is_hanging(kFakeRosterFile)) << "destroyed while the read was still under way";
  EXPECT_FALSE(source.expired()) << "the read still has its buffers";
  view_->release(kFakeRosterFile);
  EXPECT_TRUE(eventually([&] { return source.expired(); }));
}

// ---- several at once -----------------------------------------------------------------------------------------------------

TEST_F(ReaderThreadTest, ReadsAllThatItIsHanded) {
  view_->fail(kFakeContributorFile, EIO);
  const auto again = std::make_shared<SourceReader>(sources_.roster);
  for (int i = 0; i < 3; ++i) {
    std::array<SourceRead, 3> reads = {SourceRead{.source = first_}, {.source = second_}, {.source = again}};
    reader_->read(reads, hours(1));
    EXPECT_TRUE(reads[0].result && reads[2].result);
    EXPECT_GT(reads[0].took.count(), 0);
    ASSERT_FALSE(reads[1].result);
    EXPECT_EQ(reads[1].result.error().system_errno, EIO);
    EXPECT_EQ(again->raw.parts[0].view(), "one 1\n");
  }
  EXPECT_EQ(view_->reads_of(kFakeRosterFile), 6);
  reader_->read({}, hours(1));
}

TEST_F(ReaderThreadTest, AFreshThreadReadsWhatWasHandedOverWithAStuckSource) {
  view_->block(kFakeRosterFile);
  for (milliseconds timeout{10};; timeout *= 4) {  // a busy machine may take long for the other two
    std::array<SourceRead, 3> reads = {SourceRead{.source = std::make_shared<SourceReader>(sources_.contributor)},
                                       {.source = std::make_shared<SourceReader>(sources_.roster)},
                                       {.source = std::make_shared<SourceReader>(sources_.contributor)}};
    reader_->read(reads, timeout);
    ASSERT_FALSE(reads[1].result);
    EXPECT_EQ(reads[1].result.error().code, ErrorCode::kTimeout);
    EXPECT_GE(reads[1].took, timeout);
    EXPECT_TRUE(reader_->is_busy(*reads[1].source));
    if (reads[0].result && reads[2].result) break;
    ASSERT_LT(timeout, hours(1));
  }
  EXPECT_GE(reader_->stuck_count(), 1U);
}

TEST_F(ReaderThreadTest, CancelEndsTheWaitForAllThatWereHandedOver) {
  view_->block(kFakeRosterFile);
  std::array<SourceRead, 2> reads = {SourceRead{.source = first_}, {.source = second_}};
  std::thread waiting([&] { reader_->read(reads, hours(1)); });
  view_->wait_until_hanging(kFakeRosterFile);
  reader_->cancel();
  waiting.join();
  for (const SourceRead& each : reads) {
    ASSERT_FALSE(each.result);
    EXPECT_THAT(each.result.error().detail, HasSubstr("stopping"));
  }
  EXPECT_EQ(view_->reads_of(kFakeContributorFile), 0);
}

TEST_F(ReaderThreadTest, TheCallerIsNotWokenForEachSource) {
  constexpr long kSources = 200;
  std::vector<SourceRead> reads;
  for (long i = 0; i < kSources; ++i) reads.push_back({.source = std::make_shared<SourceReader>(sources_.roster)});
  reader_->read(reads, hours(1));
  const auto switches = [] {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  };
  const long before = switches();
  reader_->read(reads, hours(1));
  EXPECT_LT(switches() - before, kSources / 10);
}

}  // namespace
}  // namespace memstat
